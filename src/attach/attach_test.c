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
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ucontext.h>
#include <unistd.h>

#include "attach/machine.h"
#include "attach/runtime_check.h"
#include "wire/identity_number.h"
#include "wire/runtime_identity.h"

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

        /* without a time-out it is made as it was */
        put(&s, 15, 7);
        put(&s, 16, 0x5002);
        put(&s, 10, (uint64_t)-516);
        assert_true(m->again(&s, &call, WAIT_PLAIN, &again));
        assert_int_equal(again, AGAIN_SAME);

        /* stopped before: the call has another number now */
        call.number = 219;
        put(&s, 15, 219);
        put(&s, 16, 0x5002);
        put(&s, 10, (uint64_t)-516);
        assert_int_equal(m->wait(&call, &timeout_arg), WAIT_RESTARTED);
        assert_true(m->ends_by_handler(&call));
        assert_true(m->again(&s, &call, WAIT_RESTARTED, &again));
        assert_int_equal(again, AGAIN_RESTART);
}

/* Which calls are made again that have failed already when silt looks: those that a stop makes fail having done nothing, and no others. */
static const struct failed_case {
        int64_t aarch64, x86_64;
        uint64_t args[6];
        enum machine_first first;
} failed_cases[] = {
        {207, 45, {0}, FIRST_SOCKET}, /* recvfrom */
        {207, 45, {0, 0, 0, 0x100}, FIRST_SOCKET},
        {212, 47, {0}, FIRST_SOCKET},  /* recvmsg */
        {243, 299, {0}, FIRST_SOCKET}, /* recvmmsg */
        {202, 43, {0}, FIRST_SOCKET},  /* accept */
        {63, 0, {0}, FIRST_SOCKET},    /* read */
        {64, 1, {0}, FIRST_SOCKET},    /* write */
        {66, 20, {0}, FIRST_SOCKET},   /* writev */
        {203, 42, {0}, FIRST_SOCKET},  /* connect */
        {206, 44, {0}, FIRST_SOCKET},  /* sendto */
        {206, 44, {0, 0, 0, 0x20000000}, FIRST_NONE},
        {211, 46, {0, 0, 0x4000}, FIRST_SOCKET}, /* sendmsg */
        {211, 46, {0, 0, 0x4000000}, FIRST_NONE},
        {269, 307, {0}, FIRST_SOCKET}, /* sendmmsg */
        {22, 281, {0}, FIRST_EPOLL},   /* epoll_pwait */
        {441, 441, {0}, FIRST_EPOLL},  /* epoll_pwait2 */
        {426, 426, {0}, FIRST_RING},   /* io_uring_enter */
        {426, 426, {0, 0, 1, 17}, FIRST_ANY},
        {193, 65, {0}, FIRST_SEMAPHORES},  /* semop */
        {192, 220, {0}, FIRST_SEMAPHORES}, /* semtimedop */
        {137, 128, {0}, FIRST_ADDRESS},    /* rt_sigtimedwait */
        {4, 208, {0}, FIRST_ADDRESS},      /* io_getevents */
        {101, 35, {0}, FIRST_NONE},        /* nanosleep */
        {73, 271, {0}, FIRST_NONE},        /* ppoll */
        {57, 3, {0}, FIRST_NONE},          /* close */
};

static void test_failed(void **state) {
        static const struct {
                const struct machine *machine;
                unsigned number_reg, result_reg, args[6];
        } cases[] = {{&machine_aarch64, 8, 0, {0, 1, 2, 3, 4, 5}},
                     {&machine_x86_64, 15, 10, {14, 13, 12, 7, 9, 8}}};

        for (unsigned i = 0; i < 2 * sizeof(failed_cases) / sizeof(failed_cases[0]); i++) {
                const struct failed_case *f = &failed_cases[i / 2];
                const struct machine *m = cases[i % 2].machine;
                int64_t number = m == &machine_aarch64 ? f->aarch64 : f->x86_64;
                struct machine_syscall call;
                struct machine_state s;

                fill(m, &s, 528);
                for (unsigned k = 0; k < 6; k++)
                        put(&s, cases[i % 2].args[k], f->args[k]);
                put(&s, cases[i % 2].number_reg, (uint64_t)number);
                put(&s, cases[i % 2].result_reg, (uint64_t)-EINTR);
                assert_int_equal(m->failed_wait(&s, &call), f->first);
                if (f->first != FIRST_NONE) {
                        assert_int_equal(call.number, number);
                        assert_int_equal(call.pc, m->pc(&s));
                        assert_true((call.args[0] == UINT64_MAX) == (m == &machine_aarch64));
                        assert_memory_equal(&call.args[1], &f->args[1], sizeof(f->args) - 8);
                }
                put(&s, cases[i % 2].result_reg, 7);
                assert_int_equal(m->failed_wait(&s, &call), FIRST_NONE);
        }
}

/* Which calls a thread may be taken out of that waits in them, and what is known of their time-out. */
static void test_waits(void **state) {
        static const struct {
                int64_t aarch64, x86_64;
                uint64_t args[6];
                enum machine_wait wait;
                int timeout_arg;
        } cases[] = {
                {207, 45, {0, 0, 0, 0x100}, WAIT_OTHER, TIMEOUT_NONE}, /* recvfrom, of all */
                {243, 299, {0}, WAIT_OTHER, TIMEOUT_NONE},             /* recvmmsg */
                {64, 1, {0}, WAIT_OTHER, TIMEOUT_NONE},                /* write */
                {203, 42, {0}, WAIT_OTHER, TIMEOUT_NONE},              /* connect */
                {193, 65, {0}, WAIT_INTERRUPTED, TIMEOUT_NONE},        /* semop */
                {192, 220, {0}, WAIT_INTERRUPTED, TIMEOUT_NONE},       /* semtimedop */
                {192, 220, {0, 0, 0, 1}, WAIT_INTERRUPTED, TIMEOUT_HIDDEN},
                {137, 128, {0, 0, 1}, WAIT_INTERRUPTED, TIMEOUT_HIDDEN},  /* rt_sigtimedwait */
                {441, 441, {0}, WAIT_INTERRUPTED, TIMEOUT_NONE},          /* epoll_pwait2 */
                {22, 281, {0, 0, 0, 5}, WAIT_INTERRUPTED, 3},             /* epoll_pwait */
                {426, 426, {0, 0, 1, 1}, WAIT_INTERRUPTED, TIMEOUT_NONE}, /* io_uring_enter */
                {426, 426, {0, 0, 1, 9}, WAIT_INTERRUPTED, TIMEOUT_HIDDEN},
                {426, 426, {0, 0, 2, 1}, WAIT_OTHER, TIMEOUT_NONE},
                {426, 426, {0, 1, 1, 1}, WAIT_OTHER, TIMEOUT_NONE},
                {4, 208, {0, 2}, WAIT_OTHER, TIMEOUT_NONE}, /* io_getevents */
                {188, 70, {0}, WAIT_PLAIN, TIMEOUT_NONE},   /* msgrcv */
                {183, 243, {0}, WAIT_PLAIN, TIMEOUT_NONE},  /* mq_timedreceive */
                {449, 449, {0}, WAIT_PLAIN, TIMEOUT_NONE},  /* futex_waitv */
        };

        for (unsigned i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
                const struct machine *m = i % 2 ? &machine_aarch64 : &machine_x86_64;
                struct machine_syscall call = {.is_known = true};
                int timeout_arg;

                call.number = i % 2 ? cases[i / 2].aarch64 : cases[i / 2].x86_64;
                memcpy(call.args, cases[i / 2].args, sizeof(call.args));
                assert_int_equal(m->wait(&call, &timeout_arg), cases[i / 2].wait);
                assert_int_equal(timeout_arg, cases[i / 2].timeout_arg);
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

/* A library is looked through piece by piece: wherever the mark lies, a piece has all of it. */
static void test_identity_anywhere(void **state) {
        enum { N_BYTES = 200000 };
        static uint8_t bytes[N_BYTES];
        int fd = memfd_create("runtime", MFD_CLOEXEC);
        char path[64];

        (void)state;
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        for (size_t at = 65536 - 60; at < 65536 + 60; at++) {
                struct wire_identity own = {.layouts = WIRE_IDENTITY};
                struct err err = {0};

                memcpy(own.mark, WIRE_IDENTITY_MARK, sizeof(own.mark));
                memset(bytes, 0, sizeof(bytes));
                memcpy(bytes + at, &own, sizeof(own));
                assert_int_equal(pwrite(fd, bytes, sizeof(bytes), 0), sizeof(bytes));
                assert_int_equal(runtime_check_file(path, &err), 0);
        }
        memset(bytes, 0, sizeof(bytes));
        assert_int_equal(pwrite(fd, bytes, sizeof(bytes), 0), sizeof(bytes));
        assert_int_equal(runtime_check_file(path, &(struct err){0}), -ELIBBAD);
        close(fd);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_aarch64_frame), cmocka_unit_test(test_x86_64_frame),
                cmocka_unit_test(test_calls),         cmocka_unit_test(test_again_aarch64),
                cmocka_unit_test(test_again_x86_64),  cmocka_unit_test(test_failed),
                cmocka_unit_test(test_kernel_agrees), cmocka_unit_test(test_failed_calls),
                cmocka_unit_test(test_waits),         cmocka_unit_test(test_identity_anywhere),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
