/* SPDX-License-Identifier: MIT */
/* Walks from outside of a program that runs, against elfutils' over the same copies, and what they take.
 *
 *     bench-remote [--stack BYTES] [--rate HZ] [--no-oracle] [--show N] PROG ARGS…
 *
 *  complete …  how walks ended; frames on average
 *  ns a walk   as they come, with rows and words that no cache has; and each once more
 *  equal       libdwfl walks the same frames, to where the copy ends
 *  longer      one of the two goes on where the other ends, on the same frames
 *  differ      the two go different ways: --show prints the first of these, outermost frame first */

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system_clock.h"
#include "base/vec.h"
#include "remote/remote_walk.h"

enum { RING_BYTES = 16 << 20, FRAMES_MAX = 512, CPUS_MAX = 256, REGS_MAX = 40 };

#if defined(__aarch64__)
#define REGS_MASK ((UINT64_C(1) << 33) - 1)
#else
#define REGS_MASK UINT64_C(0xff0fff)
#endif

struct ring {
        int fd;
        struct perf_event_mmap_page *page;
        uint64_t n_read;
};

struct sample {
        uint64_t regs[REGS_MAX]; /* in the kernel's order, without gaps */
        const uint8_t *stack;
        size_t n_stack;
};

static struct ring rings[CPUS_MAX];
static int n_rings;
static pid_t target;
static struct remote_space *space;
static bool has_oracle = true;
static long n_show = 3;
static unsigned stack_bytes = 65528;
static uint64_t rate_hz = 1000;

static uint64_t n_walks, n_frames, first_ns, walk_ns, n_ends[4], n_lost, n_skipped;
static uint64_t n_equal, n_ours_longer, n_theirs_longer, n_differ;
static VEC(uint64_t) times;

/* ---- elfutils ------------------------------------------------------------------------------- */

static Dwfl *dwfl;
static struct sample *sample; /* being walked */
static uint64_t theirs[FRAMES_MAX];
static size_t n_theirs;
static bool is_report_old = true;

static uint64_t reg_sp(const struct sample *s) {
#if defined(__aarch64__)
        return s->regs[31];
#else
        return s->regs[7];
#endif
}

static pid_t oracle_thread(Dwfl *d, void *arg, void **thread) {
        if (*thread)
                return 0;
        *thread = arg;
        return target;
}

static bool oracle_read(Dwfl *d, Dwarf_Addr addr, Dwarf_Word *ret, void *arg) {
        uint64_t off = addr - reg_sp(sample);

        if (off > sample->n_stack || sample->n_stack - off < sizeof(*ret))
                return false;
        memcpy(ret, sample->stack + off, sizeof(*ret));
        return true;
}

static bool oracle_registers(Dwfl_Thread *thread, void *arg) {
#if defined(__aarch64__)
        Dwarf_Word pc = sample->regs[32];

        dwfl_thread_state_register_pc(thread, pc);
        return dwfl_thread_state_registers(thread, 0, 32, sample->regs);
#else
        /* the kernel: ax bx cx dx si di bp sp ip flags cs ss r8…; DWARF: ax dx cx bx si di bp sp r8… ip */
        const uint64_t *k = sample->regs;
        Dwarf_Word regs[17] = {k[0],  k[3],  k[2],  k[1],  k[4],  k[5],  k[6],  k[7], k[12],
                               k[13], k[14], k[15], k[16], k[17], k[18], k[19], k[8]};

        return dwfl_thread_state_registers(thread, 0, 17, regs);
#endif
}

static int oracle_frame(Dwfl_Frame *frame, void *arg) {
        Dwarf_Addr pc;
        bool is_activation;

        if (n_theirs == FRAMES_MAX || !dwfl_frame_pc(frame, &pc, &is_activation))
                return DWARF_CB_ABORT;
        theirs[n_theirs++] = pc + is_activation;
        return DWARF_CB_OK;
}

static void oracle_walk(void) {
        static const Dwfl_Thread_Callbacks calls = {
                .next_thread = oracle_thread,
                .memory_read = oracle_read,
                .set_initial_registers = oracle_registers,
        };
        static const Dwfl_Callbacks files = {
                .find_elf = dwfl_linux_proc_find_elf,
                .find_debuginfo = dwfl_standard_find_debuginfo,
        };

        n_theirs = 0;
        if (is_report_old) {
                if (dwfl)
                        dwfl_end(dwfl);
                dwfl = dwfl_begin(&files);
                if (dwfl_linux_proc_report(dwfl, target) != 0 ||
                    dwfl_report_end(dwfl, NULL, NULL) != 0 ||
                    !dwfl_attach_state(dwfl, NULL, target, &calls, (void *)&target))
                        has_oracle = false;
                is_report_old = false;
        }
        if (has_oracle)
                dwfl_getthread_frames(dwfl, target, oracle_frame, NULL);
}

/* ---- samples -------------------------------------------------------------------------------- */

static void show(const char *what, const uint64_t *pcs, size_t n) {
        printf("  %s", what);
        for (size_t i = 0; i < n; i++) {
                uint64_t offset = 0;
                const struct remote_module *m = remote_space_locate(space, pcs[i], &offset);
                const char *slash = m ? strrchr(m->path, '/') : NULL;

                printf(" %s+%" PRIx64, m ? (slash ? slash + 1 : m->path) : "?",
                       m ? offset : pcs[i]);
        }
        putchar('\n');
}

static void compare(const uint64_t *ours, size_t n_ours, enum remote_end end) {
        static const char *const ends[] = {"ours, complete:", "ours, cut:", "ours, guessed:",
                                           "ours, lost:"};
        size_t n = n_ours < n_theirs ? n_ours : n_theirs, i = 0;

        while (i < n && ours[i] == theirs[i])
                i++;
        if (i < n && ++n_differ && n_show-- > 0) {
                printf("differ at %zu\n", i);
                show(ends[end], ours, n_ours);
                show("theirs:", theirs, n_theirs);
        }
        if (i < n)
                return;
        if (n_ours == n_theirs)
                n_equal++;
        else if (n_ours > n_theirs)
                n_ours_longer++;
        else if (++n_theirs_longer && n_show-- > 0) {
                show(ends[end], ours, n_ours);
                show("theirs is longer:", theirs, n_theirs);
        }
}

static void walk(struct sample *s) {
        uint64_t pcs[FRAMES_MAX], begin, took;
        struct remote_stack stack = {s->stack, s->n_stack};
        struct remote_regs regs;
        enum remote_end end;
        size_t n;

#if defined(__aarch64__)
        regs = (struct remote_regs){s->regs[32], s->regs[31], s->regs[29], s->regs[30]};
#else
        regs = (struct remote_regs){.pc = s->regs[8], .sp = s->regs[7], .fp = s->regs[6]};
#endif
        begin = clock_now_ns();
        n = remote_walk(space, &regs, &stack, pcs, FRAMES_MAX, &end);
        first_ns += clock_now_ns() - begin;
        begin = clock_now_ns();
        remote_walk(space, &regs, &stack, pcs, FRAMES_MAX, &end);
        took = clock_now_ns() - begin;
        walk_ns += took;
        vec_push(&times, took);
        n_walks++;
        n_frames += n;
        n_ends[end]++;
        if (end != REMOTE_COMPLETE && n_show > 0 && getenv("SHOW_ENDS") && n_show--) {
                printf("end %u\n", (unsigned)end);
                show("", pcs, n);
        }
        if (!has_oracle)
                return;
        sample = s;
        oracle_walk();
        if (has_oracle)
                compare(pcs, n, end);
}

/* tid, time, the registers' ABI and the registers, the stack's size, the stack, and how much of it there is */
static void read_sample(const uint8_t *p, const uint8_t *end) {
        const uint32_t *ids = (const uint32_t *)p;
        const uint64_t *words = (const uint64_t *)(p + 8);
        size_t n_regs = (size_t)__builtin_popcountll(REGS_MASK);
        struct sample s;

        if ((pid_t)ids[0] != target || words[0] == 0) {
                n_skipped++;
                return;
        }
        memcpy(s.regs, words + 1, n_regs * 8);
        words += 1 + n_regs;
        s.stack = (const uint8_t *)(words + 1);
        s.n_stack = words[0] ? *(const uint64_t *)(s.stack + words[0]) : 0;
        walk(&s);
}

static void read_mapping(const uint8_t *p) {
        const uint32_t *ids = (const uint32_t *)p;
        const uint64_t *words = (const uint64_t *)(p + 8);

        if ((pid_t)ids[0] != target)
                return;
        remote_space_map(space, words[0], words[0] + words[1], words[2], (const char *)(p + 64));
        is_report_old = true;
}

static void read_record(const struct perf_event_header *h) {
        const uint8_t *p = (const uint8_t *)(h + 1), *end = (const uint8_t *)h + h->size;

        if (h->type == PERF_RECORD_SAMPLE)
                read_sample(p, end);
        else if (h->type == PERF_RECORD_MMAP2)
                read_mapping(p);
        else if (h->type == PERF_RECORD_LOST)
                n_lost++;
}

static void drain(struct ring *r) {
        uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
        const uint8_t *data = (const uint8_t *)r->page + 4096;
        static uint8_t copy[1 << 17];

        while (r->n_read < head) {
                const struct perf_event_header *h = (const void *)(data + r->n_read % RING_BYTES);
                uint64_t size = h->size, at = r->n_read % RING_BYTES;

                if (at + size > RING_BYTES) {
                        memcpy(copy, data + at, RING_BYTES - at);
                        memcpy(copy + (RING_BYTES - at), data, size - (RING_BYTES - at));
                        h = (const void *)copy;
                }
                read_record(h);
                r->n_read += size;
                __atomic_store_n(&r->page->data_tail, r->n_read, __ATOMIC_RELEASE);
        }
}

/* ---- the program ---------------------------------------------------------------------------- */

static bool open_rings(void) {
        struct perf_event_attr a = {
                .type = PERF_TYPE_SOFTWARE,
                .size = sizeof(a),
                .config = PERF_COUNT_SW_CPU_CLOCK,
                .sample_period = 1000000000 / rate_hz,
                .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
                .sample_regs_user = REGS_MASK,
                .sample_stack_user = stack_bytes,
                .disabled = 1,
                .inherit = 1,
                .enable_on_exec = 1,
                .mmap = 1,
                .mmap2 = 1,
        };

        for (int cpu = 0; cpu < CPUS_MAX && cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++) {
                int fd = (int)syscall(SYS_perf_event_open, &a, target, cpu, -1,
                                      PERF_FLAG_FD_CLOEXEC);
                void *page;

                if (fd < 0)
                        return false;
                page = mmap(NULL, RING_BYTES + 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
                if (page == MAP_FAILED)
                        return false;
                rings[n_rings++] = (struct ring){fd, page, 0};
        }
        return true;
}

static int by_size(const void *a, const void *b) {
        uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

        return x < y ? -1 : x > y;
}

static void print_all(void) {
        double n = n_walks ? (double)n_walks : 1;
        uint64_t n_compared = n_equal + n_ours_longer + n_theirs_longer + n_differ;

        qsort(times.items, times.n, sizeof(times.items[0]), by_size);
        printf("walks %" PRIu64
               ", %.1f frames; complete %.2f %%, cut %.2f %%, guessed %.2f %%, lost %.2f %%; lost records %" PRIu64
               ", of others %" PRIu64 "\n",
               n_walks, (double)n_frames / n, 100 * (double)n_ends[REMOTE_COMPLETE] / n,
               100 * (double)n_ends[REMOTE_CUT] / n, 100 * (double)n_ends[REMOTE_GUESSED] / n,
               100 * (double)n_ends[REMOTE_LOST] / n, n_lost, n_skipped);
        if (times.n)
                printf("ns a walk: %.0f; again: mean %.0f, median %" PRIu64 ", p90 %" PRIu64 "\n",
                       (double)first_ns / n, (double)walk_ns / n, times.items[times.n / 2],
                       times.items[times.n * 9 / 10]);
        if (n_compared)
                printf("libdwfl: equal %" PRIu64 ", ours longer %" PRIu64 ", theirs longer %" PRIu64
                       ", differ %" PRIu64 "\n",
                       n_equal, n_ours_longer, n_theirs_longer, n_differ);
}

int main(int argc, char **argv) {
        int go[2], i, status, timeout_ms = 10;
        struct pollfd polled[CPUS_MAX];
        char c = 0;

        for (i = 1; i < argc && argv[i][0] == '-'; i++)
                if (!strcmp(argv[i], "--stack") && i + 1 < argc)
                        stack_bytes = (unsigned)atoi(argv[++i]);
                else if (!strcmp(argv[i], "--rate") && i + 1 < argc)
                        rate_hz = (uint64_t)atoi(argv[++i]);
                else if (!strcmp(argv[i], "--show") && i + 1 < argc)
                        n_show = atoi(argv[++i]);
                else if (!strcmp(argv[i], "--no-oracle"))
                        has_oracle = false;
        if (i >= argc || pipe(go) != 0) {
                fprintf(stderr,
                        "usage: bench-remote [--stack BYTES] [--rate HZ] [--no-oracle] [--show N] PROG ARGS…\n");
                return 2;
        }
        target = fork();
        if (target == 0) {
                close(go[1]);
                if (read(go[0], &c, 1) == 1)
                        execvp(argv[i], argv + i);
                _exit(127);
        }
        if (!open_rings()) {
                perror("perf_event_open");
                return 2;
        }
        space = remote_space_new(target);
        if (write(go[1], &c, 1) != 1)
                return 2;
        for (int r = 0; r < n_rings; r++)
                polled[r] = (struct pollfd){rings[r].fd, POLLIN, 0};
        while (waitpid(target, &status, WNOHANG) == 0) {
                poll(polled, (nfds_t)n_rings, timeout_ms);
                for (int r = 0; r < n_rings; r++)
                        drain(&rings[r]);
        }
        for (int r = 0; r < n_rings; r++)
                drain(&rings[r]);
        print_all();
        return 0;
}
