/* SPDX-License-Identifier: MIT */
#include "record/relay.h"

#include <unistd.h>

#include "base/macros.h"
#include "record/proc.h"

void relay_begin(struct relay *r, pid_t target) {
        *r = (struct relay){.target = target};
        sentinel_start(&r->sentinel);
}

void relay_end(struct relay *r) {
        sentinel_end(&r->sentinel);
}

/* A shell continues the whole group; who does it to silt alone means the target. It sees each SIGCONT once. */
static void relay_continue(struct relay *r) {
        if (r->awaits_stop || proc_is_stopped(r->target))
                kill(r->target, SIGCONT);
        r->awaits_stop = false;
}

/* Stops silt until it is continued. One SIGCONT that came already is meant for that: stopping would drop it. */
void relay_stop(struct relay *r) {
        sigset_t pending;

        r->awaits_stop = false;
        sigpending(&pending);
        if (!sigismember(&pending, SIGCONT))
                kill(getpid(), SIGSTOP);
        relay_continue(r);
}

/* Whether somebody sent it to silt alone. The terminal's go to the whole group, but for the hangup, which goes to the
 * session's leader alone. A target that has left the group gets nothing unless it is passed on. */
static bool relay_is_for_silt(struct relay *r, const siginfo_t *info) {
        bool is_sent =
                info->si_code == SI_USER || info->si_code == SI_QUEUE || info->si_code == SI_TKILL;
        int wait_ms = info->si_signo == SIGTSTP ? SENTINEL_STOP_WAIT_MS : SENTINEL_WAIT_MS;
        bool is_for_all = sentinel_saw(&r->sentinel, info, is_sent ? wait_ms : 0);

        if (!is_sent)
                return info->si_signo == SIGHUP && getsid(0) == getpid();
        return !is_for_all || getpgid(r->target) != getpgrp();
}

/* Signals for silt itself are the target's. */
void relay_pass_on(struct relay *r, const siginfo_t *info) {
        bool is_for_silt;

        if (info->si_signo == SIGCONT) {
                relay_continue(r);
                return;
        }
        is_for_silt = relay_is_for_silt(r, info);
        if (info->si_signo == SIGTSTP && proc_is_stopped(r->target))
                relay_stop(r); /* else silt stops if the target does */
        else if (is_for_silt) {
                r->awaits_stop |= info->si_signo == SIGTSTP;
                kill(r->target, info->si_signo);
        }
}

void relay_signals(sigset_t *ret) {
        static const int passed_on[] = {SIGHUP,  SIGINT,   SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2,
                                        SIGALRM, SIGWINCH, SIGTSTP, SIGCONT, SIGCHLD};

        sigemptyset(ret);
        for (size_t i = 0; i < ARRAY_SIZE(passed_on); i++)
                sigaddset(ret, passed_on[i]);
}
