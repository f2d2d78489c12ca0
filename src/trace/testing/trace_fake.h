/* SPDX-License-Identifier: MIT */
/* A made-up program for tests, fuzzers and benchmarks: allocates, releases and forks at random,
 * hands everything to a trace writer the way the recorder does, and remembers what it did. Same
 * seed, same trace. */
#pragma once

#include "trace/moves_codec.h"
#include "trace/rows.h"
#include "trace/writer.h"

struct trace_fake_options {
        uint64_t seed;
        uint32_t n_stacks, n_threads, n_slices;
        uint32_t n_events;     /* per slice */
        uint32_t flags;        /* enum trace_flags */
        bool has_child;        /* a second process, forked in the second slice */
        bool keep;             /* remember events and rows */
        uint32_t moment_every; /* so many slices end at a moment to be kept; 0: none */
};

struct trace_fake {
        struct trace_fake_options o;
        uint64_t random;
        VEC(struct trace_event) events;  /* all slices, as the reader is to give them */
        VEC(size_t) slice_ends;          /* number of events up to the end of each */
        VEC(trace_site_vec) slice_sites; /* sorted */
        VEC(trace_counts_vec) slice_counts;
        VEC(trace_move_vec) slice_moves; /* sorted, only those with something */
        VEC(uint64_t) moments;
        trace_site_vec total_sites; /* cumulative, sorted: the last checkpoint */
        struct fake_program *program;
};

/* Runs the program and writes its trace, everything but trace_writer_finish. */
void trace_fake_run(struct trace_fake *f, const struct trace_fake_options *o,
                    struct trace_writer *w);
void trace_fake_done(struct trace_fake *f);

/* What a program's counts are after one more slice: flows add up, states are the latest. */
void trace_fake_add_counts(struct trace_counts *total, const struct trace_counts *slice);

extern const struct trace_meta trace_fake_meta;
uint64_t trace_fake_random(uint64_t *state); /* xorshift */
