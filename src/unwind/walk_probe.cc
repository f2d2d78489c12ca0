/* SPDX-License-Identifier: MIT */
#include "unwind/walk_probe.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>

extern "C" {
#include "unwind/unwind.h"
}

namespace {

constexpr uint32_t kDepthMax = 20000; /* of the plain walk */
constexpr uint32_t kLibgccEvery = 499;
constexpr uint32_t kLibgccDepthMax = 2000;
constexpr uint32_t kForgetEvery = 1009;
constexpr uint32_t kUnloadEvery = 30011; /* as if an object had been unloaded */

struct Counts {
        std::atomic<uint64_t> stacks, ends[4], libgcc, kept, fresh, gaps, modules;
};
Counts g_counts;
std::atomic<int64_t> g_left;

/* Plain memory, no constructors: signal handlers use it. */
struct Thread {
        unwind_walker *walker;
        uint64_t mirror[UNWIND_DEPTH_MAX]; /* outermost first, put together from deltas alone */
        uint32_t n_mirror;
        uint64_t plain[kDepthMax];
        uint32_t n_plain;
        uint32_t n_probes;
        volatile sig_atomic_t is_inside;
        bool no_libgcc;
};
__thread Thread *t_thread;

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

void print_pcs(const char *what, const uint64_t *pcs, int step, uint32_t n) {
        fprintf(stderr, "  %s (%u):", what, n);
        for (uint32_t i = 0; i < n && i < 40; i++)
                fprintf(stderr, " %lx",
                        static_cast<unsigned long>(pcs[static_cast<int>(i) * step]));
        fprintf(stderr, "\n");
}

[[noreturn]] void fail(const char *what) {
        Thread *t = t_thread;

        fprintf(stderr, "walk_probe: %s\n", what);
        print_pcs("remembered", t->mirror + t->n_mirror - 1, -1, t->n_mirror);
        print_pcs("plain", t->plain, 1, t->n_plain);
        if (FILE *maps = fopen("/proc/self/maps", "r")) {
                char line[512];

                while (fgets(line, sizeof(line), maps))
                        if (strstr(line, "r-x"))
                                fputs(line, stderr);
        }
        _exit(1);
}

void apply_delta(Thread *t, const unwind_delta &d) {
        if (d.n_kept > t->n_mirror || d.depth != d.n_kept + d.n_new || d.depth > UNWIND_DEPTH_MAX)
                fail("impossible delta");
        for (uint32_t i = 0; i < d.n_new; i++)
                t->mirror[d.n_kept + i] = d.pcs[d.n_new - 1 - i];
        t->n_mirror = d.depth;
}

/* What comes after the marker is the outer end of the truth. */
void compare_outer(Thread *t, uint32_t n_outer) {
        if (n_outer > t->n_plain)
                fail("misplaced marker");
        for (uint32_t i = 0; i < n_outer; i++)
                if (t->mirror[i] != t->plain[t->n_plain - 1 - i])
                        fail("outer frames differ");
        g_counts.gaps++;
}

/* A whole stack is the truth; a cut one is its inner part. */
void compare_plain(Thread *t, uint8_t end, uint8_t plain_end) {
        for (uint32_t i = 0; i < t->n_mirror; i++) {
                uint64_t pc = t->mirror[t->n_mirror - 1 - i];

                if (pc == UNWIND_PC_OMITTED && end == UNWIND_END_CUT) {
                        compare_outer(t, t->n_mirror - 1 - i);
                        break;
                }
                if (i >= t->n_plain || pc != t->plain[i])
                        fail("frames differ");
        }
        if (end == UNWIND_END_CUT ? t->n_mirror < UNWIND_FRESH_MAX / 2
                                  : t->n_mirror != t->n_plain || end != plain_end)
                fail("depth or end differs");
}

struct Backtrace {
        uint32_t n;
        bool differs;
};

_Unwind_Reason_Code on_libgcc_frame(_Unwind_Context *context, void *arg) {
        auto *b = static_cast<Backtrace *>(arg);
        Thread *t = t_thread;
        int is_exact = 0;
        uint64_t pc = _Unwind_GetIPInfo(context, &is_exact);

        pc += is_exact != 0 ? 1 : 0;
        if (b->n == 0 && pc != t->plain[0])
                return _URC_NO_REASON; /* still inside the probe */
        if (b->n >= t->n_plain)
                return _URC_END_OF_STACK; /* it may see frames beyond a coroutine's first */
        b->differs = t->plain[b->n] != pc;
        b->n++;
        return b->differs ? _URC_END_OF_STACK : _URC_NO_REASON;
}

void compare_libgcc(Thread *t) {
        Backtrace b = {0, false};

        _Unwind_Backtrace(on_libgcc_frame, &b);
        if (b.differs || b.n != t->n_plain) {
                fprintf(stderr, "walk_probe: libgcc agrees on %u frames\n", b.n);
                fail("libgcc sees another stack");
        }
        g_counts.libgcc++;
}

void count(const unwind_delta &d) {
        g_counts.stacks++;
        g_counts.ends[d.end]++;
        g_counts.kept += d.n_kept;
        g_counts.fresh += d.n_new;
        g_left--;
}

} // namespace

void walk_probe() {
        Thread *t = t_thread;
        unwind_regs regs;
        unwind_delta d;
        uint8_t plain_end;

        UNWIND_HERE(&regs);
        t->is_inside = 1;
        std::atomic_signal_fence(std::memory_order_seq_cst);
        t->n_probes++;
        if (t->n_probes % kForgetEvery == 0)
                unwind_forget(t->walker);
        if (t->n_probes % kUnloadEvery == 0)
                unwind_modules_changed();
        unwind_walk(t->walker, &regs, &d);
        apply_delta(t, d);
        t->n_plain = unwind_walk_once(&regs, t, t->plain, kDepthMax, &plain_end);
        compare_plain(t, d.end, plain_end);
        if (t->n_probes % kLibgccEvery == 0 && !t->no_libgcc && t->n_plain < kLibgccDepthMax &&
            plain_end == UNWIND_END_COMPLETE)
                compare_libgcc(t);
        count(d);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        t->is_inside = 0;
}

void walk_probe_init(uint64_t n_stacks) {
        unwind_env env = {};

        env.map_pages = map_pages;
        env.unmap_pages = unmap_pages;
        env.on_module = on_module;
        env.find_object = dlsym(RTLD_DEFAULT, "_dl_find_object");
        env.find_object = reinterpret_cast<void *>(_dl_find_object);
        env.vdso_begin = getauxval(AT_SYSINFO_EHDR);
        env.main_phdrs = getauxval(AT_PHDR);
        env.n_main_phdrs = getauxval(AT_PHNUM);
        env.main_stack_end = getauxval(AT_RANDOM);
        if (unwind_init(&env) < 0)
                abort();
        g_left = static_cast<int64_t>(n_stacks);
}

void walk_probe_thread_begin() {
        auto *t = static_cast<Thread *>(map_pages(sizeof(Thread)));
        auto *w = static_cast<unwind_walker *>(map_pages(unwind_walker_size()));

        if (!t || !w)
                abort();
        t->walker = w;
        unwind_walker_init(w, t);
        t_thread = t;
}

void walk_probe_thread_end() {
        Thread *t = t_thread;

        t_thread = nullptr;
        unwind_walker_done(t->walker);
        unmap_pages(t->walker, unwind_walker_size());
        unmap_pages(t, sizeof(Thread));
}

int64_t walk_probe_left() {
        return g_left;
}

int walk_probe_is_inside() {
        return !t_thread || t_thread->is_inside;
}

void walk_probe_set_libgcc(int is_oracle) {
        t_thread->no_libgcc = is_oracle == 0;
}

void walk_probe_print_all() {
        auto get = [](const std::atomic<uint64_t> &n) { return static_cast<unsigned long>(n); };

        printf("%lu stacks equal to a plain walk, %lu of a sample equal to libgcc's\n",
               get(g_counts.stacks), get(g_counts.libgcc));
        printf("ends: %lu complete, %lu cut, %lu guessed, %lu lost; %lu with a gap\n",
               get(g_counts.ends[UNWIND_END_COMPLETE]), get(g_counts.ends[UNWIND_END_CUT]),
               get(g_counts.ends[UNWIND_END_GUESS]), get(g_counts.ends[UNWIND_END_LOST]),
               get(g_counts.gaps));
        printf("frames: %lu kept, %lu new; modules announced: %lu\n", get(g_counts.kept),
               get(g_counts.fresh), get(g_counts.modules));
}
