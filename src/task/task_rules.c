/* SPDX-License-Identifier: MIT */
#include "task/task_rules.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "task/source_rules.h"
#include "task/task_channels.h"
#include "task/task_stretch.h"
#include "task/task_turns.h"

enum {
        MIN_LOST = 50,    /* coroutines: fewer may be on their way from one thread to another */
        MIN_KEPT = 50,    /* fewer that are kept are no sign of anything, */
        MANY_KEPT = 1000, /* so many are, where nobody knows how many were taken */
        KEPT_SHARE = 2,   /* one of so many of a group is */
        MIN_LEFT = 1000,  /* tasks that wait and nobody can ask for */
        LEFT_SHARE = 20,  /* all but one of so many do, and at most one of so many has ever ended */
        GROWTH_PARTS = 8, /* in each of so many parts of the recording some were spawned */
        MIN_MESSAGES = 1000,
        MIN_STUCK = 100, /* tasks that wait for room: some do wherever a bound holds them back */
        STUCK_SHARE = 2, /* one of so many of a group does */
        MIN_STRETCH_SAMPLES = 300,
};

#define MIN_STRETCH_NS 1000000000
#define MIN_TURN_NS                                                                                \
        10000000 /* of CPU time: a hundred times as long as a poll should take at most */
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

/* Suspended, and nobody has the handle any more. The address of a runtime's task may be in places that are none of the program's variables, such as its
 * descriptors' events, and its runtime has lists: of those other findings tell. */
static void find_lost(const struct tasks *t, bool utf8, task_finding_list *ret) {
        for (size_t i = 0; i < t->list.groups.n; i++) {
                const struct task_group *x = &t->list.groups.items[i];
                uint64_t n = x->waits.n_lost;
                struct unit_text bytes, each;
                struct str text = {0};

                if (x->kind != TASK_COROUTINE || n < MIN_LOST)
                        continue;
                add_subject(t, x, n, utf8, &text);
                str_addf(
                        &text,
                        " wait, and nothing in the program's memory leads to them: %s, %s each. Nobody can resume or destroy them, unless the kernel has their addresses, as epoll may.",
                        unit_bytes(&bytes, x->waits.lost_bytes),
                        unit_bytes(&each, x->waits.lost_bytes / n));
                add(ret, "lost-tasks", FINDING_WORTH_KNOWING, x, n, x->waits.lost_bytes, &text);
        }
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

/* Tasks that run what the thread was in, and have not ended. */
static uint64_t count_of_type(const struct tasks *t, const struct task_stretch *s) {
        uint64_t n = 0;
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
                    (words.n == runs.n || strncmp(str_text(&words) + runs.n, "::{", 3) == 0))
                        n += x->n - x->n_in[TASK_FINISHED];
        }
        str_done(&words);
        return n;
}

/* What was seen when silt looked twice meanwhile. */
static void add_seen(uint64_t n_of_kind, const struct task_turns *turns, uint64_t ran_ns,
                     struct task_stretch *s, struct str *to) {
        struct unit_text all, n, ns, ran, others;

        str_addf(
                to,
                "A task of %s does not give way: its thread spent %s of CPU time in a row in %s (%s samples), and its scheduler took no turn between two looks of silt %s apart, of which it ran %s",
                str_text(&s->runs), unit_duration(&all, s->ns),
                n_of_kind == 1 ? "it" : "tasks of that kind", unit_count(&n, s->n_samples),
                unit_duration(&ns, turns->ns), unit_duration(&ran, ran_ns));
        if (turns->n_ready)
                str_addf(to, ", while %s task%s stood ready all the time",
                         unit_count(&others, turns->n_ready), unit_s(turns->n_ready));
        str_add(to,
                turns->is_executor
                        ? ". Nor did any other thread of its executor take a task meanwhile."
                : turns->is_only_thread
                        ? ". It is the only thread of its runtime: no timer fires and no socket is read until the task waits."
                        : ". What is in that thread's queue waits for it.");
}

/* What samples alone say, and which recording says more. */
static void add_unsure(bool has_graph, struct task_stretch *s, struct str *to) {
        struct unit_text all, n;

        str_addf(to, "A thread spent %s of CPU time in a row in tasks of %s: %s samples. ",
                 unit_duration(&all, s->ns), str_text(&s->runs), unit_count(&n, s->n_samples));
        str_add(to,
                "Samples do not tell one long poll from many short ones: if it was one, the other tasks of that thread waited for it. ");
        str_add(to,
                has_graph ? "'silt tasks PID' while it goes on tells which."
                          : "'silt run --cpu', and 'silt tasks PID' while it goes on, tell which.");
}

/* Samples tell that a thread was in tasks of a type, never how often it was called. That one did not give way is said where its scheduler, which counts its turns,
 * was the same at two looks at the process meanwhile. */
static void find_greedy(const struct tasks *t, bool utf8, task_finding_list *ret) {
        struct str text = {0};
        struct task_stretch s;
        struct task_turns turns = {0};
        uint64_t n_of_kind;
        bool is_seen, has_graph = t->graph_idx != SIZE_MAX;
        uint64_t look_ns = t->graph.info.time_ns, ran_ns = 0;

        (void)utf8;
        if (!task_stretch_find((struct query *)t->names.q,
                               has_graph ? t->graph.info.process : t->threads.process, &s)) {
                task_stretch_done(&s);
                return;
        }
        is_seen = has_graph && look_ns >= s.begin_ns && look_ns <= s.end_ns &&
                  task_turns_stood(t, s.tid, &turns);
        if (is_seen) /* who was not let run gives way to nobody either */
                ran_ns = task_ran_ns((struct query *)t->names.q, t->graph.info.process, s.tid,
                                     look_ns, look_ns + turns.ns);
        is_seen = is_seen && ran_ns >= MIN_TURN_NS;
        if (!is_seen && (s.ns < MIN_STRETCH_NS || s.n_samples < MIN_STRETCH_SAMPLES)) {
                task_stretch_done(&s);
                return;
        }
        n_of_kind = count_of_type(t, &s);
        if (is_seen)
                add_seen(n_of_kind, &turns, ran_ns, &s, &text);
        else
                add_unsure(has_graph, &s, &text);
        add(ret, "greedy-task",
            is_seen                       ? FINDING_PROBLEM
            : has_graph && n_of_kind <= 1 ? FINDING_WORTH_KNOWING
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
                str_addf(&text, "About %s messages ", unit_count(&n, c->n_messages));
                if (c->per_block)
                        str_addf(&text, "(%s blocks of %u) ", unit_count(&blocks, c->n_blocks),
                                 c->per_block);
                if (c->n_channels == 1)
                        str_addf(&text, "wait in a %s of %s", c->kind, c->name);
                else
                        str_addf(&text, "wait in %s %ss of %s",
                                 unit_count(&channels_text, c->n_channels), c->kind, c->name);
                if (tasks_add_spawn(t, &at, utf8, &where))
                        str_addf(&text, ", %s %s", c->per_block ? "sent" : "made",
                                 str_text(&where) + strlen("spawned "));
                str_addf(&text, ": %s with what they hold. ", unit_bytes(&bytes, c->bytes));
                if (c->per_block)
                        str_addf(&text, "Who receives them is slower than who sends%s.",
                                 c->is_unbounded ? ", and the channel has no bound" : "");
                else
                        str_add(&text, "They stay until the slowest who receives has taken them.");
                str_done(&where);
                add(ret, "full-channel", FINDING_WORTH_KNOWING, NULL, 0, c->bytes, &text);
                ret->items[ret->n - 1].stack = c->stack;
        }
        vec_free(&channels);
}

/* ---- tasks that wait for room ---- */

static bool is_stuck(const struct task_group *x) {
        uint64_t n = x->waits.n_only[TASK_WAIT_ROOM];

        return x->kind == TASK_FUTURE && n >= MIN_STUCK && n * STUCK_SHARE >= x->n;
}

static void find_stuck(const struct tasks *t, bool utf8, task_finding_list *ret) {
        for (size_t i = 0; i < t->list.groups.n; i++) {
                const struct task_group *x = &t->list.groups.items[i];
                uint64_t n = x->waits.n_only[TASK_WAIT_ROOM];
                struct task_group at = {.stack = REACH_NO_SITE};
                struct unit_text bytes, each, channels_text;
                struct str text = {0}, where = {0};

                if (!is_stuck(x))
                        continue;
                at.stack = t->graph.stacks[x->waits.room_block];
                add_subject(t, x, n, utf8, &text);
                if (x->waits.n_room_channels == 1)
                        str_add(&text, " wait for room in a channel of tokio");
                else
                        str_addf(&text, " wait for room in %s channels of tokio",
                                 unit_count(&channels_text, x->waits.n_room_channels));
                if (tasks_add_spawn(t, &at, utf8, &where))
                        str_addf(&text, ", made %s", str_text(&where) + strlen("spawned "));
                str_addf(&text,
                         ": %s, %s each. Who receives is slower than who sends, or has stopped.",
                         unit_bytes(&bytes, x->bytes), unit_bytes(&each, x->bytes / x->n));
                str_done(&where);
                add(ret, "stuck-tasks", FINDING_WORTH_KNOWING, x, n, x->bytes, &text);
        }
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

static bool is_most(uint64_t n, uint64_t of) {
        return n * LEFT_SHARE >= of * (LEFT_SHARE - 1);
}

enum {
        TOKIO_FORGETS = 43
}; /* the first of 1.x that forgets with the handle that a task was awaited */

static bool look_for_version(void *ctx, const struct query_frame *f) {
        static const char before[] = "/tokio-1.";
        const char *at = strstr(f->file, before);
        unsigned *ret = ctx;

        if (at)
                *ret = (unsigned)strtoul(at + strlen(before), NULL, 10);
        return !at;
}

/* By where its sources were when it was compiled: it would still be known of these tasks if somebody had awaited them. */
static bool remembers_awaits(const struct tasks *t, const struct task_group *x) {
        unsigned version = TOKIO_FORGETS;

        query_each_frame(t->names.q, x->stack, look_for_version, &version);
        return strcmp(x->layout->runtime, "tokio") == 0 && version < TOKIO_FORGETS;
}

/* What it says of who might end them, or why nobody will. */
static enum finding_severity add_left(const struct tasks *t, const struct task_group *x, uint64_t n,
                                      struct str *to) {
        const struct task_waits *w = &x->waits;
        bool was_awaited = !remembers_awaits(t, x); /* maybe */
        static const char if_dropped[] =
                "If a select! or a time-out dropped their handles, they are left over: that does not end a task.";
        uint64_t n_sockets = w->n_for[TASK_WAIT_ACCEPTED] + w->n_for[TASK_WAIT_OPENED] +
                             w->n_for[TASK_WAIT_SOCKET];

        if (is_most(w->n_only[TASK_WAIT_NOTHING], n)) {
                str_add(to,
                        "Nothing has a waker of theirs: they will never run again. A dropped handle, as select! does with branches that lose, does not end a task.");
                return FINDING_WORTH_KNOWING;
        }
        if (is_most(w->n_for[TASK_WAIT_ACCEPTED], n)) {
                str_add(to,
                        "They wait for sockets that were accepted, as the connections of a server do, which is no fault.");
                return FINDING_NOTE;
        }
        if (was_awaited && is_most(w->n_for[TASK_WAIT_OPENED], n)) {
                str_addf(to, "They wait for sockets that the program connected itself. %s",
                         if_dropped);
                return FINDING_WORTH_KNOWING;
        }
        if (was_awaited && is_most(w->n_for[TASK_WAIT_TIMER], n) && !n_sockets) {
                str_addf(
                        to,
                        "They wait for timers, and none for a socket as the connections of a server do. %s",
                        if_dropped);
                return FINDING_WORTH_KNOWING;
        }
        if (is_most(n_sockets, n))
                str_add(to, "They wait for sockets, as the connections of a server do. ");
        else if (is_most(w->n_for[TASK_WAIT_TIMER], n))
                str_add(to, "They wait for timers. ");
        else if (is_most(w->n_for[TASK_WAIT_MESSAGE], n))
                str_add(to, "They wait for messages of channels, as is usual. ");
        else
                str_add(to, "What for, silt cannot tell. ");
        if (was_awaited)
                str_addf(to, "Whether somebody awaited them is unknown. %s", if_dropped);
        else
                str_add(to, "Nobody ever awaited them.");
        return FINDING_NOTE;
}

/* They wait, and nobody has their handles. That is how servers spawn connections, and what select! leaves of a branch that lost: the second where whoever
 * dropped the handles had awaited them, which older versions of tokio tell; maybe where they become more all the time and none ever ends. Else what they
 * wait for says how much it looks like the one or the other. */
static void find_left(const struct tasks *t, bool utf8, task_finding_list *ret) {
        for (size_t i = 0; i < t->list.groups.n; i++) {
                const struct task_group *x = &t->list.groups.items[i];
                uint64_t n = x->n_in[TASK_WAITING];
                enum finding_severity severity = FINDING_WORTH_KNOWING;
                struct query_figures f = {0};
                struct unit_text bytes, each, all;
                struct str text = {0};

                if (x->kind != TASK_FUTURE || n < MIN_LEFT || (x->n - n) * LEFT_SHARE > x->n ||
                    x->n_handles * LEFT_SHARE > x->n || is_stuck(x) ||
                    !count_spawned(t, x->stack, &f) || f.n_frees * LEFT_SHARE > f.n_allocs)
                        continue;
                add_subject(t, x, n, utf8, &text);
                str_addf(
                        &text,
                        " wait, nobody has a handle to them, and hardly one that was spawned there has ended: %s, %s each. ",
                        unit_bytes(&bytes, x->bytes), unit_bytes(&each, x->bytes / x->n));
                if (is_most(x->n_given_up, x->n))
                        str_add(&text,
                                "They had been awaited when their handles were dropped, as select! does with branches that lose: that does not end a task.");
                else if (!is_most(x->waits.n_for[TASK_WAIT_ACCEPTED], n) && grows_always(t, x))
                        str_addf(
                                &text,
                                "They became more all the time, for %s. If they are no connections that stay open, they are left over: a dropped handle does not end its task.",
                                unit_duration(&all, t->graph.info.time_ns));
                else
                        severity = add_left(t, x, n, &text);
                add(ret, "left-tasks", severity, x, n, x->bytes, &text);
        }
}

static void (*const rules[])(const struct tasks *t, bool utf8, task_finding_list *ret) = {
        find_lost,  find_kept, find_greedy,         find_full_channels,
        find_stuck, find_left, source_findings_add,
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
