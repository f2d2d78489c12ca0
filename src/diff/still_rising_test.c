/* SPDX-License-Identifier: MIT */
/* What comes in a burst and is never freed: a report calls it growing, or says that the run is too short to tell; and no check of growth
 * holds with a rate of 0. */
#include "diff/check.h"
#define TRACE_PATH "still_rising_test.silt"
#include "finding/testing/world.h"

enum { N_STEPS = 400, N_RECORDS = 4000 };

/* Steps of 50 ms: 20 s. */
static void begin_run(struct world *w, unsigned round) {
        begin(w, round);
        w->n_steps = N_STEPS;
        w->step_us = 50000;
}

/* How many of n records are there after a step: most come early, and ever fewer until the end. */
static unsigned faded(unsigned n, unsigned step, double pace) {
        return (unsigned)(n * (1 - exp(-pace * (step + 1) / N_STEPS)) / (1 - exp(-pace)));
}

static enum check_status check(const char *limit, char **ret_text) {
        struct check_options o = {.source = {TRACE_PATH, &request_default}};
        enum check_status status;
        struct err err = {0};
        size_t n = 0;
        FILE *out = open_memstream(ret_text, &n);

        assert_non_null(out);
        vec_push(&o.limits, (struct limit){.kind = LIMIT_GROWTH,
                                           .unit = LIMIT_IN_PERCENT_PER_S,
                                           .text = limit,
                                           .limit = strtod(limit, NULL) / 60,
                                           .rate_s = 60,
                                           .rate_name = "min"});
        assert_int_equal(check_print(out, &o, &status, &err), 0);
        fclose(out);
        for (char *c = *ret_text; *c; c++) /* lines are wrapped */
                *c = *c == '\n' ? ' ' : *c;
        vec_free(&o.limits);
        return status;
}

static const struct finding *find(const struct world *w, const char *kind) {
        for (size_t i = 0; i < w->found->n; i++)
                if (strcmp(w->found->items[i].kind, kind) == 0)
                        return &w->found->items[i];
        complain(w, kind);
        return NULL;
}

/* The function frees as many blocks as it keeps, which are only scratch: each record is one step of its work to the end. */
static void test_a_burst_that_goes_on(void **state) {
        struct world w = {.random = 41};

        (void)state;
        for (unsigned round = 0; round < 6; round++) {
                uint64_t size = draw(&w, 500, 3000);
                char *text = NULL;
                uint32_t add;

                begin_run(&w, round);
                add = frame(&w, w.main, "add_record", "records.c");
                for (unsigned i = 0, n = 0; i < N_STEPS; i++) {
                        for (; n < faded(N_RECORDS, i, 5.5); n++) {
                                uint64_t line = alloc(&w, add, 40);

                                keep(&w, add, size);
                                release(&w, line);
                        }
                        fabric_wait(w.f, w.step_us);
                }
                end(&w);
                assert_int_equal(first(&w, "growing", "add_record")->bytes, w.kept_bytes);
                assert_int_equal(check("1%/min", &text), CHECK_FAILED);
                free(text);
                done(&w);
        }
}

/* Nothing else tells of the work: whether it comes to rest, nobody knows. */
static void test_nobody_can_tell(void **state) {
        struct world w = {.random = 42};

        (void)state;
        for (unsigned round = 0; round < 6; round++) {
                const struct finding *x;
                char *text = NULL;
                uint32_t add;

                begin_run(&w, round);
                add = frame(&w, w.main, "add_record", "records.c");
                for (unsigned i = 0, n = 0; i < N_STEPS; i++) {
                        for (; n < faded(N_RECORDS, i, 7); n++)
                                keep(&w, add, 1000);
                        step(&w);
                }
                end(&w);
                x = find(&w, "left-at-end");
                assert_true(x->is_open && x->severity == FINDING_WORTH_KNOWING);
                assert_non_null(strstr(x->text, "never freed and still growing"));
                assert_non_null(strstr(x->text, "20 s are too short to tell"));
                assert_true(number(&w, x, "rising_bytes") >= (double)w.kept_bytes);
                assert_int_equal(check("1%/min", &text), CHECK_UNTOLD);
                assert_non_null(strstr(text, "were never freed and still grew"));
                free(text);
                assert_int_equal(check("900%/min", &text), CHECK_OK);
                assert_null(strstr(text, "growth 0 "));
                free(text);
                done(&w);
        }
}

/* What was built is built: it is startup memory, whatever scratch its function frees later; a cache is one when its entries are
 * replaced. */
static void test_what_has_come_to_rest(void **state) {
        struct world w = {.random = 43};

        (void)state;
        for (unsigned round = 0; round < 6; round++) {
                const struct finding *x;
                char *text = NULL;
                uint32_t add;

                begin_run(&w, round);
                add = frame(&w, w.main, "add_record", "records.c");
                for (unsigned i = 0; i < N_STEPS; i++) {
                        for (unsigned k = 0; k < 20; k++)
                                release(&w, alloc(&w, add, 40));
                        for (unsigned k = 0; k < 20 && i < N_STEPS / 3; k++)
                                keep(&w, add, 1000);
                        step(&w);
                }
                end(&w);
                no_alarm(&w);
                x = find(&w, "left-at-end");
                assert_false(x->is_open);
                assert_true(number(&w, x, "rising_bytes") == 0);
                assert_true(number(&w, x, "start_up_bytes") >= (double)w.kept_bytes);
                assert_int_equal(check("1%/min", &text), CHECK_OK);
                free(text);
                done(&w);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_burst_that_goes_on),
                cmocka_unit_test(test_nobody_can_tell),
                cmocka_unit_test(test_what_has_come_to_rest),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
