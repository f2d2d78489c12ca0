/* SPDX-License-Identifier: MIT */
/* Days of a made-up server in minutes: the recorder's real pipeline and writer, with the clock compressed. 50,000 call
 * paths, four threads, a live set that grows. Bursts of a million events a second, then a trickle, then nothing, again and
 * again. Checks the finished trace against its own books, and prints them as JSON.
 *
 *   long_run FILE MILLIONS [BOUND_MB [FOLDER [SEED]]]
 *
 * Without a bound, or with 0, the trace is kept whole. With a FOLDER call paths are deep, functions have names, and their source is
 * written there.
 *
 * Exit status 0: totals, every call path's figures and (with a bound) size and memory are right; 1: not. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system_clock.h"
#include "base/vec.h"
#include "long_run_names.h"
#include "pipeline/testing/fake_target.h"
#include "trace/reader.h"
#include "trace/writer.h"

enum {
        N_SITES = 50000,
        N_HOT_SITES = 4000,
        N_THREADS = 4,
        PER_PUMP = 4096,
        CYCLE_EVENTS = 1000000,
        BURST_EVENTS = 900000,
        BURST_STEP_NS = 1000,
        TRICKLE_STEP_NS = 250000,
        SLICE_NS = 250000000,
        LIVE_PER_MILLION = 2000, /* blocks that stay, for a million events */
        MAX_BLOCK_BYTES = 64,    /* of the recorder's memory, for a live block */
        MAX_RECORDER_BYTES = 200000000,
};

#define PAUSE_NS 200000000000ull

struct site_books {
        uint64_t n_allocs, alloc_bytes, n_frees, free_bytes;
};

struct block {
        uint64_t address;
        uint32_t site, size_bytes;
};

struct run {
        struct fake_target target;
        struct fake_thread threads[N_THREADS];
        struct trace_writer *writer;
        const char *path, *folder; /* folder NULL: no names */
        uint64_t bound_bytes, random, next_slice_ns, next_address;
        struct site_books sites[N_SITES];
        struct site_books all;
        VEC(struct block) live;
        VEC(uint64_t) idle; /* addresses */
        uint64_t live_bytes, peak_bytes, max_file_bytes;
        uint64_t n_wrong;
};

static uint64_t draw(struct run *r, uint64_t below) {
        r->random ^= r->random << 13;
        r->random ^= r->random >> 7;
        r->random ^= r->random << 17;
        return (uint64_t)((unsigned __int128)r->random * below >> 64);
}

static void wrong(struct run *r, const char *what, uint64_t is, uint64_t want) {
        fprintf(stderr, "long_run: %s: %llu, not %llu\n", what, (unsigned long long)is,
                (unsigned long long)want);
        r->n_wrong++;
}

static void expect(struct run *r, const char *what, uint64_t is, uint64_t want) {
        if (is != want)
                wrong(r, what, is, want);
}

static void expect_at_most(struct run *r, const char *what, uint64_t is, uint64_t most) {
        if (is > most)
                wrong(r, what, is, most);
}

/* ---- the program ----------------------------------------------------------------------------- */

static void run_alloc(struct run *r, struct fake_thread *t) {
        uint32_t site = (uint32_t)(draw(r, 8) ? draw(r, N_HOT_SITES) : draw(r, N_SITES));
        struct block b = {.site = site,
                          .size_bytes =
                                  16 + site % 29 * 8 + (site % 3 ? 0 : (uint32_t)draw(r, 2000))};

        if (r->idle.n)
                b.address = r->idle.items[--r->idle.n];
        else
                b.address = r->next_address += 4096;
        if (r->folder) {
                uint64_t pcs[DEEP_FRAMES];

                deep_path(site, pcs);
                fake_put_stack(t, r->target.now, WIRE_ALLOC, (uint64_t[]){b.address, b.size_bytes},
                               2, pcs, DEEP_FRAMES, WIRE_END_COMPLETE);
        } else {
                fake_alloc(t, r->target.now, b.address, b.size_bytes, site * 16);
        }
        vec_push(&r->live, b);
        r->sites[site].n_allocs++;
        r->sites[site].alloc_bytes += b.size_bytes;
        r->all.n_allocs++;
        r->all.alloc_bytes += b.size_bytes;
        r->live_bytes += b.size_bytes;
        if (r->live_bytes > r->peak_bytes)
                r->peak_bytes = r->live_bytes;
}

/* Most blocks die young. */
static void run_free(struct run *r, struct fake_thread *t) {
        size_t near = MIN(r->live.n, (size_t)64), back = draw(r, draw(r, 8) ? near : r->live.n);
        struct block *last = &r->live.items[r->live.n - 1], *at = last - back, b = *at;

        *at = *last;
        r->live.n--;
        fake_free(t, r->target.now, b.address);
        vec_push(&r->idle, b.address);
        r->sites[b.site].n_frees++;
        r->sites[b.site].free_bytes += b.size_bytes;
        r->all.n_frees++;
        r->all.free_bytes += b.size_bytes;
        r->live_bytes -= b.size_bytes;
}

static void run_see_file(struct run *r) {
        struct stat st;

        if (r->bound_bytes && stat(r->path, &st) == 0)
                r->max_file_bytes = MAX(r->max_file_bytes, (uint64_t)st.st_size);
}

static void run_event(struct run *r, uint64_t n) {
        uint64_t step_ns = n % CYCLE_EVENTS < BURST_EVENTS ? BURST_STEP_NS : TRICKLE_STEP_NS;
        uint64_t want_live = 1000 + n * LIVE_PER_MILLION / 1000000;
        struct fake_thread *t = &r->threads[n / 16 % N_THREADS];

        r->target.now += step_ns;
        if (n && n % CYCLE_EVENTS == 0)
                r->target.now += PAUSE_NS;
        if (r->live.n == 0 || (r->live.n < want_live ? draw(r, 4) != 0 : draw(r, 4) == 0))
                run_alloc(r, t);
        else
                run_free(r, t);
        if (n % PER_PUMP == 0 || r->target.now >= r->next_slice_ns)
                pipeline_pump(r->target.pipeline);
        if (r->target.now >= r->next_slice_ns) {
                pipeline_end_slice(r->target.pipeline, r->target.now, false);
                r->next_slice_ns = r->target.now + SLICE_NS;
                run_see_file(r);
        }
}

/* ---- the books against the trace ------------------------------------------------------------- */

static int books_compare(const void *a, const void *b) {
        return memcmp(a, b, sizeof(struct site_books));
}

/* The trace does not know which site was which: both lists are sorted. */
static void check_sites(struct run *r, const struct trace_site *sites, size_t n) {
        VEC(struct site_books) theirs = {0}, ours = {0};
        size_t n_wrong = 0;

        for (size_t i = 0; i < n; i++)
                vec_push(&theirs, (struct site_books){sites[i].n_allocs, sites[i].alloc_bytes,
                                                      sites[i].n_frees, sites[i].free_bytes});
        for (size_t i = 0; i < N_SITES; i++)
                if (r->sites[i].n_allocs)
                        vec_push(&ours, r->sites[i]);
        expect(r, "call paths", theirs.n, ours.n);
        qsort(theirs.items, theirs.n, sizeof(theirs.items[0]), books_compare);
        qsort(ours.items, ours.n, sizeof(ours.items[0]), books_compare);
        for (size_t i = 0; i < MIN(theirs.n, ours.n); i++)
                n_wrong += books_compare(&theirs.items[i], &ours.items[i]) != 0;
        expect(r, "call paths with other figures", n_wrong, 0);
        vec_free(&theirs);
        vec_free(&ours);
}

static void check_trace(struct run *r) {
        const struct trace_site *sites;
        const struct trace_counts *counts;
        size_t slice, n_sites, n_counts;
        struct trace_reader *t = NULL;
        struct err e = {0};

        if (trace_reader_open(r->path, &t, &e) < 0 ||
            trace_read_checkpoint(t, SIZE_MAX, &slice, &sites, &n_sites, &counts, &n_counts, &e) <
                    0) {
                fprintf(stderr, "long_run: %s\n", e.text);
                exit(1);
        }
        expect(r, "slice of the last checkpoint", slice, trace_view(t)->n_slices - 1);
        expect(r, "rows of counts", n_counts, 1);
        expect(r, "allocations", counts[0].n_allocs, r->all.n_allocs);
        expect(r, "bytes", counts[0].alloc_bytes, r->all.alloc_bytes);
        expect(r, "frees", counts[0].n_frees, r->all.n_frees);
        expect(r, "implicit frees", counts[0].n_implicit_frees, 0);
        expect(r, "lost", counts[0].n_lost, 0);
        expect(r, "live blocks", counts[0].live_blocks, r->live.n);
        expect(r, "live bytes", counts[0].live_bytes, r->live_bytes);
        expect(r, "peak", counts[0].peak_bytes, r->peak_bytes);
        expect(r, "events", trace_view(t)->n_events, r->all.n_allocs + r->all.n_frees);
        expect(r, "unwritten events", trace_view(t)->n_unwritten_events, 0);
        check_sites(r, sites, n_sites);
        trace_reader_free(t);
}

/* What was resident at most. getrusage would tell that of whoever started this program, if that was more. */
static uint64_t peak_resident_bytes(void) {
        unsigned long long kb = 0;
        char line[256];
        FILE *f = fopen("/proc/self/status", "re");

        while (f && !kb && fgets(line, sizeof(line), f))
                sscanf(line, "VmHWM: %llu", &kb);
        if (f)
                fclose(f);
        return kb * 1024;
}

/* Everything but what this program itself keeps, and the memory it shares with itself. */
static uint64_t recorder_bytes(const struct run *r) {
        struct pipeline_stats s;

        pipeline_get_stats(r->target.pipeline, &s);
        return peak_resident_bytes() - sizeof(*r) - r->live.n * sizeof(r->live.items[0]) -
               r->idle.n * sizeof(r->idle.items[0]) - s.lent_bytes;
}

static double cpu_s(void) {
        return (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9;
}

static void print_books(struct run *r, uint64_t memory_bytes) {
        struct stat st = {0};

        stat(r->path, &st);
        printf("{\"allocations\": %llu, \"frees\": %llu, \"bytes_allocated\": %llu, \"peak_live_bytes\": %llu, "
               "\"end_live_bytes\": %llu, \"end_live_blocks\": %zu, \"file_bytes\": %llu, \"max_file_bytes\": %llu, "
               "\"thinned\": %llu, \"recorder_bytes\": %llu, \"recorded_h\": %.1f, \"cpu_s\": %.1f}\n",
               (unsigned long long)r->all.n_allocs, (unsigned long long)r->all.n_frees,
               (unsigned long long)r->all.alloc_bytes, (unsigned long long)r->peak_bytes,
               (unsigned long long)r->live_bytes, r->live.n, (unsigned long long)st.st_size,
               (unsigned long long)r->max_file_bytes,
               (unsigned long long)trace_writer_n_thinned(r->writer),
               (unsigned long long)memory_bytes, (double)r->target.now / 3600e9, cpu_s());
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void run_open(struct run *r) {
        static const char *const args[] = {"server", "--days"};
        struct trace_meta meta = {.pid = 101,
                                  .page_bytes = 4096,
                                  .silt_version = "",
                                  .host = "",
                                  .cwd = "",
                                  .n_args = 2,
                                  .args = args};
        struct pipeline_config config = {0};
        int fd = open(r->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        struct err e = {0};
        uint32_t idx;

        if (fd < 0 || trace_writer_open(fd, &meta, &r->writer, &e) < 0) {
                fprintf(stderr, "long_run: cannot write '%s'\n", r->path);
                exit(2);
        }
        if (r->bound_bytes)
                trace_writer_bound(r->writer, r->bound_bytes);
        config.max_slice_events = trace_slice_max_events(r->writer);
        fake_target_init(&r->target, r->writer, &config);
        idx = fake_add_image(&r->target, r->writer);
        r->target.now = 1000000;
        for (uint32_t i = 0; i < N_THREADS; i++)
                fake_add_thread(&r->target, &r->threads[i], idx, 101 + i);
}

int main(int argc, char **argv) {
        struct run *r = calloc(1, sizeof(*r));
        uint64_t n_events, memory_bytes;
        struct err e = {0};

        if (!r || argc < 3)
                return 2;
        r->path = argv[1];
        r->folder = argc > 4 ? argv[4] : NULL;
        r->random = 88172645463325252ull + (argc > 5 ? strtoull(argv[5], NULL, 10) : 0);
        r->next_address = 0xaaaa00000000ull;
        r->bound_bytes = argc > 3 ? strtoull(argv[3], NULL, 10) << 20 : 0;
        n_events = strtoull(argv[2], NULL, 10) * 1000000;
        run_open(r);
        for (uint64_t n = 0; n < n_events; n++)
                run_event(r, n);
        fake_settle(&r->target);
        pipeline_finish(r->target.pipeline, r->target.now);
        if (trace_writer_finish(r->writer, &e) < 0) {
                fprintf(stderr, "long_run: %s\n", e.text);
                r->n_wrong++;
        }
        run_see_file(r);
        memory_bytes = recorder_bytes(r);
        check_trace(r);
        if (r->folder && deep_names(r->path, r->folder, &e) < 0) {
                fprintf(stderr, "long_run: %s\n", e.text);
                r->n_wrong++;
        }
        print_books(r, memory_bytes);
        if (r->bound_bytes) {
                expect_at_most(r, "file", r->max_file_bytes, r->bound_bytes);
                expect_at_most(r, "memory", memory_bytes,
                               r->live.n * MAX_BLOCK_BYTES + MAX_RECORDER_BYTES);
        }
        fake_target_done(&r->target);
        trace_writer_free(r->writer);
        return r->n_wrong ? 1 : 0;
}
