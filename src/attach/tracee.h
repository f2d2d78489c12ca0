/* SPDX-License-Identifier: MIT */
/* Threads under ptrace. They are seized, so that stopping them sends no signal; signals that arrive are handed on, and a stop by job
 * control stays one. When silt dies the kernel lets all of them go. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/machine.h"
#include "base/err.h"
#include "base/vec.h"

enum tracee_stop {
        STOP_NONE = 0,
        STOP_TRAP,    /* as asked for */
        STOP_SYSCALL, /* at the begin or end of a system call */
        STOP_SIGNAL,  /* a signal is about to be delivered: `signal` */
        STOP_GROUP,   /* job control */
        STOP_CHILD,   /* it has made a process or thread, which is traced as it is: tracee_child */
        STOP_GONE,
};

struct tracee {
        pid_t tid;
        bool is_stopped;
        enum tracee_stop stop;
        int signal;      /* to hand on when it goes on; 0: none */
        uint64_t ran_ns; /* it stands still since then or later */
};

/* Blocks SIGCHLD, by which stops are noticed. */
void tracee_begin(void);

int tracee_seize(struct tracee *t, pid_t tid);        /* 0 or -errno; it runs on */
int tracee_interrupt(const struct tracee *t);         /* it will stop */
int tracee_resume(struct tracee *t, bool to_syscall); /* with its signal, if there is one */
void tracee_let_go(struct tracee *t);                 /* it must be stopped */

/* Until it stops or the time is up (-ETIMEDOUT). */
int tracee_wait(struct tracee *t, uint64_t until_ns);

/* Interrupts it and waits for that stop, other stops on the way being handed on. 0, -ETIMEDOUT or -ESRCH. A group stop is as good. */
int tracee_halt(struct tracee *t, uint64_t until_ns);

/* A seized thread that may be running: stopped and let go. */
void tracee_drop(struct tracee *t);

/* Of all that are seized, one that has stopped or ended and was not waited for. False: there is none now. */
bool tracee_find_late(struct tracee *ret);

/* Whether it stops when it makes a process or thread. */
int tracee_watch_children(const struct tracee *t, bool is_watched);
pid_t tracee_child(const struct tracee *t); /* as this process sees it; 0: unknown */
/* The kernel kills it when this process ends. */
int tracee_bind(const struct tracee *t);

/* It gets a processor before others, where silt may say so: somebody waits for it. */
void tracee_hurry(pid_t tid);

/* Where it keeps what it is in the middle of and must not be taken out of (struct rseq); 0: nowhere, or nobody knows. */
uint64_t tracee_rseq(const struct tracee *t);

int tracee_read_regs(const struct tracee *t, struct machine_state *ret); /* those alone */
int tracee_read(const struct tracee *t, struct machine_state *ret);
int tracee_read_rest(const struct tracee *t, struct machine_state *ret); /* all but those */
int tracee_write_regs(const struct tracee *t, const struct machine_state *s);
int tracee_write_vectors(const struct tracee *t, const struct machine_state *s);
int tracee_write_mask(const struct tracee *t, uint64_t mask);

/* At the begin of a system call: it is not made, and the thread goes on at pc. */
int tracee_skip_syscall(const struct tracee *t, struct machine_state *s, uint64_t pc);

/* In a stop that ended a system call: which it was, for /proc to show what it was made with; -1 again afterwards. False where the machine forgets nothing. */
bool tracee_name_syscall(const struct tracee *t, int64_t number);

/* True when registers beyond those of machine_state are in use (SVE, SME). */
bool tracee_has_more(const struct tracee *t);

/* At most so long (below a second): a thread that stops or ends is a reason to look again. */
void tracee_pause(unsigned ms);
void tracee_pause_us(unsigned us);
