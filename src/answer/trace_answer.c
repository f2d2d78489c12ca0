/* SPDX-License-Identifier: MIT */
/* What was recorded: silt.trace/1. */
#include <stdlib.h>
#include <string.h>

#include "answer/answers.h"
#include "base/units.h"
#include "query/spent_time.h"
#include "query/thread_time.h"
#include "query/trace_origin.h"
#include "show/show_json.h"
#include "show/view.h"
#include "trace/limit.h"

static void put_sentence(struct json *j, struct str *text) {
        if (text->n)
                json_string(j, str_text(text));
        str_clear(text);
}

/* Who was attached to late: what it had then is not seen. */
static void add_late(const struct trace_view *v, struct str *to) {
        struct unit_text t;

        if (!v->n_priors)
                return;
        str_add(to, "recording started ");
        if (v->priors[0].age_ns)
                str_addf(to, "%s after the program", unit_duration(&t, v->priors[0].age_ns));
        else
                str_add(to, "while the program was running");
        str_add(to, ": blocks allocated earlier are not seen");
}

/* What was not recorded, or not kept. */
static void put_missing(struct json *j, const struct trace_view *v, const struct query_answer *a) {
        uint64_t n_lost = 0, n_unknown_frees = 0;
        struct str text = {0};

        for (size_t i = 0; i < a->n_processes; i++) {
                n_lost += a->processes[i].n_lost;
                n_unknown_frees += a->processes[i].n_unknown_frees;
        }
        n_lost = MAX(n_lost, a->totals.n_lost);
        if (n_lost)
                view_add_lost(n_lost, MAX(n_unknown_frees, a->totals.n_unknown_frees), &text);
        put_sentence(j, &text);
        if (v->n_unwritten_events)
                view_add_unwritten(v->n_unwritten_events, &text);
        put_sentence(j, &text);
        add_late(v, &text);
        put_sentence(j, &text);
        if (v->detail_from_ns && !(v->meta.flags & TRACE_IS_TOTALS))
                view_add_missing(v, v->detail_from_ns, &text);
        put_sentence(j, &text);
        str_done(&text);
}

/* Of one that grows `growing` says so. */
static void put_limits(struct json *j, const struct query *q, const struct query_answer *a,
                       bool is_growing) {
        const struct trace_view *v = query_view(q);
        const char *damage = query_damage(q);

        json_key(j, "limits");
        json_array(j);
        put_missing(j, v, a);
        if (damage[0]) {
                json_string(j, damage);
        } else if (!v->finished && !is_growing) {
                struct str text = {0};

                view_add_unfinished(v, false, &text);
                json_string(j, str_text(&text));
                str_done(&text);
        }
        for (size_t i = 0; i < v->n_notes; i++) {
                struct trace_limit l;

                if (trace_limit_parse(v->notes[i].text, &l) && !l.is_summed)
                        json_string(j, l.text);
        }
        json_end(j);
}

static void put_marks(struct json *j, const struct trace_view *v) {
        json_key(j, "marks");
        json_array(j);
        for (size_t i = 0; i < v->n_notes; i++) {
                struct query_moment m;

                if (!query_moment_of(&v->notes[i], &m))
                        continue;
                json_object(j);
                answer_put_seconds(j, "time_s", m.time_ns);
                json_put_string(j, "name", m.name);
                json_put_string(j, "kind", m.is_snapshot ? "snapshot" : "mark");
                json_put_uint(j, "pid", m.pid);
                json_end(j);
        }
        json_end(j);
}

/* ---- processes ------------------------------------------------------------------------------------- */

static int compare_peaks(const void *a, const void *b, void *answer) {
        const struct query_totals *t = ((const struct query_answer *)answer)->processes;
        uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

        if (t[x].peak_bytes != t[y].peak_bytes)
                return t[x].peak_bytes > t[y].peak_bytes ? -1 : 1;
        return x < y ? -1 : x > y;
}

static void put_process(struct json *j, struct query *q, const struct query_answer *a,
                        uint32_t process) {
        const struct trace_view *v = query_view(q);
        const struct trace_process_info *p = &v->processes[process];
        struct str word = {0};

        query_add_process_word(q, process, &word);
        json_object(j);
        json_put_string(j, "word", str_text(&word));
        json_put_string(j, "name", query_process_name(q, process));
        show_put_pid(j, v, process);
        json_put_uint(j, "image", p->start.image);
        json_put_uint(j, "parent",
                      p->start.parent < v->n_processes ? v->processes[p->start.parent].start.pid
                                                       : 0);
        answer_put_seconds(j, "begin_s", p->start.start_ns);
        answer_put_seconds(j, "end_s", p->has_end ? MIN(p->end.end_ns, v->end_ns) : v->end_ns);
        json_put_string(j, "ended", show_ended_name(p->end.ended));
        json_put_uint(j, "peak_live_bytes", a->processes[process].peak_bytes);
        json_put_uint(j, "end_live_bytes", a->processes[process].end_bytes);
        answer_put_bool(j, "is_main", process == query_main_process(q));
        json_end(j);
        str_done(&word);
}

static void put_processes(struct json *j, struct query *q, const struct query_answer *a) {
        uint32_t *order = calloc(a->n_processes + 1, sizeof(uint32_t));

        if (!order)
                abort();
        for (uint32_t i = 0; i < a->n_processes; i++)
                order[i] = i;
        qsort_r(order, a->n_processes, sizeof(uint32_t), compare_peaks, (void *)a);
        json_key(j, "processes");
        json_array(j);
        for (size_t i = 0; i < a->n_processes && i < ANSWER_MAX_PROCESSES; i++)
                put_process(j, q, a, order[i]);
        json_end(j);
        json_put_uint(j, "processes_in_all", a->n_processes);
        json_put_uint(j, "pids_in_all", query_n_pids(q));
        free(order);
}

/* ---- the whole ------------------------------------------------------------------------------------- */

/* Whether it has figures of it, as far as its source knew them. */
static bool has_metric(struct query *q, enum query_metric m) {
        struct request asked = {.has_metric = true, .metric = m, .min_share_pct = -1};
        enum unit_weights weights = unit_weights(); /* which asking changes */
        struct request_resolved resolved;
        struct err e = {0};
        bool has;

        if (query_metric_time(m) ? !query_has_ticks(q) : query_is_of_time(q))
                return false;
        if (m == QUERY_GROWTH && query_view(q)->meta.flags & TRACE_LACKS_PEAK)
                return false; /* of one moment */
        if (m == QUERY_MAPPED && origin_is_import(&query_view(q)->meta))
                return false;
        has = request_resolve(&asked, q, REQUEST_ALL, &resolved, &e) >= 0;
        request_resolved_done(&resolved);
        unit_ask_weights(weights);
        return has;
}

/* Samples and the like are counted once: there is one figure. */
static bool is_offered(struct query *q, enum query_metric m, const struct query_thread_time *time) {
        if (m == QUERY_BLOCKED && !query_knows_waits(q, time))
                return false;
        if (query_view(q)->meta.unit == TRACE_UNIT_BYTES)
                return has_metric(q, m);
        return m == (has_metric(q, QUERY_PEAK) ? QUERY_PEAK : QUERY_END);
}

static void put_names(struct json *j, struct query *q, const struct query_thread_time *time) {
        json_key(j, "metrics");
        json_array(j);
        for (unsigned m = 0; m < QUERY_N_METRICS; m++)
                if (is_offered(q, m, time))
                        json_string(j, query_metric_name((enum query_metric)m));
        json_end(j);
        json_key(j, "group_by");
        json_array(j);
        for (unsigned by = 0; by < QUERY_N_BY; by++)
                json_string(j, query_by_name((enum query_by)by));
        json_end(j);
}

/* Where the time went, in all; null: nobody looked. */
static void put_time(struct json *j, struct query *q, const struct query_thread_time *time) {
        if (!query_has_ticks(q)) {
                answer_put_null(j, "time");
                return;
        }
        json_key(j, "time");
        json_object(j);
        answer_put_seconds(j, "cpu_s", time->cpu_ns);
        answer_put_seconds(j, "blocked_s", time->blocked_ns);
        answer_put_seconds(j, "ready_s", time->ready_ns);
        json_put_uint(j, "samples", time->n_samples);
        answer_put_bool(j, "is_all", query_is_of_time(q));
        json_end(j);
}

static int put_trace(struct json *j, struct query *q, const char *path, uint64_t version,
                     bool is_growing, struct err *reterr) {
        const struct query_scope all = {.process = QUERY_ALL, .to_ns = UINT64_MAX};
        const struct trace_view *v = query_view(q);
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        struct query_thread_time time;
        int r = query_ask(q, &all, &a, reterr);

        if (r >= 0)
                r = query_time_in_all(q, &time, reterr);
        if (r < 0)
                return r;
        json_put_string(j, "schema", "silt.trace/1");
        json_put_uint(j, "version", version);
        json_put_string(j, "file", path);
        show_put_args(j, "command", v->meta.args, v->meta.n_args);
        show_put_pid(j, v, 0);
        answer_put_seconds(j, "duration_s", v->end_ns);
        answer_put_seconds(j, "run_time_s", query_run_end_ns(q, QUERY_ALL));
        json_put_string(j, "mode", query_estimate_bytes(q) ? "sampled" : "exact");
        json_put_uint(j, "sample_bytes", query_sample_bytes(q));
        answer_put_bool(j, "growing", is_growing);
        json_put_string(j, "ended", show_ended_name(v->processes[query_main_process(q)].end.ended));
        answer_put_seconds(j, "detail_from_s", v->detail_from_ns);
        answer_put_bool(j, "has_events", !(v->meta.flags & TRACE_IS_TOTALS));
        answer_put_bool(j, "has_times", !(v->meta.flags & TRACE_LACKS_TIME));
        answer_put_bool(j, "has_peak", !(v->meta.flags & TRACE_LACKS_PEAK));
        answer_put_bool(j, "has_live", !(v->meta.flags & TRACE_LACKS_LIVE));
        answer_put_bool(j, "has_blocks", !(v->meta.flags & TRACE_LACKS_BLOCKS));
        answer_put_bool(j, "has_threads",
                        origin_knows_threads(v) &&
                                (!(v->meta.flags & TRACE_IS_TOTALS) || query_has_ticks(q)));
        answer_put_bool(j, "imported", origin_is_import(&v->meta));
        json_put_string(j, "unit", query_unit_name(q));
        json_put_uint(j, "events", v->n_events);
        json_put_uint(j, "graphs", query_n_graphs(q));
        put_limits(j, q, a, is_growing);
        put_processes(j, q, a);
        put_marks(j, v);
        json_key(j, "peak");
        json_object(j);
        answer_put_seconds(j, "time_s", a->totals.peak_ns);
        json_put_uint(j, "bytes", a->totals.peak_bytes);
        json_end(j);
        json_put_uint(j, "end_live_bytes", a->totals.end_bytes);
        json_put_uint(j, "peak_rss_bytes", a->totals.peak_rss_bytes);
        show_put_totals(j, "totals", q, &a->totals);
        put_names(j, q, &time);
        put_time(j, q, &time);
        return 0;
}

int answer_trace(struct question *k, struct err *reterr) {
        const struct answerer_options *o = asker_options(k->asker);
        struct query *old = asker_old(k->asker);
        int r;

        json_object(&k->j);
        r = put_trace(&k->j, k->q, o->path, asker_version(k->asker), asker_is_growing(k->asker),
                      reterr);
        if (r < 0)
                return r;
        if (old) {
                json_key(&k->j, "old");
                json_object(&k->j);
                r = put_trace(&k->j, old, o->old_path, 1, false, reterr);
                answer_put_null(&k->j, "old");
                json_end(&k->j);
        } else {
                answer_put_null(&k->j, "old");
        }
        json_end(&k->j);
        return r;
}
