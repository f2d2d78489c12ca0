/* SPDX-License-Identifier: MIT */
/* Wrappers that no rule knows, told by the call paths of the trace. A wrapper only passes requests on, so
 *  - nearly wherever it is on a path, the allocator is what it calls: no other function below it asks,
 *  - it calls the allocator from one place or a few,
 *  - several functions call it, and what they ask for differs from caller to caller: the size is theirs.
 * A function that always asks for one size makes something of its own, however many call it, and one with a single caller
 * does that one's work: blaming either says more than blaming who called it. Unless those who call it are wrappers themselves
 * (xmalloc over do_xmalloc): it is judged by them, and learned with them or not at all.
 * A module has several of them (for malloc, calloc, realloc): together they are on most of its paths. They stand side by side in
 * one file: what else passes requests on there, amid a large program, is of them.
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
        WRAPPER_SIZES_PCT = 33,  /* of the callers: one that few sizes come from makes things */
        WRAPPER_MODULE_PCT = 50, /* all such of it together; */
        WRAPPER_FAMILY = 3,      /* so many are hardly there by chance, */
        WRAPPER_FAMILY_PCT = 25, /* on fewer paths */
        /* beside so many wrappers, so near, in a module that is much larger */
        NEIGHBOUR_WRAPPERS = 2,
        NEIGHBOUR_BYTES = 1024,
        NEIGHBOUR_MIN_MODULE_BYTES = 256 * 1024,
        /* of few callers, for which its callers speak: */
        CHAIN_MAX_DEPTH = 3,
        CHAIN_MIN_PCT = 5,      /* of its module's paths: with less it is not looked at */
        CHAIN_CALLERS_PCT = 80, /* of its paths: from callers that are wrappers */
        /* a chain that nearly all of its module goes through needs few callers, each with a size of its own */
        CHAIN_WHOLE_PCT = 90,
        CHAIN_WHOLE_CALLERS = 3,
};

#define WRAPPER_SAME_SIZE 0.02 /* closer means of sizes are one: samples round */

/* A call path that allocated, and who asked as far as is known. */
struct request {
        uint32_t stack;
        uint64_t n_allocs, alloc_bytes;
        uint32_t asker, caller; /* keys of functions; CALL_PATH_NO_KEY: none */
        uint32_t place;         /* the frame's location: where it calls the allocator */
        bool is_passed_on;      /* by a learned wrapper */
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
        uint32_t first_request; /* of the order by asker */
        bool is_direct;         /* asks an allocator, no learned wrapper */
};

struct candidate {
        uint32_t key;
        size_t chain_begin, n_chain; /* learned with it */
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
        VEC(uint32_t) order;              /* of requests, by who asked */
        VEC(struct request) asked;        /* by functions that are tried */
        VEC(uint32_t) tried;              /* frames that count as allocators for now */
        VEC(uint32_t) chain;              /* functions that are learned together */
        VEC(struct candidate) candidates; /* wrappers, if their module has them */
        struct map by_candidates,
                n_candidates; /* module entry → paths those of it asked for; how many */
        VEC(uint32_t) learned;
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

                if (!query_go_on_at(l->q, i, s.sites.n))
                        break;
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
                f->is_direct = false;
        }
        vec_clear(&l->pairs);
        map_clear(&l->by_pair);
        map_clear(&l->by_place);
        map_clear(&l->by_module);
        map_clear(&l->by_candidates);
        map_clear(&l->n_candidates);
        vec_clear(&l->order);
        vec_clear(&l->chain);
        vec_clear(&l->candidates);
}

static void count_request(struct learning *l, const struct request *r) {
        struct function *f = function_at(l, r->asker);
        const struct name_look *look = look_of_key(l, r->asker);
        uint64_t *at;
        bool added;

        f->n_asking++;
        f->is_direct |= !r->is_passed_on;
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

static void order_requests(struct learning *l) {
        uint32_t n = 0;

        for (size_t i = 0; i < l->functions.n; i++) {
                l->functions.items[i].first_request = n;
                n += l->functions.items[i].n_asking;
        }
        vec_reserve(&l->order, n);
        l->order.n = n;
        for (size_t i = 0; i < l->requests.n; i++)
                if (l->requests.items[i].asker != CALL_PATH_NO_KEY)
                        l->order.items[l->functions.items[l->requests.items[i].asker]
                                               .first_request++] = (uint32_t)i;
        for (size_t i = 0; i < l->functions.n; i++)
                l->functions.items[i].first_request -= l->functions.items[i].n_asking;
}

static void count_requests(struct learning *l) {
        clear_counts(l);
        for (size_t i = 0; i < l->requests.n; i++)
                if (l->requests.items[i].asker != CALL_PATH_NO_KEY)
                        count_request(l, &l->requests.items[i]);
        order_requests(l);
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

static uint64_t n_of_module(const struct learning *l, uint32_t key) {
        uint64_t n = 0;

        map_get(&l->by_module, (uintptr_t)look_of_key(l, key)->module, &n);
        return n;
}

static bool has_others_ask(const struct function *f, uint64_t n_asking) {
        uint64_t n_outside = f->n_paths - MIN((uint64_t)f->n_paths, n_asking);

        return n_outside * 100 > (uint64_t)f->n_paths * WRAPPER_MAX_OUTSIDE_PCT;
}

static bool says_so(const struct learning *l, uint32_t key) {
        const struct name_look *look = look_of_key(l, key);

        return !look->is_nameless && name_look_says_allocator(look);
}

static bool is_called_for_many(uint32_t n_callers, uint32_t n_sizes) {
        return n_callers >= WRAPPER_CALLERS && n_sizes >= WRAPPER_SIZES &&
               n_sizes * 100 >= n_callers * WRAPPER_SIZES_PCT;
}

/* What is called an allocator needs little proof. */
static bool is_said_wrapper(struct learning *l, uint32_t key) {
        const struct function *f = &l->functions.items[key];

        return says_so(l, key) && f->n_callers >= WRAPPER_SAID_CALLERS &&
               f->n_places <= WRAPPER_MAX_PLACES && !has_others_ask(f, f->n_asking) &&
               (count_sizes(l, f) >= WRAPPER_SAID_SIZES || f->n_foreign_callers * 2 > f->n_callers);
}

/* What is not: a wrapper if those of its module are on most paths. */
static bool is_quiet_wrapper(struct learning *l, uint32_t key) {
        const struct function *f = &l->functions.items[key];

        return !says_so(l, key) && f->n_places <= WRAPPER_MAX_PLACES_QUIET &&
               f->n_callers >= WRAPPER_CALLERS && !has_others_ask(f, f->n_asking) &&
               is_called_for_many(f->n_callers, count_sizes(l, f));
}

/* ---- chains ---------------------------------------------------------------------------------- */

/* Its frames count as an allocator's until try_end. */
static void try_begin(struct learning *l, uint32_t key) {
        const struct trace_view *v = l->q->view;

        for (uint32_t i = 0; i < v->n_symbols + v->n_locations; i++)
                if (l->paths.key_of[i] == key && l->paths.look_of[i].kind == NAME_PLAIN) {
                        l->paths.look_of[i].kind = NAME_ALLOCATOR;
                        vec_push(&l->tried, i);
                }
}

static void try_end(struct learning *l, size_t n_tried) {
        while (l->tried.n > n_tried)
                l->paths.look_of[l->tried.items[--l->tried.n]].kind = NAME_PLAIN;
}

static int by_asker_and_caller(const void *a, const void *b) {
        const struct request *x = a, *y = b;

        return x->asker != y->asker ? (x->asker < y->asker ? -1 : 1)
                                    : (x->caller > y->caller) - (x->caller < y->caller);
}

/* n requests of one function, sorted by caller: how many call it, and with how many sizes. */
static void count_callers(struct learning *l, size_t begin, size_t n, uint32_t *ret_callers,
                          uint32_t *ret_sizes) {
        struct function f = {.first_pair = (uint32_t)l->pairs.n};

        for (size_t i = begin; i < begin + n; i++) {
                const struct request *r = &l->asked.items[i];

                if (i == begin || r->caller != r[-1].caller) {
                        vec_push(&l->pairs, (struct pair){.caller = r->caller});
                        f.n_callers++;
                }
                l->pairs.items[l->pairs.n - 1].n_allocs += r->n_allocs;
                l->pairs.items[l->pairs.n - 1].alloc_bytes += r->alloc_bytes;
        }
        *ret_callers = f.n_callers;
        *ret_sizes = count_sizes(l, &f);
        l->pairs.n = f.first_pair;
}

/* Up to one more than a wrapper has. */
static uint32_t count_places(const struct learning *l, size_t begin, size_t n) {
        uint32_t places[WRAPPER_MAX_PLACES_QUIET + 1], n_places = 0;

        for (size_t i = begin; i < begin + n && n_places < ARRAY_SIZE(places); i++) {
                uint32_t k = 0;

                while (k < n_places && places[k] != l->asked.items[i].place)
                        k++;
                if (k == n_places)
                        places[n_places++] = l->asked.items[i].place;
        }
        return n_places;
}

static bool are_wrappers(struct learning *l, size_t begin, size_t n, unsigned depth, bool is_whole);

/* Whether the function that asked for these, sorted by caller, passes on what many others ask for, or only what functions do that
 * are such themselves. Pushes it and them to the chain. */
static bool passes_on(struct learning *l, size_t begin, size_t n, unsigned depth, bool is_whole) {
        uint32_t key = l->asked.items[begin].asker, n_callers, n_sizes;
        const struct function *f = &l->functions.items[key];
        uint32_t n_more = depth ? f->n_asking : 0, more_places = depth ? f->n_places : 0;
        size_t outer = l->asked.n, n_tried = l->tried.n;
        bool passes;

        if (f->is_refused || f->is_learned || has_others_ask(f, (uint64_t)n + n_more) ||
            count_places(l, begin, n) + more_places > WRAPPER_MAX_PLACES_QUIET)
                return false;
        vec_push(&l->chain, key);
        count_callers(l, begin, n, &n_callers, &n_sizes);
        if (depth && (is_called_for_many(n_callers, n_sizes) ||
                      (says_so(l, key) && n_callers >= WRAPPER_SAID_CALLERS &&
                       n_sizes >= WRAPPER_SAID_SIZES) ||
                      (is_whole && n_callers >= CHAIN_WHOLE_CALLERS && n_sizes == n_callers)))
                return true;
        if (depth == CHAIN_MAX_DEPTH || n_callers >= WRAPPER_CALLERS)
                return false;
        try_begin(l, key);
        for (size_t i = begin; i < begin + n; i++) {
                struct request r = l->asked.items[i];

                find_askers(l, &r);
                vec_push(&l->asked, r);
        }
        passes = are_wrappers(l, outer, n, depth + 1, is_whole);
        l->asked.n = outer;
        try_end(l, n_tried);
        return passes;
}

/* Whether nearly all of these are asked for by functions that pass them on. */
static bool are_wrappers(struct learning *l, size_t begin, size_t n, unsigned depth,
                         bool is_whole) {
        size_t n_passed = 0, n_group, n_chain;

        qsort(&l->asked.items[begin], n, sizeof(l->asked.items[0]), by_asker_and_caller);
        for (size_t i = begin; i < begin + n; i += n_group) {
                uint32_t asker = l->asked.items[i].asker;

                n_chain = l->chain.n;
                for (n_group = 1;
                     i + n_group < begin + n && l->asked.items[i + n_group].asker == asker;)
                        n_group++;
                if (asker != CALL_PATH_NO_KEY && passes_on(l, i, n_group, depth, is_whole))
                        n_passed += n_group;
                else
                        l->chain.n = n_chain;
        }
        return n_passed * 100 >= n * CHAIN_CALLERS_PCT;
}

/* Whether those few who call it are wrappers, which are then on the chain with it. */
static bool is_called_by_wrappers(struct learning *l, uint32_t key) {
        const struct function *f = &l->functions.items[key];
        uint64_t n_module = n_of_module(l, key);
        size_t n_chain = l->chain.n;

        if (f->n_callers >= WRAPPER_CALLERS ||
            (!says_so(l, key) && (uint64_t)f->n_asking * 100 < n_module * CHAIN_MIN_PCT))
                return false;
        vec_clear(&l->asked);
        for (uint32_t i = 0; i < f->n_asking; i++)
                vec_push(&l->asked, l->requests.items[l->order.items[f->first_request + i]]);
        if (are_wrappers(l, 0, l->asked.n, 0,
                         (uint64_t)f->n_asking * 100 >= n_module * CHAIN_WHOLE_PCT))
                return true;
        l->chain.n = n_chain;
        return false;
}

/* ---- learning -------------------------------------------------------------------------------- */

static struct name_frame frame_of_key(const struct learning *l, uint32_t key) {
        struct query_frame f = call_paths_frame(l->q, l->paths.keys.items[key].number);

        return (struct name_frame){f.function, f.file,    f.module, f.offset,
                                   f.line,     f.inlined, f.guess};
}

/* False: it is known, or a rule says what it is. */
static bool learn(struct learning *l, uint32_t key) {
        const struct trace_view *v = l->q->view;
        struct function *f = &l->functions.items[key];
        struct name_frame frame = frame_of_key(l, key);

        if (f->is_learned || f->is_refused)
                return false;
        f->is_refused = name_is_ruled(query_names(l->q), &frame);
        if (f->is_refused)
                return false;
        f->is_learned = true;
        vec_push(&l->learned, key);
        name_learn_wrapper(query_names(l->q), &frame);
        for (size_t i = 0; i < v->n_symbols + v->n_locations; i++)
                if (l->paths.key_of[i] == key)
                        l->paths.look_of[i].kind = NAME_ALLOCATOR;
        return true;
}

/* A wrapper, if others of its module are: with n_chain functions that are learned with it, the last of the chain. */
static void add_candidate(struct learning *l, uint32_t key, size_t n_chain) {
        uint64_t *n = map_put(&l->by_candidates, (uintptr_t)look_of_key(l, key)->module, 0, NULL);

        *n += l->functions.items[key].n_asking;
        (*map_put(&l->n_candidates, (uintptr_t)look_of_key(l, key)->module, 0, NULL))++;
        vec_push(&l->candidates, (struct candidate){key, l->chain.n - n_chain, n_chain});
}

static void find_candidates(struct learning *l) {
        for (uint32_t key = 0; key < l->functions.n; key++) {
                const struct function *f = &l->functions.items[key];
                size_t n_chain = l->chain.n;

                if (!f->n_asking || f->is_learned || f->is_refused)
                        continue;
                if (is_quiet_wrapper(l, key))
                        add_candidate(l, key, 0);
                else if (is_called_by_wrappers(l, key))
                        add_candidate(l, key, l->chain.n - n_chain);
        }
}

/* Its module's are on most paths, or all of the chain say what they are. */
static bool is_elected(const struct learning *l, const struct candidate *c) {
        const struct name_entry *module = look_of_key(l, c->key)->module;
        uint64_t n = 0, n_family = 0;
        size_t n_said = 0;

        for (size_t i = 0; i < c->n_chain; i++)
                n_said += says_so(l, l->chain.items[c->chain_begin + i]);
        map_get(&l->by_candidates, (uintptr_t)module, &n);
        map_get(&l->n_candidates, (uintptr_t)module, &n_family);
        return (n_said && n_said == c->n_chain) ||
               n * 100 >= n_of_module(l, c->key) * (n_family >= WRAPPER_FAMILY
                                                            ? WRAPPER_FAMILY_PCT
                                                            : WRAPPER_MODULE_PCT);
}

/* How much code of its module is seen. */
static uint64_t seen_bytes(const struct learning *l, const struct name_entry *module) {
        uint64_t low = UINT64_MAX, high = 0;

        for (uint32_t key = 0; key < l->functions.n; key++)
                if (l->functions.items[key].n_paths && look_of_key(l, key)->module == module) {
                        low = MIN(low, frame_of_key(l, key).offset);
                        high = MAX(high, frame_of_key(l, key).offset);
                }
        return high - MIN(low, high);
}

/* Beside wrappers, and asks for several, or only through them. */
static bool is_neighbour(struct learning *l, uint32_t key) {
        const struct function *f = &l->functions.items[key];
        const struct name_entry *module = look_of_key(l, key)->module;
        uint64_t at = frame_of_key(l, key).offset;
        unsigned n_near = 0;

        if (f->n_places > WRAPPER_MAX_PLACES_QUIET || has_others_ask(f, f->n_asking) ||
            (f->is_direct &&
             (f->n_callers < WRAPPER_SAID_CALLERS || count_sizes(l, f) < WRAPPER_SAID_SIZES)))
                return false;
        for (size_t i = 0; i < l->learned.n; i++) {
                uint64_t near = frame_of_key(l, l->learned.items[i]).offset;

                n_near += look_of_key(l, l->learned.items[i])->module == module &&
                          (near > at ? near - at : at - near) <= NEIGHBOUR_BYTES;
        }
        return n_near >= NEIGHBOUR_WRAPPERS && seen_bytes(l, module) >= NEIGHBOUR_MIN_MODULE_BYTES;
}

/* Learns what the counts show; false: nothing. */
static bool judge(struct learning *l) {
        bool any = false;

        for (uint32_t key = 0; key < l->functions.n; key++) {
                struct function *f = &l->functions.items[key];

                if (f->n_asking && !f->is_learned && !f->is_refused && is_said_wrapper(l, key))
                        any |= learn(l, key);
        }
        find_candidates(l);
        for (size_t i = 0; i < l->candidates.n; i++) {
                const struct candidate *c = &l->candidates.items[i];

                if (!is_elected(l, c))
                        continue;
                any |= learn(l, c->key);
                for (size_t k = 0; k < c->n_chain; k++)
                        any |= learn(l, l->chain.items[c->chain_begin + k]);
        }
        for (uint32_t key = 0; key < l->functions.n; key++) {
                const struct function *f = &l->functions.items[key];

                if (f->n_asking && !f->is_learned && !f->is_refused && is_neighbour(l, key))
                        any |= learn(l, key);
        }
        return any;
}

int query_learn_wrappers(struct query *q, struct err *reterr) {
        struct learning l = {.q = q};
        char damage[sizeof(q->damage)];
        int r;

        memcpy(damage, q->damage, sizeof(damage));
        call_paths_init(&l.paths, q, CALL_PATH_BY_FUNCTION, false);
        load_requests(&l);
        r = query_end(q, reterr); /* from here on it is quick */
        for (unsigned round = 0; round < WRAPPER_MAX_ROUNDS && r == 0; round++) {
                count_requests(&l);
                if (!judge(&l))
                        break;
                for (size_t i = 0; i < l.requests.n; i++) {
                        struct request *x = &l.requests.items[i];

                        if (x->asker != CALL_PATH_NO_KEY &&
                            l.functions.items[x->asker].is_learned) {
                                find_askers(&l, x);
                                x->is_passed_on = true;
                        }
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
        map_done(&l.by_candidates);
        map_done(&l.n_candidates);
        vec_free(&l.learned);
        vec_free(&l.sizes);
        vec_free(&l.order);
        vec_free(&l.asked);
        vec_free(&l.tried);
        vec_free(&l.chain);
        vec_free(&l.candidates);
        return r;
}
