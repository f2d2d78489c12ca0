/* SPDX-License-Identifier: MIT */
/* Makes stacks of every kind, with a probe in each.
 *
 *     walk_stress [STACKS [THREADS]]
 *
 * Prints counts; exits 1 at the first difference, and says which (walk_probe.h). */

#include "unwind/walk_probe.h"

#include <alloca.h>
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

extern "C" {
#include "unwind/unwind.h"
}

namespace {

constexpr int kCoroutines = 5;
constexpr size_t kStackBytes = 256 << 10;

enum Scenario { kTree, kThrow, kJump, kCoroutine, kSignal, kSwitch, kTimer, kDeep, kScenarios };
const char *const kScenarioNames[kScenarios] = {"tree",   "throw",  "longjmp", "coroutine",
                                                "signal", "switch", "timer",   "deep"};
std::atomic<uint64_t> g_stacks[kScenarios];

struct Coroutine {
        ucontext_t context;
        void *stack;
        bool done;
};

/* Everything a thread needs; no C++ thread_local with constructors: handlers use it. */
struct Thread {
        uint64_t rng;
        Scenario scenario;
        jmp_buf jump;
        ucontext_t scheduler;
        Coroutine coroutines[kCoroutines];
        int current;
        void *stacks[4]; /* for call_on_stack */
        int n_stacks_used;
        void *sink;
};
__thread Thread *t_thread;

uint32_t random_below(uint32_t n) {
        uint64_t &x = t_thread->rng;

        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        return static_cast<uint32_t>((x >> 20) % n);
}

void *map_pages(size_t size_bytes) {
        void *p = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                       0);

        return p == MAP_FAILED ? nullptr : p;
}

/* Inlined: the probe's caller is the code under test. */
__attribute__((always_inline)) inline void probe() {
        walk_probe();
        g_stacks[t_thread->scenario]++;
}

/* ---- a random call tree: many functions, frames of many shapes ------------------------------- */

struct Guard { /* a destructor that runs while an exception passes */
        ~Guard() {
                probe();
        }
};

void descend(int depth);

template <int N>
__attribute__((noinline)) int node(int depth, long a, long b) {
        volatile char pad[8 + N * 24];
        long acc = a * N + b;

        pad[N] = static_cast<char>(acc);
        if constexpr (N % 4 == 1) { /* a frame pointer is needed */
                t_thread->sink = alloca(16 + random_below(200));
        }
        if constexpr (N % 8 == 3) { /* the stack is realigned */
                alignas(64) volatile long wide[8];

                wide[N % 8] = acc;
                acc += wide[N % 8];
        }
        if (random_below(3) == 0)
                probe();
        if constexpr (N % 5 == 2) {
                Guard guard;

                descend(depth - 1);
        } else {
                descend(depth - 1);
        }
        if constexpr (N % 3 == 0) {
                if (random_below(2) == 0)
                        descend(depth - 2);
        }
        if (random_below(4) == 0)
                probe();
        return static_cast<int>(acc) + pad[N];
}

int by_qsort(const void *a, const void *b) {
        if (random_below(4) == 0)
                probe();
        return memcmp(a, b, 1);
}

void through_libc() {
        char bytes[24];

        for (char &c : bytes)
                c = static_cast<char>(random_below(256));
        qsort(bytes, sizeof(bytes), 1, by_qsort);
}

/* Calls fn with the stack pointer at stack_end, as Rust's stacker does. */
extern "C" void walk_stress_call_on_stack(void (*fn)(), void *stack_end);
#if defined(__aarch64__)
__asm__(".text\n.p2align 2\n.globl walk_stress_call_on_stack\n"
        ".type walk_stress_call_on_stack, %function\n"
        "walk_stress_call_on_stack:\n.cfi_startproc\nhint #34\n"
        "stp x29, x30, [sp, #-16]!\n.cfi_def_cfa_offset 16\n"
        ".cfi_offset x29, -16\n.cfi_offset x30, -8\n"
        "mov x29, sp\n.cfi_def_cfa x29, 16\n"
        "mov sp, x1\nblr x0\nmov sp, x29\n.cfi_def_cfa sp, 16\n"
        "ldp x29, x30, [sp], #16\n.cfi_def_cfa_offset 0\n.cfi_restore x29\n.cfi_restore x30\n"
        "ret\n.cfi_endproc\n.size walk_stress_call_on_stack, . - walk_stress_call_on_stack\n");
#else
__asm__(".text\n.globl walk_stress_call_on_stack\n.type walk_stress_call_on_stack, @function\n"
        "walk_stress_call_on_stack:\n.cfi_startproc\n"
        "push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\n"
        "mov %rsp, %rbp\n.cfi_def_cfa_register %rbp\n"
        "mov %rsi, %rsp\ncall *%rdi\nmov %rbp, %rsp\n"
        "pop %rbp\n.cfi_def_cfa %rsp, 8\n"
        "ret\n.cfi_endproc\n.size walk_stress_call_on_stack, . - walk_stress_call_on_stack\n");
#endif

void below_the_switch() {
        descend(2 + static_cast<int>(random_below(8)));
}

__attribute__((noinline)) void on_another_stack() {
        Thread *t = t_thread;
        void *&stack = t->stacks[t->n_stacks_used];

        if (!stack)
                stack = map_pages(kStackBytes);
        t->n_stacks_used++;
        walk_stress_call_on_stack(below_the_switch, static_cast<char *>(stack) + kStackBytes);
        t->n_stacks_used--;
        if (random_below(4) == 0) {
                munmap(stack, kStackBytes);
                stack = nullptr;
        }
        probe();
}

__attribute__((noinline)) void descend(int depth) {
        Thread *t = t_thread;
        int (*const nodes[])(int, long, long) = {
                node<0>, node<1>, node<2>,  node<3>,  node<4>,  node<5>,  node<6>,  node<7>,
                node<8>, node<9>, node<10>, node<11>, node<12>, node<13>, node<14>, node<15>,
        };

        if (depth <= 0) {
                if (t->scenario == kThrow && random_below(3) == 0)
                        throw std::runtime_error("thrown");
                if (t->scenario == kJump && random_below(8) == 0)
                        longjmp(t->jump, 1);
                if (t->scenario == kSignal && random_below(2) == 0)
                        raise(random_below(2) ? SIGUSR1 : SIGUSR2);
                if (t->scenario == kSwitch && t->n_stacks_used < 4 && random_below(2) == 0)
                        on_another_stack();
                if (t->scenario == kCoroutine && t->current >= 0 && random_below(2) == 0)
                        swapcontext(&t->coroutines[t->current].context, &t->scheduler);
                if (random_below(16) == 0)
                        through_libc();
                probe();
                return;
        }
        if (t->scenario == kThrow && random_below(6) == 0) {
                try {
                        nodes[random_below(16)](depth, depth, 1);
                } catch (const std::runtime_error &e) {
                        probe();
                        if (random_below(2) == 0)
                                throw;
                        t->sink = const_cast<char *>(e.what());
                }
                probe();
                return;
        }
        nodes[random_below(16)](depth, depth, 2);
}

/* ---- scenarios ------------------------------------------------------------------------------ */

void run_throw() {
        try {
                descend(3 + static_cast<int>(random_below(24)));
        } catch (const std::runtime_error &) {
                probe();
        }
}

__attribute__((noinline)) void run_jump() {
        if (setjmp(t_thread->jump) == 0)
                descend(3 + static_cast<int>(random_below(24)));
        probe();
}

void coroutine_main() {
        Thread *t = t_thread;

        for (int i = 0; i < 3; i++)
                descend(2 + static_cast<int>(random_below(8)));
        t->coroutines[t->current].done = true;
        swapcontext(&t->coroutines[t->current].context, &t->scheduler);
}

void coroutine_make(Coroutine *c) {
        if (!c->stack)
                c->stack = map_pages(kStackBytes);
        getcontext(&c->context);
        c->context.uc_stack.ss_sp = c->stack;
        c->context.uc_stack.ss_size = kStackBytes;
        c->context.uc_link = nullptr;
        c->done = false;
        makecontext(&c->context, coroutine_main, 0);
}

/* Some die half way and their stacks go away: nothing remembered of them may be read again. */
void coroutine_renew(Coroutine *c) {
        if (random_below(3) == 0) {
                munmap(c->stack, kStackBytes);
                c->stack = nullptr;
        }
        coroutine_make(c);
}

__attribute__((noinline)) void run_coroutines() {
        Thread *t = t_thread;

        for (Coroutine &c : t->coroutines)
                coroutine_make(&c);
        for (int i = 0; i < 60; i++) {
                t->current = static_cast<int>(random_below(kCoroutines));
                swapcontext(&t->scheduler, &t->coroutines[t->current].context);
                if (t->coroutines[t->current].done || random_below(20) == 0)
                        coroutine_renew(&t->coroutines[t->current]);
                t->current = -1;
                if (random_below(3) == 0)
                        probe();
        }
        for (Coroutine &c : t->coroutines) {
                munmap(c.stack, kStackBytes);
                c.stack = nullptr;
        }
}

__attribute__((noinline)) void in_handler(int depth) {
        if (depth > 0)
                in_handler(depth - 1);
        probe();
        std::atomic_signal_fence(std::memory_order_seq_cst);
}

/* qemu-user 7.2 enters handlers on x86_64 with a stack that is not aligned as the ABI says. */
#if defined(__x86_64__)
#define HANDLER __attribute__((force_align_arg_pointer))
#else
#define HANDLER
#endif

HANDLER void on_signal(int) {
        in_handler(static_cast<int>(random_below(5)));
}

HANDLER void on_timer(int) {
        if (t_thread && !walk_probe_is_inside() && t_thread->scenario == kTimer)
                in_handler(1);
}

/* Code that a timer interrupts anywhere, prologues and epilogues included, libc's among them. */
__attribute__((noinline)) long busy(long n) {
        char text[64];
        long sum = n;

        if (n > 0)
                sum += busy(n - 1);
        snprintf(text, sizeof(text), "%ld %s", sum, "interrupted");
        return sum + text[0] + atol(text);
}

__attribute__((noinline)) void run_timer() {
        struct itimerval on = {{0, 100}, {0, 100}}, off = {{0, 0}, {0, 0}};

        walk_probe_set_libgcc(0);
        setitimer(ITIMER_REAL, &on, nullptr);
        for (int i = 0; i < 2000; i++)
                t_thread->sink = reinterpret_cast<void *>(busy(random_below(12)));
        setitimer(ITIMER_REAL, &off, nullptr);
        walk_probe_set_libgcc(1);
        probe();
}

__attribute__((noinline)) long fall(int depth, int probe_above) {
        volatile char pad[40];
        long r = 0;

        pad[0] = 0;
        if (depth < probe_above || random_below(200) == 0)
                probe();
        if (depth > 0)
                r = fall(depth - 1, probe_above) + 1;
        if (depth < probe_above || random_below(100) == 0)
                probe();
        if (depth % 97 == 0 && random_below(4) == 0)
                descend(4);
        return r + pad[0];
}

void run_deep() {
        fall(static_cast<int>(random_below(8 * UNWIND_DEPTH_MAX)),
             static_cast<int>(random_below(30)));
        fall(static_cast<int>(random_below(3 * UNWIND_DEPTH_MAX)), UNWIND_DEPTH_MAX);
}

void run_scenario(Scenario s) {
        t_thread->scenario = s;
        switch (s) {
        case kTree:
        case kSwitch:
        case kSignal: descend(3 + static_cast<int>(random_below(30))); break;
        case kThrow: run_throw(); break;
        case kJump: run_jump(); break;
        case kCoroutine: run_coroutines(); break;
        case kTimer: run_timer(); break;
        case kDeep: run_deep(); break;
        case kScenarios: break;
        }
}

void *thread_main(void *arg) {
        uint64_t number = reinterpret_cast<uintptr_t>(arg);
        Thread t = {};
        stack_t alt = {};

        t.rng = 88172645463325252ull + number * 977;
        t.current = -1;
        walk_probe_thread_begin();
        t_thread = &t;
        alt.ss_size = 128 << 10;
        alt.ss_sp = map_pages(alt.ss_size);
        sigaltstack(&alt, nullptr);
        while (walk_probe_left() > 0) {
                /* deep stacks are slow; the timer is the process's: one thread plays with it */
                uint32_t pick = random_below(100);

                if (number == 0 && pick == 0)
                        run_scenario(kTimer);
                else
                        run_scenario(pick < 3 ? kDeep : static_cast<Scenario>(pick % kTimer));
        }
        t_thread = nullptr;
        walk_probe_thread_end();
        return nullptr;
}

void set_handler(int signal, void (*handler)(int), int flags) {
        struct sigaction sa = {};

        sa.sa_handler = handler;
        sa.sa_flags = flags;
        sigaction(signal, &sa, nullptr);
}

} // namespace

int main(int argc, char **argv) {
        unsigned long n_stacks = argc > 1 ? strtoul(argv[1], nullptr, 0) : 1000000;
        long n_threads = argc > 2 ? strtol(argv[2], nullptr, 0) : 3;
        pthread_t threads[64];

        if (n_threads < 1 || n_threads > 64)
                return 2;
        walk_probe_init(n_stacks);
        set_handler(SIGUSR1, on_signal, SA_NODEFER);
        set_handler(SIGUSR2, on_signal, SA_ONSTACK);
        set_handler(SIGALRM, on_timer, SA_RESTART);
        for (long i = 1; i < n_threads; i++)
                pthread_create(&threads[i], nullptr, thread_main, reinterpret_cast<void *>(i));
        thread_main(nullptr);
        for (long i = 1; i < n_threads; i++)
                pthread_join(threads[i], nullptr);
        for (int i = 0; i < kScenarios; i++)
                printf("%-10s %10lu stacks\n", kScenarioNames[i],
                       static_cast<unsigned long>(g_stacks[i]));
        walk_probe_print_all();
        return 0;
}
