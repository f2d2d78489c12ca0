/* SPDX-License-Identifier: MIT */
/* Makes stacks of every kind and compares, at each of them, the remembered walk with a plain one,
 * and a sample of them with libgcc's.
 *
 *     walk_stress [STACKS [THREADS]]
 *
 * Prints counts; exits 1 at the first difference, and says which. */

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
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unwind.h>

extern "C" {
#include "unwind/unwind.h"
}

namespace {

constexpr uint32_t kDepthMax = 20000; /* of the plain walk */
constexpr int kCoroutines = 5;
constexpr size_t kCoroutineStackBytes = 256 << 10;
constexpr int kSampleEvery = 499; /* stacks per comparison with libgcc */

enum Scenario { kTree, kThrow, kJump, kCoroutine, kSignal, kTimer, kDeep, kScenarios };
const char *const kScenarioNames[kScenarios] = {"tree",   "throw", "longjmp", "coroutine",
                                                "signal", "timer", "deep"};

struct Counts {
        std::atomic<uint64_t> stacks[kScenarios], ends[4], libgcc, kept, fresh, gaps, modules;
};
Counts g_counts;
std::atomic<uint64_t> g_left;
std::atomic<uint32_t> g_unload_every;

struct Coroutine {
        ucontext_t context;
        void *stack;
        bool done;
};

/* Everything a thread needs; no C++ thread_local with constructors: handlers use it. */
struct Thread {
        unwind_walker *walker;
        uint64_t mirror[UNWIND_DEPTH_MAX +
                        UNWIND_FRESH_MAX]; /* outermost first, from deltas alone */
        uint32_t n_mirror;
        uint64_t plain[kDepthMax];
        uint64_t rng;
        volatile sig_atomic_t in_probe;
        Scenario scenario;
        uint32_t n_probes;
        jmp_buf jump;
        ucontext_t scheduler;
        Coroutine coroutines[kCoroutines];
        int current;
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

void unmap_pages(void *pages, size_t size_bytes) {
        munmap(pages, size_bytes);
}

void on_module(void *, const unwind_module *) {
        g_counts.modules++;
}

[[noreturn]] void fail(const char *what, uint32_t n_plain) {
        Thread *t = t_thread;

        fprintf(stderr, "walk_stress: %s in '%s'\n  remembered (%u):", what,
                kScenarioNames[t->scenario], t->n_mirror);
        for (uint32_t i = 0; i < t->n_mirror && i < 40; i++)
                fprintf(stderr, " %lx", (unsigned long)t->mirror[t->n_mirror - 1 - i]);
        fprintf(stderr, "\n  plain (%u):", n_plain);
        for (uint32_t i = 0; i < n_plain && i < 40; i++)
                fprintf(stderr, " %lx", (unsigned long)t->plain[i]);
        fprintf(stderr, "\n");
        if (FILE *maps = fopen("/proc/self/maps", "r")) {
                char line[512];

                while (fgets(line, sizeof(line), maps))
                        if (strstr(line, "r-x") || strstr(line, "r--p 00000000"))
                                fputs(line, stderr);
        }
        _exit(1);
}

void apply_delta(Thread *t, const unwind_delta &d) {
        if (d.n_kept > t->n_mirror || d.depth != d.n_kept + d.n_new || d.depth > UNWIND_DEPTH_MAX)
                fail("impossible delta", 0);
        for (uint32_t i = 0; i < d.n_new; i++)
                t->mirror[d.n_kept + i] = d.pcs[d.n_new - 1 - i];
        t->n_mirror = d.depth;
}

/* The remembered stack against the true one. A cut stack is the inner part of the truth, and, after
 * the marker, its outer part. */
void compare_plain(Thread *t, uint8_t end, uint8_t plain_end, uint32_t n_plain) {
        bool has_gap = false;

        for (uint32_t i = 0; i < t->n_mirror; i++) {
                uint64_t pc = t->mirror[t->n_mirror - 1 - i];
                uint32_t n_after = t->n_mirror - 1 - i;

                if (pc == UNWIND_PC_OMITTED) {
                        if (end != UNWIND_END_CUT || has_gap || n_after > n_plain)
                                fail("misplaced marker", n_plain);
                        for (uint32_t k = 0; k < n_after; k++)
                                if (t->mirror[n_after - 1 - k] != t->plain[n_plain - n_after + k])
                                        fail("outer frames differ", n_plain);
                        has_gap = true;
                        g_counts.gaps++;
                        break;
                }
                if (i >= n_plain || pc != t->plain[i])
                        fail("frames differ", n_plain);
        }
        if (end == UNWIND_END_CUT ? t->n_mirror < UNWIND_FRESH_MAX / 2
                                  : t->n_mirror != n_plain || end != plain_end)
                fail("depth or end differs", n_plain);
}

struct Backtrace {
        uint64_t first;
        uint32_t n, n_plain;
        bool differs;
};

_Unwind_Reason_Code on_libgcc_frame(_Unwind_Context *context, void *arg) {
        auto *b = static_cast<Backtrace *>(arg);
        int is_exact = 0;
        uint64_t pc = _Unwind_GetIPInfo(context, &is_exact) + 0ul;

        pc += static_cast<uint64_t>(is_exact != 0);
        if (b->n == 0 && pc != b->first)
                return _URC_NO_REASON; /* still inside the probe */
        if (b->n >= b->n_plain)
                return _URC_END_OF_STACK;
        if (t_thread->plain[b->n] != pc)
                b->differs = true;
        b->n++;
        return b->differs ? _URC_END_OF_STACK : _URC_NO_REASON;
}

/* libgcc is an oracle as far as our stack goes. Where a coroutine begins it may see more frames than
 * there are; where an arbitrary instruction was interrupted it follows CFI that may be wrong. */
void compare_libgcc(Thread *t, uint8_t end, uint32_t n_plain) {
        Backtrace b = {t->plain[0], 0, n_plain, false};

        if (end != UNWIND_END_COMPLETE)
                return;
        _Unwind_Backtrace(on_libgcc_frame, &b);
        if (b.differs || b.n != n_plain) {
                fprintf(stderr, "walk_stress: libgcc sees %u frames\n", b.n);
                fail("libgcc sees another stack", n_plain);
        }
        g_counts.libgcc++;
}

/* Stands where an allocator's hook stands. */
__attribute__((noinline)) void probe() {
        Thread *t = t_thread;
        unwind_regs regs;
        unwind_delta d;
        uint32_t n_plain;
        uint8_t plain_end;

        UNWIND_HERE(&regs);
        t->in_probe = 1;
        std::atomic_signal_fence(std::memory_order_seq_cst);
        t->n_probes++;
        if (t->n_probes % 1009 == 0)
                unwind_forget(t->walker);
        if (g_unload_every != 0 && t->n_probes % g_unload_every == 0)
                unwind_modules_changed();
        unwind_walk(t->walker, &regs, &d);
        apply_delta(t, d);
        n_plain = unwind_walk_once(&regs, t, t->plain, kDepthMax, &plain_end);
        compare_plain(t, d.end, plain_end, n_plain);
        if (t->n_probes % kSampleEvery == 0 && t->scenario != kTimer && n_plain < 2000)
                compare_libgcc(t, plain_end, n_plain);
        g_counts.stacks[t->scenario]++;
        g_counts.ends[d.end]++;
        g_counts.kept += d.n_kept;
        g_counts.fresh += d.n_new;
        g_left--;
        std::atomic_signal_fence(std::memory_order_seq_cst);
        t->in_probe = 0;
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
                c->stack = map_pages(kCoroutineStackBytes);
        getcontext(&c->context);
        c->context.uc_stack.ss_sp = c->stack;
        c->context.uc_stack.ss_size = kCoroutineStackBytes;
        c->context.uc_link = nullptr;
        c->done = false;
        makecontext(&c->context, coroutine_main, 0);
}

/* Some die half way and their stacks go away: nothing remembered of them may be read again. */
void coroutine_renew(Coroutine *c) {
        if (random_below(3) == 0) {
                munmap(c->stack, kCoroutineStackBytes);
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
                munmap(c.stack, kCoroutineStackBytes);
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
        if (t_thread && !t_thread->in_probe && t_thread->scenario == kTimer)
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

        setitimer(ITIMER_REAL, &on, nullptr);
        for (int i = 0; i < 2000; i++)
                t_thread->sink = reinterpret_cast<void *>(busy(random_below(12)));
        setitimer(ITIMER_REAL, &off, nullptr);
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
        auto *t = static_cast<Thread *>(map_pages(sizeof(Thread)));
        stack_t alt = {};

        t->walker = static_cast<unwind_walker *>(map_pages(unwind_walker_size()));
        t->rng = 88172645463325252ull + number * 977;
        t->current = -1;
        unwind_walker_init(t->walker, t);
        t_thread = t;
        alt.ss_size = 128 << 10;
        alt.ss_sp = map_pages(alt.ss_size);
        sigaltstack(&alt, nullptr);
        while (static_cast<int64_t>(g_left.load()) > 0) {
                /* the timer is the process's: one thread plays with it; deep stacks are slow */
                uint32_t pick = random_below(100);
                Scenario s = pick < 2 ? kDeep : static_cast<Scenario>(pick % kTimer);

                if (number == 0 && pick == 2)
                        s = kTimer;
                run_scenario(s);
        }
        unwind_walker_done(t->walker);
        t_thread = nullptr;
        return nullptr;
}

void set_handler(int signal, void (*handler)(int), int flags) {
        struct sigaction sa = {};

        sa.sa_handler = handler;
        sa.sa_flags = flags;
        sigaction(signal, &sa, nullptr);
}

void print_counts() {
        uint64_t total = 0;

        for (int i = 0; i < kScenarios; i++) {
                printf("%-10s %10lu stacks\n", kScenarioNames[i],
                       (unsigned long)g_counts.stacks[i]);
                total += g_counts.stacks[i];
        }
        printf("%-10s %10lu stacks equal to a plain walk, %lu of a sample equal to libgcc's\n",
               "all", (unsigned long)total, (unsigned long)g_counts.libgcc);
        printf("ends: %lu complete, %lu cut, %lu guessed, %lu lost; %lu with a gap\n",
               (unsigned long)g_counts.ends[UNWIND_END_COMPLETE],
               (unsigned long)g_counts.ends[UNWIND_END_CUT],
               (unsigned long)g_counts.ends[UNWIND_END_GUESS],
               (unsigned long)g_counts.ends[UNWIND_END_LOST], (unsigned long)g_counts.gaps);
        printf("frames: %lu kept, %lu new; modules announced: %lu\n", (unsigned long)g_counts.kept,
               (unsigned long)g_counts.fresh, (unsigned long)g_counts.modules);
}

} // namespace

int main(int argc, char **argv) {
        unsigned long n_stacks = argc > 1 ? strtoul(argv[1], nullptr, 0) : 1000000;
        long n_threads = argc > 2 ? strtol(argv[2], nullptr, 0) : 3;
        pthread_t threads[64];
        unwind_env env = {};

        env.map_pages = map_pages;
        env.unmap_pages = unmap_pages;
        env.on_module = on_module;
        env.vdso_begin = getauxval(AT_SYSINFO_EHDR);
        env.main_stack_end = getauxval(AT_RANDOM);
        if (n_threads < 1 || n_threads > 64 || unwind_init(&env) < 0)
                return 2;
        g_left = n_stacks;
        g_unload_every = 30011;
        set_handler(SIGUSR1, on_signal, SA_NODEFER);
        set_handler(SIGUSR2, on_signal, SA_ONSTACK);
        set_handler(SIGALRM, on_timer, SA_RESTART);
        for (long i = 1; i < n_threads; i++)
                pthread_create(&threads[i], nullptr, thread_main, reinterpret_cast<void *>(i));
        thread_main(nullptr);
        for (long i = 1; i < n_threads; i++)
                pthread_join(threads[i], nullptr);
        print_counts();
        return 0;
}
