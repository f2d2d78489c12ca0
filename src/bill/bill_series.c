/* SPDX-License-Identifier: MIT */
#include "bill/bill_series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bill/bill.h"
#include "resident/resident_bytes.h"

static bool stacks_are_known(const struct resident *r, uint32_t n_stacks) {
        for (size_t i = 0; i < r->pins.n; i++)
                if (r->pins.items[i].stack >= n_stacks)
                        return false;
        for (size_t i = 0; i < r->cells.n; i++)
                if (r->cells.items[i].stack >= n_stacks)
                        return false;
        return true;
}

int bill_read_resident(struct query *q, size_t bill_idx, struct resident *ret, struct err *reterr) {
        struct trace_bill info = {0};
        bytes_buf bytes = {0};
        int r = query_read_bill(q, bill_idx, &info, &bytes, reterr);

        if (r == 0)
                r = resident_decode(ret, bytes.items, bytes.n, reterr);
        vec_free(&bytes);
        if (r < 0)
                return r;
        ret->process = info.process;
        ret->time_ns = info.time_ns;
        if (stacks_are_known(ret, (uint32_t)MAX(query_view(q)->n_stacks, 1u)))
                return 0;
        resident_done(ret);
        return err_set(reterr, -EBADMSG, "the bill names call paths that the trace does not have");
}

int bill_series_read(struct bill_series *s, struct query *q, uint32_t process, struct err *reterr) {
        size_t n = query_n_bills(q);

        *s = (struct bill_series){.is_of_all =
                                          process == QUERY_ALL && query_view(q)->n_processes > 1};
        for (size_t i = 0; i < n; i++) {
                const struct trace_bill *info = query_bill(q, i);
                struct resident x = {0};

                if (process != QUERY_ALL && info->process != process)
                        continue;
                if (bill_read_resident(q, i, &x, reterr) < 0)
                        continue;
                vec_push(&s->points,
                         (struct bill_point){i, x.process, x.time_ns, x.rss_bytes,
                                             MIN(x.pss_bytes, x.rss_bytes),
                                             x.heap.between_bytes + x.heap.empty_bytes});
                resident_done(&x);
        }
        return 0;
}

void bill_series_done(struct bill_series *s) {
        vec_free(&s->points);
}

void bill_moment_done(struct bill_moment *m) {
        vec_free(&m->points);
}

static uint64_t bytes_of(const struct bill_series *s, const struct bill_point *p) {
        return s->is_of_all ? p->pss_bytes : p->rss_bytes;
}

bool bill_is_alive(const struct query *q, uint32_t process, uint64_t time_ns) {
        const struct trace_process_info *p = &query_view(q)->processes[process];

        return p->start.start_ns <= time_ns && query_run_end_ns(q, process) >= time_ns;
}

/* The moment, if a process that has a bill was alive then; else that of the nearest bill: a recording goes on a little behind its last process. */
static uint64_t alive_ns(const struct bill_series *s, const struct query *q, uint64_t time_ns) {
        uint64_t best = time_ns, least = UINT64_MAX;

        for (size_t i = 0; i < s->points.n; i++) {
                uint64_t at = s->points.items[i].time_ns,
                         away = at > time_ns ? at - time_ns : time_ns - at;

                if (bill_is_alive(q, s->points.items[i].process, time_ns))
                        return time_ns;
                if (away < least) {
                        least = away;
                        best = at;
                }
        }
        return best;
}

/* The nearest of each process; of two equally near the earlier. */
void bill_find_near(const struct bill_series *s, const struct query *q, uint64_t time_ns,
                    struct bill_moment *ret) {
        struct map nearest = {0}; /* process → point */

        if (s->is_of_all)
                time_ns = alive_ns(s, q, time_ns);
        *ret = (struct bill_moment){.time_ns = time_ns};
        for (size_t i = 0; i < s->points.n; i++) {
                const struct bill_point *p = &s->points.items[i];
                uint64_t *old,
                        away = p->time_ns > time_ns ? p->time_ns - time_ns : time_ns - p->time_ns;
                bool added;

                if (s->is_of_all && !bill_is_alive(q, p->process, time_ns))
                        continue;
                old = map_put(&nearest, p->process, i, &added);
                if (!added) {
                        uint64_t t = s->points.items[*old].time_ns;

                        if (away < (t > time_ns ? t - time_ns : time_ns - t))
                                *old = i;
                }
        }
        for (size_t i = 0; i < s->points.n; i++) {
                uint64_t best;

                if (map_get(&nearest, s->points.items[i].process, &best) && best == i) {
                        vec_push(&ret->points, i);
                        ret->resident_bytes += bytes_of(s, &s->points.items[i]);
                }
        }
        if (ret->points.n == 1)
                ret->time_ns = s->points.items[ret->points.items[0]].time_ns;
        map_done(&nearest);
}

/* What the last bill of each process said, of those that are still alive. */
struct running {
        VEC(size_t) last; /* points, one a process */
        struct map of_process;
};

static uint64_t running_take(struct running *x, const struct bill_series *s, const struct query *q,
                             size_t point) {
        const struct bill_point *p = &s->points.items[point];
        uint64_t sum = 0, *slot;
        bool added;

        slot = map_put(&x->of_process, p->process, x->last.n, &added);
        if (added)
                vec_push(&x->last, point);
        else
                x->last.items[*slot] = point;
        for (size_t i = 0; i < x->last.n; i++) {
                const struct bill_point *other = &s->points.items[x->last.items[i]];

                if (bill_is_alive(q, other->process, p->time_ns))
                        sum += bytes_of(s, other);
        }
        return sum;
}

bool bill_find_highest(const struct bill_series *s, const struct query *q, uint64_t from_ns,
                       uint64_t to_ns, struct bill_moment *ret) {
        struct running running = {0};
        uint64_t most = 0;
        size_t best = 0;
        bool is_found = false;

        for (size_t i = 0; i < s->points.n && s->points.items[i].time_ns <= to_ns; i++) {
                uint64_t sum = s->is_of_all ? running_take(&running, s, q, i)
                                            : s->points.items[i].rss_bytes;

                if (s->points.items[i].time_ns < from_ns) {
                        best = i;
                } else if (!is_found || sum > most) {
                        is_found = true;
                        most = sum;
                        best = i;
                }
        }
        vec_free(&running.last);
        map_done(&running.of_process);
        bill_find_near(s, q, s->points.items[best].time_ns, ret);
        return is_found;
}

/* ---- call paths ------------------------------------------------------------------------------ */

static uint64_t hash_bytes(const char *text, size_t n) {
        uint64_t h = 0xcbf29ce484222325ull;

        for (size_t i = 0; i < n; i++)
                h = (h ^ (unsigned char)text[i]) * 0x100000001b3ull;
        return h;
}

uint64_t bill_key_of_stack(void *keys, uint32_t stack) {
        struct bill_keys *k = keys;
        bool added;
        uint64_t *key = map_put(&k->of_stack, stack, stack, &added);

        if (added && k->frames.q) {
                struct frame_stack x = {0};
                struct str name = {0};

                frame_stack_fill(&x, &k->frames, stack, false);
                if (x.shown.n) {
                        frame_add_function(&name, &k->frames,
                                           &x.frames.items[x.shown.items[0].frame_idx],
                                           x.shown.items[0].is_task, true, true);
                        *key = hash_bytes(str_text(&name), name.n);
                }
                str_done(&name);
                frame_stack_done(&x);
        }
        return *key;
}

/* The first allocator of the program's own from the innermost frame outwards; NULL: there is none on the path. */
static const struct query_meeting *meeting_of(const struct bill_keys *k, uint32_t stack) {
        const struct query_meeting *found = NULL;
        struct frame_stack x = {0};

        if (!k->met || !k->frames.q)
                return NULL;
        frame_stack_fill(&x, &k->frames, stack, true);
        for (size_t i = 0; i < x.frames.n && !found; i++)
                for (size_t m = 0; m < k->met->n && !found; m++) {
                        const struct query_meeting *one = &k->met->items[m];

                        if (!one->is_rest && !one->is_alone && one->frame.function[0] &&
                            strcmp(one->frame.function, x.frames.items[i].function) == 0)
                                found = one;
                }
        frame_stack_done(&x);
        return found;
}

static void add_meeting(const struct bill_keys *k, const struct query_meeting *m, bool is_full,
                        struct str *to) {
        struct name_frame frame = frame_of(&m->frame);

        frame_add_function(to, &k->frames, &frame, m->is_task, is_full, is_full);
}

/* What is mapped for one allocator is one line. */
static uint64_t key_of_mapping(void *keys, uint32_t stack) {
        struct bill_keys *k = keys;
        const struct query_meeting *m;
        struct str name = {0};
        bool added;
        uint64_t *key = map_put(&k->of_mapping, stack, 0, &added);

        if (!added)
                return *key;
        m = meeting_of(k, stack);
        if (m)
                add_meeting(k, m, true, &name);
        *key = m ? hash_bytes(str_text(&name), name.n) : bill_key_of_stack(k, stack);
        str_done(&name);
        return *key;
}

static void meet(struct bill_keys *k, struct query *q, uint32_t process) {
        const struct query_scope scope = {.process = process,
                                          .to_ns = UINT64_MAX,
                                          .of_mappings = true};
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        struct err unsaid = {0};

        if (!k->met && query_ask(q, &scope, &a, &unsaid) >= 0)
                k->met = query_meet(q, a, QUERY_MAPPED);
}

static void name_mappings(struct bill *b, const struct bill_keys *k) {
        struct bill_part *p = &b->parts[BILL_MAPPED];

        for (size_t i = 0; i < p->lines.n; i++) {
                struct bill_line *l = &p->lines.items[i];
                const struct query_meeting *m = l->stack ? meeting_of(k, l->stack) : NULL;
                struct str name = {0};

                if (m) {
                        add_meeting(k, m, false, &name);
                        l->name = arena_strdup(b->arena, str_text(&name));
                }
                str_done(&name);
        }
}

void bill_keys_done(struct bill_keys *k) {
        map_done(&k->of_stack);
        map_done(&k->of_mapping);
        k->met = query_meetings_free(k->met);
}

/* ---- parts ----------------------------------------------------------------------------------- */

static int add_process(struct bill *b, struct query *q, struct bill_keys *keys,
                       const struct bill_point *p, bool is_shared_once, struct err *reterr) {
        struct query_mapped_range *ranges = NULL;
        VEC(struct bill_range) own = {0};
        struct bill_owner o = {.has_ranges = true,
                               .is_shared_once = is_shared_once,
                               .key_of_stack = keys ? bill_key_of_stack : NULL,
                               .key_of_mapping = keys ? key_of_mapping : NULL,
                               .ctx = keys};
        struct resident x = {0};
        size_t n = 0;
        int r = bill_read_resident(q, p->bill_idx, &x, reterr);

        if (r < 0)
                return r;
        r = query_mapped_ranges(q, p->process, p->time_ns, &ranges, &n, reterr);
        for (size_t i = 0; i < n; i++)
                vec_push(&own,
                         (struct bill_range){ranges[i].begin, ranges[i].end, ranges[i].stack});
        if (n && keys)
                meet(keys, q, is_shared_once ? QUERY_ALL : p->process);
        o.ranges = own.items;
        o.n_ranges = own.n;
        if (r >= 0)
                bill_add(b, &x, &o);
        free(ranges);
        vec_free(&own);
        resident_done(&x);
        return r;
}

int bill_make(struct bill *b, struct query *q, struct bill_keys *keys, const struct bill_series *s,
              const struct bill_moment *m, struct err *reterr) {
        int r = 0;

        for (size_t i = 0; i < m->points.n && r >= 0; i++)
                r = add_process(b, q, keys, &s->points.items[m->points.items[i]], s->is_of_all,
                                reterr);
        bill_finish(b);
        if (keys)
                name_mappings(b, keys);
        return r;
}

int bill_read_parts(struct query *q, size_t bill_idx, int64_t ret_bytes[BILL_N_KINDS],
                    struct err *reterr) {
        const struct trace_bill *info = query_bill(q, bill_idx);
        struct bill_point point = {.bill_idx = bill_idx,
                                   .process = info->process,
                                   .time_ns = info->time_ns};
        struct bill b = {0};
        int r = add_process(&b, q, NULL, &point, false, reterr);

        for (unsigned k = 0; k < BILL_N_KINDS && r >= 0; k++)
                ret_bytes[k] = b.parts[k].bytes;
        bill_done(&b);
        return r;
}
