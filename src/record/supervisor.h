/* SPDX-License-Identifier: MIT */
/* `silt run` as the shell sees it: starts recorder and target, passes signals on, waits, returns the
 * target's status. The target is its child in the same process group on the same terminal; stdin,
 * stdout and stderr are the target's alone until the closing words. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "record/snapshot_causes.h"

struct given;

/* What is done to the program from outside while it runs, by `silt lab`. Each function may be NULL. */
struct run_stage {
        void *ctx;
        /* It waits to be run, and nothing follows it yet. Negative: it is not run. */
        int (*enter)(void *ctx, pid_t target, struct err *reterr);
        void (*in_target)(void *ctx); /* between fork and exec */
        /* It has ended, with what wait() says; its descendants may live. */
        void (*ended)(void *ctx, int wait_status, uint64_t max_rss_bytes);
        void (*say)(void *ctx, const char *trace_path); /* before silt's closing words */
};

enum { RUN_MAX_HOOKS = 32 };

struct run_options {
        const char *output_path; /* NULL: silt.<program>.<pid>.silt in the working directory */
        const char *log_path;    /* NULL: none */
        const char *
                launcher; /* NULL: the program is started directly; else an emulator such as "qemu-x86_64" */
        const char *runtime_path;               /* NULL: the libsilt.so beside this silt */
        uint64_t duration_ns;                   /* 0: to the end */
        uint64_t max_trace_bytes;               /* 0: no bound */
        uint64_t snapshot_every_ns;             /* 0: none by themselves */
        double snapshot_growth_pct;             /* of live bytes since the last snapshot; 0: none */
        struct snapshot_levels snapshot_levels; /* of resident memory */
        bool snapshot_peaks, snapshot_pressure;
        uint64_t sample_bytes; /* mean distance of samples; 0: everything is recorded */
        double budget_pct; /* of the target's CPU time that recording samples may take; 0: no bound */
        bool overwrite, quiet, verbose;
        bool wait_for_descendants;
        uint64_t graph_every_ns; /* what points to what is looked at so often; 0: only when asked */
        int graph_signal;        /* to silt, which means the same; 0: none */
        /* CPU time (docs/cpu.md) */
        bool cpu_only; /* samples of it and nothing else: nothing of silt enters the program */
        uint32_t cpu_rate_hz; /* samples a second of each running thread; 0: none */
        bool off_cpu;         /* also where threads wait */
        bool no_children;     /* only the program itself */
        bool leaks;           /* what points to what is looked at when the program ends */
        bool free_stacks, addresses, no_symbols, lossy, no_patch;
        bool strict; /* a trace that lacks events is an error: SUPERVISOR_INCOMPLETE */
        const char *hooks[RUN_MAX_HOOKS]; /* --hook, as they were written */
        size_t n_hooks;
        const struct given *given; /* the same, understood; NULL: none */
        char **argv;               /* the program and its arguments, NULL-ended */
        bool dormant;              /* the program starts without silt in it … */
        uint64_t start_after_ns; /* … which enters when it has run for so long; 0: not by time */
        uint64_t start_above_bytes; /* or has more in memory than this; 0: not by that */
        const char
                *begin_note; /* for the report, of how the recording began; NULL: nothing to say */
        pid_t attached; /* a process that runs already, whose command argv is; 0: argv is run */

        /* Adds names to the finished trace; called in the recorder. NULL: none. */
        int (*symbolize)(const char *trace_path, struct err *reterr);
        const char *silt_version;
        /* Called once the program is being recorded; it must not wait for anything. NULL: nothing. */
        void (*on_recording)(void *ctx, const char *trace_path);
        void *on_recording_ctx;
        bool with_view;                /* cli/beside_recording.h */
        const char *metrics_address;   /* likewise; NULL: none */
        const struct run_stage *stage; /* NULL: none */
        /* Allocations that are made to fail (docs/lab.md). */
        bool has_fails, fail_children, has_fail_above;
        uint64_t fail_nth, fail_above_bytes, fail_seed; /* 0: not so */
        double fail_pct;
};

enum {
        SUPERVISOR_INCOMPLETE =
                124,             /* strict: the target's status was 0, but the trace lacks events */
        SUPERVISOR_FAILED = 125, /* silt failed before the target ran */
        SUPERVISOR_NOT_EXECUTABLE = 126,
        SUPERVISOR_NOT_FOUND = 127,
};

/* The exit status of silt. Prints its own words to stderr. */
int supervisor_run(const struct run_options *o);

/* `silt attach`: records o->attached; argv may be NULL. 0, or 2 when it was refused, with a line that says why. */
int supervisor_attach(const struct run_options *o);

/* `silt cpu attach`: samples of o->attached. As supervisor_attach. */
int supervisor_cpu_attach(const struct run_options *o);

/* The libsilt.so that belongs to this executable: beside it, or in ../lib/silt. */
int supervisor_find_runtime(char *ret_path, size_t cap, struct err *reterr);
