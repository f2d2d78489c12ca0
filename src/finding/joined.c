/* SPDX-License-Identifier: MIT */
#include "finding/joined.h"

#include <string.h>

#include "base/arena.h"
#include "base/vec.h"
#include "finding/rules.h"

#define JOINED_LEADS 0.5 /* of the most that one process had: of a smaller one nothing leads */

/* Where processes come and go, their sum tells nothing of growth and of what is left: whoever ends gives all back. */
static bool is_of_one(const struct finding *x) {
        static const char *const kinds[] = {"growing", "leak", "left-at-end", "slack"};

        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
                if (strcmp(x->kind, kinds[i]) == 0)
                        return true;
        return false;
}

/* What an heir holds is its parent's. */
static bool is_of_holding(const struct finding *x) {
        static const char *const kinds[] = {"left-at-end", "large-site", "peak-site", "heap",
                                            "mapped"};

        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
                if (strcmp(x->kind, kinds[i]) == 0)
                        return true;
        return false;
}

static bool is_same(const struct finding *x, const struct finding *y) {
        if (strcmp(x->kind, y->kind) != 0)
                return false;
        if (x->has_site && y->has_site && x->site.stack == y->site.stack)
                return true;
        return x->function[0] && strcmp(x->function, y->function) == 0;
}

/* Of who holds memory, whatever is told about it. */
static bool is_same_memory(const struct finding *x, const struct finding *y) {
        static const char *const kinds[] = {"growing",    "leak", "large-site",
                                            "short-peak", "heap", "peak-site"};
        bool holds_x = false, holds_y = false;

        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
                holds_x |= strcmp(x->kind, kinds[i]) == 0;
                holds_y |= strcmp(y->kind, kinds[i]) == 0;
        }
        return holds_x && holds_y && x->function[0] && strcmp(x->function, y->function) == 0;
}

struct joining {
        struct findings_parts *parts;
        struct findings *to;
        VEC(struct finding) found;
        double whole_bytes; /* of the process that had most */
};

/* The place of one that says the same; SIZE_MAX: none. */
static size_t find_same(const struct joining *j, const struct finding *x) {
        for (size_t i = 0; i < j->found.n; i++)
                if (is_same(&j->found.items[i], x))
                        return i;
        return SIZE_MAX;
}

/* Of one process that was several programs, the last is who it is. */
static bool is_alone(const struct query *q, uint32_t process) {
        return query_n_pids(q) == 1 &&
               (process == QUERY_ALL || query_next_image(q, process) == TRACE_NO_PROCESS);
}

void findings_add_text(const struct query *q, uint32_t process, const char *text, struct str *to) {
        if (process == QUERY_ALL && !is_alone(q, process)) {
                str_add(to, "all processes: ");
        } else if (!is_alone(q, process)) {
                query_add_process_name(q, process, to);
                str_addf(to, " (pid %u): ", query_view(q)->processes[process].start.pid);
        }
        str_add(to, text);
}

static const char *with_process(struct joining *j, uint32_t process, const char *text) {
        struct str told = {0};
        const char *kept;

        findings_add_text(j->parts->q, process, text, &told);
        kept = arena_strdup(j->to->arena, str_text(&told));
        str_done(&told);
        return kept;
}

/* A child has what it inherited as its parent has: that is told once, of the one that made most of its memory itself. */
static bool is_told(const struct joining *j, const struct finding *x, bool is_heir) {
        size_t same = find_same(j, x);

        if (x->is_note)
                return strcmp(x->kind, "unseen") != 0;
        if (is_heir && is_of_holding(x))
                return true;
        return same != SIZE_MAX && x->bytes < 2 * j->found.items[same].bytes;
}

static void add_part(struct joining *j, uint32_t process, bool is_heir,
                     const struct findings *part) {
        for (size_t i = 0; i < part->n; i++) {
                struct finding x = part->items[i];

                if (is_told(j, &x, is_heir) || !finding_matters(&x, j->whole_bytes))
                        continue;
                x.process = process;
                x.leads &= part->whole_bytes >= JOINED_LEADS * j->whole_bytes;
                x.text = with_process(j, process, x.text);
                vec_push(&j->found, x);
        }
}

/* Whether one process has most of it, as another kind of finding. */
static bool is_held_by_one(const struct joining *j, const struct finding *x) {
        for (size_t i = 0; i < j->found.n; i++)
                if (is_same_memory(&j->found.items[i], x) &&
                    j->found.items[i].bytes >= x->bytes / 2)
                        return true;
        return false;
}

/* Of the sum what no single one has: much that is little in each of many. */
static void add_together(struct joining *j, const struct findings *together) {
        for (size_t i = 0; i < together->n; i++) {
                struct finding x = together->items[i];
                size_t same = x.is_note ? SIZE_MAX : find_same(j, &x);

                if (!x.is_note && (is_of_one(&x) || is_held_by_one(j, &x)))
                        continue;
                if (same != SIZE_MAX && !x.is_time && j->found.items[same].bytes >= x.bytes / 2)
                        continue;
                if (!x.is_note && !x.is_time)
                        x.text = with_process(j, QUERY_ALL, x.text);
                if (same == SIZE_MAX)
                        vec_push(&j->found, x);
                else
                        j->found.items[same] = x;
        }
}

struct findings *findings_join(struct findings_parts *c) {
        struct findings *to = c->together;
        struct joining j = {.parts = c, .to = to};
        size_t n_told = 0, n_time = 0;

        for (size_t i = 0; i < c->n; i++)
                j.whole_bytes = MAX(j.whole_bytes, c->parts[i].found->whole_bytes);
        for (size_t i = 0; i < c->n; i++)
                add_part(&j, c->parts[i].process, c->parts[i].is_heir, c->parts[i].found);
        add_together(&j, to);
        if (j.found.n)
                qsort(j.found.items, j.found.n, sizeof(j.found.items[0]), severity_compare);
        to->items = arena_alloc(to->arena, (j.found.n + 1) * sizeof(to->items[0]));
        to->n = 0;
        for (size_t i = 0; i < j.found.n; i++)
                if (j.found.items[i].is_note ||
                    (j.found.items[i].is_time ? n_time++ < FINDING_MAX_TIME
                                              : n_told++ < FINDING_MAX))
                        to->items[to->n++] = j.found.items[i];
        to->parts = arena_alloc(to->arena, (c->n + 1) * sizeof(to->parts[0]));
        for (size_t i = 0; i < c->n; i++)
                to->parts[to->n_parts++] = c->parts[i].found;
        vec_free(&j.found);
        return to;
}

void findings_parts_done(struct findings_parts *c) {
        for (size_t i = 0; i < c->n; i++)
                findings_free(c->parts[i].found);
        findings_free(c->together);
}
