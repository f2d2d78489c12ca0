/* SPDX-License-Identifier: MIT */
/* Wrappers that no rule knows, told by the call paths of the trace. A wrapper only passes requests on, so
 *  - nearly wherever it is on a path, the allocator is what it calls: no other function below it asks,
 *  - it calls the allocator from one place or a few,
 *  - several functions call it, and what they ask for differs from caller to caller: the size is theirs.
 * A function that always asks for one size makes something of its own, however many call it, and one with a single caller
 * does that one's work: blaming either says more than blaming who called it.
 * Known wrappers uncover what called them, which may be one too: rounds, until nothing is learned. */
#include <stdlib.h>
#include <string.h>

#include "query/call_path.h"
#include "query/query_internal.h"
#include "query/site_state.h"

enum {
        WRAPPER_MAX_SITES = 262144, /* looked at: more tell nothing new */
        WRAPPER_MAX_ROUNDS = 12,
        WRAPPER_MAX_PLACES = 4, /* in it that call the allocator, when it says so; else */
        WRAPPER_MAX_PLACES_QUIET = 2,
        WRAPPER_MAX_OUTSIDE_PCT = 5, /* of its paths: others below it ask */
        /* called an allocator: so many callers, and so many sizes among theirs */
        WRAPPER_SAID_CALLERS = 2,
        WRAPPER_SAID_SIZES = 2,
        /* not called one: on nearly every path of its module, for many */
        WRAPPER_CALLERS = 8,
        WRAPPER_SIZES = 4,
        WRAPPER_SIZES_PCT = 33, /* of the callers: one that few sizes come from makes things */
        WRAPPER_MODULE_PCT = 50,
};

#define WRAPPER_SAME_SIZE 0.02 /* closer means of sizes are one: samples round */

/* A call path that allocated, and who asked as far as is known. */
struct request {
        uint32_t stack;
        uint64_t n_allocs, alloc_bytes;
        uint32_t asker, caller; /* keys of functions; CALL_PATH_NO_KEY: none */
        uint32_t place;         /* the frame's location: where it calls the allocator */
};

struct pair { /* a function that asks and one that calls it */
        uint32_t asker, caller;
        uint64_t n_allocs, alloc_bytes;
};

struct function {
        uint32_t n_paths;                      /* that it is on */
        uint32_t last;                         /* request it was counted for last, plus 1 */
        uint32_t n_asking;                     /* paths on which it is the code that asked */
        uint32_t n_places;                     /* in it that call the allocator */
        uint32_t n_callers, n_foreign_callers; /* those of another module */
        uint32_t first_pair;                   /* of the sorted pairs */
        bool is_learned, is_refused;
};

struct learning {
        struct query *q;
        struct call_paths paths;
        VEC(struct request) requests;
        VEC(struct function) functions; /* by key */
        VEC(struct pair) pairs;
        struct map by_pair, by_place,
                by_module; /* by_module: module entry → paths asked for in it */
        VEC(double) sizes;
};

/* ---- who asks -------------------------------------------------------------------------------- */

static struct function *function_at(struct learning *l, uint32_t key) {
        while (l->functions.n <= key)
                vec_push(&l->functions, (struct function){0});
        return &l->functions.items[key];
}

static const struct name_look *look_of_key(const struct learning *l, uint32_t key) {
        return &l->paths.look_of[l->paths.keys.items[key].number];
}

/* The keys of the code that asked on a path and of what called it. */
static void find_askers(struct learning *l, struct request *r) {
        struct call_paths *p = &l->paths;

        call_paths_load(p, r->stack);
        r->asker = r->caller = CALL_PATH_NO_KEY;
        if (p->shown.n == 0 || p->looks.items[p->asker].kind != NAME_PLAIN)
                return; /* nothing but library */
        r->asker = call_paths_key(p, p->shown.items[0].number);
        r->place = call_paths_frame(p->q, p->shown.items[0].number).location;
        function_at(l, r->asker);
        if (p->shown.n > 1)
                r->caller = call_paths_key(p, p->shown.items[1].number);
}

/* The path loaded last: on which functions are. */
static void count_paths(struct learning *l, uint32_t request) {
        for (size_t i = 0; i < l->paths.shown.n; i++) {
                struct function *f =
                        function_at(l, call_paths_key(&l->paths, l->paths.shown.items[i].number));

                if (f->last != request + 1) /* recursion counts once */
                        f->n_paths++;
                f->last = request + 1;
        }
}

static void load_requests(struct learning *l) {
        struct state s;

        state_init(&s, l->q->view->n_processes, QUERY_ALL);
        state_fold(&s); /* whose it was makes no difference */
        state_load(l->q, &s, l->q->view->n_slices);
        for (size_t i = 0; i < s.sites.n && l->requests.n < WRAPPER_MAX_SITES; i++) {
                const struct state_site *site = &s.sites.items[i];

                if (site->n_allocs == 0 || site->stack == 0)
                        continue;
                vec_push(&l->requests, (struct request){.stack = site->stack,
                                                        .n_allocs = site->n_allocs,
                                                        .alloc_bytes = site->alloc_bytes});
                find_askers(l, &l->requests.items[l->requests.n - 1]);
                count_paths(l, (uint32_t)l->requests.n - 1);
        }
        state_done(&s);
}

/* ---- what is known of each function ---------------------------------------------------------- */

static void clear_counts(struct learning *l) {
        for (size_t i = 0; i < l->functions.n; i++) {
                struct function *f = &l->functions.items[i];

                f->n_asking = f->n_places = f->n_callers = f->n_foreign_callers = 0;
        }
        vec_clear(&l->pairs);
        map_clear(&l->by_pair);
        map_clear(&l->by_place);
        map_clear(&l->by_module);
}

static void count_request(struct learning *l, const struct request *r) {
        struct function *f = function_at(l, r->asker);
        const struct name_look *look = look_of_key(l, r->asker);
        uint64_t *at;
        bool added;

        f->n_asking++;
        at = map_put(&l->by_module, (uintptr_t)look->module, 0, NULL);
        (*at)++;
        map_put(&l->by_place, (uint64_t)r->asker << 32 | r->place, 0, &added);
        f->n_places += added;
        at = map_put(&l->by_pair, (uint64_t)r->asker << 32 | r->caller, l->pairs.n, &added);
        if (added) {
                vec_push(&l->pairs, (struct pair){.asker = r->asker, .caller = r->caller});
                f->n_callers++;
                f->n_foreign_callers += r->caller != CALL_PATH_NO_KEY &&
                                        look_of_key(l, r->caller)->module != look->module;
        }
        l->pairs.items[*at].n_allocs += r->n_allocs;
        l->pairs.items[*at].alloc_bytes += r->alloc_bytes;
}

static int by_asker(const void *a, const void *b) {
        const struct pair *x = a, *y = b;

        return x->asker != y->asker ? (x->asker < y->asker ? -1 : 1)
                                    : (x->caller > y->caller) - (x->caller < y->caller);
}

static void count_requests(struct learning *l) {
        clear_counts(l);
        for (size_t i = 0; i < l->requests.n; i++)
                if (l->requests.items[i].asker != CALL_PATH_NO_KEY)
                        count_request(l, &l->requests.items[i]);
        if (l->pairs.n)
                qsort(l->pairs.items, l->pairs.n, sizeof(l->pairs.items[0]), by_asker);
        for (size_t i = l->pairs.n; i > 0; i--)
                l->functions.items[l->pairs.items[i - 1].asker].first_pair = (uint32_t)(i - 1);
}

/* ---- judging --------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b) {
        const double *x = a, *y = b;

        return (*x > *y) - (*x < *y);
}

/* How many different sizes its callers ask for, each on average. */
static uint32_t count_sizes(struct learning *l, const struct function *f) {
        uint32_t n = 0;
        double last = 0;

        vec_clear(&l->sizes);
        for (size_t i = f->first_pair; i < f->first_pair + f->n_callers; i++) {
                const struct pair *p = &l->pairs.items[i];

                vec_push(&l->sizes, (double)p->alloc_bytes / (double)p->n_allocs);
        }
        qsort(l->sizes.items, l->sizes.n, sizeof(l->sizes.items[0]), by_value);
        for (size_t i = 0; i < l->sizes.n; i++) {
                double size = l->sizes.items[i];

                if (n == 0 || size > last + MAX(1.0, last * WRAPPER_SAME_SIZE)) {
                        n++;
                        last = size;
                }
        }
        return n;
}

static bool is_on_most_paths(const struct learning *l, uint32_t key) {
        uint64_t n_module = 0;

        map_get(&l->by_module, (uintptr_t)look_of_key(l, key)->module, &n_module);
        return (uint64_t)l->functions.items[key].n_asking * 100 >= n_module * WRAPPER_MODULE_PCT;
}

static bool is_wrapper(struct learning *l, uint32_t key) {
        const struct function *f = &l->functions.items[key];
        const struct name_look *look = look_of_key(l, key);
        uint32_t n_outside = f->n_paths - MIN(f->n_paths, f->n_asking), n_sizes;
        bool says_so;

        if (f->n_callers < WRAPPER_SAID_CALLERS || f->n_places > WRAPPER_MAX_PLACES ||
            (uint64_t)n_outside * 100 > (uint64_t)f->n_paths * WRAPPER_MAX_OUTSIDE_PCT)
                return false;
        n_sizes = count_sizes(l, f);
        says_so = !look->is_nameless && name_look_says_allocator(look);
        if (says_so)
                return n_sizes >= WRAPPER_SAID_SIZES || f->n_foreign_callers * 2 > f->n_callers;
        return f->n_places <= WRAPPER_MAX_PLACES_QUIET && f->n_callers >= WRAPPER_CALLERS &&
               n_sizes >= WRAPPER_SIZES && n_sizes * 100 >= f->n_callers * WRAPPER_SIZES_PCT &&
               is_on_most_paths(l, key);
}

static struct name_frame frame_of_key(const struct learning *l, uint32_t key) {
        struct query_frame f = call_paths_frame(l->q, l->paths.keys.items[key].number);

        return (struct name_frame){f.function, f.file,    f.module, f.offset,
                                   f.line,     f.inlined, f.guess};
}

static void learn(struct learning *l, uint32_t key) {
        const struct trace_view *v = l->q->view;
        struct name_frame frame = frame_of_key(l, key);

        if (name_is_ruled(query_names(l->q), &frame)) {
                l->functions.items[key].is_refused = true;
                return;
        }
        l->functions.items[key].is_learned = true;
        name_learn_wrapper(query_names(l->q), &frame);
        for (size_t i = 0; i < v->n_symbols + v->n_locations; i++)
                if (l->paths.key_of[i] == key)
                        l->paths.look_of[i].kind = NAME_ALLOCATOR;
}

/* Learns what the counts show; false: nothing. */
static bool judge(struct learning *l) {
        bool any = false;

        for (uint32_t key = 0; key < l->functions.n; key++) {
                struct function *f = &l->functions.items[key];

                if (f->n_asking && !f->is_learned && !f->is_refused && is_wrapper(l, key)) {
                        learn(l, key);
                        any |= l->functions.items[key].is_learned;
                }
        }
        return any;
}

void query_learn_wrappers(struct query *q) {
        struct learning l = {.q = q};
        char damage[sizeof(q->damage)];

        memcpy(damage, q->damage, sizeof(damage));
        call_paths_init(&l.paths, q, CALL_PATH_BY_FUNCTION, false);
        load_requests(&l);
        for (unsigned round = 0; round < WRAPPER_MAX_ROUNDS; round++) {
                count_requests(&l);
                if (!judge(&l))
                        break;
                for (size_t i = 0; i < l.requests.n; i++) {
                        struct request *r = &l.requests.items[i];

                        if (r->asker != CALL_PATH_NO_KEY && l.functions.items[r->asker].is_learned)
                                find_askers(&l, r);
                }
        }
        memcpy(q->damage, damage, sizeof(damage)); /* told by those whose answer it harms */
        call_paths_done(&l.paths);
        vec_free(&l.requests);
        vec_free(&l.functions);
        vec_free(&l.pairs);
        map_done(&l.by_pair);
        map_done(&l.by_place);
        map_done(&l.by_module);
        vec_free(&l.sizes);
}
