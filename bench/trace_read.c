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

int main(int argc, char **argv) {
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
        trace_reader_free(t);
        return 0;
}
