/* SPDX-License-Identifier: MIT */
#include "replay/whatif.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/units.h"
#include "query/spent_time.h"
#include "query/used_allocator.h"
#include "replay/replay_run.h"
#include "replay/whatif_rows.h"
#include "show/opened.h"
#include "show/process_holders.h"

enum {
        USUAL_SITES = 5,
        AROUND_US = 100000, /* beside a moment */
        STEADY_SHARE = 10,
};

/* ---- the recorded allocator --------------------------------------------------------------------- */

static struct contender *find_plain(struct contenders *c, const char *allocator) {
        for (size_t i = 0; i < c->rows.n; i++)
                if (strcmp(c->rows.items[i].allocator, allocator) == 0 &&
                    !c->rows.items[i].settings.n)
                        return &c->rows.items[i];
        return NULL;
}

/* Added where it is missing; NULL: silt has no such allocator, or it is not installed. */
static const struct contender *need_plain(struct contenders *c, const char *name) {
        struct err unsaid = {0};
        const struct contender *plain;

        if (!find_plain(c, name))
                contenders_add_list(c, name, &unsaid);
        plain = find_plain(c, name);
        return plain && !plain->is_missing ? plain : NULL;
}

/* What everything is compared with has to be there: glibc, where the recorded one is not. */
static void add_reference(struct whatif *w, struct contenders *c) {
        const struct contender *plain;

        w->recorded_name = used_allocator(query_view(w->q), w->process, &w->has_other_allocators);
        plain = w->recorded_name ? need_plain(c, w->recorded_name) : NULL;
        w->is_recorded = plain != NULL;
        if (!plain)
                plain = need_plain(c, "glibc");
        for (size_t i = 0; i < c->rows.n; i++)
                vec_push(&w->rows, (struct whatif_row){.contender = &c->rows.items[i]});
        w->reference = (size_t)(plain - c->rows.items);
}

/* ---- replays ------------------------------------------------------------------------------------ */

/* The machine is not to swap, or to kill something else, for a question. */
static int check_memory(const struct whatif *w, struct err *reterr) {
        char text[2048], *at;
        uint64_t available_bytes;
        struct unit_text need, have;

        if (fs_read_text("/proc/meminfo", text, sizeof(text)) < 0 ||
            !(at = strstr(text, "MemAvailable:")))
                return 0;
        available_bytes = strtoull(at + strlen("MemAvailable:"), NULL, 10) * 1024;
        if (w->ops.peak_live_bytes < available_bytes / 10 * 9)
                return 0;
        return err_set(
                reterr, -ENOMEM,
                "replay: the program held %s, and %s are available here: replay it on a machine with more memory, or use --estimate",
                unit_bytes(&need, w->ops.peak_live_bytes), unit_bytes(&have, available_bytes));
}

static uint64_t minus(uint64_t a, uint64_t b) {
        return a > b ? a - b : 0;
}

static int run_row(struct whatif *w, struct whatif_row *row, const char *program,
                   struct err *reterr) {
        const struct contender *c = row->contender;
        struct replay_options o = {.contender = c, .program = program};
        struct err why = {0};
        int r;

        row->is_paced = o.is_paced = w->options->pace == PACE_RECORDED ||
                                     (w->options->pace == PACE_AS_SUITS && c->needs_pace &&
                                      !(query_view(w->q)->meta.flags & TRACE_LACKS_TIME));
        row->result = calloc(1, sizeof(*row->result));
        if (!row->result)
                abort();
        r = replay_run(&w->ops, &o, row->result, &why);
        if (r == -ECHILD) {
                snprintf(row->why, sizeof(row->why), "%.150s", why.text);
                return 0;
        }
        if (r < 0) {
                if (reterr)
                        *reterr = why;
                return r;
        }
        row->has_result = true;
        row->peak_bytes = minus(row->result->peak_bytes, w->none->end_bytes);
        row->end_bytes = minus(row->result->end_bytes, w->none->end_bytes);
        row->n_faults = minus(row->result->n_faults, w->none->n_faults);
        row->cpu_ns = minus(row->result->cpu_ns, w->none->cpu_ns + row->result->look_ns);
        return 0;
}

static int replay(struct whatif *w, struct err *reterr) {
        struct replay_options bare = {0};
        char program[4200];
        struct err why = {0};
        int r = replay_find_program(program, sizeof(program), reterr);

        if (r >= 0)
                r = check_memory(w, reterr);
        if (r < 0)
                return r;
        bare.program = program;
        w->none = calloc(1, sizeof(*w->none));
        if (!w->none)
                abort();
        r = replay_run(&w->ops, &bare, w->none, &why);
        if (r < 0)
                return err_set(reterr, r, r == -ECHILD ? "replay: the replay %s" : "%s", why.text);
        for (size_t i = 0; r >= 0 && i < w->rows.n; i++)
                if (!w->rows.items[i].contender->is_missing)
                        r = run_row(w, &w->rows.items[i], program, reterr);
        w->has_replay = r >= 0;
        if (w->has_replay && !w->rows.items[w->reference].has_result)
                w->reference = SIZE_MAX;
        return r;
}

double whatif_less(uint64_t bytes, uint64_t reference_bytes) {
        if (!reference_bytes)
                return 0;
        return ((double)reference_bytes - (double)bytes) / (double)reference_bytes;
}

uint64_t whatif_program_bytes(const struct whatif *w, const struct whatif_row *row) {
        uint64_t recorded = w->recorded.peak_rss_bytes;

        if (!recorded || w->reference == SIZE_MAX || !w->is_recorded)
                return 0;
        return minus(recorded + row->peak_bytes, w->rows.items[w->reference].peak_bytes);
}

uint64_t whatif_column_bytes(const struct whatif *w, const struct whatif_row *row, size_t column) {
        for (size_t i = column + 1; i-- > 0;)
                if (row->result->columns[i].n_looks)
                        return minus(i == column ? row->result->columns[i].max_bytes
                                                 : row->result->columns[i].last_bytes,
                                     w->none->end_bytes);
        return 0;
}

static uint64_t distance(uint64_t a, uint64_t b) {
        return a > b ? a - b : b - a;
}

/* The replay under the recorded allocator against what its bill says, where live bytes were steady, near their peak. Where silt knows why they differ, nothing is compared. */
static void judge(struct whatif *w) {
        const struct trace_view *v = query_view(w->q);
        const struct recorded_heap *h = &w->recorded_heap;
        uint64_t least = UINT64_MAX, most = 0;
        const struct whatif_row *row;
        size_t at, around;

        if (!w->is_recorded || w->reference == SIZE_MAX || w->has_other_allocators ||
            w->ops.n_inherited || w->ops.n_skipped_frees || !w->ops.is_exact)
                return;
        for (size_t i = 0; i < v->n_priors; i++)
                if (v->priors[i].process == w->process)
                        return;
        recorded_heap_read(&w->recorded_heap, w->q, w->process);
        if (!w->ops.duration_us || h->time_ns < w->ops.begin_ns)
                return;
        at = (size_t)MIN((h->time_ns - w->ops.begin_ns) / 1000 * REPLAY_N_COLUMNS /
                                 w->ops.duration_us,
                         (uint64_t)REPLAY_N_COLUMNS - 1);
        around = (size_t)((uint64_t)AROUND_US * REPLAY_N_COLUMNS / w->ops.duration_us) + 1;
        row = &w->rows.items[w->reference];
        for (size_t i = at - MIN(at, around); i <= MIN(at + around, (size_t)REPLAY_N_COLUMNS - 1);
             i++) {
                const struct replay_column *c = &row->result->columns[i];

                least = MIN(least, whatif_column_bytes(w, row, i));
                most = MAX(most, whatif_column_bytes(w, row, i));
                if (c->n_looks && distance(c->max_live_bytes, w->ops.peak_live_bytes) >
                                          w->ops.peak_live_bytes / STEADY_SHARE)
                        return; /* pages of a bill are older than its blocks */
        }
        if (recorded_heap_is_far(h, least, most))
                w->far_bytes = MAX(whatif_column_bytes(w, row, at), (uint64_t)1);
}

/* ---- all of it ---------------------------------------------------------------------------------- */

static int read_recorded(struct whatif *w, struct err *reterr) {
        struct whatif_recorded *rec = &w->recorded;
        int r = query_samples(w->q, &rec->samples, &rec->n_samples, reterr);

        for (size_t i = 0; r >= 0 && i < rec->n_samples; i++) {
                const struct trace_sample *s = &rec->samples[i];
                uint64_t bytes = s->anon_bytes + s->file_bytes + s->shmem_bytes;

                if (s->process != w->process)
                        continue;
                rec->peak_rss_bytes = MAX(rec->peak_rss_bytes, bytes);
                rec->end_rss_bytes = bytes;
        }
        /* the kernel's own figure misses nothing between two samples */
        if (r >= 0 && w->process < query_view(w->q)->n_processes)
                rec->peak_rss_bytes =
                        MAX(rec->peak_rss_bytes,
                            query_view(w->q)->processes[w->process].end.peak_rss_bytes);
        return r;
}

/* A trace that cannot be replayed can still be estimated, unless a replay was asked for in so many words. */
static int gather(struct whatif *w, struct whatif_options *o, bool has_picture,
                  struct err *reterr) {
        struct err why = {0};
        int r = 0;

        if (!o->only_estimates)
                r = recorded_ops_scan(&w->ops, w->q, w->process, &why);
        if (!o->only_estimates && r >= 0) {
                if (!o->contenders.rows.n)
                        contenders_add_list(&o->contenders, NULL, &why);
                add_reference(w, &o->contenders);
                r = replay(w, &why);
                if (r >= 0)
                        judge(w);
        }
        if (r < 0 && (r != -ENODATA || has_picture)) {
                *reterr = why;
                return r;
        }
        snprintf(w->no_replay, sizeof(w->no_replay), "%.390s", r < 0 ? why.text : "");
        r = read_recorded(w, reterr);
        if (r >= 0)
                r = site_estimates_make(&w->estimates, w->q, &w->names, w->process,
                                        request_n_top(o->view.request, USUAL_SITES), reterr);
        return r;
}

static void whatif_done(struct whatif *w) {
        for (size_t i = 0; i < w->rows.n; i++)
                free(w->rows.items[i].result);
        vec_free(&w->rows);
        free(w->none);
        recorded_ops_done(&w->ops);
        site_estimates_done(&w->estimates);
}

/* Unless one is named, the process that held most: a driver such as gcc holds next to nothing itself. */
static int choose_process(struct whatif *w, const struct request_resolved *x, struct err *reterr) {
        _cleanup_(query_answer_freep) struct query_answer *all = NULL;
        struct query_scope scope = x->scope;
        int r;

        w->process = scope.process;
        if (w->options->view.request->process || query_view(w->q)->n_processes < 2)
                return 0;
        scope.process = QUERY_ALL;
        r = query_ask(w->q, &scope, &all, reterr);
        if (r >= 0)
                w->process = holder_process(w->q, all);
        return r;
}

/* What there is neither to replay nor to estimate. */
static int check_blocks(const struct query *q, const struct whatif_options *o, struct err *reterr) {
        const struct trace_meta *m = &query_view(q)->meta;

        if (m->unit != TRACE_UNIT_BYTES)
                return err_set(reterr, -ENOTSUP,
                               "'%s' is not a profile of memory: read it with 'silt report'",
                               o->view.path);
        if (query_is_of_time(q))
                return err_set(
                        reterr, -ENODATA,
                        "'%s' has samples of time and no allocations: record the program with 'silt run'",
                        o->view.path);
        if (m->flags & TRACE_LACKS_LIVE)
                return err_set(
                        reterr, -ENODATA,
                        "'%s' does not say what was live: record the program with 'silt run'",
                        o->view.path);
        if (m->flags & TRACE_LACKS_TIME && o->pace == PACE_RECORDED)
                return err_set(reterr, -ENODATA, "--paced: '%s' has no times: leave it out",
                               o->view.path);
        return 0;
}

int whatif_print(FILE *out, FILE *picture, struct whatif_options *o, struct err *reterr) {
        struct request_resolved resolved = {0};
        struct whatif w = {.options = o};
        struct opened t = {0};
        int r = opened_init(&t, o->view.path, &o->view.request->rules, reterr);

        if (r >= 0)
                r = check_blocks(t.q, o, reterr);
        if (r >= 0)
                r = show_resolve(&o->view, t.q, REQUEST_MAIN, &resolved, reterr);
        if (r >= 0 && resolved.scope.process == QUERY_ALL && !o->only_estimates)
                r = err_set(
                        reterr, -EINVAL,
                        "--process: a replay is of one process: name one, or leave it out for the one that held most");
        if (r >= 0) {
                w.q = t.q;
                w.names = (struct frame_names){.q = t.q, .names = t.names};
                r = choose_process(&w, &resolved, reterr);
        }
        if (r >= 0)
                r = gather(&w, o, picture != NULL, reterr);
        opened_end_progress(&t);
        if (r >= 0)
                opened_say_damage(&t, o->view.path);
        if (r >= 0 && o->view.json)
                whatif_print_json(out, &w);
        else if (r >= 0)
                whatif_print_text(out, &w);
        if (r >= 0 && picture)
                whatif_draw(picture, &w);
        whatif_done(&w);
        request_resolved_done(&resolved);
        opened_done(&t);
        return r;
}
