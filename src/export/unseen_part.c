/* SPDX-License-Identifier: MIT */
#include "export/unseen_part.h"

#include <string.h>

#include "base/macros.h"
#include "base/units.h"
#include "export/one_process.h"
#include "query/spent_time.h"
#include "show/estimate.h"
#include "show/view.h"
#include "trace/limit.h"

static uint32_t pid_of(const struct export_job *job) {
        return job->scope.process < job->view->n_processes
                       ? job->view->processes[job->scope.process].start.pid
                       : 0;
}

static void add_sentence(struct str *to, const char *text) {
        size_t n = strlen(text);

        str_addf(to, "%s%.*s.", to->n ? " " : "", (int)(n && text[n - 1] == '.' ? n - 1 : n), text);
}

/* One of each kind, that of most bytes, in the order of kinds. */
static void add_limits(const struct export_job *job, struct str *to) {
        struct trace_limit worst[LIMIT_N_KINDS] = {0}, l;
        uint32_t pid = pid_of(job);

        for (size_t i = 0; i < job->view->n_notes; i++)
                if (trace_limit_parse(job->view->notes[i].text, &l) && !l.is_summed &&
                    (!pid || !l.pid || l.pid == pid) &&
                    (!worst[l.kind].text || l.bytes > worst[l.kind].bytes))
                        worst[l.kind] = l;
        for (size_t i = 0; i < ARRAY_SIZE(worst); i++)
                if (worst[i].text)
                        add_sentence(to, worst[i].text);
}

static int add_lost(const struct export_job *job, struct str *to, struct err *reterr) {
        const struct query_scope whole = {.process = job->scope.process, .to_ns = UINT64_MAX};
        struct query_answer *a = NULL;
        struct str text = {0};
        int r = query_ask(job->q, &whole, &a, reterr);

        if (r < 0)
                return r;
        if (a->totals.n_lost) {
                view_add_lost(a->totals.n_lost, a->totals.n_unknown_frees, &text);
                add_sentence(to, str_text(&text));
        }
        if (job->view->n_unwritten_events) {
                str_clear(&text);
                view_add_unwritten(job->view->n_unwritten_events, &text);
                add_sentence(to, str_text(&text));
        }
        str_done(&text);
        query_answer_free(a);
        return 0;
}

static bool began_late(const struct export_job *job) {
        for (size_t i = 0; i < job->view->n_priors; i++)
                if (job->scope.process == QUERY_ALL ||
                    job->scope.process == job->view->priors[i].process)
                        return true;
        return false;
}

int unseen_part_add(struct export_job *job, struct str *to, struct err *reterr) {
        struct unit_text t;
        int r;

        add_limits(job, to);
        if (job->scope.of_time) /* what follows is of memory */
                return 0;
        r = add_lost(job, to, reterr);
        if (r < 0)
                return r;
        if (began_late(job))
                add_sentence(
                        to,
                        "The recording began while the program ran: blocks allocated earlier are not in it");
        /* an imported one tells it among its limits */
        if (query_sample_bytes(job->q) && !query_is_imported(job->q)) {
                str_addf(to, "%sAll figures in the file are estimates from samples of one in %s.",
                         to->n ? " " : "", unit_bytes(&t, query_sample_bytes(job->q)));
        }
        return 0;
}

void unseen_part_note_time(struct export_job *job, const struct export_format *f) {
        if (job->scope.of_time || !query_has_ticks(job->q) || strcmp(f->name, "firefox") == 0)
                return;
        export_note(job, f->carries & EXPORTS_TIME
                                 ? "samples of time are left out: --by cpu writes them"
                                 : "samples of time are left out: firefox, folded, perf-script, "
                                   "pprof and speedscope carry them");
}

int unseen_part_note_empty(struct export_job *job, struct err *reterr) {
        const struct request *asked = job->request;
        bool is_filtered = asked->filter && !query_filter_is_empty(asked->filter);
        bool is_part = asked->from.is_set || asked->to.is_set || asked->at.is_set;
        const char *what = job->scope.of_time       ? "samples"
                           : job->scope.of_mappings ? "mappings"
                                                    : "blocks";
        struct query_answer *a = NULL;
        const struct query_totals *t;
        int r;

        if (!is_filtered && !is_part)
                return 0;
        r = query_ask(job->q, &job->scope, &a, reterr);
        if (r < 0)
                return r;
        t = &a->totals;
        if (!t->n_allocs && !t->alloc_bytes && !t->begin_bytes && !t->begin_blocks &&
            !t->peak_bytes && !t->peak_blocks)
                export_note(job, "there are no %s %s: try another %s", what,
                            !is_filtered ? "in this window"
                            : is_part    ? "that the filter matches in this window"
                                         : "that the filter matches",
                            !is_filtered ? "one"
                            : is_part    ? "filter or window"
                                         : "filter");
        query_answer_free(a);
        return 0;
}
