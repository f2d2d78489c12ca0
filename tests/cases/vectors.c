/* SPDX-License-Identifier: MIT */
/* Linked with src/hook/patched_enter.S and patched_vectors.c: a call that wrecks all vector registers must leave them as they
 * were. Run on a processor that has SVE or AVX; 3: this one has not. Its stack is off by 8 bytes where a stack may be (x86_64). */
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

#include "hook/patched.h"

extern uint64_t patched_vectors;

/* What the file refers to, and nobody calls here. */
void patched_before(void) {}
void patched_after(void) {}
void new_personality(void) {}

#define EACH16(X)                                                                                  \
        X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define UPPER16(X)                                                                                 \
        X(16)                                                                                      \
        X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31)

enum {
        REGISTER_MAX_BYTES = 256,
        N_REGISTERS = 32,
        AREA_BYTES = REGISTER_MAX_BYTES * (N_REGISTERS + 2)
};

static uint8_t before[AREA_BYTES], after[AREA_BYTES];
static uint64_t wreck(uint64_t a, uint64_t b);

#if defined(__aarch64__)
#define LOAD_Z(n) "ldr z" #n ", [x19, #" #n ", mul vl]\n\t"
#define STORE_Z(n) "str z" #n ", [x20, #" #n ", mul vl]\n\t"
#define LOAD_P(n) "ldr p" #n ", [x19, #" #n ", mul vl]\n\t"
#define STORE_P(n) "str p" #n ", [x20, #" #n ", mul vl]\n\t"
#define WRECK_Z(n) "mov z" #n ".b, #77\n\t"
#define WRECK_P(n) "pfalse p" #n ".b\n\t"
#define CLOBBER_Z(n) "z" #n,

static uint64_t call(void) {
        register uint8_t *from __asm__("x19") = before;
        register uint8_t *to __asm__("x20") = after;
        register uint64_t fn __asm__("x0") = (uint64_t)wreck;
        register uint64_t a __asm__("x1") = 5;
        register uint64_t b __asm__("x2") = 7;

        __asm__ volatile(
                EACH16(LOAD_Z) UPPER16(LOAD_Z) "addvl x19, x19, #31\n\taddvl x19, x19, #1\n\t" EACH16(
                        LOAD_P) "bl patched_call_libc\n\t" EACH16(STORE_Z)
                        UPPER16(STORE_Z) "addvl x20, x20, #31\n\taddvl x20, x20, #1\n\t" EACH16(
                                STORE_P)
                : "+r"(fn), "+r"(a), "+r"(b), "+r"(from), "+r"(to)
                :
                : "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14",
                  "x15", "x16", "x17", "x30", "memory", EACH16(CLOBBER_Z) UPPER16(CLOBBER_Z) "p0",
                  "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10", "p11", "p12", "p13",
                  "p14", "p15");
        return fn;
}

static void destroy(void) {
        __asm__ volatile(EACH16(WRECK_Z) UPPER16(WRECK_Z) EACH16(WRECK_P) :);
}

static size_t area_bytes(void) {
        uint64_t n;

        __asm__("rdvl %0, #1" : "=r"(n));
        return n * (N_REGISTERS + 2);
}
#else
#define LOAD_Y(n) "vmovdqu 32*" #n "(%%rbx), %%ymm" #n "\n\t"
#define STORE_Y(n) "vmovdqu %%ymm" #n ", 32*" #n "(%%r12)\n\t"
#define WRECK_Y(n) "vpcmpeqd %%ymm" #n ", %%ymm" #n ", %%ymm" #n "\n\t"

static uint64_t call(void) {
        register uint8_t *to __asm__("r12") = after;
        uint64_t result;

        __asm__ volatile(
                "movq %%rsp, %%r13\n\tsubq $264, %%rsp\n\tandq $-16, %%rsp\n\tsubq $8, %%rsp\n\t" EACH16(
                        LOAD_Y) "call patched_call_libc\n\t" EACH16(STORE_Y) "movq %%r13, %%rsp"
                : "=a"(result)
                : "b"(before), "r"(to), "D"((uint64_t)wreck), "S"((uint64_t)5), "d"((uint64_t)7)
                : "rcx", "r8", "r9", "r10", "r11", "r13", "memory", "cc");
        return result;
}

static void destroy(void) {
        __asm__ volatile(EACH16(WRECK_Y) :);
}

static size_t area_bytes(void) {
        return 32 * 16;
}
#endif

static uint64_t wreck(uint64_t a, uint64_t b) {
        destroy();
        return (uintptr_t)__builtin_frame_address(0) % 16 == 0 ? a * 10 + b : 0;
}

int main(void) {
        patched_find_vectors(getauxval(AT_HWCAP));
        if (!patched_vectors)
                return 3;
        for (size_t i = 0; i < AREA_BYTES; i++)
                before[i] = (uint8_t)(i * 7 + i / 251 + 1);
        if (call() != 57)
                return 1;
        return memcmp(before, after, area_bytes()) ? 2 : 0;
}
