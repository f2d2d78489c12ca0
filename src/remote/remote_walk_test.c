/* SPDX-License-Identifier: MIT */
/* Walks of this very process, over copies of its own stacks, against libgcc's. */
#include "remote/remote_walk.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <cmocka.h>

#include "base/macros.h"
#include "unwind/arch.h"

enum {
        FRAMES_MAX = 256,
        COPY_MAX_BYTES = 64 << 10,
        COPY_MIN_BYTES = sizeof(ucontext_t) + 1024, /* has the return address of who looked */
        COPY_BYTES = COPY_MIN_BYTES + (6 << 10),    /* and some frames, not all */
        DEPTH = 20,
        DEEP = 220,
        ABOVE_BYTES = 1024, /* above the first function: a thread's descriptor, or arguments */
};

/* A thread as it was looked at, and what libgcc says of it. */
struct look {
        struct remote_regs regs;
        uint8_t copy[COPY_MAX_BYTES];
        size_t n_copy;
        uint64_t truth[FRAMES_MAX];
        int n_truth;
};

static struct look look;
static __thread uint64_t stack_end; /* up to where the stack of the thread can surely be read */
static int n_handled;               /* signals whose handler runs */

static struct remote_regs regs_of(const ucontext_t *c) {
#if defined(__aarch64__)
        return (struct remote_regs){c->uc_mcontext.pc, c->uc_mcontext.sp, c->uc_mcontext.regs[29],
                                    c->uc_mcontext.regs[30]};
#else
        return (struct remote_regs){
                .pc = (uint64_t)c->uc_mcontext.gregs[REG_RIP],
                .sp = (uint64_t)c->uc_mcontext.gregs[REG_RSP],
                .fp = (uint64_t)c->uc_mcontext.gregs[REG_RBP],
        };
#endif
}

__attribute__((no_sanitize_address)) static void copy_stack(struct look *l) {
        const volatile uint8_t *from = (const volatile uint8_t *)l->regs.sp; /* NOLINT */

        l->n_copy = MIN(COPY_MAX_BYTES, stack_end - l->regs.sp);
        for (size_t i = 0; i < l->n_copy; i++)
                l->copy[i] = from[i];
}

/* The walk over n_bytes of the copy, to be made while the look's frames are still there. */
static void check_walk(struct remote_space *s, size_t n_bytes) {
        struct remote_stack stack = {look.copy, n_bytes};
        uint64_t pcs[FRAMES_MAX];
        enum remote_end end;
        size_t n = remote_walk(s, &look.regs, &stack, pcs, FRAMES_MAX, &end);
        int n_exact = n_handled; /* what a signal interrupted is one further here */

        assert_int_equal(end, look.regs.is_fp_unknown ? REMOTE_GUESSED : REMOTE_COMPLETE);
        assert_int_equal(n, look.n_truth);
        assert_int_equal(pcs[0], look.regs.pc + 1);
        for (size_t i = 1; i < n; i++)
                if (pcs[i] != look.truth[i] + 1 || n_exact-- == 0)
                        assert_int_equal(pcs[i], look.truth[i]);
}

/* Not backtrace: the address sanitizer has one of its own, with a frame more. */
static _Unwind_Reason_Code take_truth(struct _Unwind_Context *c, void *arg) {
        uint64_t ip = _Unwind_GetIP(c);

        if (ip == 0 || look.n_truth == FRAMES_MAX)
                return _URC_END_OF_STACK;
        look.truth[look.n_truth++] = ip;
        return _URC_NO_REASON;
}

__attribute__((noinline)) static void take_look(void (*then)(void)) {
        ucontext_t c;

        getcontext(&c);
        look.regs = regs_of(&c);
        copy_stack(&look);
        look.n_truth = 0;
        _Unwind_Backtrace(take_truth, NULL);
        then();
}

/* Room of another size in each frame. */
__attribute__((noinline)) static int recurse(int depth, void (*then)(void)) {
        volatile char *room = __builtin_alloca(64 + (size_t)depth * 48);

        room[0] = (char)depth;
        if (depth == 0)
                take_look(then);
        else
                recurse(depth - 1, then);
        return room[0];
}

/* ---- the copy and what is beyond it --------------------------------------------------------- */

static void walk_whole_copy(void) {
        struct remote_space *s = remote_space_new(getpid());

        assert_true(look.n_copy > COPY_BYTES && look.n_copy < COPY_MAX_BYTES);
        check_walk(s, look.n_copy);
        remote_space_free(s);
}

/* As /proc tells where a thread waits: frames of another size each are found all the same. */
static void walk_without_fp(void) {
        look.regs.fp = 0;
        look.regs.is_fp_unknown = true;
        walk_whole_copy();
        look.regs.is_fp_unknown = false;
}

static void test_without_fp(void **state) {
        (void)state;
        recurse(DEPTH, walk_without_fp);
}

static void test_copy_alone(void **state) {
        recurse(DEPTH, walk_whole_copy);
}

#if defined(__x86_64__)
/* As the C library's vfork, behind its system call. Nobody calls it. */
__asm__(".text\n"
        ".type in_vfork, @function\n"
        "in_vfork:\n"
        ".cfi_startproc\n"
        "pop %rdi\n"
        ".cfi_adjust_cfa_offset -8\n"
        ".cfi_register rip, rdi\n"
        "mov $58, %eax\n"
        "syscall\n"
        "behind_vfork:\n"
        "push %rdi\n"
        ".cfi_adjust_cfa_offset 8\n"
        ".cfi_offset rip, -8\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size in_vfork, . - in_vfork\n");
extern const char behind_vfork[];

__attribute__((noinline)) static void take_vfork(void) {
        struct remote_space *s = remote_space_new(getpid());
        struct remote_stack stack = {look.copy, look.n_copy};
        struct remote_regs regs = {.pc = (uint64_t)behind_vfork,
                                   .sp = look.regs.sp,
                                   .fp = look.regs.fp,
                                   .lr = look.regs.pc};
        uint64_t pcs[FRAMES_MAX];
        enum remote_end end;
        size_t n = remote_walk(s, &regs, &stack, pcs, FRAMES_MAX, &end);

        assert_int_equal(end, REMOTE_COMPLETE);
        assert_int_equal(n, look.n_truth + 1);
        assert_int_equal(pcs[0], regs.pc + 1);
        assert_int_equal(pcs[1], look.regs.pc);
        for (size_t i = 2; i < n; i++)
                assert_int_equal(pcs[i], look.truth[i - 1]);
        regs.lr = 0x1234; /* whatever the register has where the code is another */
        remote_walk(s, &regs, &stack, pcs, FRAMES_MAX, &end);
        assert_int_not_equal(end, REMOTE_COMPLETE);
        remote_space_free(s);
}

static void test_vfork(void **state) {
        (void)state;
        recurse(DEPTH, take_vfork);
}
#endif

/* Where the copy ends the walk does: what lies there now may be another call's. */
static void check_cut(struct remote_space *s, size_t n_bytes) {
        struct remote_stack stack = {look.copy, n_bytes};
        uint64_t pcs[FRAMES_MAX];
        enum remote_end end;
        size_t n = remote_walk(s, &look.regs, &stack, pcs, FRAMES_MAX, &end);
        int n_exact = n_handled;

        assert_int_equal(end, REMOTE_CUT);
        assert_true(n > 1 && n < (size_t)look.n_truth);
        for (size_t i = 1; i < n; i++)
                if (pcs[i] != look.truth[i] + 1 || n_exact-- == 0)
                        assert_int_equal(pcs[i], look.truth[i]);
}

/* Of a thread that stands still there is no copy: it is read as it is. */
static void walk_beyond(void) {
        struct remote_space *s = remote_space_new(getpid());

        check_walk(s, 0);
        for (size_t n = COPY_MIN_BYTES; n < COPY_BYTES; n += 1000)
                check_cut(s, n);
        remote_space_free(s);
}

static void test_further_out_than_the_copy(void **state) {
        recurse(DEPTH, walk_beyond);
}

static void walk_few(void) {
        struct remote_space *s = remote_space_new(getpid());
        struct remote_stack stack = {look.copy, COPY_BYTES};
        enum remote_end end = REMOTE_COMPLETE;
        uint64_t pcs[4];

        assert_int_equal(remote_walk(s, &look.regs, &stack, pcs, 4, &end), 4);
        assert_int_equal(end, REMOTE_CUT);
        assert_int_equal(pcs[3], look.truth[3]);
        remote_space_free(s);
}

static void test_more_frames_than_asked_for(void **state) {
        recurse(DEPTH, walk_few);
}

/* Deeper than there is room for: the innermost frames, a mark, and the outermost ones down to the start. */
static void walk_deep(void) {
        enum { ROOM = 2 * REMOTE_OUTER_KEPT + 10 };
        struct remote_space *s = remote_space_new(getpid());
        struct remote_stack stack = {NULL, 0};
        enum remote_end end = REMOTE_COMPLETE;
        uint64_t pcs[ROOM];

        assert_int_equal(remote_walk(s, &look.regs, &stack, pcs, ROOM, &end), ROOM);
        assert_int_equal(end, REMOTE_CUT);
        for (int i = 1; i < ROOM - REMOTE_OUTER_KEPT - 1; i++)
                assert_int_equal(pcs[i], look.truth[i]);
        assert_int_equal(pcs[ROOM - REMOTE_OUTER_KEPT - 1], REMOTE_PC_OMITTED);
        for (int i = 1; i <= REMOTE_OUTER_KEPT; i++)
                assert_int_equal(pcs[ROOM - i], look.truth[look.n_truth - i]);
        remote_space_free(s);
}

static void test_deep(void **state) {
        recurse(DEEP, walk_deep);
}

/* ---- threads and signals -------------------------------------------------------------------- */

static void *thread_main(void *arg) {
        stack_end = (uint64_t)__builtin_frame_address(0) + ABOVE_BYTES;
        recurse(DEPTH, walk_beyond);
        return NULL;
}

static void test_thread(void **state) {
        pthread_t t;

        assert_int_equal(pthread_create(&t, NULL, thread_main, NULL), 0);
        pthread_join(t, NULL);
}

static int n_signals;

static void on_signal(int signal_number) {
        uint64_t before = stack_end;

        stack_end = MIN(stack_end, (uint64_t)__builtin_frame_address(0) + COPY_BYTES);
        n_handled++;
        recurse(3, walk_beyond);
        n_handled--;
        n_signals++;
        stack_end = before;
}

static void raise_signal(void) {
        raise(SIGUSR1);
}

static void test_signal_frame(void **state) {
        struct sigaction sa = {.sa_handler = on_signal};

        sigaction(SIGUSR1, &sa, NULL);
        n_signals = 0;
        recurse(3, raise_signal);
        assert_int_equal(n_signals, 1);
}

/* The handler's frames are on one stack, what they interrupted on another, far from the copy. */
static void test_signal_stack(void **state) {
        struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
        enum { STACK_BYTES = 256 << 10 };
        stack_t stack = {.ss_size = STACK_BYTES};

        /* with room above it */
        stack.ss_sp = mmap(NULL, STACK_BYTES + COPY_BYTES, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        sigaltstack(&stack, NULL);
        sigaction(SIGUSR1, &sa, NULL);
        n_signals = 0;
        recurse(3, raise_signal);
        assert_int_equal(n_signals, 1);
}

/* ---- spaces --------------------------------------------------------------------------------- */

static void test_locate(void **state) {
        struct remote_space *s = remote_space_new(getpid());
        const struct remote_module *here, *libc;
        uint64_t offset = 0, other = 0;

        here = remote_space_locate(s, (uint64_t)recurse + 1, &offset);
        assert_non_null(here);
        assert_non_null(strstr(here->path, "remote_walk_test"));
        assert_int_equal(here->bias + offset, (uint64_t)recurse + 1);
        assert_true(offset < here->size_bytes);
        libc = remote_space_locate(s, (uint64_t)getpid + 1, &other);
        assert_non_null(libc);
        assert_true(libc->build_id_len > 0);
        assert_int_not_equal(libc->id, here->id);
        assert_null(remote_space_locate(s, (uint64_t)&offset, &offset));
        remote_space_free(s);
}

static void test_map_over(void **state) {
        struct remote_space *s = remote_space_new(getpid()), *child;
        uint64_t at = (uint64_t)recurse, offset;
        const struct remote_module *m = remote_space_locate(s, at + 1, &offset);
        unsigned id = m->id;

        child = remote_space_fork(s, getpid());
        remote_space_map(s, at, at + 1, 0, "//anon"); /* in the middle of a mapping */
        assert_null(remote_space_locate(s, at + 1, &offset));
        assert_int_equal(remote_space_locate(s, at, &offset)->id, id);
        assert_int_equal(remote_space_locate(s, at + 2, &offset)->id, id);
        assert_int_equal(remote_space_locate(child, at + 1, &offset)->id, id);
        remote_space_map(s, 4096, UINT64_MAX, 0, "");
        assert_null(remote_space_locate(s, at + 2, &offset));
        remote_space_free(s);
        assert_int_equal(remote_space_locate(child, at + 1, &offset)->id, id);
        remote_space_free(child);
}

static void test_no_process(void **state) {
        struct remote_space *s;
        struct remote_regs regs = {.pc = (uint64_t)recurse, .sp = 4096, .fp = 4096};
        struct remote_stack stack = {NULL, 0};
        enum remote_end end;
        uint64_t pcs[8], offset;
        pid_t pid = fork();

        if (pid == 0)
                _exit(0);
        waitpid(pid, NULL, 0);
        s = remote_space_new(pid);
        assert_null(remote_space_locate(s, (uint64_t)recurse, &offset));
        assert_int_equal(remote_walk(s, &regs, &stack, pcs, 8, &end), 1);
        assert_int_equal(end, REMOTE_CUT);
        remote_space_free(s);
}

/* A process that is gone had another root: what has the path here is another file. */
static void test_other_root(void **state) {
        struct remote_space *own = remote_space_new(getpid()), *like_own, *s;
        uint64_t offset, at = (uint64_t)getpid;
        const struct remote_module *libc;
        char ready = 0;
        int said[2];
        pid_t pid;

        assert_int_equal(pipe(said), 0);
        pid = fork();
        if (pid == 0) {
                ready = chroot("/proc") == 0 ? 'y' : 'n'; /* only root may */
                if (write(said[1], &ready, 1) == 1)
                        pause();
                _exit(0);
        }
        assert_int_equal(read(said[0], &ready, 1), 1);
        s = remote_space_new(pid);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        libc = remote_space_locate(own, at + 1, &offset);
        like_own = remote_space_fork(own, pid);
        remote_space_map(like_own, 4096, 8192, (at - libc->bias) & -UINT64_C(4096), libc->path);
        assert_non_null(remote_space_locate(like_own, 4097, &offset));
        remote_space_map(s, 4096, 8192, (at - libc->bias) & -UINT64_C(4096), libc->path);
        if (ready == 'y')
                assert_null(remote_space_locate(s, 4097, &offset));
        remote_space_free(s);
        remote_space_free(like_own);
        remote_space_free(own);
        close(said[0]);
        close(said[1]);
        if (ready != 'y')
                skip();
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_without_fp),
#if defined(__x86_64__)
                cmocka_unit_test(test_vfork),
#endif
                cmocka_unit_test(test_copy_alone),
                cmocka_unit_test(test_further_out_than_the_copy),
                cmocka_unit_test(test_more_frames_than_asked_for),
                cmocka_unit_test(test_deep),
                cmocka_unit_test(test_thread),
                cmocka_unit_test(test_signal_frame),
                cmocka_unit_test(test_signal_stack),
                cmocka_unit_test(test_locate),
                cmocka_unit_test(test_map_over),
                cmocka_unit_test(test_no_process),
                cmocka_unit_test(test_other_root),
        };

        stack_end = (uint64_t)__builtin_frame_address(0) + ABOVE_BYTES;
        return cmocka_run_group_tests(tests, NULL, NULL);
}
