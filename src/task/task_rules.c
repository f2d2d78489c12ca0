/* SPDX-License-Identifier: MIT */
#include "task/task_rules.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "task/source_rules.h"
#include "task/task_channels.h"
#include "task/task_stretch.h"

enum {
        MIN_KEPT = 50,    /* fewer that are kept are no sign of anything, */
        MANY_KEPT = 1000, /* so many are, where nobody knows how many were taken */
        KEPT_SHARE = 2,   /* one of so many of a group is */
        MIN_LEFT = 1000,  /* tasks that wait and nobody can ask for */
        LEFT_SHARE = 20,  /* all but one of so many do, and at most one of so many has ever ended */
        GROWTH_PARTS = 8, /* in each of so many parts of the recording some were spawned */
        MIN_MESSAGES = 1000,
        MIN_STRETCH_SAMPLES = 300,
};

#define MIN_STRETCH_NS 1000000000
#define MIN_GROWTH_NS 5000000000 /* what is built at the start takes less */

static void add(task_finding_list *to, const char *kind, enum finding_severity severity,
                const struct task_group *x, uint64_t n_tasks, uint64_t bytes, struct str *text) {
        vec_push(to, (struct task_finding){.kind = kind,
                                           .severity = severity,
                                           .text = strdup(str_text(text)),
                                           .group = x,
                                           .stack = x ? x->stack : REACH_NO_SITE,
                                           .n_tasks = n_tasks,
                                           .bytes = bytes});
        if (!to->items[to->n - 1].text)
                abort();
        str_done(text);
}

/* "12,660 tasks spawned at simulator.rs:41", or by what they run. */
static void add_subject(const struct tasks *t, const struct task_group *x, uint64_t n, bool utf8,
                        struct str *to) {
        struct unit_text text;

        str_addf(to, "%s task%s ", unit_count(&text, n), unit_s(n));
        if (tasks_add_spawn(t, x, utf8, to))
                return;
        str_add(to, "of ");
        if (x->type)
                tasks_add_type(t, x, to);
        else
                str_add(to, x->layout->runtime);
}

/* The functions and lines of a call path, places in code where lines are unknown, from the allocator's caller to the one that spawns. */
struct inner_path {
        struct str text;
        size_t n_left;
};

static bool add_inner_frame(void *ctx, const struct query_frame *f) {
        struct inner_path *p = ctx;

        if (f->line)
                str_addf(&p->text, "%s:%u\n", f->function, f->line);
        else
                str_addf(&p->text, "@%u\n", f->location);
        return p->n_left-- > 0;
}

static void inner_path_fill(struct inner_path *p, struct query *q, uint32_t stack) {
        str_clear(&p->text);
        p->n_left = query_requester(q, stack);
        if (p->n_left != SIZE_MAX)
                query_each_frame(q, stack, add_inner_frame, p);
}

/* How many of the tasks that are spawned as this one were allocated and freed until the graph, by whichever call path: an async function that
 * waited goes on below whoever wakes it. False: unknown. */
static bool count_spawned(const struct tasks *t, uint32_t stack, struct query_figures *ret) {
        struct query_scope scope = {.process = t->graph.info.process,
                                    .to_ns = t->graph.info.time_ns};
        struct query *q = (struct query *)t->names.q;
        struct inner_path wanted = {0}, path = {0};
        struct query_answer *a = NULL;
        struct err unsaid = {0};
        bool is_known = false;

        if (stack == REACH_NO_SITE || query_ask(q, &scope, &a, &unsaid) < 0)
                return false;
        inner_path_fill(&wanted, q, stack);
        for (size_t i = 0; i < a->n_sites; i++) {
                bool is_such = a->sites[i].stack == stack;

                if (!is_such && wanted.text.n) {
                        inner_path_fill(&path, q, a->sites[i].stack);
                        is_such = !strcmp(str_text(&path.text), str_text(&wanted.text));
                }
                if (is_such) {
                        ret->n_allocs += a->sites[i].f.n_allocs;
                        ret->n_frees += a->sites[i].f.n_frees;
                        is_known = true;
                }
        }
        query_answer_free(a);
        str_done(&wanted.text);
        str_done(&path.text);
        return is_known;
}

/* Finished, and nobody takes the result: a JoinSet that is never emptied, a list of handles. One that is emptied now and then is as it should be. */
static void find_kept(const struct tasks *t, bool utf8, task_finding_list *ret) {
        for (size_t i = 0; i < t->list.groups.n; i++) {
                const struct task_group *x = &t->list.groups.items[i];
                uint64_t n = x->n_in[TASK_FINISHED];
                struct query_figures f = {0};
                struct unit_text bytes, each, gone;
                struct str text = {0};
                bool is_known, is_emptied;

                if (x->kind == TASK_OWN || n < MIN_KEPT || n * KEPT_SHARE < x->n)
                        continue;
                is_known = count_spawned(t, x->stack, &f);
                is_emptied = is_known && f.n_frees >= n;
                add_subject(t, x, n, utf8, &text);
                str_add(&text, " are finished and still held");
                if (x->n_keepers)
                        str_addf(&text, " by %s", t->texts.pool.items.items[x->keepers[0].text]);
                str_addf(&text, ": %s, %s each.", unit_bytes(&bytes, x->finished_bytes),
                         unit_bytes(&each, x->finished_bytes / n));
                if (is_emptied)
                        str_addf(&text, " %s others that were spawned there are gone.",
                                 unit_count(&gone, f.n_frees));
                else if (is_known && f.n_frees == 0)
                        str_add(&text, " None that was spawned there has been taken yet.");
                add(ret, "kept-tasks",
                    is_emptied || (!is_known && n < MANY_KEPT) ? FINDING_NOTE
                                                               : FINDING_WORTH_KNOWING,
                    x, n, x->finished_bytes, &text);
        }
}

/* ---- a task that does not give way ---- */

struct of_type {
        uint64_t n, n_running, n_ready_others;
};

static struct of_type count_of_type(const struct tasks *t, const struct task_stretch *s) {
        struct of_type c = {0};
        struct str words = {0}, runs = s->runs;

        for (size_t i = 0; i < t->list.groups.n; i++) {
                const struct task_group *x = &t->list.groups.items[i];

                if (x->kind != TASK_FUTURE)
                        continue;
                str_clear(&words);
                if (x->type)
                        task_add_type_words(t->texts.pool.items.items[x->type], &words);
                /* the type may say more of where a block is: "…::{async_fn#0}" */
                if (words.n >= runs.n && strncmp(str_text(&words), str_text(&runs), runs.n) == 0 &&
                    (words.n == runs.n || strncmp(str_text(&words) + runs.n, "::{", 3) == 0)) {
                        c.n += x->n - x->n_in[TASK_FINISHED];
                        c.n_running += x->n_in[TASK_RUNNING];
                } else {
                        c.n_ready_others += x->n_in[TASK_READY];
                }
        }
        str_done(&words);
        return c;
}

/* Samples tell that a thread was in tasks of a type, never how often it was called. That one did not give way is said where the graph, taken meanwhile, shows
 * the only task of the type running and others that stand ready. */
static void find_greedy(const struct tasks *t, bool utf8, task_finding_list *ret) {
        struct unit_text all, n, others;
        struct str text = {0};
        struct task_stretch s;
        struct of_type c;
        bool is_seen;

        (void)utf8;
        if (!task_stretch_find((struct query *)t->names.q, t->graph.info.process, &s) ||
            s.ns < MIN_STRETCH_NS || s.n_samples < MIN_STRETCH_SAMPLES) {
                task_stretch_done(&s);
                return;
        }
        c = count_of_type(t, &s);
        is_seen = c.n == 1 && c.n_running == 1 && c.n_ready_others &&
                  t->graph.info.time_ns >= s.begin_ns && t->graph.info.time_ns <= s.end_ns;
        str_addf(&text, "A thread spent %s of CPU time in a row in tasks of %s: %s samples. ",
                 unit_duration(&all, s.ns), str_text(&s.runs), unit_count(&n, s.n_samples));
        if (is_seen)
                str_addf(
                        &text,
                        "Only one task of it was there when silt looked meanwhile, and it ran, while %s other%s stood ready: it seems not to give way.",
                        unit_count(&others, c.n_ready_others), unit_s(c.n_ready_others));
        else
                str_add(&text,
                        "Samples do not tell one long poll from many short ones: if it was one, the other tasks of that thread waited for it.");
        add(ret, "greedy-task",
            is_seen    ? FINDING_PROBLEM
            : c.n <= 1 ? FINDING_WORTH_KNOWING
                       : FINDING_NOTE,
            NULL, 1, 0, &text);
        ret->items[ret->n - 1].stack = s.stack;
        task_stretch_done(&s);
}

/* ---- a channel that fills ---- */

static void find_full_channels(const struct tasks *t, bool utf8, task_finding_list *ret) {
        task_channel_list channels = {0};

        task_channels_find(t, &channels);
        for (size_t i = 0; i < channels.n; i++) {
                const struct task_channel *c = &channels.items[i];
                struct task_group at = {.stack = c->stack};
                struct unit_text n, blocks, bytes, channels_text;
                struct str text = {0}, where = {0};

                if (c->n_messages < MIN_MESSAGES)
                        continue;
                str_addf(&text, "About %s messages (%s blocks of %u) wait in ",
                         unit_count(&n, c->n_messages), unit_count(&blocks, c->n_blocks),
                         c->per_block);
                if (c->n_channels == 1)
                        str_addf(&text, "a channel of %s", c->name);
                else
                        str_addf(&text, "%s channels of %s",
                                 unit_count(&channels_text, c->n_channels), c->name);
                if (tasks_add_spawn(t, &at, utf8, &where))
                        str_addf(&text, ", sent %s", str_text(&where) + strlen("spawned "));
                str_addf(&text,
                         ": %s with what they hold. Who receives them is slower than who sends%s.",
                         unit_bytes(&bytes, c->bytes),
                         c->is_unbounded ? ", and the channel has no bound" : "");
                str_done(&where);
                add(ret, "full-channel", FINDING_WORTH_KNOWING, NULL, 0, c->bytes, &text);
                ret->items[ret->n - 1].stack = c->stack;
        }
        vec_free(&channels);
}

/* ---- tasks that were left ---- */

static int by_number(const void *a, const void *b) {
        const uint64_t *x = a, *y = b;

        return *x < *y ? -1 : *x > *y;
}

/* In each part of the time until the graph some of the tasks were spawned, which are still there. */
static bool grows_always(const struct tasks *t, const struct task_group *x) {
        uint64_t all_ns = t->graph.info.time_ns, seqs[GROWTH_PARTS + 1], times[GROWTH_PARTS + 1];
        VEC(uint64_t) own = {0};
        bool is_so = all_ns >= MIN_GROWTH_NS && t->graph.heap.seqs;

        for (size_t i = 0; is_so && i < t->list.tasks.n; i++)
                if (&t->list.groups.items[t->list.tasks.items[i].group] == x)
                        vec_push(&own, t->graph.heap.seqs[t->list.tasks.items[i].block]);
        if (own.n)
                qsort(own.items, own.n, sizeof(own.items[0]), by_number);
        is_so = is_so && own.n > GROWTH_PARTS && own.items[own.n - 1] != HEAP_NO_SEQ;
        for (size_t i = 0; is_so && i <= GROWTH_PARTS; i++) {
                seqs[i] = own.items[i * (own.n - 1) / GROWTH_PARTS];
                times[i] = UINT64_MAX;
        }
        if (is_so)
                query_alloc_times((struct query *)t->names.q, seqs, GROWTH_PARTS + 1, SIZE_MAX,
                                  times);
        /* steady: an eighth of them came in every eighth of the time, give or take one */
        for (size_t i = 0; is_so && i <= GROWTH_PARTS; i++) {
                uint64_t due_ns = all_ns / GROWTH_PARTS * i, at_ns = times[i];

                is_so = at_ns != UINT64_MAX && at_ns + all_ns / GROWTH_PARTS >= due_ns &&
                        at_ns <= due_ns + all_ns / GROWTH_PARTS;
        }
        vec_free(&own);
        return is_so;
}

/* They wait, and nobody has their handles. That is how servers spawn connections, and what select! leaves of a branch that lost: the second where whoever
 * dropped the handles had awaited them; maybe where they become more all the time and none ever ends. */
static void find_left(const struct tasks *t, bool utf8, task_finding_list *ret) {
        for (size_t i = 0; i < t->list.groups.n; i++) {
                const struct task_group *x = &t->list.groups.items[i];
                uint64_t n = x->n_in[TASK_WAITING];
                struct query_figures f = {0};
                struct unit_text bytes, each, all;
                struct str text = {0};
                bool is_given_up = x->n_given_up * LEFT_SHARE >= x->n * (LEFT_SHARE - 1), grows;

                if (x->kind != TASK_FUTURE || n < MIN_LEFT || (x->n - n) * LEFT_SHARE > x->n ||
                    x->n_handles * LEFT_SHARE > x->n || !count_spawned(t, x->stack, &f) ||
                    f.n_frees * LEFT_SHARE > f.n_allocs)
                        continue;
                grows = !is_given_up && grows_always(t, x);
                add_subject(t, x, n, utf8, &text);
                str_addf(
                        &text,
                        " wait, nobody has a handle to them, and hardly one that was spawned there has ended: %s, %s each. ",
                        unit_bytes(&bytes, x->bytes), unit_bytes(&each, x->bytes / x->n));
                if (is_given_up)
                        str_add(&text,
                                "They had been awaited when their handles were dropped, as select! does with branches that lose: that does not end a task.");
                else if (grows)
                        str_addf(
                                &text,
                                "They became more all the time, for %s. If they are no connections that stay open, they are left over: a dropped handle does not end its task.",
                                unit_duration(&all, t->graph.info.time_ns));
                else
                        str_add(&text, "So do the connections of a server, which is no fault.");
                add(ret, "left-tasks", is_given_up || grows ? FINDING_WORTH_KNOWING : FINDING_NOTE,
                    x, n, x->bytes, &text);
        }
}

static void (*const rules[])(const struct tasks *t, bool utf8, task_finding_list *ret) = {
        find_kept, find_greedy, find_full_channels, find_left, source_findings_add,
};

/* Notes behind all else, which stays in the order of the rules. */
static void put_notes_last(task_finding_list *l) {
        VEC(struct task_finding) notes = {0};
        size_t n = 0;

        for (size_t i = 0; i < l->n; i++)
                if (l->items[i].severity == FINDING_NOTE)
                        vec_push(&notes, l->items[i]);
                else
                        l->items[n++] = l->items[i];
        for (size_t i = 0; i < notes.n; i++)
                l->items[n++] = notes.items[i];
        vec_free(&notes);
}

void task_findings_tell(const struct tasks *t, bool utf8, task_finding_list *ret) {
        for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
                rules[i](t, utf8, ret);
        put_notes_last(ret);
}

void task_findings_done(task_finding_list *l) {
        for (size_t i = 0; i < l->n; i++)
                free(l->items[i].text);
        vec_free(l);
}
