/* SPDX-License-Identifier: MIT */
/* Programs drawn at random whose wrapper is known, and others that only look as if they had one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/macros.h"
#include "name/name.h"
#include "query/query.h"
#include "query/testing/fabric_core.h"

#define TRACE_PATH "wrapper_test.silt"
#define RULES_PATH "wrapper_test.rules"
#define EXE "/usr/bin/app"
#define LIBRARY "/usr/lib/libpool.so.1"

enum { N_DRAWS = 60, MAX_CALLERS = 40 };

struct program {
        uint64_t random;
        struct fabric *f;
        uint32_t thread, main;
        uint32_t modules[2], n_places;
        char names[MAX_CALLERS][24];
        struct query *q;
        struct names *rules;
};

static uint64_t draw(struct program *p, uint64_t from, uint64_t to) {
        p->random = p->random * 6364136223846793005ull + 1442695040888963407ull;
        return from + (p->random >> 33) % (to - from + 1);
}

static unsigned n_draws(void) {
        const char *text = getenv("SILT_WRAPPER_DRAWS");

        return text && atoi(text) > 0 ? (unsigned)atoi(text) : N_DRAWS;
}

/* A place in a function; function NULL: it has no name. */
static uint32_t place(struct program *p, bool in_library, const char *function) {
        struct trace_location l = {p->modules[in_library], 0x1000 + 64 * p->n_places++};
        uint32_t location = trace_add_location(p->f->w, &l);

        if (function)
                vec_push(&p->f->symbols, (struct trace_symbol){.location = location,
                                                               .function = function,
                                                               .file = ""});
        return location;
}

static uint32_t call(struct program *p, uint32_t caller, uint32_t location) {
        return trace_add_stack(p->f->w, caller, location);
}

static void alloc(struct program *p, uint32_t stack, uint64_t size_bytes) {
        fabric_alloc(p->f, 0, p->thread, stack, size_bytes);
        fabric_wait(p->f, 10);
}

static void begin(struct program *p, uint64_t seed) {
        struct fabric_options o = {.seed = seed, .max_processes = 1, .max_threads = 1};
        static const char *const paths[] = {EXE, LIBRARY};

        *p = (struct program){.random = seed * 77 + 1};
        p->f = fabric_new(TRACE_PATH, &o);
        p->thread = fabric_thread(p->f, 0, "app");
        for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
                p->modules[i] =
                        trace_add_module(p->f->w, &(struct trace_module){.path = paths[i],
                                                                         .size_bytes = 1 << 20});
        p->main = call(p, call(p, 0, place(p, false, "_start")), place(p, false, "main"));
        for (unsigned i = 0; i < MAX_CALLERS; i++)
                snprintf(p->names[i], sizeof(p->names[i]), "work_%u", i);
}

/* Functions that each call the place, for sizes from..to of their own, step of a different kind each. */
static void call_from(struct program *p, unsigned n, uint32_t location, uint64_t size_bytes,
                      uint64_t step_bytes) {
        for (unsigned i = 0; i < n; i++) {
                uint32_t work = call(p, p->main, place(p, false, p->names[i]));
                uint32_t stack = call(p, work, location);

                for (uint64_t k = draw(p, 1, 5); k > 0; k--)
                        alloc(p, stack, size_bytes + i * step_bytes);
        }
}

static void end(struct program *p, const char *rules) {
        struct name_sources sources = {0};
        struct err err = {0};
        FILE *f;

        fabric_end(p->f);
        if (rules) {
                f = fopen(RULES_PATH, "w");
                assert_non_null(f);
                fputs(rules, f);
                fclose(f);
                sources.files[sources.n_files++] = RULES_PATH;
        }
        assert_int_equal(names_load(&sources, &p->rules, &err), 0);
        assert_int_equal(query_open(TRACE_PATH, &p->q, &err), 0);
        query_set_names(p->q, p->rules);
        assert_int_equal(query_learn_wrappers(p->q, NULL), 0);
        unlink(TRACE_PATH);
        unlink(RULES_PATH);
}

static void done(struct program *p) {
        query_free(p->q);
        names_free(p->rules);
}

/* Whether the function asks for memory in its own name: some site says so. */
static bool asks(struct program *p, const char *function) {
        struct query_scope scope = query_whole(p->q);
        const struct query_group_options by = {.by = QUERY_BY_FUNCTION, .metric = QUERY_ALLOCATED};
        struct query_groups *g = NULL;
        struct err err = {0};
        bool found = false;

        assert_int_equal(query_group(p->q, &scope, &by, &g, &err), 0);
        for (size_t i = 0; i < g->n; i++)
                found |= strcmp(g->rows[i].frame.function, function) == 0 &&
                         g->rows[i].self.n_allocs > 0;
        query_groups_free(g);
        return found;
}

/* ---- wrappers -------------------------------------------------------------------------------- */

static void wrappers_that_say_so_are_passed_over(void **state) {
        (void)state;
        for (unsigned i = 0; i < n_draws(); i++) {
                static const char *const names[] = {"x264_malloc",
                                                    "pool::Pool::allocate(unsigned long)",
                                                    "my_strdup", "os_realloc"};
                const char *name = names[i % ARRAY_SIZE(names)];
                struct program p;
                unsigned n;

                begin(&p, i + 1);
                n = (unsigned)draw(&p, 2, 20);
                call_from(&p, n, place(&p, draw(&p, 0, 1), name), draw(&p, 1, 1000),
                          draw(&p, 30, 500));
                end(&p, NULL);
                assert_false(asks(&p, name));
                assert_true(asks(&p, "work_0") && asks(&p, p.names[n - 1]));
                done(&p);
        }
}

/* No word in its name: only its callers tell. */
static void wrappers_are_known_by_their_callers(void **state) {
        (void)state;
        for (unsigned i = 0; i < n_draws(); i++) {
                struct program p;
                unsigned n;

                begin(&p, i + 1);
                n = (unsigned)draw(&p, 8, MAX_CALLERS);
                call_from(&p, n, place(&p, true, "isc_get"), draw(&p, 1, 1000), draw(&p, 40, 500));
                end(&p, NULL);
                assert_false(asks(&p, "isc_get"));
                assert_true(asks(&p, "work_0") && asks(&p, p.names[n - 1]));
                done(&p);
        }
}

static void wrappers_of_wrappers_are_too(void **state) {
        (void)state;
        for (unsigned i = 0; i < n_draws(); i++) {
                struct program p;
                uint32_t inner, outer[2];

                begin(&p, i + 1);
                inner = place(&p, false, "raw_alloc");
                outer[0] = place(&p, false, "zeroed_alloc");
                outer[1] = place(&p, false, "checked_alloc");
                for (unsigned k = 0; k < 12; k++) {
                        uint32_t work = call(&p, p.main, place(&p, false, p.names[k]));
                        uint32_t stack = call(&p, call(&p, work, outer[k % 2]), inner);

                        alloc(&p, stack, draw(&p, 1, 50) + k * 100);
                }
                end(&p, NULL);
                assert_false(asks(&p, "raw_alloc") || asks(&p, "zeroed_alloc") ||
                             asks(&p, "checked_alloc"));
                assert_true(asks(&p, "work_0") && asks(&p, "work_11"));
                done(&p);
        }
}

/* A wrapper that only another calls has few callers: theirs tell. */
static void chains_are_passed_over(void **state) {
        (void)state;
        for (unsigned i = 0; i < n_draws(); i++) {
                static const char *const names[] = {"zz_get", "zz_take", "zz_raw"};
                unsigned n, n_links;
                uint32_t links[3];
                struct program p;

                begin(&p, i + 1);
                n = (unsigned)draw(&p, 3, MAX_CALLERS);
                n_links = (unsigned)draw(&p, 2, 3);
                for (unsigned k = 0; k < n_links; k++)
                        links[k] = place(&p, false, names[k]);
                for (unsigned k = 0; k < n; k++) {
                        uint32_t stack = call(&p, p.main, place(&p, false, p.names[k]));

                        for (unsigned link = 0; link < n_links; link++)
                                stack = call(&p, stack, links[link]);
                        alloc(&p, stack, 50 + 70 * k);
                }
                end(&p, NULL);
                for (unsigned k = 0; k < n_links; k++)
                        assert_false(asks(&p, names[k]));
                assert_true(asks(&p, "work_0") && asks(&p, p.names[n - 1]));
                done(&p);
        }
}

/* One for malloc, one for calloc, …: none is on most paths, all are together. One of them is called through others only. */
static void families_are_passed_over(void **state) {
        (void)state;
        for (unsigned i = 0; i < n_draws(); i++) {
                static const char *const names[] = {"zz_get", "zz_zeroed", "zz_more", "zz_copy"};
                struct program p;
                uint32_t family[4], raw;

                begin(&p, i + 1);
                raw = place(&p, false, i % 2 ? "do_zz_get" : NULL);
                for (unsigned k = 0; k < 4; k++)
                        family[k] = place(&p, false, names[k]);
                for (unsigned k = 0; k < MAX_CALLERS; k++) {
                        uint32_t work = call(&p, p.main, place(&p, false, p.names[k]));
                        uint32_t stack = call(&p, work, family[k % 4]);

                        alloc(&p, k % 4 == 0 ? call(&p, stack, raw) : stack,
                              draw(&p, 1, 60) + 100 * k);
                        if (k % 4 == 3) /* asks itself, too */
                                alloc(&p, work, draw(&p, 1, 1000));
                }
                end(&p, NULL);
                for (unsigned k = 0; k < 4; k++)
                        assert_false(asks(&p, names[k]));
                assert_false(asks(&p, "do_zz_get"));
                assert_true(asks(&p, "work_0") && asks(&p, "work_39"));
                done(&p);
        }
}

/* The rest of the file that a family is in has too few callers to be known by them. In a small program everything is near. */
static void neighbours_of_wrappers_are_too(void **state) {
        (void)state;
        for (unsigned i = 0; i < n_draws(); i++) {
                static const char *const names[] = {"zz_get", "zz_zeroed", "zz_more"};
                bool is_large = i % 2;
                uint32_t family[3], rare, once;
                struct program p;

                begin(&p, i + 1);
                for (unsigned k = 0; k < 3; k++)
                        family[k] = place(&p, false, names[k]);
                rare = place(&p, false, "zz_rare"); /* for malloc, and one that calls it */
                once = place(&p, false, "zz_once");
                p.n_places += is_large ? (1 << 20) / 64 : 0;
                for (unsigned k = 0; k < MAX_CALLERS; k++) {
                        uint32_t work = call(&p, p.main, place(&p, false, p.names[k]));

                        alloc(&p, call(&p, work, family[k % 3]), draw(&p, 1, 60) + 100 * k);
                        if (k < 2)
                                alloc(&p, call(&p, work, rare), 500 + 100 * k);
                        if (k == 2)
                                alloc(&p, call(&p, call(&p, work, once), rare), 900);
                }
                end(&p, NULL);
                assert_int_equal(asks(&p, "zz_rare"), !is_large);
                assert_false(asks(&p, "zz_once"));
                for (unsigned k = 0; k < 3; k++)
                        assert_false(asks(&p, names[k]));
                for (unsigned k = 3; k < MAX_CALLERS; k++)
                        assert_true(asks(&p, p.names[k]));
                done(&p);
        }
}

/* A stripped program: the place where it calls the allocator is all there is. */
static void wrappers_need_no_name(void **state) {
        struct program p;
        struct name_frame frame;

        (void)state;
        begin(&p, 1);
        call_from(&p, 20, place(&p, true, NULL), 100, 64);
        end(&p, NULL);
        frame = (struct name_frame){.function = "",
                                    .file = "",
                                    .module = LIBRARY,
                                    .offset = 0x1000 + 64 * 2};
        assert_int_equal(name_frame_kind(p.rules, &frame), NAME_ALLOCATOR);
        assert_true(asks(&p, "work_0"));
        done(&p);
}

/* ---- what is none ---------------------------------------------------------------------------- */

/* Makes things of one size: who calls it says less than what it is. */
static void makers_of_one_thing_are_blamed(void **state) {
        (void)state;
        for (unsigned i = 0; i < n_draws(); i++) {
                static const char *const names[] = {"node_new", "alloc_node"};
                const char *name = names[i % 2];
                struct program p;

                begin(&p, i + 1);
                call_from(&p, (unsigned)draw(&p, 1, MAX_CALLERS), place(&p, false, name),
                          draw(&p, 1, 1000), 0);
                end(&p, NULL);
                assert_true(asks(&p, name));
                assert_false(asks(&p, "work_0"));
                done(&p);
        }
}

/* The program's work: few call it, whatever its sizes. */
static void workers_of_few_callers_are_blamed(void **state) {
        (void)state;
        for (unsigned i = 0; i < n_draws(); i++) {
                static const char *const names[] = {"store_record", "allocate_all"};
                bool says_so = i % 2;
                struct program p;
                uint32_t at, work;

                begin(&p, i + 1);
                at = place(&p, false, names[says_so]);
                if (says_so) { /* one caller, many sizes */
                        work = call(&p, p.main, place(&p, false, "work_0"));
                        for (unsigned k = 0; k < 50; k++)
                                alloc(&p, call(&p, work, at), draw(&p, 1, 10000));
                } else {
                        call_from(&p, (unsigned)draw(&p, 1, 7), at, draw(&p, 1, 1000), 100);
                }
                end(&p, NULL);
                assert_true(asks(&p, names[says_so]));
                done(&p);
        }
}

/* Asks in many places of its own, or has others ask below it: it does something. */
static void functions_with_work_of_their_own_are_blamed(void **state) {
        (void)state;
        for (unsigned i = 0; i < n_draws(); i++) {
                struct program p;

                begin(&p, i + 1);
                for (unsigned k = 0; k < 20; k++) {
                        uint32_t work = call(&p, p.main, place(&p, false, p.names[k]));
                        uint32_t stack = call(&p, work, place(&p, false, "load_alloc_table"));

                        alloc(&p, stack, 50 + 100 * k);
                        if (i % 2)
                                alloc(&p, call(&p, stack, place(&p, false, "parse")), 64);
                }
                end(&p, NULL);
                assert_true(asks(&p, "load_alloc_table"));
                done(&p);
        }
}

/* One of several that ask in its program, not called an allocator. */
static void functions_beside_others_are_blamed(void **state) {
        (void)state;
        for (unsigned i = 0; i < n_draws(); i++) {
                struct program p;

                begin(&p, i + 1);
                call_from(&p, 12, place(&p, false, "read_line"), 10, 100);
                for (unsigned k = 0; k < 30; k++) {
                        uint32_t other = call(&p, p.main, place(&p, false, p.names[k]));

                        alloc(&p, other, draw(&p, 1, 1000));
                }
                end(&p, NULL);
                assert_true(asks(&p, "read_line"));
                done(&p);
        }
}

/* What is made, at the end of a chain: of one size, for few, or by a function that has others ask, too. */
static void workers_behind_helpers_are_blamed(void **state) {
        (void)state;
        for (unsigned i = 0; i < n_draws(); i++) {
                enum { ONE_SIZE, FEW, OWN_WORK, BESIDE_OTHERS, N_KINDS } kind = i % N_KINDS;
                struct program p;
                uint32_t outer, inner;
                unsigned n;

                begin(&p, i + 1);
                n = (unsigned)(kind == FEW             ? draw(&p, 1, 2)
                               : kind == BESIDE_OTHERS ? draw(&p, 3, 7)
                                                       : draw(&p, 3, MAX_CALLERS));
                outer = place(&p, false, "parse_item");
                inner = place(&p, false, "node_new");
                for (unsigned k = 0; k < n; k++) {
                        uint32_t work = call(&p, p.main, place(&p, false, p.names[k]));
                        uint32_t parse = call(&p, work, outer);

                        for (uint64_t times = draw(&p, 1, 3); times > 0; times--)
                                alloc(&p, call(&p, parse, inner),
                                      kind == ONE_SIZE ? 64 : 50 + 70 * k);
                        if (kind == OWN_WORK)
                                alloc(&p, call(&p, parse, place(&p, false, "list_add")), 24);
                        if (kind == BESIDE_OTHERS)
                                alloc(&p, work, draw(&p, 1, 1000));
                }
                end(&p, NULL);
                assert_true(asks(&p, "node_new"));
                done(&p);
        }
}

static void rules_count_more(void **state) {
        struct program p;

        (void)state;
        begin(&p, 3);
        call_from(&p, 20, place(&p, false, "x264_malloc"), 10, 100);
        end(&p, "keep x264_malloc\n");
        assert_true(asks(&p, "x264_malloc"));
        done(&p);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(wrappers_that_say_so_are_passed_over),
                cmocka_unit_test(wrappers_are_known_by_their_callers),
                cmocka_unit_test(wrappers_of_wrappers_are_too),
                cmocka_unit_test(chains_are_passed_over),
                cmocka_unit_test(families_are_passed_over),
                cmocka_unit_test(neighbours_of_wrappers_are_too),
                cmocka_unit_test(wrappers_need_no_name),
                cmocka_unit_test(makers_of_one_thing_are_blamed),
                cmocka_unit_test(workers_of_few_callers_are_blamed),
                cmocka_unit_test(functions_with_work_of_their_own_are_blamed),
                cmocka_unit_test(functions_beside_others_are_blamed),
                cmocka_unit_test(workers_behind_helpers_are_blamed),
                cmocka_unit_test(rules_count_more),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
