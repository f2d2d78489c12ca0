/* SPDX-License-Identifier: MIT */
/* Signal frames and interrupted system calls, for both machines whichever this is; the frame of this one is held against a real one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ucontext.h>

#include "attach/machine.h"

static uint64_t word(const uint8_t *at) {
        uint64_t value;

        memcpy(&value, at, sizeof(value));
        return value;
}

static void fill(const struct machine *m, struct machine_state *s, size_t n_vector_bytes) {
        memset(s, 0, sizeof(*s));
        s->n_regs_bytes = m->n_regs_bytes;
        for (uint64_t i = 0; i < m->n_regs_bytes / 8; i++) {
                uint64_t value = 0x1000 + i;

                memcpy(s->regs + 8 * i, &value, 8);
        }
        s->n_vector_bytes = n_vector_bytes;
        for (size_t i = 0; i < n_vector_bytes; i++)
                s->vectors[i] = (uint8_t)(i * 7 + 1);
        s->mask = 0x123456789abcdef0;
}

static void test_aarch64_frame(void **state) {
        const struct machine *m = &machine_aarch64;
        static uint8_t frame[MACHINE_MAX_FRAME_BYTES];
        struct machine_state s;

        fill(m, &s, 528);
        assert_int_equal(m->frame_align(0x10007), 0x10000);
        m->frame(&s, 0x10000, 0x4000, frame);
        assert_int_equal(word(frame + 128 + 40), s.mask);
        for (unsigned i = 0; i < 34; i++) /* x0 … x30, sp, pc, pstate */
                assert_int_equal(word(frame + 312 + 8 * (size_t)i), 0x1000 + i);
        assert_int_equal(word(frame + 592), 0x0000021046508001); /* the record's head */
        assert_memory_equal(frame + 600, s.vectors + 512, 8);
        assert_memory_equal(frame + 608, s.vectors, 512);
        assert_int_equal(word(frame + 1120), 0); /* no record behind */
        assert_int_equal(m->frame_bytes(&s), 1136);
}

static void test_x86_64_frame(void **state) {
        static const unsigned order[] = {9,  8, 7, 6,  3,  2,  1,  0,  14,
                                         13, 4, 5, 12, 10, 11, 19, 16, 18};
        const struct machine *m = &machine_x86_64;
        static uint8_t frame[MACHINE_MAX_FRAME_BYTES];
        const size_t n_vectors = 2696; /* with AVX-512 */
        struct machine_state s;
        uint64_t addr, at;

        fill(m, &s, n_vectors);
        addr = m->frame_align(0x10000);
        assert_int_equal(addr % 16, 8); /* as a return address at a function's begin */
        m->frame(&s, addr, 0x4000, frame);
        assert_int_equal(word(frame), 0x4000);
        assert_int_equal(word(frame + 8), 7);
        for (unsigned i = 0; i < 18; i++)
                assert_int_equal(word(frame + 48 + 8 * (size_t)i), 0x1000 + order[i]);
        assert_int_equal(word(frame + 304), s.mask);
        at = word(frame + 232);
        assert_int_equal(at % 64, 0);
        assert_true(at - addr >= 440 && at - addr + n_vectors + 4 <= m->frame_bytes(&s));
        at -= addr;
        assert_memory_equal(frame + at, s.vectors, 464);
        assert_int_equal(word(frame + at + 464), (uint64_t)(n_vectors + 4) << 32 | 0x46505853);
        assert_int_equal(word(frame + at + 472), word(s.vectors + 464));
        assert_int_equal(word(frame + at + 480), n_vectors);
        assert_int_equal(word(frame + at + n_vectors) & 0xffffffff, 0x46505845);
}

static void test_calls(void **state) {
        struct machine_call call = {0x5000, {1, 2, 3, 4, 5, 6}, 0x8000, 0x4000};
        struct machine_state s;

        fill(&machine_aarch64, &s, 528);
        machine_aarch64.call(&s, &call);
        for (unsigned i = 0; i < 6; i++)
                assert_int_equal(word(s.regs + 8 * (size_t)i), i + 1);
        assert_int_equal(word(s.regs + 8 * 30), 0x4000);
        assert_int_equal(machine_aarch64.sp(&s), 0x8000);
        assert_int_equal(machine_aarch64.pc(&s), 0x5000);
        assert_int_equal(word(s.regs + 8 * 33) & 0xc00, 0); /* it came by no branch */
        fill(&machine_x86_64, &s, 1024);
        machine_x86_64.call(&s, &call);
        assert_int_equal(word(s.regs + 8 * 14), 1);
        assert_int_equal(word(s.regs + 8 * 11), 4);
        assert_int_equal(machine_x86_64.sp(&s), 0x8000);
        assert_int_equal(machine_x86_64.pc(&s), 0x5000);
        assert_int_equal(word(s.regs + 8 * 15), UINT64_MAX); /* no system call is made again */
}

static void put(struct machine_state *s, unsigned reg, uint64_t value) {
        memcpy(s->regs + 8 * (size_t)reg, &value, sizeof(value));
}

static void test_again_aarch64(void **state) {
        const struct machine *m = &machine_aarch64;
        struct machine_syscall call = {true, 22, {5, 6, 7, 1000, 0, 8}, 0x7000, 0x5004};
        enum machine_again again;
        struct machine_state s;
        int timeout_arg;

        fill(m, &s, 528);
        put(&s, 8, 22);
        put(&s, 31, 0x7000);
        for (unsigned i = 1; i < 6; i++)
                put(&s, i, call.args[i]);
        assert_int_equal(m->wait(&call, &timeout_arg), WAIT_INTERRUPTED);
        assert_int_equal(timeout_arg, 3);

        put(&s, 0, (uint64_t)-EINTR);
        put(&s, 32, 0x5004);
        assert_true(m->again(&s, &call, WAIT_INTERRUPTED, &again));
        assert_int_equal(again, AGAIN_LATE);
        assert_int_equal(m->pc(&s), 0x5000);
        assert_int_equal(word(s.regs), 5);

        /* as the kernel shows one that it makes again itself */
        assert_true(m->again(&s, &call, WAIT_PLAIN, &again));
        assert_int_equal(again, AGAIN_SAME);
        assert_true(m->again(&s, &call, WAIT_RESTARTED, &again));
        assert_int_equal(again, AGAIN_RESTART);
        m->set_restart(&s);
        assert_int_equal(word(s.regs + 64), 128);

        /* another call, one that has ended, one that failed by itself */
        assert_false(m->again(&s, &call, WAIT_PLAIN, &again));
        put(&s, 8, 22);
        put(&s, 32, 0x5004);
        put(&s, 0, 1);
        assert_false(m->again(&s, &call, WAIT_INTERRUPTED, &again));
        put(&s, 0, (uint64_t)-EBADF);
        assert_false(m->again(&s, &call, WAIT_INTERRUPTED, &again));
}

static void test_again_x86_64(void **state) {
        static const unsigned args[] = {14, 13, 12, 7, 9, 8};
        const struct machine *m = &machine_x86_64;
        struct machine_syscall call = {true, 7, {1, 2, 3, 4, 5, 6}, 0x7000, 0x5002};
        enum machine_again again;
        struct machine_state s;
        int timeout_arg;

        fill(m, &s, 1024);
        for (unsigned i = 0; i < 6; i++)
                put(&s, args[i], call.args[i]);
        put(&s, 15, 7);
        put(&s, 16, 0x5002);
        put(&s, 19, 0x7000);
        put(&s, 10, (uint64_t)-516);
        assert_int_equal(m->wait(&call, &timeout_arg), WAIT_RESTARTED);
        assert_true(m->again(&s, &call, WAIT_RESTARTED, &again));
        assert_int_equal(again, AGAIN_RESTART);
        assert_int_equal(m->pc(&s), 0x5000);
        assert_int_equal(word(s.regs + 80), 7);
        m->set_restart(&s);
        assert_int_equal(word(s.regs + 80), 219);
        put(&s, 15, 7);
        put(&s, 16, 0x5002);
        put(&s, 10, (uint64_t)-EINTR);
        assert_false(m->again(&s, &call, WAIT_PLAIN, &again));
        assert_true(m->again(&s, &call, WAIT_INTERRUPTED, &again));
        assert_int_equal(again, AGAIN_LATE);
}

/* Which calls are made again that have failed already when silt looks: those that a stop makes fail, and no others. */
static void test_failed(void **state) {
        static const struct {
                const struct machine *machine;
                unsigned number_reg, result_reg, flags_reg;
                uint64_t receive, write;
        } cases[] = {{&machine_aarch64, 8, 0, 3, 207, 64}, {&machine_x86_64, 15, 10, 7, 45, 1}};
        struct machine_syscall call;
        struct machine_state s;

        for (unsigned i = 0; i < 2; i++) {
                const struct machine *m = cases[i].machine;

                fill(m, &s, 528);
                put(&s, cases[i].number_reg, cases[i].receive);
                put(&s, cases[i].result_reg, (uint64_t)-EINTR);
                put(&s, cases[i].flags_reg, 0);
                assert_true(m->failed_wait(&s, &call));
                assert_int_equal(call.number, cases[i].receive);
                assert_int_equal(call.pc, m->pc(&s));
                assert_true((call.args[0] == UINT64_MAX) == (m == &machine_aarch64));
                put(&s, cases[i].flags_reg, 0x100); /* MSG_WAITALL: a part may be there */
                assert_false(m->failed_wait(&s, &call));
                put(&s, cases[i].flags_reg, 0);
                put(&s, cases[i].number_reg, cases[i].write);
                assert_false(m->failed_wait(&s, &call));
                put(&s, cases[i].number_reg, cases[i].receive);
                put(&s, cases[i].result_reg, 7);
                assert_false(m->failed_wait(&s, &call));
        }
}

/* A frame that is changed where the machine says returns behind a call that has failed. */
static void test_failed_calls(void **state) {
        static const struct {
                const struct machine *m;
                int64_t ends, lasts; /* ppoll, read */
        } machines[] = {{&machine_aarch64, 73, 63}, {&machine_x86_64, 271, 0}};
        static uint8_t frame[MACHINE_MAX_FRAME_BYTES], failed[MACHINE_MAX_FRAME_BYTES];

        for (unsigned i = 0; i < 2; i++) {
                const struct machine *m = machines[i].m;
                struct machine_syscall call = {.is_known = true, .number = machines[i].ends};
                uint64_t addr = m->frame_align(0x10000), pc = 0x5004, result = (uint64_t)-EINTR;
                struct machine_state s;

                assert_true(m->ends_by_handler(&call));
                call.number = machines[i].lasts;
                assert_false(m->ends_by_handler(&call));
                fill(m, &s, 1024);
                m->frame(&s, addr, 0x4000, frame);
                memcpy(frame + m->frame_pc_off, &pc, sizeof(pc));
                memcpy(frame + m->frame_result_off, &result, sizeof(result));
                m->set_failed(&s, pc);
                assert_int_equal(m->pc(&s), pc);
                m->frame(&s, addr, 0x4000, failed);
                assert_memory_equal(frame, failed, m->frame_bytes(&s));
        }
}

/* ---- this machine's kernel ------------------------------------------------------------------------ */

static struct {
        uint64_t regs[34], mask;
        ptrdiff_t regs_off, mask_off, flags_off;
} seen;

static void on_signal(int sig, siginfo_t *info, void *context) {
        const ucontext_t *uc = context;
        const char *begin = (const char *)info;

        (void)sig;
#if defined(__aarch64__)
        seen.regs_off = (const char *)uc->uc_mcontext.regs - begin;
#else
        begin = (const char *)uc - 8; /* the return address */
        seen.regs_off = (const char *)uc->uc_mcontext.gregs - begin;
#endif
        seen.mask_off = (const char *)&uc->uc_sigmask - begin;
        seen.flags_off = (const char *)&uc->uc_stack.ss_flags - begin;
}

/* Where the kernel itself puts registers, mask and stack in a frame. */
static void test_kernel_agrees(void **state) {
        struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
        static uint8_t frame[MACHINE_MAX_FRAME_BYTES];
        struct machine_state s;

        sigaction(SIGUSR1, &action, NULL);
        raise(SIGUSR1);
        fill(&machine_own, &s, 1024);
        machine_own.frame(&s, 0x10008, 0x4000, frame);
#if defined(__aarch64__)
        assert_int_equal(word(frame + seen.regs_off), 0x1000);
#else
        assert_int_equal(word(frame + seen.regs_off), 0x1009);
#endif
        assert_int_equal(word(frame + seen.mask_off), s.mask);
        assert_int_equal(word(frame + seen.flags_off) & 0xffffffff, 4);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_aarch64_frame), cmocka_unit_test(test_x86_64_frame),
                cmocka_unit_test(test_calls),         cmocka_unit_test(test_again_aarch64),
                cmocka_unit_test(test_again_x86_64),  cmocka_unit_test(test_failed),
                cmocka_unit_test(test_kernel_agrees), cmocka_unit_test(test_failed_calls),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
