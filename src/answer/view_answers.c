/* SPDX-License-Identifier: MIT */
/* Answers that are what the commands print: report, source, diff; and flame graphs. */
#include <errno.h>

#include "answer/answers.h"
#include "bill/bill.h"
#include "bill/heap_picture.h"
#include "diff/diff.h"
#include "finding/finding.h"
#include "flame/flame.h"
#include "keep/holders.h"
#include "report/report.h"
#include "source/source.h"
#include "task/tasks.h"

/* The card of a finding; its place among the others, what to do next and where it is come with the report. */
static void tell_found(void *ctx, const struct finding *x) {
        struct question *k = ctx;
        char *bytes = NULL;
        size_t n = 0;
        FILE *out = open_memstream(&bytes, &n);
        struct json j;

        if (!out)
                abort();
        json_init(&j, out);
        json_object(&j);
        json_put_string(&j, "kind", x->kind);
        json_put_string(&j, "severity", finding_severity_name(x->severity));
        json_put_string(&j, "function", x->function);
        json_put_string(&j, "text", x->text);
        json_end(&j);
        fclose(out);
        asker_part(k->asker, bytes);
        free(bytes);
}

int answer_report(struct question *k, struct err *reterr) {
        k->options.is_brief = k->asked->is_coarse;
        k->options.found = tell_found;
        k->options.found_ctx = k;
        return report_write(k->out, k->q, &k->options, reterr);
}

int answer_source(struct question *k, struct err *reterr) {
        const struct source_options *where = asker_options(k->asker)->source;
        struct source_options o = where ? *where : SOURCE_OPTIONS_DEFAULT;

        o.view = k->options;
        o.what = k->asked->what;
        o.is_full = k->asked->request.full;
        return source_write(k->out, k->q, &o, reterr);
}

/* `what`: functions whose blocks' ways from the roots are told, too. */
int answer_holders(struct question *k, struct err *reterr) {
        struct holders_options o = {.view = k->options, .why = k->asked->what};

        return holders_write(k->out, k->q, k->frames.names, &o, reterr);
}

int answer_neighbours(struct question *k, struct err *reterr) {
        struct holders_options o = {.view = k->options, .why = k->asked->what};
        struct holders_neighbours of = {k->asked->graph, k->asked->group};

        return holders_write_neighbours(k->out, k->q, k->frames.names, &o, &of, reterr);
}

int answer_tasks(struct question *k, struct err *reterr) {
        struct tasks_options o = {.view = k->options, .is_full = k->asked->request.full};

        return tasks_write(k->out, k->q, k->frames.names, &o, reterr);
}

/* Resident memory is of processes: no condition on blocks divides it. */
static int refuse_filters(const struct question *k, struct err *reterr) {
        if (query_filter_is_empty(k->resolved.scope.filter))
                return 0;
        return err_set(reterr, -EINVAL,
                       "resident memory is known for whole processes only: leave out the filters");
}

int answer_bill(struct question *k, struct err *reterr) {
        int r = refuse_filters(k, reterr);

        return r < 0 ? r : bill_write(k->out, k->q, k->frames.names, &k->options, reterr);
}

int answer_heap(struct question *k, struct err *reterr) {
        int r = refuse_filters(k, reterr);

        return r < 0 ? r : heap_tell(k->out, k->q, k->frames.names, &k->options, reterr);
}

/* ---- two sides ------------------------------------------------------------------------------------- */

static int refuse_against(struct err *reterr) {
        return err_about(reterr, "against",
                         err_set(reterr, -EINVAL,
                                 "there is no older trace: open both with 'silt view OLD NEW'"));
}

int answer_flame(struct question *k, struct err *reterr) {
        const struct answerer_options *o = asker_options(k->asker);
        struct request old = asked_old_request(k->asked);
        struct flame_source of[2] = {{k->q, o->path, &k->asked->request}, {k->q, o->path, &old}};
        size_t n = k->asked->has_old || k->asked->is_against ? 2 : 1;
        int r = 0;

        if (k->asked->is_against) {
                of[1].path = o->old_path;
                of[1].q = asker_old(k->asker);
                if (!of[1].q)
                        r = refuse_against(reterr);
        }
        if (r >= 0)
                r = flame_write(k->out, of, n,
                                &(struct flame_boxes){.is_reversed = k->asked->is_reversed,
                                                      .by_line = k->asked->by_line,
                                                      .with_ages = k->asked->with_ages,
                                                      .n_max_boxes = k->asked->n_boxes},
                                reterr);
        request_done(&old);
        return r;
}

int answer_diff(struct question *k, struct err *reterr) {
        const struct answerer_options *o = asker_options(k->asker);
        struct request old = asked_old_request(k->asked);
        struct diff_options d = DIFF_OPTIONS_DEFAULT;
        bool is_found;
        int r = 0;

        d.json = true;
        d.sources[NAME_OLD] = (struct diff_source){o->path, &old, k->q};
        d.sources[NAME_NEW] = (struct diff_source){o->path, &k->asked->request, k->q};
        if (k->asked->is_against) {
                d.sources[NAME_OLD].path = o->old_path;
                if (!asker_pair(k->asker, &d.sources[NAME_OLD].q, &d.sources[NAME_NEW].q))
                        r = refuse_against(reterr);
        }
        if (r >= 0)
                r = diff_print(k->out, &d, &is_found, reterr);
        request_done(&old);
        return r;
}
