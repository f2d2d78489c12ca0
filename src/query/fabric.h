/* SPDX-License-Identifier: MIT */
/* For tests: a small recorder without a program. Makes a trace of random events whose rows, peaks and
 * checkpoints are right by a plain, slow computation: every live block of every process is kept in a list.
 *
 *   fabric_new(path, seed) → fabric_run(f, n_events) → fabric_end(f) */
#pragma once

#include <stdint.h>

struct fabric;

struct fabric_options {
        uint64_t seed;
        unsigned n_stacks;         /* different ones */
        unsigned slice_events;     /* about as many a slice */
        unsigned max_processes;    /* 1: no forks */
        unsigned max_threads;      /* a process */
        unsigned checkpoint_every; /* slices; 0: none */
        unsigned max_step_us;      /* between two events */
};

struct fabric *fabric_new(const char *path, const struct fabric_options *o);
void fabric_run(struct fabric *f, unsigned n_events);
void fabric_end(struct fabric *f); /* writes the rest and frees */
