/* SPDX-License-Identifier: MIT */
/* Writes a trace of made-up events and reads it back: bytes per event, events per second of
 * processor time either way.
 * usage: bench_trace_read FILE [MILLIONS [THREADS [STACKS]]]; MILLIONS 0 reads the FILE that is
 * there and writes nothing */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "trace/reader.h"
#include "trace/testing/trace_fake.h"

/* Processor time: one thread, and other work on the machine does not count. */
static double now_s(void) {
        struct timespec t;

        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Reads events only, so that the figure is the decoder's. */
static uint64_t read_all(struct trace_reader *t, uint64_t *ret_sum) {
        uint64_t n_events = 0, sum = 0;

        for (size_t i = 0; i < trace_view(t)->n_slices; i++) {
                const struct trace_event *events;
                struct err err;
                size_t n;

                if (trace_read_events(t, i, &events, &n, &err) < 0) {
                        fprintf(stderr, "%s\n", err.text);
                        exit(1);
                }
                for (size_t k = 0; k < n; k += 64)
                        sum += events[k].size_bytes;
                n_events += n;
        }
        *ret_sum = sum;
        return n_events;
}

static void write_trace(const char *path, const struct trace_fake_options *o) {
        int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
        struct trace_writer *w;
        struct trace_fake f;
        struct err err;
        double start;

        if (fd < 0 || trace_writer_open(fd, &trace_fake_meta, &w, &err) < 0)
                exit(1);
        start = now_s();
        trace_fake_run(&f, o, w);
        if (trace_writer_finish(w, &err) < 0)
                exit(1);
        printf("made:  %.1f M events/s, %.3f bytes/event\n",
               (double)trace_writer_n_events(w) / (now_s() - start) / 1e6,
               (double)trace_writer_size_bytes(w) / (double)trace_writer_n_events(w));
        trace_writer_free(w);
        trace_fake_done(&f);
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

/* Writes a trace's events and rows again: what the writer alone costs. */
static void write_again(struct trace_reader *t, const char *path) {
        int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
        double spent = 0, start;
        struct trace_writer *w;
        struct err err;

        if (fd < 0 || trace_writer_open(fd, &trace_view(t)->meta, &w, &err) < 0)
                exit(1);
        for (size_t i = 0; i < trace_view(t)->n_slices; i++) {
                const struct trace_event *events;
                const struct trace_site *sites;
                const struct trace_counts *counts;
                size_t n, n_sites, n_counts;

                if (trace_read_events(t, i, &events, &n, &err) < 0 ||
                    trace_read_sites(t, i, &sites, &n_sites, &err) < 0 ||
                    trace_read_counts(t, i, &counts, &n_counts, &err) < 0)
                        exit(1);
                start = now_s();
                for (size_t k = 0; k < n; k++)
                        put_event(w, &events[k]);
                trace_end_slice(w, trace_slice(t, i)->end_ns, sites, n_sites, counts, n_counts);
                spent += now_s() - start;
        }
        printf("write: %.1f M events/s\n", (double)trace_writer_n_events(w) / spent / 1e6);
        trace_writer_free(w);
        unlink(path);
}

int main(int argc, char **argv) {
        char again[4096];
        uint32_t n_slices =
                (uint32_t)(argc > 2 ? atof(argv[2]) * 1e6 / TRACE_MAX_SLICE_EVENTS + 1 : 77);
        struct trace_fake_options o = {
                .seed = 1,
                .n_stacks = argc > 4 ? (uint32_t)atoi(argv[4]) : 5000,
                .n_threads = argc > 3 ? (uint32_t)atoi(argv[3]) : 1,
                .n_slices = n_slices,
                .n_events = TRACE_MAX_SLICE_EVENTS,
        };
        bool makes_trace = argc <= 2 || atof(argv[2]) > 0;
        struct trace_reader *t;
        struct err err;
        uint64_t n, sum;
        double start;

        if (argc < 2)
                return 2;
        if (makes_trace)
                write_trace(argv[1], &o);
        start = now_s();
        if (trace_reader_open(argv[1], &t, &err) < 0) {
                fprintf(stderr, "%s\n", err.text);
                return 1;
        }
        printf("open:  %.1f ms, %llu of %llu bytes\n", (now_s() - start) * 1e3,
               (unsigned long long)trace_bytes_read(t),
               (unsigned long long)trace_view(t)->file_bytes);
        for (int i = 0; i < 3; i++) {
                start = now_s();
                n = read_all(t, &sum);
                printf("read:  %.1f M events/s (sum %llx)\n", (double)n / (now_s() - start) / 1e6,
                       (unsigned long long)sum);
        }
        snprintf(again, sizeof(again), "%s.again", argv[1]);
        if (makes_trace)
                write_again(t, again);
        trace_reader_free(t);
        return 0;
}
