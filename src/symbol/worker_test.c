/* SPDX-License-Identifier: MIT */
/* Workers that die in every way, on modules whose path says how. The looking up itself is made up here; append.c
 * and worker.c are the real ones. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/system_clock.h"
#include "base/vec.h"
#include "symbol/cache.h"
#include "symbol/jit.h"
#include "symbol/module.h"
#include "symbol/symbol.h"
#include "symbol/worker.h"
#include "trace/writer.h"

#define TRACE_PATH "worker_test.silt"

/* ---- looking up, made up --------------------------------------------------------------------- */

struct symbol_module {
        const struct trace_module *m;
};

int symbol_module_open(const struct trace_module *m, const struct symbol_search *search,
                       struct symbol_module **ret, struct symbol_origin *ret_origin) {
        (void)search;
        *ret_origin = (struct symbol_origin){.naming = TRACE_NAMING_MISSING};
        snprintf(ret_origin->text, sizeof(ret_origin->text), "gone");
        if (strstr(m->path, "missing"))
                return -ENOENT;
        *ret = calloc(1, sizeof(**ret));
        (*ret)->m = m;
        return 0;
}

static void hang(void) {
        for (;;)
                pause();
}

static void spin(void) {
        for (volatile unsigned i = 0;; i++)
                ;
}

static void blow_up(void) {
        VEC(char) v = {0};

        for (;;) {
                vec_reserve(&v, v.cap + (1 << 20));
                memset(v.items + v.n, 1, v.cap - v.n);
                v.n = v.cap;
        }
}

static int __attribute__((noinline)) overflow(int depth) {
        volatile char more[4096] = {(char)depth};

        return depth < 0 ? 0 : overflow(depth + 1) + more[0];
}

static void die_as(const char *path) {
        if (strstr(path, "segv"))
                raise(SIGSEGV);
        if (strstr(path, "abort"))
                errno = 0, abort();
        if (strstr(path, "exit"))
                _exit(3);
        if (strstr(path, "hang"))
                hang();
        if (strstr(path, "spin"))
                spin();
        if (strstr(path, "memory"))
                blow_up();
        if (strstr(path, "overflow"))
                overflow(0);
        if (strstr(path, "killed"))
                raise(SIGKILL);
        if (strstr(path, "libdw"))
                exit(EXIT_FAILURE); /* as libdw when memory is out */
}

/* Two symbols an address; half of the addresses are named before it dies. */
void symbol_module_name(struct symbol_module *m, const uint64_t *addresses, size_t n, symbol_fn fn,
                        void *ctx) {
        for (size_t i = 0; i < n; i++) {
                char inner[64], outer[64];

                snprintf(inner, sizeof(inner), "inner_%llx", (unsigned long long)addresses[i]);
                snprintf(outer, sizeof(outer), "outer of %s", m->m->path);
                if (i == n / 2)
                        die_as(m->m->path);
                fn(ctx, &(struct trace_symbol){(uint32_t)i, inner, "a.c", 3, true, false});
                fn(ctx, &(struct trace_symbol){(uint32_t)i, outer, "a.c", 9, false, true});
        }
}

void symbol_module_origin(const struct symbol_module *m, struct symbol_origin *ret) {
        *ret = (struct symbol_origin){.naming = TRACE_NAMING_FULL};
        snprintf(ret->file, sizeof(ret->file), "debug of %.100s", m->m->path);
}

struct symbol_module *symbol_module_free(struct symbol_module *m) {
        free(m);
        return NULL;
}

void jit_name(struct trace_reader *t, symbol_fn fn, void *ctx, struct symbol_origin *ret_origin) {
        (void)t, (void)fn, (void)ctx;
        *ret_origin = (struct symbol_origin){.naming = TRACE_NAMING_MISSING};
}

struct symbol_cache *symbol_cache_open(const struct symbol_search *search) {
        (void)search;
        return NULL;
}

void symbol_cache_close(struct symbol_cache *c) {
        (void)c;
}

bool cache_answer(struct symbol_cache *c, const struct trace_module *m, const uint64_t *addresses,
                  size_t n, symbol_fn fn, void *ctx, struct symbol_origin *ret_origin) {
        (void)c, (void)m, (void)addresses, (void)n, (void)fn, (void)ctx, (void)ret_origin;
        return false;
}

struct cache_entry *cache_entry_new(struct symbol_cache *c, const struct trace_module *m,
                                    const uint64_t *addresses, size_t n) {
        (void)c, (void)m, (void)addresses, (void)n;
        return NULL;
}

void cache_entry_add(struct cache_entry *e, const struct trace_symbol *s) {
        (void)e, (void)s;
}

void cache_entry_store(struct cache_entry *e, const struct symbol_origin *origin) {
        (void)e, (void)origin;
}

struct cache_entry *cache_entry_free(struct cache_entry *e) {
        (void)e;
        return NULL;
}

/* ---- traces ---------------------------------------------------------------------------------- */

enum { N_PLACES = 7 }; /* a module */

/* One location of each module in turn, so that those of a module are spread. */
static void write_trace(const char *const *paths, size_t n) {
        struct trace_meta meta = {.silt_version = "", .host = "", .cwd = ""};
        struct trace_writer *w;
        int fd = open(TRACE_PATH, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        assert_true(fd >= 0);
        assert_int_equal(trace_writer_open(fd, &meta, &w, NULL), 0);
        for (size_t i = 0; i < n; i++)
                trace_add_module(w, &(struct trace_module){.path = paths[i]});
        for (size_t k = 0; k < N_PLACES; k++)
                for (uint32_t i = 0; i < n; i++)
                        trace_add_location(w, &(struct trace_location){i, 0x1000 * (k + 1) + i});
        trace_add_location(w, &(struct trace_location){UINT32_MAX, 0x1234});
        trace_add_location(w, &(struct trace_location){0, 0}); /* of no call */
        assert_int_equal(trace_writer_finish(w, NULL), 0);
        trace_writer_free(w);
}

struct expected {
        const char *path;
        enum trace_naming naming;
};

/* What ThreadSanitizer is refused memory for it dies of, before anyone can say why. */
static bool naming_fits(uint32_t naming, enum trace_naming expected) {
#ifdef __SANITIZE_THREAD__
        if (expected == TRACE_NAMING_OVER_MEMORY && naming == TRACE_NAMING_CRASHED)
                return true;
#endif
        return naming == (uint32_t)expected;
}

static void check_module(const struct symbol_table *t, uint32_t module, size_t n_modules,
                         const struct expected *x, size_t *next) {
        bool named = x->naming == TRACE_NAMING_FULL;

        assert_int_equal(t->modules[module].module, module);
        if (!naming_fits(t->modules[module].naming, x->naming))
                fail_msg("%s: naming %u, expected %u", x->path, t->modules[module].naming,
                         x->naming);
        assert_true(named || t->modules[module].text[0]);
        for (uint32_t k = 0; named && k < N_PLACES; k++) {
                char inner[64];
                size_t i;

                snprintf(inner, sizeof(inner), "inner_%x", 0x1000 * (k + 1) + module - 1);
                for (i = 0; i < t->n_symbols; i++)
                        if (t->symbols[i].location == k * n_modules + module)
                                break;
                assert_true(i + 1 < t->n_symbols);
                assert_string_equal(t->symbols[i].function, inner);
                assert_true(t->symbols[i].inlined && !t->symbols[i].guess);
                assert_int_equal(t->symbols[i + 1].location, t->symbols[i].location);
                assert_non_null(strstr(t->symbols[i + 1].function, x->path));
                *next += 2;
        }
}

static void check(const struct expected *x, size_t n, struct symbol_options options) {
        _cleanup_(symbol_table_freep) struct symbol_table *t = NULL;
        const char *paths[32];
        struct err e = {0};
        size_t n_symbols = 0;

        for (size_t i = 0; i < n; i++)
                paths[i] = x[i].path;
        write_trace(paths, n);
        if (symbol_lookup(TRACE_PATH, &options, &t, &e) < 0)
                fail_msg("%s", e.text);
        assert_int_equal(t->n_modules, n);
        for (uint32_t m = 0; m < n; m++)
                check_module(t, m, n, &x[m], &n_symbols);
        assert_int_equal(t->n_symbols, n_symbols); /* and none of those that failed */
        for (size_t i = 1; i < t->n_symbols; i++)
                assert_true(t->symbols[i].location >= t->symbols[i - 1].location);
}

static const struct symbol_options two = {.limits = {64 << 20, 60ull * 1000000000}, .n_workers = 2};

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_every_death(void **state) {
        static const struct expected x[] = {
                {"/good/1", TRACE_NAMING_FULL},        {"/segv", TRACE_NAMING_CRASHED},
                {"/good/2", TRACE_NAMING_FULL},        {"/abort", TRACE_NAMING_CRASHED},
                {"/exit", TRACE_NAMING_CRASHED},       {"/memory", TRACE_NAMING_OVER_MEMORY},
                {"/good/3", TRACE_NAMING_FULL},        {"/overflow", TRACE_NAMING_CRASHED},
                {"/killed", TRACE_NAMING_OVER_MEMORY}, {"/libdw", TRACE_NAMING_OVER_MEMORY},
                {"/missing", TRACE_NAMING_MISSING},    {"/good/4", TRACE_NAMING_FULL},
        };

        (void)state;
        for (unsigned n_workers = 1; n_workers <= WORKER_MAX + 1; n_workers += 4) {
                struct symbol_options options = two;

                options.n_workers = n_workers;
                check(x, ARRAY_SIZE(x), options);
        }
}

static ssize_t count_writes(void *ctx, const char *bytes, size_t n) {
        (void)bytes;
        atomic_fetch_add((atomic_uint *)ctx, 1);
        return (ssize_t)n;
}

/* What other threads are writing stays theirs: nobody writes it out, here or in a worker that leaves through exit(). */
static void test_streams_of_others(void **state) {
        static const struct expected x[] = {{"/libdw", TRACE_NAMING_OVER_MEMORY},
                                            {"/good/1", TRACE_NAMING_FULL}};
        atomic_uint *n_writes = mmap(NULL, sizeof(*n_writes), PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        FILE *others;

        (void)state;
        assert_true(n_writes != MAP_FAILED);
        others = fopencookie(n_writes, "w", (cookie_io_functions_t){.write = count_writes});
        assert_non_null(others);
        fputs("half a line", others);
        check(x, ARRAY_SIZE(x), two);
        assert_int_equal(atomic_load(n_writes), 0);
        fclose(others);
        assert_int_equal(atomic_load(n_writes), 1);
        munmap(n_writes, sizeof(*n_writes));
}

/* A module that hangs costs half of the time, and only its own names. */
static void test_hangs(void **state) {
        static const struct expected x[] = {
                {"/hang", TRACE_NAMING_TIMED_OUT}, {"/good/1", TRACE_NAMING_FULL},
                {"/spin", TRACE_NAMING_TIMED_OUT}, {"/good/2", TRACE_NAMING_FULL},
                {"/good/3", TRACE_NAMING_FULL},
        };
        struct symbol_options options = two;
        uint64_t begin_ns = clock_now_ns();

        (void)state;
        options.limits.time_ns = 2000000000;
        for (options.n_workers = 1; options.n_workers <= 2; options.n_workers++)
                check(x, ARRAY_SIZE(x), options);
        assert_true(clock_now_ns() - begin_ns < 15ull * 1000000000);
}

static void test_no_time_at_all(void **state) {
        static const struct expected x[] = {{"/good/1", TRACE_NAMING_TIMED_OUT},
                                            {"/good/2", TRACE_NAMING_TIMED_OUT}};
        struct symbol_options options = two;

        (void)state;
        options.limits.time_ns = 0;
        check(x, ARRAY_SIZE(x), options);
}

static void test_no_memory_at_all(void **state) {
        static const struct expected x[] = {{"/memory/1", TRACE_NAMING_OVER_MEMORY},
                                            {"/memory/2", TRACE_NAMING_OVER_MEMORY}};
        struct symbol_options options = two;

        (void)state;
        options.limits.memory_bytes = 0;
        check(x, ARRAY_SIZE(x), options);
}

/* The trace gets what could be found, and says what could not. */
static void test_trace_keeps_it(void **state) {
        static const char *const paths[] = {"/segv", "/good", "/missing"};
        struct trace_reader *t;
        struct err e = {0};

        (void)state;
        write_trace(paths, 3);
        assert_int_equal(symbol_append_with(TRACE_PATH, &two, &e), 0);
        assert_int_equal(trace_reader_open(TRACE_PATH, &t, &e), 0);
        assert_true(trace_view(t)->finished);
        assert_int_equal(trace_view(t)->n_symbols, 2 * N_PLACES);
        assert_int_equal(trace_view(t)->n_module_names, 3);
        assert_int_equal(trace_view(t)->module_names[0].naming, TRACE_NAMING_CRASHED);
        assert_non_null(strstr(trace_view(t)->module_names[0].text, "crashed"));
        assert_string_equal(trace_view(t)->module_names[1].file, "debug of /good");
        assert_string_equal(trace_view(t)->module_names[2].text, "gone");
        trace_reader_free(t);
}

static void test_what_is_no_trace(void **state) {
        struct err e = {0};

        (void)state;
        assert_int_equal(symbol_append_with("/nonexistent/a.silt", &two, &e), -ENOENT);
        assert_non_null(strstr(e.text, "check the path"));
        assert_true(symbol_append_with("/dev/null", &two, &e) < 0);
        assert_true(e.text[0]);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_death),
                cmocka_unit_test(test_streams_of_others),
                cmocka_unit_test(test_hangs),
                cmocka_unit_test(test_no_time_at_all),
                cmocka_unit_test(test_no_memory_at_all),
                cmocka_unit_test(test_trace_keeps_it),
                cmocka_unit_test(test_what_is_no_trace),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
