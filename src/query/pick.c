/* SPDX-License-Identifier: MIT */
/* Stacks are decided in the order of their numbers: a caller's comes before those it calls, so whether a
 * frame of a call path matches follows from its innermost one and the path of the caller. */
#include "query/pick.h"

#include <errno.h>
#include <string.h>

#include "base/map.h"
#include "query/call_path.h"
#include "query/filter.h"
#include "query/group.h"
#include "query/name_match.h"
#include "query/query_internal.h"

struct pick *pick_free(struct pick *p) {
        if (!p)
                return NULL;
        free(p->stacks);
        free(p->threads);
        free(p->processes);
        free(p);
        return NULL;
}

static void *zeroed(size_t n, size_t size_bytes) {
        void *p = calloc(n ? n : 1, size_bytes);

        if (!p)
                abort();
        return p;
}

/* ---- stacks ---------------------------------------------------------------------------------- */

/* Some frame matches. */
static void match_stacks(struct name_match *m, bool *stacks) {
        const struct trace_view *v = m->q->view;
        bool *locations = zeroed(v->n_locations, sizeof(bool));

        for (uint32_t i = 0; i < v->n_locations && query_go_on_at(m->q, i, v->n_locations); i++)
                locations[i] = name_match_location(m, i);
        for (uint32_t i = 1; i < v->n_stacks; i++) {
                uint32_t location = v->stacks[i].location, parent = v->stacks[i].parent;

                stacks[i] = (location < v->n_locations && locations[location]) ||
                            (parent < i && stacks[parent]);
        }
        free(locations);
}

/* The frame matches that the rules of names take for the one that asked. */
static void match_askers(struct name_match *m, bool *stacks) {
        struct call_paths paths;

        call_paths_init(&paths, m->q, CALL_PATH_BY_FUNCTION, false);
        for (uint32_t i = 1; i < m->q->view->n_stacks; i++) {
                if (!query_go_on_at(m->q, i, m->q->view->n_stacks))
                        break;
                call_paths_load(&paths, i);
                if (paths.asker < paths.all.n) {
                        uint32_t number = paths.all.items[paths.asker].number;
                        struct query_frame f = call_paths_frame(m->q, number);

                        stacks[i] = name_match_frame(m, &f);
                }
        }
        call_paths_done(&paths);
}

/* It is shown as one of those asked for: as rows of groups by site put call paths together. */
static void match_sites(struct query *q, const struct filter_path *path, bool *stacks) {
        const struct query_group_options by = {.by = QUERY_BY_SITE};
        struct map wanted = {0};
        struct group_keys keys;
        uint64_t one;
        bool added;

        group_keys_init(&keys, q, &by);
        for (size_t i = 0; i < path->stacks.n; i++)
                map_put(&wanted, group_keys_of_stack(&keys, (uint32_t)path->stacks.items[i]), 1,
                        &added);
        for (uint32_t i = 0; i < q->view->n_stacks && query_go_on_at(q, i, q->view->n_stacks); i++)
                stacks[i] = map_get(&wanted, group_keys_of_stack(&keys, i), &one);
        group_keys_done(&keys);
        map_done(&wanted);
}

/* Clears the bits of stacks that the condition does not select. */
static void pick_path(struct pick *p, struct query *q, const struct filter_path *path) {
        struct name_match m = name_match_begin(q, path->name, path->pattern);
        bool *stacks = zeroed(q->view->n_stacks, sizeof(bool)); /* [0] has no frames */

        if (path->name == FILTER_SITE)
                match_sites(q, path, stacks);
        else if (path->name == FILTER_ASKED_BY)
                match_askers(&m, stacks);
        else
                match_stacks(&m, stacks);
        for (uint32_t i = 0; i < q->view->n_stacks; i++)
                if (stacks[i] == path->is_negated)
                        p->stacks[i / 64] &= ~(1ull << i % 64);
        name_match_done(&m);
        free(stacks);
}

static void pick_stacks(struct pick *p, struct query *q, const struct query_filter *f) {
        size_t n_words = q->view->n_stacks / 64 + 1;

        if (f->paths.n == 0)
                return;
        p->n_stacks = q->view->n_stacks;
        p->stacks = zeroed(n_words, sizeof(uint64_t));
        memset(p->stacks, 0xff, n_words * sizeof(uint64_t));
        for (size_t i = 0; i < f->paths.n; i++)
                pick_path(p, q, &f->paths.items[i]);
}

/* ---- threads and processes ------------------------------------------------------------------- */

static bool who_has(const struct filter_who *who, uint64_t id, const char *name) {
        for (size_t i = 0; i < who->ids.n; i++)
                if (who->ids.items[i] == id)
                        return true;
        return who->pattern && name[0] && pattern_matches(who->pattern, name);
}

static void pick_threads(struct pick *p, const struct query *q, const struct query_filter *f) {
        const struct trace_view *v = q->view;

        if (f->threads.n == 0)
                return;
        p->threads = zeroed(v->n_threads, sizeof(bool));
        for (size_t t = 0; t < v->n_threads; t++) {
                p->threads[t] = true;
                for (size_t i = 0; i < f->threads.n; i++)
                        p->threads[t] &= who_has(&f->threads.items[i], v->threads[t].start.tid,
                                                 v->threads[t].name);
        }
}

static void pick_processes(struct pick *p, const struct query *q, const struct query_filter *f) {
        const struct trace_view *v = q->view;

        if (f->processes.n == 0)
                return;
        p->processes = zeroed(v->n_processes, sizeof(bool));
        for (size_t k = 0; k < v->n_processes; k++) {
                p->processes[k] = true;
                for (size_t i = 0; i < f->processes.n; i++)
                        p->processes[k] &=
                                who_has(&f->processes.items[i], v->processes[k].start.pid, "");
        }
}

/* Whether every pattern could be searched for to the end. */
static int pick_check(const struct query_filter *f, struct err *reterr) {
        int r = 0;

        for (size_t i = 0; i < f->paths.n && r == 0; i++)
                if (f->paths.items[i].pattern)
                        r = pattern_check(f->paths.items[i].pattern, reterr);
        for (size_t i = 0; i < f->threads.n && r == 0; i++)
                if (f->threads.items[i].pattern)
                        r = pattern_check(f->threads.items[i].pattern, reterr);
        return r;
}

/* Numbers are the trace's own: another trace has others. */
static int check_sites(const struct query *q, const struct query_filter *f, struct err *reterr) {
        for (size_t i = 0; i < f->paths.n; i++)
                for (size_t k = 0; k < f->paths.items[i].stacks.n; k++)
                        if (f->paths.items[i].stacks.items[k] >= q->view->n_stacks)
                                return err_about(reterr,
                                                 f->paths.items[i].is_negated ? "not-site" : "site",
                                                 err_set(reterr, -ENOENT,
                                                         "'%llu': the trace has no such call path",
                                                         (unsigned long long)f->paths.items[i]
                                                                 .stacks.items[k]));
        return 0;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static uint64_t needs_to_ns(const struct query_filter *f) {
        uint64_t to_ns = f->lifetimes.n ? UINT64_MAX : 0;

        for (size_t i = 0; i < f->alive_at_ns.n; i++)
                to_ns = MAX(to_ns, f->alive_at_ns.items[i]);
        for (size_t i = 0; i < f->freed_before_ns.n; i++)
                to_ns = MAX(to_ns, f->freed_before_ns.items[i]);
        return to_ns;
}

int pick_get(struct query *q, const struct query_filter *f, const struct pick **ret,
             struct err *reterr) {
        struct pick *p;
        int r;

        if (query_filter_is_empty(f)) {
                *ret = NULL;
                return 0;
        }
        if (q->pick && q->pick->serial == f->serial) {
                *ret = q->pick;
                return 0;
        }
        r = check_sites(q, f, reterr);
        if (r < 0)
                return r;
        p = zeroed(1, sizeof(*p));
        p->filter = f;
        p->serial = f->serial;
        p->needs_events = query_filter_needs_events(f);
        p->needs_to_ns = needs_to_ns(f);
        pick_stacks(p, q, f);
        pick_threads(p, q, f);
        pick_processes(p, q, f);
        r = pick_check(f, reterr);
        if (r == 0)
                r = query_end(q, reterr);
        if (r < 0) {
                pick_free(p);
                return r;
        }
        pick_free(q->pick);
        *ret = q->pick = p;
        return 0;
}

/* ---- single blocks --------------------------------------------------------------------------- */

bool pick_rules_out_released(const struct pick *p, uint32_t stack, uint64_t size_bytes) {
        const struct query_filter *f;

        if (!p)
                return false;
        f = p->filter;
        if (!pick_has_stack(p, stack))
                return true;
        for (size_t i = 0; i < f->sizes.n; i++)
                if (size_bytes < f->sizes.items[i].min || size_bytes > f->sizes.items[i].max)
                        return true;
        return false;
}

bool pick_rules_out(const struct pick *p, uint32_t stack, uint32_t thread, uint64_t size_bytes,
                    uint64_t begin_ns) {
        const struct query_filter *f;

        if (!p)
                return false;
        f = p->filter;
        if (pick_rules_out_released(p, stack, size_bytes) || (p->threads && !p->threads[thread]))
                return true;
        for (size_t i = 0; i < f->allocated.n; i++)
                if (begin_ns < f->allocated.items[i].min || begin_ns >= f->allocated.items[i].max)
                        return true;
        for (size_t i = 0; i < f->alive_at_ns.n; i++)
                if (begin_ns >= f->alive_at_ns.items[i])
                        return true;
        return false;
}

bool pick_has_block(const struct pick *p, const struct query_life *l) {
        uint64_t lifetime_ns = l->last_ns > l->begin_ns ? l->last_ns - l->begin_ns : 0;
        const struct query_filter *f;

        if (!p)
                return true;
        f = p->filter;
        if (!pick_has_process(p, l->process) ||
            pick_rules_out(p, l->stack, l->thread, l->size_bytes, l->begin_ns))
                return false;
        for (size_t i = 0; i < f->lifetimes.n; i++)
                if (lifetime_ns < f->lifetimes.items[i].min ||
                    lifetime_ns >= f->lifetimes.items[i].max)
                        return false;
        for (size_t i = 0; i < f->alive_at_ns.n; i++)
                if (l->end_ns < f->alive_at_ns.items[i])
                        return false;
        for (size_t i = 0; i < f->freed_before_ns.n; i++)
                if (l->end_ns >= f->freed_before_ns.items[i])
                        return false;
        return true;
}
