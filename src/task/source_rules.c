/* SPDX-License-Identifier: MIT */
#include "task/source_rules.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"

enum {
        MIN_SAME = 50,    /* that have callback and data of another one, */
        SAME_SHARE = 2,   /* as one of so many of a group does */
        MIN_REMOVED = 50, /* and are still held */
        MIN_LEFT = 1000,  /* that are in loops, */
        LEFT_SHARE = 20,  /* and at most one of so many that were added there is gone */
        MIN_IN_LINE = 1000,
};

static uint64_t n_alive(const struct source_group *x) {
        return x->n - x->n_in[SOURCE_REMOVED] - x->n_in[SOURCE_UNATTACHED];
}

/* "1,000 timeouts that call on_tick, added at main.c:20,"; without the last comma, where nobody knows that. */
static void add_subject(const struct tasks *t, const struct source_group *x, uint64_t n, bool utf8,
                        struct str *to) {
        struct unit_text text;

        str_addf(to, "%s ", unit_count(&text, n));
        sources_add_kind(t, x, n, to);
        str_add(to, ", ");
        if (sources_add_adder(t, x, utf8, to))
                str_add(to, ",");
        else
                to->n -= 2;
}

/* Ends a finding with how many of them went, where that is known. */
static void add(task_finding_list *to, const char *kind, enum finding_severity severity,
                const struct source_group *x, uint64_t n, struct str *text) {
        struct unit_text gone;

        if (x->is_counted && x->n_gone)
                str_addf(text, " %s other%s that %s added there %s gone.",
                         unit_count(&gone, x->n_gone), unit_s(x->n_gone),
                         x->n_gone == 1 ? "was" : "were", x->n_gone == 1 ? "is" : "are");
        else if (x->is_counted)
                str_add(text, " None that was added there is gone.");
        vec_push(to, (struct task_finding){.kind = kind,
                                           .severity = severity,
                                           .text = strdup(str_text(text)),
                                           .stack = x->stack,
                                           .n_tasks = n,
                                           .bytes = x->bytes});
        if (!to->items[to->n - 1].text)
                abort();
        str_done(text);
}

/* Added again and again, and never removed: what they call is called as often. Watches of several descriptors may share callback and data. Also where it is called with many data, which may all be in use. */
static void find_left(const struct tasks *t, const struct source_group *x, bool utf8,
                      task_finding_list *ret) {
        uint64_t n = n_alive(x);
        struct unit_text same;
        struct str text = {0};

        if (x->kind && x->kind->is_idle)
                return;
        if (x->kind && x->kind->is_timer && x->n_same >= MIN_SAME && x->n_same * SAME_SHARE >= n) {
                add_subject(t, x, n, utf8, &text);
                str_addf(
                        &text,
                        " are in main loops, %s of them with the same data as another: for each it is called once more.",
                        unit_count(&same, x->n_same));
                add(ret, "left-sources",
                    x->is_counted && x->n_gone >= n ? FINDING_NOTE : FINDING_WORTH_KNOWING, x, n,
                    &text);
        } else if (n >= MIN_LEFT && x->is_counted && x->n_gone * LEFT_SHARE <= x->n_gone + x->n) {
                add_subject(t, x, n, utf8, &text);
                str_add(&text,
                        " are in main loops. If they do not belong to what is still open, nobody removed them.");
                add(ret, "left-sources", FINDING_NOTE, x, n, &text);
        }
}

static void find_in_line(const struct tasks *t, const struct source_group *x, bool utf8,
                         task_finding_list *ret) {
        uint64_t n = n_alive(x);
        struct str text = {0};

        if (!x->kind || !x->kind->is_idle || n < MIN_IN_LINE)
                return;
        add_subject(t, x, n, utf8, &text);
        str_add(&text,
                " stand in line: their main loop does not come to them, or they are called again and again because they return G_SOURCE_CONTINUE.");
        add(ret, "left-sources", FINDING_WORTH_KNOWING, x, n, &text);
}

static void find_removed(const struct tasks *t, const struct source_group *x, bool utf8,
                         task_finding_list *ret) {
        uint64_t n = x->n_in[SOURCE_REMOVED];
        struct unit_text bytes;
        struct str text = {0};

        if (n < MIN_REMOVED || n * SAME_SHARE < x->n)
                return;
        add_subject(t, x, n, utf8, &text);
        str_addf(
                &text,
                " are removed from their main loops and still there, in %s: somebody has a reference, which g_source_unref gives back.",
                unit_bytes(&bytes, x->bytes));
        add(ret, "kept-sources",
            x->is_counted && x->n_gone >= n ? FINDING_NOTE : FINDING_WORTH_KNOWING, x, n, &text);
}

static void (*const rules[])(const struct tasks *t, const struct source_group *x, bool utf8,
                             task_finding_list *ret) = {find_left, find_in_line, find_removed};

void source_findings_add(const struct tasks *t, bool utf8, task_finding_list *ret) {
        for (size_t k = 0; k < ARRAY_SIZE(rules); k++)
                for (size_t i = 0; i < t->sources.groups.n; i++)
                        rules[k](t, &t->sources.groups.items[i], utf8, ret);
}
