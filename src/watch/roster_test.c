/* SPDX-License-Identifier: MIT */
/* The roster against made-up processes: what it starts and when, and a day of a busy machine. */
#include "watch/roster.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/testing/seed.h"

#define S 1000000000ull

enum { MAX_PIDS = 2048 };

/* A machine: what each pid is. */
struct machine {
        struct {
                uint64_t began; /* 0: there is none */
                bool is_wanted, is_taken, is_recorded;
                unsigned n_starts;
        } of[MAX_PIDS];
        unsigned n_recorded, n_most, n_starts;
        uint32_t max_processes;
        bool is_busy; /* nothing can be started */
};

static bool identify(void *ctx, pid_t pid, uint64_t *ret_began) {
        const struct machine *m = ctx;

        *ret_began = m->of[pid].began;
        return m->of[pid].began != 0;
}

static bool is_wanted(void *ctx, pid_t pid) {
        return ((struct machine *)ctx)->of[pid].is_wanted;
}

static bool is_taken(void *ctx, pid_t pid) {
        return ((struct machine *)ctx)->of[pid].is_taken;
}

static bool start(void *ctx, const struct roster_one *one) {
        struct machine *m = ctx;

        if (m->is_busy)
                return false;
        /* never twice, and never what somebody else has */
        assert_true(m->of[one->pid].began == one->began && m->of[one->pid].is_wanted);
        assert_false(m->of[one->pid].is_recorded || m->of[one->pid].is_taken);
        m->of[one->pid].is_recorded = true;
        m->of[one->pid].n_starts++;
        m->n_starts++;
        m->n_recorded++;
        assert_true(m->n_recorded <= m->max_processes);
        return true;
}

static void look(struct roster *r, const struct machine *m, uint64_t now_ns) {
        pid_t pids[MAX_PIDS];
        size_t n = 0;

        for (pid_t i = 1; i < MAX_PIDS; i++)
                if (m->of[i].began)
                        pids[n++] = i;
        roster_look(r, now_ns, pids, n);
}

static void begin(struct roster *r, struct machine *m, struct roster_calls *c, uint32_t max) {
        *c = (struct roster_calls){.ctx = m,
                                   .identify = identify,
                                   .is_wanted = is_wanted,
                                   .is_taken = is_taken,
                                   .start = start};
        memset(m, 0, sizeof(*m));
        m->max_processes = max;
        roster_init(r, c, max);
}

static void ended(struct roster *r, struct machine *m, pid_t pid, enum roster_end how,
                  uint64_t now_ns) {
        m->of[pid].is_recorded = false;
        m->n_recorded--;
        roster_ended(r, pid, how, now_ns);
}

static struct machine machine;

static void test_one(void **state) {
        struct roster_calls calls;
        struct roster r;

        (void)state;
        begin(&r, &machine, &calls, 4);
        machine.of[7].began = 70;
        machine.of[9].began = 90;
        machine.of[9].is_wanted = true;
        look(&r, &machine, 10 * S);
        assert_int_equal(machine.n_starts, 0); /* it is too young */
        assert_int_equal(r.n_due, 1);
        look(&r, &machine, 11 * S);
        assert_true(machine.n_starts == 1 && r.n_starting == 1);
        roster_began(&r, 9, 11 * S);
        look(&r, &machine, 12 * S);
        assert_true(machine.n_starts == 1 && r.n_recorded == 1 && r.n_starting == 0);

        /* becomes another program, and is found within ten looks */
        machine.of[7].is_wanted = true;
        for (uint64_t i = 0; i < 12; i++)
                look(&r, &machine, (60 + i) * S);
        assert_int_equal(machine.n_starts, 2);
        roster_began(&r, 7, 72 * S);

        /* the process has ended, and its number is given to another before silt has */
        machine.of[9].began = 500;
        look(&r, &machine, 73 * S);
        assert_int_equal(machine.n_starts, 2);
        ended(&r, &machine, 9, ROSTER_DONE, 74 * S);
        for (uint64_t i = 75; i < 90; i++)
                look(&r, &machine, i * S);
        assert_int_equal(machine.n_starts, 3);
        roster_done(&r);
}

static void test_refused(void **state) {
        struct roster_calls calls;
        struct roster r;
        uint64_t last = 0, gap = 0;

        (void)state;
        begin(&r, &machine, &calls, 4);
        machine.of[5] = (__typeof__(machine.of[5])){.began = 1, .is_wanted = true};
        for (uint64_t t = 0; t < 7200; t++) {
                unsigned before = machine.n_starts;

                look(&r, &machine, t * S);
                if (machine.n_starts == before)
                        continue;
                assert_true(t - last >= gap && t - last <= 610);
                gap = last ? t - last : 0;
                last = t;
                ended(&r, &machine, 5, ROSTER_REFUSED, t * S);
        }
        assert_true(machine.n_starts >= 12 && machine.n_starts <= 22); /* 5 s, 10 s, … 600 s */
        assert_int_equal(r.n_ever_refused, machine.n_starts);
        look(&r, &machine, 7200 * S);
        assert_int_equal(r.n_refused, 1);
        roster_done(&r);
}

static void test_taken(void **state) {
        struct roster_calls calls;
        struct roster r;

        (void)state;
        begin(&r, &machine, &calls, 4);
        machine.of[5] =
                (__typeof__(machine.of[5])){.began = 1, .is_wanted = true, .is_taken = true};
        for (uint64_t t = 0; t < 100; t++)
                look(&r, &machine, t * S);
        assert_true(machine.n_starts == 0 && r.n_taken == 1);
        machine.of[5].is_taken = false; /* whoever had it has ended */
        for (uint64_t t = 100; t < 110; t++)
                look(&r, &machine, t * S);
        assert_true(machine.n_starts == 1 && r.n_taken == 0);
        roster_done(&r);
}

static void test_many(void **state) {
        struct roster_calls calls;
        struct roster r;

        (void)state;
        begin(&r, &machine, &calls, 6);
        for (pid_t i = 10; i < 30; i++)
                machine.of[i] = (__typeof__(machine.of[i])){.began = 1, .is_wanted = true};
        look(&r, &machine, 0);
        machine.is_busy = true;
        look(&r, &machine, S);
        assert_int_equal(machine.n_starts, 0);
        machine.is_busy = false;
        look(&r, &machine, 2 * S);
        assert_int_equal(machine.n_starts, ROSTER_N_STARTING); /* not all at once */
        look(&r, &machine, 3 * S);
        assert_int_equal(machine.n_starts, ROSTER_N_STARTING);
        for (uint64_t t = 4; t < 20; t++) {
                for (pid_t i = 10; i < 30; i++)
                        roster_began(&r, i, t * S);
                look(&r, &machine, t * S);
        }
        assert_true(machine.n_starts == 6 && r.n_recorded == 6 && r.n_due == 14);
        ended(&r, &machine, 10, ROSTER_DONE, 20 * S);
        look(&r, &machine, 20 * S);
        assert_int_equal(machine.n_starts, 7);
        roster_done(&r);
}

/* A day of a machine on which processes come and go all the time: memory stays what it is. */
static void test_day(void **state) {
        uint64_t seed = seed_of_run(), n_looks = 86400, n_came = 0;
        struct roster_calls calls;
        size_t early = 0, most = 0;
        struct roster r;

        (void)state;
        begin(&r, &machine, &calls, 64);
        srandom((unsigned)seed);
        for (uint64_t t = 0; t < n_looks; t++) {
                for (int k = 0; k < 3; k++) { /* some come, some go */
                        pid_t i = 1 + (pid_t)(random() % 600);

                        n_came++;
                        if (machine.of[i].is_recorded)
                                ended(&r, &machine, i, random() % 4 ? ROSTER_DONE : ROSTER_REFUSED,
                                      t * S);
                        machine.of[i].began = random() % 3 ? n_came : 0;
                        machine.of[i].is_wanted = random() % 4 == 0;
                        machine.of[i].is_taken = random() % 16 == 0;
                }
                look(&r, &machine, t * S);
                for (pid_t i = 1; i < 601; i++)
                        if (machine.of[i].is_recorded)
                                roster_began(&r, i, t * S);
                most = r.list.cap + r.next.cap > most ? r.list.cap + r.next.cap : most;
                if (t == 1000)
                        early = most;
                assert_int_equal(r.n_recorded + r.n_starting, machine.n_recorded);
        }
        assert_true(r.n_ever_recorded > 1000);
        assert_true(most <= early * 2 && most <= 4 * 1024);
        printf("%llu looks, %llu processes came, %llu recorded, %zu rows\n",
               (unsigned long long)n_looks, (unsigned long long)n_came,
               (unsigned long long)r.n_ever_recorded, most);
        roster_done(&r);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_one),   cmocka_unit_test(test_refused),
                cmocka_unit_test(test_taken), cmocka_unit_test(test_many),
                cmocka_unit_test(test_day),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
