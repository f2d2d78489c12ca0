/* SPDX-License-Identifier: MIT */
/* Traces kept within a bound hold the same figures as traces without one, at any instant. */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/map.h"
#include "base/system_clock.h"
#include "base/testing/seed.h"
#include "trace/backlog.h"
#include "trace/testing/trace_file.h"

/* ---- what a trace says of a whole recording -------------------------------------------------- */

struct summary {
        trace_counts_vec counts;
        trace_site_vec sites;       /* sums; peak_*: live when the process peaked */
        struct trace_backlog moves; /* sums alone */
        uint64_t n_events, n_with_detail, end_ns;
};

struct reading {
        struct summary *s;
        struct map by_key;
};

static struct trace_counts *counts_at(struct summary *s, uint32_t process) {
        while (s->counts.n <= process) {
                uint32_t next = (uint32_t)s->counts.n;

                vec_add(&s->counts)->process = next;
        }
        return &s->counts.items[process];
}

static struct trace_site *site_at(struct reading *k, uint32_t process, uint32_t stack) {
        bool added;
        uint64_t *place =
                map_put(&k->by_key, (uint64_t)process << 32 | stack, k->s->sites.n, &added);

        if (added) {
                struct trace_site *x = vec_add(&k->s->sites);

                x->process = process;
                x->stack = stack;
        }
        return &k->s->sites.items[*place];
}

/* The rows of the slice in which a process peaks higher than before. */
static void see_peak(struct reading *k, const struct trace_site *rows, size_t n, uint32_t process) {
        for (size_t i = 0; i < n; i++)
                if (rows[i].process == process)
                        site_at(k, process, rows[i].stack);
        for (size_t i = 0; i < k->s->sites.n; i++) {
                struct trace_site *x = &k->s->sites.items[i];

                if (x->process != process)
                        continue;
                x->peak_blocks = (int64_t)(x->n_inherited + x->n_allocs - x->n_frees);
                x->peak_bytes = (int64_t)(x->inherited_bytes + x->alloc_bytes - x->free_bytes);
        }
        for (size_t i = 0; i < n; i++)
                if (rows[i].process == process) {
                        struct trace_site *x = site_at(k, process, rows[i].stack);

                        x->peak_blocks += rows[i].peak_blocks;
                        x->peak_bytes += rows[i].peak_bytes;
                }
}

static void add_sites(struct reading *k, const struct trace_site *rows, size_t n) {
        for (size_t i = 0; i < n; i++) {
                struct trace_site *x = site_at(k, rows[i].process, rows[i].stack);

                x->n_allocs += rows[i].n_allocs, x->alloc_bytes += rows[i].alloc_bytes;
                x->n_frees += rows[i].n_frees, x->free_bytes += rows[i].free_bytes;
                x->n_temporary += rows[i].n_temporary, x->n_reallocs += rows[i].n_reallocs;
                x->n_inherited += rows[i].n_inherited;
                x->inherited_bytes += rows[i].inherited_bytes;
                x->n_inherited_frees += rows[i].n_inherited_frees;
                x->inherited_free_bytes += rows[i].inherited_free_bytes;
                for (int b = 0; b < TRACE_N_LIFE_BUCKETS; b++)
                        x->n_life[b] += rows[i].n_life[b];
        }
}

static int compare_sites(const void *a, const void *b) {
        const struct trace_site *x = a, *y = b;

        if (x->process != y->process)
                return x->process < y->process ? -1 : 1;
        return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static int compare_moves(const void *a, const void *b) {
        const struct trace_move *x = a, *y = b;

        if (x->process != y->process)
                return x->process < y->process ? -1 : 1;
        return x->stack < y->stack ? -1 : x->stack > y->stack;
}

/* From slices alone, so that every row counts. */
static void summary_read(struct summary *s, struct trace_reader *t) {
        struct reading k = {.s = s};
        struct err err = {0};

        *s = (struct summary){0};
        for (size_t i = 0; i < trace_view(t)->n_slices; i++) {
                const struct trace_site *sites;
                const struct trace_counts *counts;
                const struct trace_move *moves = NULL;
                size_t n_sites = 0, n_counts = 0, n_moves = 0;

                if (trace_read_counts(t, i, &counts, &n_counts, &err) < 0 ||
                    trace_read_moves(t, i, &moves, &n_moves, &err) < 0 ||
                    trace_read_sites(t, i, &sites, &n_sites, &err) < 0)
                        fail_msg("%s", err.text);
                trace_backlog_add_moves(&s->moves, moves, n_moves);
                for (size_t c = 0; c < n_counts; c++)
                        if (counts[c].process != TRACE_NO_PROCESS) {
                                if (counts[c].peak_bytes >
                                    counts_at(s, counts[c].process)->peak_bytes)
                                        see_peak(&k, sites, n_sites, counts[c].process);
                                trace_fake_add_counts(counts_at(s, counts[c].process), &counts[c]);
                        }
                add_sites(&k, sites, n_sites);
                s->n_events += trace_slice(t, i)->n_events;
                if (trace_slice(t, i)->has_events)
                        s->n_with_detail += trace_slice(t, i)->n_events;
                s->end_ns = trace_slice(t, i)->end_ns;
        }
        if (s->moves.moves.n)
                qsort(s->moves.moves.items, s->moves.moves.n, sizeof(s->moves.moves.items[0]),
                      compare_moves);
        if (s->sites.n)
                qsort(s->sites.items, s->sites.n, sizeof(s->sites.items[0]), compare_sites);
        map_done(&k.by_key);
}

static void summary_done(struct summary *s) {
        vec_free(&s->counts);
        vec_free(&s->sites);
        trace_backlog_done(&s->moves);
}

static void expect_same(const struct summary *a, const struct summary *b) {
        assert_int_equal(a->n_events, b->n_events);
        assert_int_equal(a->end_ns, b->end_ns);
        assert_int_equal(a->counts.n, b->counts.n);
        assert_memory_equal(a->counts.items, b->counts.items,
                            a->counts.n * sizeof(a->counts.items[0]));
        assert_int_equal(a->sites.n, b->sites.n);
        for (size_t i = 0; i < a->sites.n; i++)
                assert_memory_equal(&a->sites.items[i], &b->sites.items[i],
                                    sizeof(a->sites.items[0]));
        assert_int_equal(a->moves.moves.n, b->moves.moves.n);
        for (size_t i = 0; i < a->moves.moves.n; i++)
                assert_memory_equal(&a->moves.moves.items[i], &b->moves.moves.items[i],
                                    sizeof(a->moves.moves.items[0]));
}

/* ---- thinning -------------------------------------------------------------------------------- */

static struct trace_fake_options program(uint64_t seed, uint32_t n_slices) {
        return (struct trace_fake_options){.seed = seed,
                                           .n_stacks = 30,
                                           .n_threads = 3,
                                           .n_slices = n_slices,
                                           .n_events = 300,
                                           .flags = (uint32_t)seed % 8,
                                           .has_child = seed % 2,
                                           .keep = true};
}

static void write_bounded(const struct trace_fake_options *o, uint64_t max_bytes,
                          uint64_t *ret_n_thinned, uint64_t *ret_n_unwritten) {
        struct trace_writer *w = file_writer(o->flags);
        struct trace_fake f;
        struct err err = {0};

        trace_writer_bound(w, max_bytes);
        trace_fake_run(&f, o, w);
        if (trace_writer_finish(w, &err) < 0 && !ret_n_unwritten)
                fail_msg("%s", err.text);
        *ret_n_thinned = trace_writer_n_thinned(w);
        if (ret_n_unwritten)
                *ret_n_unwritten = trace_writer_n_unwritten(w);
        trace_writer_free(w);
        trace_fake_done(&f);
}

static void summary_of_file(struct summary *s) {
        struct trace_reader *t = file_reader();

        assert_string_equal(trace_view(t)->damage, "");
        summary_read(s, t);
        trace_reader_free(t);
}

static void check_final_checkpoint(const struct summary *s) {
        const struct trace_site *sites;
        const struct trace_counts *counts;
        size_t slice, n_sites, n_counts;
        struct trace_reader *t = file_reader();

        assert_int_equal(trace_read_checkpoint(t, SIZE_MAX, &slice, &sites, &n_sites, &counts,
                                               &n_counts, NULL),
                         0);
        assert_int_equal(slice, trace_view(t)->n_slices - 1);
        assert_int_equal(n_sites, s->sites.n);
        for (size_t i = 0; i < n_sites; i++) {
                assert_int_equal(sites[i].n_allocs, s->sites.items[i].n_allocs);
                assert_int_equal(sites[i].free_bytes, s->sites.items[i].free_bytes);
        }
        trace_reader_free(t);
}

static void test_totals_stay(void **state) {
        for (uint64_t seed = 1; seed <= 8; seed++) {
                struct trace_fake_options o = program(seed, 400);
                uint64_t max_bytes = 80000 + seed * 30000, n_thinned;
                struct summary whole, bounded;
                struct trace_fake f;
                struct stat st;

                file_write(&f, &o);
                trace_fake_done(&f);
                summary_of_file(&whole);
                assert_int_equal(whole.n_with_detail, whole.n_events);
                write_bounded(&o, max_bytes, &n_thinned, NULL);
                file_expect_valid();
                assert_int_equal(stat(file_path, &st), 0);
                assert_in_range(st.st_size, max_bytes / 6, max_bytes);
                assert_true(n_thinned >= 3);
                summary_of_file(&bounded);
                assert_true(bounded.moves.moves.n > 0);
                expect_same(&whole, &bounded);
                assert_in_range(bounded.n_with_detail, 1, bounded.n_events / 2);
                check_final_checkpoint(&bounded);
                summary_done(&whole);
                summary_done(&bounded);
        }
}

/* Old slices are coarse, young ones fine, and the young ones have their events. */
static void test_old_is_coarse(void **state) {
        struct trace_fake_options o = program(2, 1500);
        uint64_t n_thinned, end_ns;
        struct trace_reader *t;
        const struct trace_mapping *mappings;
        bool has_detail = false, has_kill = false;
        size_t n_merged = 0, n_mappings;

        write_bounded(&o, 300000, &n_thinned, NULL);
        t = file_reader();
        end_ns = trace_view(t)->end_ns;
        for (size_t i = 0; i < trace_view(t)->n_slices; i++) {
                const struct trace_slice_info *s = trace_slice(t, i);

                n_merged += s->n_events > o.n_events;
                if (s->n_events > o.n_events)
                        assert_in_range(s->end_ns - s->begin_ns, 1, (end_ns - s->begin_ns) / 2);
                assert_true(s->has_events || !has_detail);
                has_detail |= s->has_events;
        }
        assert_true(has_detail);
        assert_in_range(n_merged, 8, 500);
        assert_int_equal(trace_view(t)->meta.pid, trace_fake_meta.pid);
        assert_int_equal(trace_view(t)->n_notes, 2); /* its own, and one about mappings */
        assert_int_equal(trace_view(t)->n_allocators, 1);
        assert_int_equal(trace_view(t)->n_priors, 1);
        assert_in_range(trace_view(t)->n_rooms, 8, o.n_slices / 4); /* old ones are fewer */
        for (size_t i = 0; i < trace_view(t)->n_rooms; i++)
                has_kill |= trace_view(t)->rooms[i].flags == TRACE_ROOM_KILL;
        assert_true(has_kill);
        assert_int_equal(trace_view(t)->cost.recorder_peak_bytes, 1000000 + o.n_slices - 1);
        if (o.flags & TRACE_IS_SAMPLED)
                assert_int_equal(trace_view(t)->tallies[0].n_allocs, 1000 + o.n_slices - 1);
        assert_non_null(strstr(trace_view(t)->notes[1].text, "old mappings were dropped"));
        assert_int_equal(trace_read_mappings(t, &mappings, &n_mappings, NULL), 0);
        assert_int_equal(n_mappings + strtoull(trace_view(t)->notes[1].text, NULL, 10), o.n_slices);
        assert_string_equal(trace_view(t)->threads[0].name, "worker");
        assert_int_equal(trace_view(t)->n_stacks, o.n_stacks + 1);
        trace_reader_free(t);
}

static bool ends_a_slice(const struct trace_reader *t, uint64_t time_ns) {
        for (size_t i = 0; i < trace_view(t)->n_slices; i++)
                if (trace_slice(t, i)->end_ns == time_ns)
                        return true;
        return false;
}

/* Slices end where somebody will ask, also old ones that were merged; as long as there is room for it. */
static void test_moments_stay(void **state) {
        for (uint32_t every = 1; every <= 125; every *= 5) {
                struct trace_fake_options o = program(2, 1500);
                uint64_t max_bytes = 300000;
                struct trace_writer *w = file_writer(o.flags);
                struct summary bounded;
                size_t n_kept = 0;
                struct trace_reader *t;
                struct trace_fake f;
                struct stat st;

                o.moment_every = every;
                trace_writer_bound(w, max_bytes);
                trace_fake_run(&f, &o, w);
                assert_int_equal(trace_writer_finish(w, NULL), 0);
                assert_true(trace_writer_n_thinned(w) >= 3);
                trace_writer_free(w);
                file_expect_valid();
                assert_int_equal(stat(file_path, &st), 0);
                assert_in_range(st.st_size, 1, max_bytes);
                summary_of_file(&bounded);
                assert_in_range(bounded.n_with_detail, 1, bounded.n_events / 2);
                summary_done(&bounded);
                t = file_reader();
                for (size_t i = 0; i < f.moments.n; i++)
                        n_kept += ends_a_slice(t, f.moments.items[i]);
                assert_int_equal(f.moments.n, 1500 / every);
                if (every == 125)
                        assert_int_equal(n_kept, f.moments.n);
                else if (every == 1) /* too many */
                        assert_in_range(n_kept, 8, f.moments.n - 1);
                else /* what is kept with detail is not all */
                        assert_true(n_kept >= 8);
                trace_reader_free(t);
                trace_fake_done(&f);
        }
}

/* A release of a block whose detail was dropped: site and size in the event, its age by its number. */
static void test_age_of_dropped_blocks(void **state) {
        struct trace_fake_options o = program(2, 600);
        struct trace_fake f, g;
        struct trace_writer *w;
        struct trace_reader *t;
        struct err err = {0};
        VEC(uint64_t) born_ns = {0};
        size_t n_old = 0;

        file_write(&f, &o);
        for (size_t i = 0; i < f.events.n; i++)
                if (f.events.items[i].op == TRACE_ALLOC || f.events.items[i].op == TRACE_REALLOC)
                        vec_push(&born_ns, f.events.items[i].time_ns);
        w = file_writer(o.flags);
        trace_writer_bound(w, 200000);
        trace_fake_run(&g, &o, w);
        assert_int_equal(trace_writer_finish(w, &err), 0);
        trace_writer_free(w);
        t = file_reader();
        assert_in_range(trace_view(t)->detail_from_ns, 1, trace_view(t)->end_ns - 1);
        for (size_t i = 0, at = 0; i < f.slice_ends.n; i++) {
                for (; at < f.slice_ends.items[i]; at++) {
                        const struct trace_event *e = &f.events.items[at];
                        uint64_t begin_ns, end_ns;

                        if (e->op != TRACE_FREE || e->time_ns < trace_view(t)->detail_from_ns ||
                            born_ns.items[e->seq] >= trace_view(t)->detail_from_ns)
                                continue;
                        assert_true(trace_seq_time(t, e->seq, &begin_ns, &end_ns));
                        /* an event in the microsecond that the slice before it ended in is
                         * written as one of the next */
                        assert_in_range(born_ns.items[e->seq], begin_ns ? begin_ns - 1000 : 0,
                                        end_ns - 1);
                        n_old++;
                }
        }
        assert_true(n_old > 0);
        trace_reader_free(t);
        vec_free(&born_ns);
        trace_fake_done(&f);
        trace_fake_done(&g);
}

/* The highest sample stays; of old ones there are few. */
static void test_samples_are_thinned(void **state) {
        struct trace_fake_options o = program(4, 3000);
        const struct trace_sample *s;
        struct trace_reader *t;
        uint64_t n_thinned, last_ns = 0, highest = 0;
        size_t n;

        write_bounded(&o, 300000, &n_thinned, NULL);
        t = file_reader();
        assert_int_equal(trace_read_samples(t, &s, &n, NULL), 0);
        assert_in_range(n, 200, 2000);
        for (size_t i = 0; i < n; i++) {
                assert_true(s[i].time_ns >= last_ns);
                last_ns = s[i].time_ns;
                highest = MAX(highest, s[i].anon_bytes);
        }
        assert_int_equal(highest, 4096u * 100000); /* an old one */
        trace_reader_free(t);
}

/* Of old rows the last of each site stays; those appended behind the copy are there too. */
static void test_residency_is_thinned(void **state) {
        struct trace_fake_options o = program(4, 3000);
        const struct trace_residency *rows;
        struct trace_reader *t;
        uint64_t n_thinned, newest[3] = {0};
        size_t n;

        write_bounded(&o, 300000, &n_thinned, NULL);
        t = file_reader();
        assert_int_equal(trace_read_residency(t, &rows, &n, NULL), 0);
        assert_in_range(n, 2, 2000);
        for (size_t i = 0; i < n; i++) {
                assert_in_range(rows[i].stack, 1, 2);
                assert_true(rows[i].seen.n_blocks > newest[rows[i].stack]);
                newest[rows[i].stack] = rows[i].seen.n_blocks;
        }
        assert_int_equal(newest[1], 3 + 2998); /* one of them is of the last slice */
        assert_int_equal(newest[2], 3 + 2999);
        trace_reader_free(t);
}

/* ---- a bound that cannot be kept by thinning ------------------------------------------------- */

/* A place where the new file cannot take the name: the bound holds all the same, and so do the totals. */
static void test_moved_file(void **state) {
        struct trace_fake_options o = program(3, 400);
        struct trace_writer *w;
        struct summary whole, bounded;
        struct trace_fake f;
        struct err err = {0};
        char moved[80];
        struct stat st;
        int fd;

        file_write(&f, &o);
        trace_fake_done(&f);
        summary_of_file(&whole);

        w = file_writer(o.flags);
        trace_writer_bound(w, 100000);
        assert_int_equal(unlink(file_path), 0);
        fd = open(file_path, O_RDWR | O_CREAT | O_EXCL, 0600); /* somebody else's */
        assert_int_equal(write(fd, "mine", 4), 4);
        close(fd);
        trace_fake_run(&f, &o, w);
        assert_int_equal(trace_writer_finish(w, &err), -EFBIG);
        assert_int_equal(trace_writer_n_thinned(w), 0);
        assert_true(trace_writer_n_unwritten(w) > 0);
        assert_in_range(trace_writer_size_bytes(w), 50000, 100000);
        trace_writer_free(w);
        trace_fake_done(&f);
        assert_int_equal(stat(file_path, &st), 0);
        assert_int_equal(st.st_size, 4);

        /* moved within its directory it is found again */
        snprintf(moved, sizeof(moved), "%s.moved", file_path);
        w = file_writer(o.flags);
        trace_writer_bound(w, 100000);
        assert_int_equal(rename(file_path, moved), 0);
        trace_fake_run(&f, &o, w);
        assert_int_equal(trace_writer_finish(w, &err), 0);
        assert_true(trace_writer_n_thinned(w) > 0);
        trace_writer_free(w);
        trace_fake_done(&f);
        assert_int_equal(rename(moved, file_path), 0);
        summary_of_file(&bounded);
        expect_same(&whole, &bounded);
        summary_done(&whole);
        summary_done(&bounded);
}

/* Definitions alone fill it: totals come at the end. */
static void test_too_small(void **state) {
        struct trace_fake_options o = program(5, 400);
        struct summary whole, bounded;
        uint64_t n_thinned, n_unwritten;
        struct trace_fake f;

        o.n_stacks = 2000;
        o.keep = false;
        file_write(&f, &o);
        trace_fake_done(&f);
        summary_of_file(&whole);
        write_bounded(&o, 40000, &n_thinned, &n_unwritten);
        file_expect_valid();
        assert_true(n_unwritten > 0);
        summary_of_file(&bounded);
        /* without `keep` the made-up program has no figures at its peak */
        for (size_t i = 0; i < whole.sites.n; i++)
                whole.sites.items[i].peak_blocks = whole.sites.items[i].peak_bytes =
                        bounded.sites.items[i].peak_blocks = bounded.sites.items[i].peak_bytes = 0;
        expect_same(&whole, &bounded);
        summary_done(&whole);
        summary_done(&bounded);
}

/* ---- while it is written --------------------------------------------------------------------- */

/* A reader at any moment finds the name, whole slices, and a lock on it. */
static void test_read_while_written(void **state) {
        struct trace_fake_options o = program(6, 1200);
        struct stat st;
        int status, n_reads = 0;
        pid_t child;

        file_store(NULL, 0);
        child = fork();
        assert_true(child >= 0);
        if (child == 0) {
                uint64_t n_thinned;

                write_bounded(&o, 120000, &n_thinned, NULL);
                _exit(n_thinned > 3 ? 0 : 1);
        }
        while (waitpid(child, &status, WNOHANG) == 0) {
                struct summary s;
                struct trace_reader *t = NULL;
                struct err err = {0};

                assert_int_equal(stat(file_path, &st), 0);
                assert_true(st.st_size <= 120000);
                if (trace_reader_open(file_path, &t, &err) < 0)
                        continue; /* nothing in it yet */
                summary_read(&s, t);
                n_reads += s.n_events > 0;
                summary_done(&s);
                trace_reader_free(t);
        }
        assert_int_equal(status, 0);
        assert_true(n_reads > 0);
        file_expect_valid();
}

/* Figures of process 0 at the end of each slice, by its time. */
struct prefix {
        uint64_t end_ns;
        struct trace_counts counts;
};

static size_t make_prefixes(const struct trace_fake_options *o, struct prefix **ret) {
        struct trace_fake f;
        struct trace_counts sum = {0};
        struct trace_reader *t;

        file_write(&f, o);
        t = file_reader();
        *ret = calloc(o->n_slices, sizeof(**ret));
        for (size_t i = 0; i < o->n_slices; i++) {
                trace_fake_add_counts(&sum, &f.slice_counts.items[i].items[0]);
                (*ret)[i] = (struct prefix){trace_slice(t, i)->end_ns, sum};
        }
        trace_reader_free(t);
        trace_fake_done(&f);
        return o->n_slices;
}

static void check_killed(const struct prefix *prefixes, size_t n) {
        struct trace_reader *t = file_reader();
        struct summary s;
        size_t i = 0;
        char text[4096];

        summary_read(&s, t);
        trace_reader_free(t);
        while (i < n && prefixes[i].end_ns != s.end_ns)
                i++;
        if (s.n_events) {
                assert_true(i < n);
                assert_memory_equal(&prefixes[i].counts, &s.counts.items[0],
                                    sizeof(struct trace_counts));
        }
        summary_done(&s);
        /* no more is wrong with it than its end */
        file_verify(text, sizeof(text));
        for (char *line = text; *line; line = strchr(line, '\n') + 1)
                if (line[0] == 'T' && strncmp(line, "T6 ", 3) != 0 &&
                    strncmp(line, "T17 ", 4) != 0 && !strstr(line, "the last slice has no SLIC"))
                        fail_msg("%s", text);
}

static void remove_strays(pid_t writer) {
        char start[32], path[300];
        const char *slash = strrchr(file_path, '/');
        int dir_len = (int)(slash - file_path);
        struct dirent *e;
        DIR *d;

        snprintf(path, sizeof(path), "%.*s", dir_len, file_path);
        d = opendir(path);
        snprintf(start, sizeof(start), ".silt-%d-", (int)writer);
        while (d && (e = readdir(d)))
                if (!strncmp(e->d_name, start, strlen(start))) {
                        snprintf(path, sizeof(path), "%.*s/%.200s", dir_len, file_path, e->d_name);
                        unlink(path);
                }
        closedir(d);
}

static uint64_t inode_of_file(void) {
        struct stat st;

        return stat(file_path, &st) == 0 ? st.st_ino : 0;
}

static void write_until_killed(const struct trace_fake_options *o, int ready_fd) {
        struct trace_writer *w = file_writer(o->flags);
        struct trace_fake f;

        trace_writer_bound(w, 100000);
        if (write(ready_fd, "", 1) != 1)
                _exit(1);
        trace_fake_run(&f, o, w);
        _exit(0);
}

/* A writer of its own process, killed after so many milliseconds unless it has ended; -1: not killed. True: the file under the
 * name is another one than at the start. */
static bool write_and_kill(const struct trace_fake_options *o, int after_ms) {
        struct pollfd end = {.events = POLLIN};
        int status, ready[2];
        uint64_t inode;
        pid_t child;
        char byte;

        assert_int_equal(pipe(ready), 0);
        child = fork();
        assert_true(child >= 0);
        if (child == 0)
                write_until_killed(o, ready[1]);
        assert_int_equal(read(ready[0], &byte, 1), 1);
        end.fd = ready[0];
        inode = inode_of_file();
        close(ready[1]);
        poll(&end, 1, after_ms);
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        remove_strays(child);
        close(ready[0]);
        return inode_of_file() != inode;
}

/* SIGKILL at any instant, copies included: under the name stands a trace with the figures of a prefix. */
static void test_killed(void **state) {
        const char *rounds = getenv("SILT_BOUND_KILLS");
        struct trace_fake_options o = program(8, 500);
        uint64_t random = 0x2545f4914f6cdd1dull ^ seed_of_run(), n_swapped = 0;
        struct prefix *prefixes;
        size_t n = make_prefixes(&o, &prefixes);
        uint64_t begin_ms = clock_now_ms(), whole_ms;

        assert_true(write_and_kill(&o, -1));
        whole_ms = clock_now_ms() - begin_ms + 1;
        for (int i = 0; i < (rounds ? atoi(rounds) : 40); i++) {
                n_swapped += write_and_kill(&o, (int)(trace_fake_random(&random) % whole_ms));
                check_killed(prefixes, n);
        }
        assert_true(n_swapped > 0);
        free(prefixes);
}

/* What counts is what a graph takes of the file, packed. */
static void test_graphs_within_a_part(void **state) {
        enum { PART_BYTES = 1 << 16, LARGE_BYTES = 4 * PART_BYTES };
        uint8_t *bytes = calloc(LARGE_BYTES, 1);
        struct trace_writer *w = file_writer(0);
        struct trace_graph g = {.n_bytes = LARGE_BYTES};
        uint64_t random = 7;

        (void)state;
        trace_writer_bound(w, 36 * PART_BYTES);
        assert_true(trace_put_graph(w, &g, bytes));
        for (size_t i = 0; i < LARGE_BYTES; i++)
                bytes[i] = (uint8_t)((random = random * 6364136223846793005u + 1) >> 56);
        assert_false(trace_put_graph(w, &g, bytes));
        g.n_bytes = PART_BYTES / 2;
        assert_true(trace_put_graph(w, &g, bytes));
        trace_writer_free(w);
        free(bytes);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_totals_stay),
                cmocka_unit_test(test_old_is_coarse),
                cmocka_unit_test(test_moments_stay),
                cmocka_unit_test(test_age_of_dropped_blocks),
                cmocka_unit_test(test_samples_are_thinned),
                cmocka_unit_test(test_residency_is_thinned),
                cmocka_unit_test(test_moved_file),
                cmocka_unit_test(test_too_small),
                cmocka_unit_test(test_read_while_written),
                cmocka_unit_test(test_killed),
                cmocka_unit_test(test_graphs_within_a_part),
        };

        return cmocka_run_group_tests(tests, file_setup, file_teardown);
}
