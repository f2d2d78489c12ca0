/* SPDX-License-Identifier: MIT */
/* registers [tiles]: waits in read(2), entered without the C library, with all registers of the machine set: general ones, and vectors as long as they
 * are. The kernel leaves all of them alone, so code around a system call may keep values in any. "ready PID"; for each line on stdin "done", or
 * "bad WHAT" where one has changed. tiles: those of AMX too; "no tiles" where the machine has none. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { N_VECTOR_BYTES = 16384, N_GENERAL = 16 };

static _Alignas(64) uint8_t wanted[N_VECTOR_BYTES], found[N_VECTOR_BYTES];
static uint64_t general_wanted[N_GENERAL], general_found[N_GENERAL];
static char byte;

static void fill(uint8_t *at, size_t n, unsigned seed) {
        for (size_t i = 0; i < n; i++)
                at[i] = (uint8_t)((seed + i) * 2654435761u >> 11);
}

#if defined(__x86_64__)
#include <cpuid.h>

enum {
        XMM = 1,
        HIGHEST_VECTOR = 7, /* zmm16 and above */
        TILE_CONFIG = 17,
        TILES = 18,
        ARCH_REQ_XCOMP_PERM = 0x1023,
        MXCSR_OFF = 24,
        XMM_OFF = 160,
        XMM_BYTES = 256,
        HEADER_OFF = 512,
};

static const unsigned vector_parts[] = {2, 5, 6, HIGHEST_VECTOR};
static uint64_t parts;

static void place_of(unsigned part, unsigned *off, unsigned *n) {
        unsigned c, d;

        __cpuid_count(0xd, part, *n, *off, c, d);
}

static void fill_part(unsigned part) {
        unsigned off, n;

        place_of(part, &off, &n);
        fill(wanted + off, n, part);
        parts |= UINT64_C(1) << part;
}

/* Eight tiles of 16 rows of 64 bytes. */
static void fill_tiles(void) {
        unsigned off, n;

        fill_part(TILES);
        place_of(TILE_CONFIG, &off, &n);
        wanted[off] = 1;
        for (unsigned i = 0; i < 8; i++) {
                wanted[off + 16 + 2 * i] = 64;
                wanted[off + 48 + i] = 16;
        }
        parts |= UINT64_C(1) << TILE_CONFIG;
}

static int prepare(int wants_tiles) {
        uint32_t on, high, mxcsr = 0x1f80;

        __asm__("xgetbv" : "=a"(on), "=d"(high) : "c"(0));
        parts = 1u << XMM;
        fill(wanted + XMM_OFF, XMM_BYTES, XMM);
        memcpy(wanted + MXCSR_OFF, &mxcsr, sizeof(mxcsr));
        for (unsigned i = 0; i < sizeof(vector_parts) / sizeof(vector_parts[0]); i++)
                if (on >> vector_parts[i] & 1)
                        fill_part(vector_parts[i]);
        if (wants_tiles) {
                if (!(on >> TILES & 1) || syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, TILES) < 0)
                        return -1;
                fill_tiles();
        }
        memcpy(wanted + HEADER_OFF, &parts, sizeof(parts));
        return 0;
}

/* rbx, rbp, r12 to r15, and those that a system call alone leaves as they are. */
static long wait_with_all(void) {
        long result;

        __asm__ volatile("xrstor64 %[wanted]\n"
                         "lea %[general], %%rax\n"
                         "mov 0(%%rax), %%rbx\n"
                         "mov 8(%%rax), %%rbp\n"
                         "mov 16(%%rax), %%r8\n"
                         "mov 24(%%rax), %%r9\n"
                         "mov 32(%%rax), %%r10\n"
                         "mov 40(%%rax), %%r12\n"
                         "mov 48(%%rax), %%r13\n"
                         "mov 56(%%rax), %%r14\n"
                         "mov 64(%%rax), %%r15\n"
                         "xor %%edi, %%edi\n"
                         "lea %[byte], %%rsi\n"
                         "mov $1, %%edx\n"
                         "xor %%eax, %%eax\n" /* read */
                         "syscall\n"
                         "mov %%rax, %%r11\n"
                         "lea %[general_found], %%rax\n"
                         "mov %%rbx, 0(%%rax)\n"
                         "mov %%rbp, 8(%%rax)\n"
                         "mov %%r8, 16(%%rax)\n"
                         "mov %%r9, 24(%%rax)\n"
                         "mov %%r10, 32(%%rax)\n"
                         "mov %%r12, 40(%%rax)\n"
                         "mov %%r13, 48(%%rax)\n"
                         "mov %%r14, 56(%%rax)\n"
                         "mov %%r15, 64(%%rax)\n"
                         "mov %[parts], %%eax\n"
                         "xor %%edx, %%edx\n"
                         "xsave64 %[found]\n"
                         "mov %%r11, %%rax\n"
                         : "=a"(result), [found] "+m"(found), [general_found] "=m"(general_found)
                         : [wanted] "m"(wanted), [general] "m"(general_wanted), [byte] "m"(byte),
                           [parts] "m"(parts), "a"((uint32_t)parts), "d"(0)
                         : "rbx", "rbp", "rcx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12",
                           "r13", "r14", "r15", "memory", "cc");
        return result;
}

static int differs(unsigned part) {
        unsigned off, n;

        if (!(parts >> part & 1))
                return 0;
        place_of(part, &off, &n);
        return memcmp(wanted + off, found + off, n) != 0;
}

static const char *changed(void) {
        if (memcmp(wanted + XMM_OFF, found + XMM_OFF, XMM_BYTES) != 0)
                return "lower halves of vectors";
        for (unsigned i = 0; i < sizeof(vector_parts) / sizeof(vector_parts[0]); i++)
                if (differs(vector_parts[i]))
                        return "upper parts of vectors";
        return differs(TILE_CONFIG) || differs(TILES) ? "tiles" : NULL;
}

enum { N_GENERAL_USED = 9 };
#else
enum { N_GENERAL_USED = 12, QUAD_BYTES = 32 * 16 };

static int prepare(int wants_tiles) {
        fill(wanted, QUAD_BYTES, 1);
        return wants_tiles ? -1 : 0;
}

/* x9 to x15, x19 to x23: a system call leaves all but x0 as they are. */
static long wait_with_all(void) {
        register const uint8_t *from __asm__("x24") = wanted;
        register uint8_t *to __asm__("x25") = found;
        register uint64_t *general __asm__("x26") = general_wanted;
        register uint64_t *kept __asm__("x27") = general_found;
        register long x0 __asm__("x0") = 0;
        register char *x1 __asm__("x1") = &byte;
        register long x2 __asm__("x2") = 1;
        register long x8 __asm__("x8") = SYS_read;

        __asm__ volatile("ld1 {v0.16b-v3.16b}, [x24], #64\n"
                         "ld1 {v4.16b-v7.16b}, [x24], #64\n"
                         "ld1 {v8.16b-v11.16b}, [x24], #64\n"
                         "ld1 {v12.16b-v15.16b}, [x24], #64\n"
                         "ld1 {v16.16b-v19.16b}, [x24], #64\n"
                         "ld1 {v20.16b-v23.16b}, [x24], #64\n"
                         "ld1 {v24.16b-v27.16b}, [x24], #64\n"
                         "ld1 {v28.16b-v31.16b}, [x24], #64\n"
                         "ldp x9, x10, [x26]\n"
                         "ldp x11, x12, [x26, #16]\n"
                         "ldp x13, x14, [x26, #32]\n"
                         "ldp x15, x19, [x26, #48]\n"
                         "ldp x20, x21, [x26, #64]\n"
                         "ldp x22, x23, [x26, #80]\n"
                         "svc #0\n"
                         "stp x9, x10, [x27]\n"
                         "stp x11, x12, [x27, #16]\n"
                         "stp x13, x14, [x27, #32]\n"
                         "stp x15, x19, [x27, #48]\n"
                         "stp x20, x21, [x27, #64]\n"
                         "stp x22, x23, [x27, #80]\n"
                         "st1 {v0.16b-v3.16b}, [x25], #64\n"
                         "st1 {v4.16b-v7.16b}, [x25], #64\n"
                         "st1 {v8.16b-v11.16b}, [x25], #64\n"
                         "st1 {v12.16b-v15.16b}, [x25], #64\n"
                         "st1 {v16.16b-v19.16b}, [x25], #64\n"
                         "st1 {v20.16b-v23.16b}, [x25], #64\n"
                         "st1 {v24.16b-v27.16b}, [x25], #64\n"
                         "st1 {v28.16b-v31.16b}, [x25], #64\n"
                         : "+r"(x0), "+r"(from), "+r"(to)
                         : "r"(general), "r"(kept), "r"(x1), "r"(x2), "r"(x8)
                         : "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x19", "x20", "x21",
                           "x22", "x23", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9",
                           "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19",
                           "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29",
                           "v30", "v31", "memory", "cc");
        return x0;
}

static const char *changed(void) {
        return memcmp(wanted, found, QUAD_BYTES) != 0 ? "vectors" : NULL;
}
#endif

int main(int argc, char **argv) {
        (void)argv;
        fill((uint8_t *)general_wanted, sizeof(general_wanted), 77);
        if (prepare(argc > 1) < 0) {
                dprintf(1, "no tiles\n");
                return 0;
        }
        dprintf(1, "ready %d\n", (int)getpid());
        while (wait_with_all() == 1) {
                const char *what = changed();

                if (memcmp(general_wanted, general_found, N_GENERAL_USED * sizeof(uint64_t)) != 0)
                        what = "general registers";
                if (what) {
                        dprintf(1, "bad %s\n", what);
                        return 1;
                }
                if (byte == '\n')
                        dprintf(1, "done\n");
        }
        return 0;
}
