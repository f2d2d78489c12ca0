/* SPDX-License-Identifier: MIT */
#include "attach/standstill.h"

#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "base/system_clock.h"

#define MS UINT64_C(1000000)

enum {
        STANDSTILL_LOOK_MS = 2,    /* between two looks at who goes to sleep */
        STANDSTILL_CATCH_US = 200, /* between two looks for one that sleeps for a millisecond */
        STANDSTILL_ROUNDS = 64,
};

/* struct rseq and struct rseq_cs of the kernel */
enum { RSEQ_CS_OFF = 8 };
struct sequence {
        uint32_t version, flags;
        uint64_t begin, n_bytes, abort;
};

static struct standstill_thread *find(const struct standstill *s, pid_t tid) {
        for (size_t i = 0; i < s->list.n; i++)
                if (s->list.items[i].thread.tid == tid)
                        return &s->list.items[i];
        return NULL;
}

static struct standstill_seen *see(struct standstill_watch *w, pid_t tid, uint64_t n_switches) {
        const struct standstill_seen now = {tid, n_switches, clock_now_ns(), true};

        for (size_t i = 0; i < w->list.n; i++) {
                struct standstill_seen *one = &w->list.items[i];

                if (one->tid != tid)
                        continue;
                if (one->n_switches != n_switches)
                        *one = now;
                return one;
        }
        vec_push(&w->list, now);
        w->list.items[w->list.n - 1].began_here = false;
        return &w->list.items[w->list.n - 1];
}

static bool has_time_to_watch(const struct safepoint_wait *w) {
        return w->kind == WAIT_INTERRUPTED && safepoint_has_time(w);
}

void standstill_watch(struct standstill_watch *w, const struct target *t, uint64_t patience_ms) {
        uint64_t until_ns = clock_now_ns() + patience_ms * MS;
        bool is_unseen = true;
        tids threads = {0};

        while (is_unseen && target_threads(t, &threads) == 0) {
                is_unseen = false;
                for (size_t i = 0; i < threads.n; i++) {
                        struct safepoint_wait wait;
                        struct thread_look look;

                        if (!target_look(t, threads.items[i], &look) || look.state != 'S' ||
                            !safepoint_look(t, threads.items[i], look.n_switches, &wait) ||
                            !has_time_to_watch(&wait))
                                continue;
                        /* longer than that nobody waits to see it */
                        if (!see(w, threads.items[i], look.n_switches)->began_here &&
                            (w->gives_in || (wait.timeout_arg >= 0 &&
                                             wait.call.args[wait.timeout_arg] <= patience_ms)))
                                is_unseen = true;
                }
                if (clock_now_ns() >= until_ns)
                        break;
                if (is_unseen)
                        tracee_pause(STANDSTILL_LOOK_MS);
        }
        vec_free(&threads);
}

static bool is_any_asleep(const struct target *t) {
        struct thread_look look;
        tids threads = {0};
        bool is_any = target_threads(t, &threads) < 0; /* nobody is there to wait for */

        for (size_t i = 0; i < threads.n && !is_any; i++)
                is_any = target_look(t, threads.items[i], &look) && look.state == 'S';
        vec_free(&threads);
        return is_any;
}

void standstill_await_sleep(const struct target *t, uint64_t patience_ms) {
        uint64_t until_ns = clock_now_ns() + patience_ms * MS;

        while (!is_any_asleep(t) && clock_now_ns() < until_ns)
                tracee_pause_us(STANDSTILL_CATCH_US);
}

/* A stop would end it for good, or nobody knows what is left of its time. */
static bool is_to_be_left(const struct standstill *s, pid_t tid, struct safepoint_wait *w) {
        const struct standstill_seen *seen;

        if (!has_time_to_watch(w))
                return w->kind == WAIT_OTHER;
        seen = see(s->watch, tid, w->n_switches);
        w->since_ns = seen->since_ns;
        return !s->watch->gives_in && (!seen->began_here || w->timeout_arg < 0);
}

/* Stopped just now. */
static void settle(const struct standstill *s, struct standstill_thread *one, bool was_asleep) {
        struct safepoint m = {.thread = one->thread};

        one->again = AGAIN_NONE;
        if (was_asleep && one->thread.stop == STOP_TRAP &&
            safepoint_hold(s->target, &m, &one->wait)) {
                one->again = m.again;
                one->repaired = m.again == AGAIN_LATE ? m.failed_pc : 0;
                return;
        }
        one->repaired = safepoint_repair(s->target, &one->thread);
}

static int await(const struct standstill *s, struct standstill_thread *one, uint64_t until_ns) {
        struct tracee *thread = &one->thread;
        int r = 0;

        if (one->is_left || thread->stop == STOP_GONE || thread->is_stopped)
                return 0;
        while (r == 0 && !thread->is_stopped) {
                r = tracee_wait(thread, until_ns);
                /* a signal on its way: handed on, then it stops as it was asked to */
                if (r == 0 && thread->stop == STOP_SIGNAL)
                        r = tracee_resume(thread, false);
        }
        if (r == 0)
                settle(s, one, one->wait.call.is_known);
        return r == -ESRCH ? 0 : r;
}

/* Asks it to stop, or finds that it is to be left alone. */
static int ask(struct standstill *s, pid_t tid, const struct thread_look *look) {
        struct standstill_thread one = {.thread.tid = tid, .state = look->state};
        bool is_asleep = look->state == 'S' || look->state == 'D';
        int r;

        if (is_asleep && !safepoint_look(s->target, tid, look->n_switches, &one.wait))
                is_asleep = look->state == 'D';
        /* without a stack pointer it has gone on meanwhile */
        is_asleep = is_asleep && one.wait.call.sp;
        one.is_left = is_asleep && (look->state == 'D' || is_to_be_left(s, tid, &one.wait));
        if (!is_asleep)
                one.wait.call.is_known = false;
        if (!one.is_left) {
                r = tracee_seize(&one.thread, tid);
                if (r == 0)
                        r = tracee_interrupt(&one.thread);
                if (r < 0)
                        return r == -ESRCH ? 0 : r;
        }
        vec_push(&s->list, one);
        return 1;
}

/* Those that sleep first, one after the other: whoever runs stands still for a shorter time. */
static int ask_all(struct standstill *s, bool is_running, uint64_t until_ns) {
        tids threads = {0};
        int n = 0, r = target_threads(s->target, &threads);

        for (size_t i = 0; i < threads.n && r >= 0; i++) {
                struct thread_look look;

                if (find(s, threads.items[i]) || !target_look(s->target, threads.items[i], &look) ||
                    look.state == 'Z' || look.state == 'X' ||
                    (look.state == 'S' || look.state == 'D') == is_running)
                        continue;
                if (look.state == 'T' || look.state == 't')
                        r = -EAGAIN;
                else
                        r = ask(s, threads.items[i], &look);
                if (r > 0) {
                        n++;
                        if (!is_running)
                                r = await(s, &s->list.items[s->list.n - 1], until_ns);
                }
        }
        vec_free(&threads);
        return r < 0 ? r : n;
}

int standstill_one(struct standstill *s, const struct target *t, struct standstill_watch *w,
                   pid_t tid, const struct thread_look *look, uint64_t until_ns) {
        int r;

        *s = (struct standstill){.target = t, .watch = w};
        r = ask(s, tid, look);
        return r > 0 ? await(s, &s->list.items[0], until_ns) : r;
}

static bool sleeps_on(const struct standstill *s, const struct standstill_thread *one) {
        struct thread_look look;

        return target_look(s->target, one->thread.tid, &look) && look.state == one->state &&
               look.n_switches == one->wait.n_switches;
}

/* Those that have woken up are looked at again. */
static size_t drop_awake(struct standstill *s) {
        size_t n_before = s->list.n, n = 0;

        for (size_t i = 0; i < n_before; i++)
                if (!s->list.items[i].is_left || sleeps_on(s, &s->list.items[i]))
                        s->list.items[n++] = s->list.items[i];
        s->list.n = n;
        return n_before - n;
}

static bool is_stopped_by_others(const struct standstill *s) {
        for (size_t i = 0; i < s->list.n; i++)
                if (s->list.items[i].thread.is_stopped &&
                    s->list.items[i].thread.stop == STOP_GROUP)
                        return true;
        return false;
}

int standstill_begin(struct standstill *s, const struct target *t, struct standstill_watch *w,
                     uint64_t until_ns) {
        *s = (struct standstill){.target = t, .watch = w};
        for (unsigned i = 0; i < STANDSTILL_ROUNDS; i++) {
                int n_asleep = ask_all(s, false, until_ns), n_running = 0, r = 0;

                if (n_asleep >= 0)
                        n_running = ask_all(s, true, until_ns);
                if (n_asleep < 0 || n_running < 0)
                        return n_asleep < 0 ? n_asleep : n_running;
                for (size_t k = 0; k < s->list.n && r == 0; k++)
                        r = await(s, &s->list.items[k], until_ns);
                if (r < 0)
                        return r;
                if (is_stopped_by_others(s))
                        return -EAGAIN;
                if (n_asleep + n_running + drop_awake(s) == 0)
                        return 0;
        }
        return -ETIMEDOUT;
}

bool standstill_holds(const struct standstill *s) {
        tids threads = {0};
        bool holds = target_threads(s->target, &threads) == 0;

        for (size_t i = 0; i < threads.n && holds; i++) {
                const struct standstill_thread *one = find(s, threads.items[i]);
                struct thread_look look;

                if (!one) /* one that has ended is there until somebody has asked for its status */
                        holds = !target_look(s->target, threads.items[i], &look) ||
                                look.state == 'Z' || look.state == 'X';
                else if (one->is_left)
                        holds = sleeps_on(s, one);
        }
        vec_free(&threads);
        return holds;
}

/* In a sequence that begins anew when it is interrupted. The kernel forgets that when it sees the thread elsewhere. */
static bool is_in_sequence(const struct standstill *s, const struct tracee *thread, uint64_t pc) {
        uint64_t rseq = tracee_rseq(thread), at = 0;
        struct sequence q;

        if (!rseq || !target_read(s->target, rseq + RSEQ_CS_OFF, &at, sizeof(at)) || !at)
                return false;
        return !target_read(s->target, at, &q, sizeof(q)) || pc - q.begin < q.n_bytes;
}

/* 0: best. -1: never. */
static int rank(const struct standstill_thread *one) {
        if (one->is_left || !one->thread.is_stopped || one->thread.stop != STOP_TRAP)
                return -1;
        switch (one->again) {
        case AGAIN_NONE: return 0;
        case AGAIN_SAME: return 1;
        case AGAIN_LATE: return 2;
        case AGAIN_RESTART: return 3;
        }
        return -1;
}

/* Where nothing but silt knows how to go on, or somebody else alone. */
static bool is_at_call(const struct standstill *s, const struct machine_state *state) {
        size_t n = machine_own.syscall_bytes;
        uint8_t code[8];

        return machine_own.is_to_restart(state) ||
               (target_read(s->target, machine_own.pc(state), code, n) &&
                memcmp(code, machine_own.call_code, n) == 0);
}

static bool is_fit(const struct standstill *s, const struct standstill_thread *one,
                   struct safepoint *m) {
        *m = (struct safepoint){.thread = one->thread, .again = one->again};
        if (tracee_read(&m->thread, &m->state) < 0 || tracee_has_more(&m->thread))
                return false;
        switch (one->again) {
        case AGAIN_NONE:
                return !one->repaired && !is_at_call(s, &m->state) &&
                       !is_in_sequence(s, &one->thread, machine_own.pc(&m->state));
        case AGAIN_SAME:
        case AGAIN_RESTART:
                if (!machine_own.again(&m->state, &one->wait.call, one->wait.kind, &m->again))
                        return false;
                break;
        case AGAIN_LATE: break; /* it has these registers */
        }
        m->failed_pc = one->wait.call.pc;
        m->ends_by_handler = m->again == AGAIN_LATE || machine_own.ends_by_handler(&one->wait.call);
        return true;
}

bool standstill_lend(struct standstill *s, unsigned idx, struct safepoint *ret) {
        for (int best = 0; best <= 3; best++)
                for (size_t i = 0; i < s->list.n; i++)
                        if (rank(&s->list.items[i]) == best && is_fit(s, &s->list.items[i], ret) &&
                            idx-- == 0)
                                return true;
        return false;
}

void standstill_forget(struct standstill *s, pid_t tid) {
        struct standstill_thread *one = find(s, tid);

        if (one) {
                one->thread.is_stopped = false;
                one->thread.stop = STOP_GONE;
        }
}

uint64_t standstill_since_ns(const struct standstill *s) {
        uint64_t since_ns = 0;

        for (size_t i = 0; i < s->list.n; i++) {
                const struct standstill_thread *one = &s->list.items[i];

                if (!one->is_left && one->thread.is_stopped &&
                    (!since_ns || one->thread.ran_ns < since_ns))
                        since_ns = one->thread.ran_ns;
        }
        return since_ns;
}

void standstill_end(struct standstill *s, uint64_t *ret_end_ns) {
        for (size_t i = s->list.n; i-- > 0;) { /* those that ran were stopped last */
                struct standstill_thread *one = &s->list.items[i];

                if (!one->is_left && one->thread.is_stopped) {
                        safepoint_let_go(s->target, &one->thread, one->repaired);
                        one->thread.stop = STOP_GONE;
                }
        }
        *ret_end_ns = clock_now_ns();
        for (size_t i = 0; i < s->list.n; i++)
                if (!s->list.items[i].is_left && s->list.items[i].thread.stop != STOP_GONE)
                        safepoint_let_go(s->target, &s->list.items[i].thread, 0);
        vec_free(&s->list);
}
