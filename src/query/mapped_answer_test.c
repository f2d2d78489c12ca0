/* SPDX-License-Identifier: MIT */
/* Mappings answered as blocks are, against a table of single pages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "query/meeting.h"
#include "query/query.h"
#include "query/testing/fabric.h"
#include "trace/writer.h"

#define TRACE_PATH "mapped_answer_test.silt"

enum { N_PAGES = 96, N_CALLS = 120, N_STACKS = 6, PAGE = 4096 };

static uint64_t random_state;

static uint64_t draw(uint64_t below) {
        random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
        return (random_state >> 33) % below;
}

/* Who mapped each page, and whether it may be touched. */
struct pages {
        uint32_t stack[N_PAGES]; /* 0: nobody */
        bool is_usable[N_PAGES];
};

static struct pages after[N_CALLS + 1]; /* behind so many calls */
static uint64_t time_ns[N_CALLS];

static void apply(struct pages *p, const struct trace_mapping *m) {
        struct pages old = *p;
        size_t first = m->address / PAGE, n = m->size_bytes / PAGE;

        if (m->op == TRACE_MREMAP)
                for (size_t i = 0; i < m->old_size_bytes / PAGE; i++)
                        p->stack[m->old_address / PAGE + i] = 0;
        for (size_t i = first; i < first + n; i++)
                switch ((enum trace_mapping_op)m->op) {
                case TRACE_MMAP:
                        p->stack[i] = m->stack;
                        p->is_usable[i] = m->prot != PROT_NONE;
                        break;
                case TRACE_MUNMAP: p->stack[i] = 0; break;
                case TRACE_MREMAP:
                        p->stack[i] = m->stack;
                        p->is_usable[i] = !old.stack[m->old_address / PAGE] ||
                                          old.is_usable[m->old_address / PAGE];
                        break;
                case TRACE_MPROTECT: p->is_usable[i] = m->prot != PROT_NONE; break;
                default: fail();
                }
}

static struct query *open_random(uint64_t seed) {
        static const enum trace_mapping_op ops[] = {TRACE_MMAP,   TRACE_MMAP,   TRACE_MMAP,
                                                    TRACE_MUNMAP, TRACE_MREMAP, TRACE_MPROTECT};
        static const char *const functions[] = {"one", "two", "three", "four", "five", "six"};
        const struct fabric_options o = {.seed = seed, .max_processes = 1, .max_threads = 1};
        struct fabric *f = fabric_new(TRACE_PATH, &o);
        uint32_t stacks[N_STACKS],
                pool = fabric_frame(f, fabric_frame(f, 0, "/bin/x", "main", "", 0), "/bin/x",
                                    "start", "", 0);
        struct err e = {0};
        struct query *q;

        random_state = seed;
        for (size_t i = 0; i < N_STACKS; i++)
                stacks[i] = fabric_frame(f, fabric_frame(f, pool, "/bin/x", functions[i], "", 0),
                                         "/bin/x", "pool_alloc", "", 0);
        fabric_alloc(f, 0, fabric_thread(f, 0, "main"), stacks[0], 1);
        memset(after, 0, sizeof(after));
        for (size_t i = 0; i < N_CALLS; i++) {
                size_t n = 1 + draw(8), at = draw(N_PAGES - n), from = draw(N_PAGES - n);
                struct trace_mapping m = {.thread = TRACE_NO_THREAD,
                                          .op = (uint8_t)ops[draw(ARRAY_SIZE(ops))],
                                          .prot = draw(3) ? PROT_READ : PROT_NONE,
                                          .flags = MAP_ANONYMOUS,
                                          .stack = stacks[draw(N_STACKS)],
                                          .address = PAGE * at,
                                          .size_bytes = PAGE * n};

                if (m.op == TRACE_MREMAP) {
                        m.old_address = PAGE * from;
                        m.old_size_bytes = PAGE * n;
                }
                fabric_wait(f, 10000);
                time_ns[i] = m.time_ns = fabric_now_ns(f);
                trace_put_mapping(fabric_writer(f), &m);
                after[i + 1] = after[i];
                apply(&after[i + 1], &m);
        }
        fabric_wait(f, 10000);
        fabric_end(f);
        assert_int_equal(query_open(TRACE_PATH, &q, &e), 0);
        return q;
}

static uint64_t usable(const struct pages *p, uint32_t stack) {
        uint64_t bytes = 0;

        for (size_t i = 0; i < N_PAGES; i++)
                if (p->stack[i] && p->is_usable[i] && (!stack || p->stack[i] == stack))
                        bytes += PAGE;
        return bytes;
}

/* Mapped behind calls first to last; which of them has most. */
static size_t highest(size_t first, size_t last) {
        size_t most = first;

        for (size_t i = first; i <= last; i++)
                if (usable(&after[i], 0) > usable(&after[most], 0))
                        most = i;
        return most;
}

static void check(struct query *q, size_t first, size_t last, bool is_moment) {
        struct query_scope scope = query_whole(q);
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        _cleanup_(query_meetings_freep) struct query_meetings *m = NULL;
        uint64_t sum = 0, met = 0;
        struct err e = {0};
        size_t peak = is_moment ? last : highest(first, last);

        scope.of_mappings = true;
        scope.is_moment = is_moment;
        scope.from_ns = first ? time_ns[first - 1] + 1 : 0;
        scope.to_ns = last < N_CALLS ? time_ns[last] : UINT64_MAX;
        assert_int_equal(query_ask(q, &scope, &a, &e), 0);
        assert_int_equal(a->totals.peak_bytes, usable(&after[peak], 0));
        assert_int_equal(a->totals.begin_bytes, usable(&after[first], 0));
        assert_int_equal(a->totals.end_bytes, usable(&after[last], 0));
        for (size_t i = 0; i < a->n_sites; i++) {
                const struct query_figures *f = &a->sites[i].f;

                assert_int_equal(f->peak_bytes, usable(&after[peak], a->sites[i].stack));
                assert_int_equal(f->begin_bytes, usable(&after[first], a->sites[i].stack));
                assert_int_equal(f->end_bytes, usable(&after[last], a->sites[i].stack));
                assert_int_equal((uint64_t)f->begin_bytes + f->alloc_bytes - f->free_bytes,
                                 f->end_bytes);
                sum += (uint64_t)f->peak_bytes;
        }
        assert_int_equal(sum, a->totals.peak_bytes);
        m = query_meet(q, a, QUERY_MAPPED);
        for (size_t i = 0; i < m->n; i++) {
                met += (uint64_t)m->items[i].f.peak_bytes;
                assert_true(i == 0 || m->items[i - 1].f.peak_bytes >= m->items[i].f.peak_bytes);
        }
        assert_int_equal(met, a->totals.peak_bytes);
        if (m->n && m->items[0].n_paths > 3)
                assert_string_equal(m->items[0].frame.function, "pool_alloc");
}

static void test_against_pages(void **state) {
        (void)state;
        for (uint64_t seed = 1; seed <= 12; seed++) {
                struct query *q = open_random(seed);

                check(q, 0, N_CALLS, false);
                for (size_t i = 0; i < 40; i++) {
                        size_t a = draw(N_CALLS), b = a + 1 + draw(N_CALLS - a);

                        check(q, a, b, i % 4 == 0);
                }
                query_free(q);
        }
}

/* In every column groups add up to the line, and the line is what pages say. */
static void test_over_time(void **state) {
        struct query *q = open_random(77);
        const struct query_group_options by = {.by = QUERY_BY_SITE, .metric = QUERY_MAPPED};
        struct query_scope scope = query_whole(q);
        struct query_column columns[7];
        struct query_history *h = NULL;
        uint64_t most = 0;
        struct err e = {0};

        (void)state;
        scope.of_mappings = true;
        assert_int_equal(query_timeline(q, &scope, 7, 0, columns, &e), 0);
        for (size_t i = 0; i < 7; i++)
                most = MAX(most, columns[i].live_bytes);
        assert_int_equal(most, usable(&after[highest(0, N_CALLS)], 0));
        assert_int_equal(query_history(q, &scope, &by, 3, 7, 0, &h, &e), 0);
        for (size_t c = 0; c < 7; c++) {
                int64_t sum = 0;
                size_t done = 0;

                while (done < N_CALLS && time_ns[done] < h->at_ns[c])
                        done++;
                for (size_t g = 0; g <= h->n_groups; g++)
                        sum += h->live_bytes[g * h->n_columns + c];
                assert_int_equal(sum, usable(&after[done], 0));
        }
        query_history_free(h);
        query_free(q);
}

static void test_refusals(void **state) {
        struct query *q = open_random(3);
        struct query_scope scope = query_whole(q);
        struct query_filter *f = query_filter_new();
        const struct query_group_options by = {.by = QUERY_BY_SIZE, .metric = QUERY_MAPPED};
        struct query_answer *a = NULL;
        struct query_groups *g = NULL;
        struct err e = {0};

        (void)state;
        scope.of_mappings = true;
        assert_true(query_group(q, &scope, &by, &g, &e) < 0);
        assert_int_equal(query_filter_add(f, "size", "1..", &e), 0);
        scope.filter = f;
        assert_true(query_ask(q, &scope, &a, &e) < 0);
        query_filter_free(f);
        query_free(q);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_against_pages),
                cmocka_unit_test(test_over_time),
                cmocka_unit_test(test_refusals),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
