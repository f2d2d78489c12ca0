/* SPDX-License-Identifier: MIT */
#include "metrics/process_look.h"

#include <stdio.h>
#include <string.h>

#include "base/system_clock.h"
#include "finding/finding.h"
#include "keep/kept_leaks.h"

enum { FINDINGS_SHARE = 100 };
#define FINDINGS_MIN_NS 10000000000ull

/* ---- leaks --------------------------------------------------------------------------------------- */

static bool has_graph(const struct query *q, uint32_t process) {
        for (size_t i = 0; i < query_n_graphs(q); i++)
                if (query_graph(q, i)->process == process)
                        return true;
        return false;
}

void process_look_at_leaks(struct process_look *l, struct query *q) {
        struct kept_leaks leaks;
        int r;

        if (query_n_graphs(q) == l->n_graphs)
                return;
        l->n_graphs = query_n_graphs(q);
        if (!has_graph(q, l->process))
                return;
        r = kept_leaks_open(&leaks, q, "", l->process, NULL, NULL);
        if (r >= 0) {
                l->has_leaks = true;
                l->leaked_bytes = kept_leaks_lost_bytes(&leaks);
                l->leaked_blocks =
                        leaks.sums.blocks[LEAK_DEFINITE] + leaks.sums.blocks[LEAK_INDIRECT];
        }
        kept_leaks_done(&leaks);
}

/* ---- findings ------------------------------------------------------------------------------------ */

static void count_finding(struct process_look *l, const char *kind) {
        struct process_finding *f;

        for (size_t i = 0; i < l->n_findings; i++)
                if (strcmp(l->findings[i].kind, kind) == 0) {
                        l->findings[i].n++;
                        return;
                }
        if (l->n_findings == PROCESS_LOOK_MAX_FINDINGS)
                return;
        f = &l->findings[l->n_findings++];
        snprintf(f->kind, sizeof(f->kind), "%s", kind);
        f->n = 1;
}

static int find(struct query *q, uint32_t process, struct findings **ret) {
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        struct query_scope scope = {.process = process, .to_ns = UINT64_MAX};
        const struct query_totals *t;
        int r = query_ask(q, &scope, &a, NULL);

        if (r < 0)
                return r;
        t = &a->totals;
        return findings_make(
                &(struct finding_source){.q = q,
                                         .names = query_names(q),
                                         .answer = a,
                                         .whole = t,
                                         .complete_stacks_pct =
                                                 t->n_allocs
                                                         ? 100.0 * (double)t->n_complete_stacks /
                                                                   (double)t->n_allocs
                                                         : 100},
                ret, NULL);
}

void process_look_at_findings(struct process_look *l, struct query *q) {
        uint64_t began_ns = clock_now_ns(), took_ns;
        struct findings *f = NULL;

        if (began_ns < l->next_findings_ns)
                return;
        if (find(q, l->process, &f) >= 0) {
                l->n_findings = 0;
                for (size_t i = 0; i < f->n; i++)
                        count_finding(l, f->items[i].kind);
        }
        findings_free(f);
        took_ns = clock_now_ns() - began_ns;
        l->next_findings_ns = began_ns + MAX(took_ns * FINDINGS_SHARE, FINDINGS_MIN_NS);
}
