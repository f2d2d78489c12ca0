/* SPDX-License-Identifier: MIT */
/* What the supervisors of `silt run` and `silt attach` have in common: the trace's file, the recorder as a child, the closing words. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "patch/known_files.h"
#include "record/control.h"
#include "record/counter.h"
#include "record/foresight.h"
#include "record/oom.h"
#include "record/program_check.h"
#include "record/relay.h"
#include "record/rendezvous.h"
#include "record/shm.h"
#include "record/stall.h"
#include "record/supervisor.h"

struct supervisor {
        const struct run_options *options;
        char runtime_path[4096];
        struct checked_program
                program;             /* which is to be run; nothing in it where one runs already */
        struct foresight *foresight; /* being made; NULL: no longer */
        struct known_files known;    /* what it has found */
        char trace_path[4096];
        struct shm shm;
        struct counter_moment arena_opened;
        struct rendezvous rendezvous;
        int control_fd;
        int go_fd;   /* closing or writing it lets the target exec */
        int exec_fd; /* carries errno when exec failed */
        int log_fd;  /* -1: none */
        pid_t target, recorder;
        struct relay relay;
        sigset_t mask_before; /* the target's own: signals are blocked while silt waits */
        struct sigaction xfsz_action_before;
        struct rlimit fsize_before; /* the target's own too; silt's files may be larger */
        struct sigaction
                child_action_before; /* the shell may have silt start with SIGCHLD ignored */
        struct oom_watch oom;        /* of the recorder: it may be in the target's limited group */
        bool recorder_is_gone;
        bool recorder_was_oom_killed;
        int target_status;                 /* as wait tells it, when it has ended; else -1 */
        enum stall_verdict recorder_stall; /* other than BEATS: silt waits for it no longer */
        bool has_summary;
        double target_cpu_s, target_wall_s; /* wall: from silt's own start to the target's end */
        struct control_message summary;     /* the last WRITTEN or FINISHED */
};

/* The recorder looks at what points to what, if it is not at it already. */
void supervisor_want_graph(struct supervisor *f);

void supervisor_say(const struct supervisor *f, const char *fmt, ...)
        __attribute__((format(printf, 2, 3)));
int supervisor_fail(const struct err *e, int status); /* says why; status */

/* Finds the runtime and which machine it is for (ELF e_machine). */
int supervisor_prepare_runtime(struct supervisor *f, uint16_t *ret_machine, struct err *reterr);

/* A file-size limit is meant for the target. */
void supervisor_lift_file_limit(struct supervisor *f);
void supervisor_restore_signals(const struct supervisor *f);
void supervisor_fill_standard_fds(void);

/* The program as a child that waits: released, it execs; 0 or what exec says. Dormant, it has nothing of silt in it. */
int supervisor_fork_target(struct supervisor *f, struct err *reterr);
int supervisor_release_target(struct supervisor *f);
void supervisor_drop_target(struct supervisor *f);
/* True when it has ended. When job control stops it, silt stops with it, so that the shell sees it. */
bool supervisor_check_target(struct supervisor *f, int *ret_status, struct rusage *ret_usage);
int supervisor_exit_status(int status);

/* `silt run --dormant` (supervisor_dormant.c). */
int dormant_run(struct supervisor *f);

int supervisor_open_log(struct supervisor *f, struct err *reterr);
int supervisor_open_arena(struct supervisor *f, uint32_t clock, struct err *reterr);
int supervisor_open_trace(struct supervisor *f, struct err *reterr); /* the descriptor, or -errno */
int supervisor_fork_recorder(struct supervisor *f, int trace_fd, struct err *reterr);

/* Blocks until the recorder says it is ready; an error text comes the same way. */
int supervisor_await_ready(struct supervisor *f, struct err *reterr);

/* The recorder's next word. False when it died, or does not go on. */
bool supervisor_hear(struct supervisor *f, struct control_message *ret);

/* True when it is gone: then recording has ended. */
bool supervisor_reap_recorder(struct supervisor *f, bool wait_for_it);

void supervisor_name_stacks(const struct supervisor *f);
void supervisor_closing_words(const struct supervisor *f);

static inline void supervisor_tell_recording(const struct supervisor *f) {
        if (f->options->on_recording)
                f->options->on_recording(f->options->on_recording_ctx, f->trace_path);
}
