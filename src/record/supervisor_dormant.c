/* SPDX-License-Identifier: MIT */
/* `silt run --dormant`: the program runs with nothing of silt in it until it is time; then a helper attaches to it, as `silt attach`
 * would. The helper is a process of its own: who traces a child hears of its end in the parent's place, and the program's status is
 * silt's own. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/macros.h"
#include "base/system_clock.h"
#include "base/units.h"
#include "record/proc.h"
#include "record/supervisor_state.h"

/* How often its memory is looked at: some 30 µs each. */
#define DORMANT_LOOK_NS 250000000ull

struct dormant {
        struct supervisor *f;
        uint64_t started_ns;
        pid_t helper; /* 0: not yet woken */
        bool helper_is_gone;
};

/* ---- falling asleep ------------------------------------------------------------------------------ */

/* A file that is there already must not be found out about when it is time. */
static int dormant_check_output(const struct run_options *o, struct err *reterr) {
        if (!o->output_path || o->overwrite || access(o->output_path, F_OK) < 0)
                return 0;
        return err_set(reterr, -EEXIST,
                       "'%s' already exists: choose another file (-o) or overwrite it (-f)",
                       o->output_path);
}

static void dormant_say_begin(const struct supervisor *f) {
        const struct run_options *o = f->options;
        struct unit_text after, above;
        char when[160] = "";

        if (o->start_after_ns)
                snprintf(when, sizeof(when), "%s after it started",
                         unit_duration(&after, o->start_after_ns));
        if (o->start_above_bytes)
                snprintf(when + strlen(when), sizeof(when) - strlen(when),
                         "%swhen it has more than %s resident", when[0] ? ", or " : "",
                         unit_bytes(&above, o->start_above_bytes));
        supervisor_say(
                f, "process %d is not being recorded yet; recording starts %s%s'silt attach %d'",
                (int)f->target, when, when[0] ? ", or with " : "with ", (int)f->target);
}

/* ---- waking -------------------------------------------------------------------------------------- */

static bool dormant_is_due(const struct dormant *d, char *ret_why, size_t cap) {
        const struct run_options *o = d->f->options;
        uint64_t ran_ns = clock_now_ns() - d->started_ns;
        struct unit_text ran, had;
        struct proc_memory m;

        if (d->helper)
                return false;
        if (o->start_after_ns && ran_ns >= o->start_after_ns) {
                snprintf(ret_why, cap, "recording started %s after the program",
                         unit_duration(&ran, ran_ns));
                return true;
        }
        if (!o->start_above_bytes || !proc_memory(d->f->target, &m) ||
            m.anon_bytes + m.file_bytes + m.shmem_bytes <= o->start_above_bytes)
                return false;
        snprintf(ret_why, cap, "recording started %s after the program, when it had %s resident",
                 unit_duration(&ran, ran_ns),
                 unit_bytes(&had, m.anon_bytes + m.file_bytes + m.shmem_bytes));
        return true;
}

/* Signals of the terminal are the program's business: the helper ends with it. */
static void dormant_help(const struct dormant *d, const char *why) {
        struct run_options o = *d->f->options;

        setpgid(0, 0);
        supervisor_restore_signals(d->f);
        if (d->f->relay.sentinel.fd >= 0)
                close(d->f->relay.sentinel.fd);
        o.attached = d->f->target;
        o.dormant = false;
        o.begin_note = why;
        _exit(supervisor_attach(&o));
}

static void dormant_wake(struct dormant *d) {
        char why[200];
        pid_t pid;

        if (!dormant_is_due(d, why, sizeof(why)))
                return;
        pid = fork();
        if (pid == 0)
                dormant_help(d, why);
        if (pid < 0)
                fprintf(stderr,
                        "silt: fork: too many processes (see ulimit -u): the program is not recorded\n");
        d->helper_is_gone = pid < 0;
        d->helper = pid;
}

/* ---- waiting ------------------------------------------------------------------------------------- */

/* Until something may be due; a day, where only a signal can be. */
static struct timespec dormant_nap(const struct dormant *d) {
        const struct run_options *o = d->f->options;
        uint64_t ran_ns = clock_now_ns() - d->started_ns, nap_ns = 86400000000000ull;

        if (!d->helper && o->start_above_bytes)
                nap_ns = DORMANT_LOOK_NS;
        if (!d->helper && o->start_after_ns)
                nap_ns = MIN(nap_ns, o->start_after_ns - MIN(ran_ns, o->start_after_ns));
        return (struct timespec){(time_t)(nap_ns / 1000000000u), (long)(nap_ns % 1000000000u)};
}

static int dormant_wait(struct dormant *d, const sigset_t *signals) {
        struct rusage usage;
        struct timespec nap;
        siginfo_t info;
        int status;

        while (!supervisor_check_target(d->f, &status, &usage)) {
                dormant_wake(d);
                nap = dormant_nap(d);
                if (sigtimedwait(signals, &info, &nap) < 0)
                        continue;
                if (info.si_signo == d->f->options->graph_signal) {
                        if (d->helper > 0 && !d->helper_is_gone)
                                kill(d->helper, info.si_signo);
                } else if (info.si_signo != SIGCHLD)
                        relay_pass_on(&d->f->relay, &info);
                else if (d->helper > 0 && !d->helper_is_gone)
                        d->helper_is_gone = waitpid(d->helper, NULL, WNOHANG) == d->helper;
        }
        if (d->helper > 0 && !d->helper_is_gone) /* it writes the end of the trace */
                waitpid(d->helper, NULL, 0);
        if (!d->helper)
                supervisor_say(d->f,
                               "the program ended before recording started: no trace was written");
        return status;
}

int dormant_run(struct supervisor *f) {
        struct sigaction plain = {.sa_handler = SIG_DFL};
        struct dormant d = {.f = f};
        struct err e = {0};
        sigset_t signals;
        int status, r;

        if (dormant_check_output(f->options, &e) < 0)
                return supervisor_fail(&e, SUPERVISOR_FAILED);
        relay_signals(&signals);
        sigprocmask(SIG_BLOCK, &signals, &f->mask_before);
        sigaction(SIGCHLD, &plain, &f->child_action_before);
        supervisor_lift_file_limit(f);
        foresight_end(foresight_begin(f->options, &f->program), &f->known); /* for its words */
        if (supervisor_fork_target(f, &e) < 0)
                return supervisor_fail(&e, SUPERVISOR_FAILED);
        signal(SIGPIPE, SIG_IGN);
        relay_begin(&f->relay, f->target);
        d.started_ns = clock_now_ns();
        r = supervisor_release_target(f);
        if (r < 0) {
                relay_end(&f->relay);
                supervisor_drop_target(f);
                err_set_errno(&e, r, "cannot run '%s'", f->options->argv[0]);
                return supervisor_fail(&e, r == -ENOENT ? SUPERVISOR_NOT_FOUND
                                                        : SUPERVISOR_NOT_EXECUTABLE);
        }
        dormant_say_begin(f);
        status = dormant_wait(&d, &signals);
        relay_end(&f->relay);
        return supervisor_exit_status(status);
}
