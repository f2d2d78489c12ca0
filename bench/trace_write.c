/* SPDX-License-Identifier: MIT */
/* Writes the events and rows of a trace that is there again: what the writer alone costs, and how many bytes an event takes.
 * usage: bench_trace_write FILE OUT [TURNS [worker]] */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/system_clock.h"
#include "base/vec.h"
#include "trace/reader.h"
#include "trace/writer.h"

struct slice {
        VEC(struct trace_event) events;
        VEC(struct trace_site) sites;
        VEC(struct trace_counts) counts;
        uint64_t end_ns;
};

typedef VEC(struct slice) slice_vec;

static double now_s(clockid_t clock) {
        return (double)clock_ns(clock) / 1e9;
}

static void die(const struct err *e) {
        fprintf(stderr, "trace_write: %s\n", e->text);
        exit(1);
}

#define TAKE(to, from, number)                                                                     \
        do {                                                                                       \
                vec_reserve(to, number);                                                           \
                if (number)                                                                        \
                        memcpy((to)->items, from, (number) * sizeof(*(from)));                     \
                (to)->n = number;                                                                  \
        } while (0)

static void load(struct trace_reader *t, slice_vec *to) {
        for (size_t i = 0; i < trace_view(t)->n_slices; i++) {
                const struct trace_event *events;
                const struct trace_site *sites;
                const struct trace_counts *counts;
                size_t n, n_sites, n_counts;
                struct slice *s = vec_add(to);
                struct err err;

                if (trace_read_events(t, i, &events, &n, &err) < 0 ||
                    trace_read_sites(t, i, &sites, &n_sites, &err) < 0 ||
                    trace_read_counts(t, i, &counts, &n_counts, &err) < 0)
                        die(&err);
                TAKE(&s->events, events, n);
                TAKE(&s->sites, sites, n_sites);
                TAKE(&s->counts, counts, n_counts);
                s->end_ns = trace_slice(t, i)->end_ns;
        }
}

static void put_event(struct trace_writer *w, const struct trace_event *e) {
        switch (e->op) {
        case TRACE_ALLOC:
                trace_put_alloc(w, e->thread, e->time_ns, e->stack, e->size_bytes, e->address);
                break;
        case TRACE_FREE:
                trace_put_free(w, e->thread, e->time_ns, e->seq, e->stack, e->size_bytes,
                               e->free_stack);
                break;
        case TRACE_REALLOC:
                trace_put_realloc(w, e->thread, e->time_ns, e->old_seq, e->old_stack,
                                  e->old_size_bytes, e->stack, e->size_bytes, e->address);
                break;
        default:
                trace_put_other(w, e->thread, e->time_ns, (enum trace_other)e->other, e->size_bytes,
                                e->seq, e->stack);
        }
}

static void write_slices(const slice_vec *slices, const struct trace_meta *meta, const char *path,
                         bool has_worker) {
        int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
        double put_s = 0, end_s = 0, wall_s = now_s(CLOCK_MONOTONIC), n_events, start;
        struct trace_writer *w;
        struct err err;

        if (fd < 0 || trace_writer_open(fd, meta, &w, &err) < 0)
                die(&err);
        trace_writer_set_worker(w, has_worker);
        for (size_t i = 0; i < slices->n; i++) {
                const struct slice *s = &slices->items[i];

                start = now_s(CLOCK_THREAD_CPUTIME_ID);
                for (size_t k = 0; k < s->events.n; k++)
                        put_event(w, &s->events.items[k]);
                put_s += now_s(CLOCK_THREAD_CPUTIME_ID) - start;
                start = now_s(CLOCK_THREAD_CPUTIME_ID);
                trace_end_slice(w, s->end_ns, s->sites.items, s->sites.n, s->counts.items,
                                s->counts.n);
                end_s += now_s(CLOCK_THREAD_CPUTIME_ID) - start;
        }
        if (trace_writer_finish(w, &err) < 0)
                die(&err);
        wall_s = now_s(CLOCK_MONOTONIC) - wall_s;
        n_events = (double)trace_writer_n_events(w);
        printf("%.0f events: put %.1f ns, slice ends %.1f ns, wall %.1f ns an event; %.3f bytes an event\n",
               n_events, put_s * 1e9 / n_events, end_s * 1e9 / n_events, wall_s * 1e9 / n_events,
               (double)trace_writer_size_bytes(w) / n_events);
        trace_writer_free(w);
}

int main(int argc, char **argv) {
        int n_turns = argc > 3 ? atoi(argv[3]) : 3;
        slice_vec slices = {0};
        struct trace_reader *t;
        struct err err;

        if (argc < 3)
                return 2;
        if (trace_reader_open(argv[1], &t, &err) < 0)
                die(&err);
        load(t, &slices);
        for (int i = 0; i < n_turns; i++)
                write_slices(&slices, &trace_view(t)->meta, argv[2], argc > 4);
        for (size_t i = 0; i < slices.n; i++) {
                vec_free(&slices.items[i].events);
                vec_free(&slices.items[i].sites);
                vec_free(&slices.items[i].counts);
        }
        vec_free(&slices);
        trace_reader_free(t);
        return 0;
}
