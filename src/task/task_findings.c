/* SPDX-License-Identifier: MIT */
#include "task/task_findings.h"

#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "task/task_rules.h"

enum { MAX_TOLD = 2 };        /* in a report, and no notes: `silt tasks` tells all */
#define PROBLEM_BYTES 1000000 /* so much is one in any program, */
#define PROBLEM_SHARE 10      /* and one of so many parts of the peak */

static bool find_site(const struct query_answer *a, uint32_t stack, struct query_site *ret) {
        for (size_t i = 0; i < a->n_sites; i++)
                if (a->sites[i].stack == stack) {
                        *ret = a->sites[i];
                        return true;
                }
        return false;
}

static struct finding finding_of(const struct findings *f, const struct task_finding *x,
                                 const struct query_answer *a) {
        struct finding one = {
                .kind = x->kind,
                .text = arena_strdup(f->arena, x->text),
                .function = "",
                .bytes = x->bytes,
                .process = QUERY_ALL,
                .metric = QUERY_PEAK,
                .severity = x->bytes >= PROBLEM_BYTES &&
                                            x->bytes >= a->totals.peak_bytes / PROBLEM_SHARE
                                    ? FINDING_PROBLEM
                                    : x->severity,
        };

        one.has_site = find_site(a, x->stack, &one.site);
        one.numbers[one.n_numbers++] = (struct finding_number){"tasks", (double)x->n_tasks};
        one.numbers[one.n_numbers++] =
                (struct finding_number){"bytes_per_task",
                                        (double)x->bytes / (double)MAX(x->n_tasks, 1u)};
        return one;
}

/* Behind what is worse. */
static void insert(struct findings *to, const struct finding *x) {
        struct finding *items = arena_alloc(to->arena, (to->n + 1) * sizeof(items[0]));
        size_t at = 0;

        while (at < to->n && !to->items[at].is_note && to->items[at].severity < x->severity)
                at++;
        memcpy(items, to->items, at * sizeof(items[0]));
        items[at] = *x;
        memcpy(items + at + 1, to->items + at, (to->n - at) * sizeof(items[0]));
        to->items = items;
        to->n++;
}

void task_findings_add(struct findings *to, struct query *q, const struct frame_names *names,
                       const struct query_answer *answer) {
        size_t graph = held_graph_newest(q, answer->scope.process, SIZE_MAX);
        struct tasks_options options = TASKS_OPTIONS_DEFAULT;
        task_finding_list found = {0};
        struct err unsaid = {0};
        struct tasks t;
        size_t n = 0;

        if (graph == SIZE_MAX || !query_graph(q, graph)->has_heads ||
            tasks_are_in(q, graph, NULL, &unsaid) <= 0)
                return;
        tasks_init(&t, &options, q, names->names);
        if (tasks_gather(&t, q, graph, &unsaid) >= 0)
                task_findings_tell(&t, true, &found);
        while (n < MIN(found.n, (size_t)MAX_TOLD) && found.items[n].severity != FINDING_NOTE)
                n++;
        for (size_t i = n; i-- > 0;) {
                struct finding x = finding_of(to, &found.items[i], answer);

                insert(to, &x);
        }
        task_findings_done(&found);
        tasks_done(&t);
}
