/* SPDX-License-Identifier: MIT */
#include "replay/whatif_rows.h"
#include "show/show_json.h"

static void put_bool(struct json *j, const char *key, bool v) {
        json_key(j, key);
        json_bool(j, v);
}

/* Of the kernel's figures for the whole process; 0: nobody looked. */
static void put_known(struct json *j, const char *key, uint64_t bytes) {
        json_put_known(j, key, bytes, bytes > 0);
}

static void put_replayed(struct json *j, const struct whatif *w) {
        const struct recorded_ops *o = &w->ops;

        json_key(j, "replayed");
        if (!w->has_replay) {
                json_null(j);
                return;
        }
        json_object(j);
        json_put_uint(j, "allocations", o->n_allocs);
        json_put_uint(j, "frees", o->n_frees);
        json_put_uint(j, "reallocations", o->n_reallocs);
        json_put_uint(j, "threads", o->n_threads);
        if (query_view(w->q)->meta.flags & TRACE_LACKS_TIME)
                json_put_null(j, "duration_s");
        else
                json_put_double(j, "duration_s", (double)o->duration_us / 1e6, 6);
        json_put_uint(j, "peak_live_bytes", o->peak_live_bytes);
        json_put_uint(j, "peak_live_blocks", o->peak_live_blocks);
        json_put_uint(j, "end_live_bytes", o->live_bytes);
        json_put_uint(j, "end_live_blocks", o->live_blocks);
        json_put_uint(j, "inherited_blocks", o->n_inherited);
        json_put_uint(j, "inherited_bytes", o->inherited_bytes);
        json_put_uint(j, "left_out_frees", o->n_skipped_frees);
        json_put_uint(j, "looked_bytes", o->looked_bytes);
        json_put_uint(j, "touched_bytes", o->touched_bytes);
        json_put_uint(j, "unlooked_bytes", o->unlooked_bytes);
        put_bool(j, "exact", o->is_exact);
        json_end(j);
}

static void put_columns(struct json *j, const struct whatif *w, const struct whatif_row *row) {
        JSON_PUT_EACH(j, "resident_bytes", REPLAY_N_COLUMNS, json_uint,
                      whatif_column_bytes(w, row, i));
}

static void put_result(struct json *j, const struct whatif *w, const struct whatif_row *row) {
        const struct replay_result *r = row->result;

        json_put_string(j, "version", r->version);
        json_put_string(j, "library", r->module);
        json_put_string(j, "pace", row->is_paced ? "paced" : "fast");
        json_put_uint(j, "peak_bytes", row->peak_bytes);
        json_put_double(j, "peak_at_s", (double)r->peak_us / 1e6, 6);
        json_put_uint(j, "end_bytes", row->end_bytes);
        put_known(j, "program_peak_bytes", whatif_program_bytes(w, row));
        json_put_uint(j, "page_faults", row->n_faults);
        json_put_double(j, "cpu_s", (double)row->cpu_ns / 1e9, 6);
        json_put_double(j, "wall_s", (double)r->wall_ns / 1e9, 6);
        json_put_uint(j, "trims", r->n_trims);
        json_put_uint(j, "own_bytes", r->own_bytes);
        json_put_uint(j, "allocations", r->n_allocs);
        json_put_uint(j, "frees", r->n_frees);
        json_put_uint(j, "reallocations", r->n_reallocs);
        json_put_uint(j, "peak_live_bytes", r->peak_live_bytes);
        json_put_uint(j, "end_live_bytes", r->live_bytes);
        json_put_uint(j, "end_live_blocks", r->live_blocks);
        put_columns(j, w, row);
}

static void put_rows(struct json *j, const struct whatif *w) {
        json_key(j, "replays");
        json_array(j);
        for (size_t i = 0; i < w->rows.n; i++) {
                const struct whatif_row *row = &w->rows.items[i];
                struct str settings = row->contender->settings;
                struct str copy = {0};

                str_addn(&copy, settings.n ? settings.bytes : "", settings.n);
                json_object(j);
                json_put_string(j, "allocator", row->contender->allocator);
                json_put_string(j, "settings", str_text(&copy));
                put_bool(j, "recorded", i == w->reference && w->is_recorded);
                json_put_string(j, "state",
                                row->has_result              ? "done"
                                : row->contender->is_missing ? "not installed"
                                                             : "failed");
                if (row->contender->is_missing)
                        json_put_string(j, "package", row->contender->package);
                else if (!row->has_result)
                        json_put_string(j, "why", row->why);
                else
                        put_result(j, w, row);
                json_end(j);
                str_done(&copy);
        }
        json_end(j);
}

static void put_estimate(struct json *j, const struct whatif *w, const struct site_estimate *row) {
        bool is_exact = w->estimates.is_exact;

        json_object(j);
        json_put_uint(j, "peak_bytes", row->peak_bytes);
        json_put_uint(j, "peak_blocks", row->peak_blocks);
        json_put_uint(j, "allocations", row->n_allocs);
        json_put_uint(j, "gone_peak_bytes", row->gone_peak_bytes);
        if (is_exact) {
                json_put_uint(j, "freed_at_once_peak_bytes", row->brief_peak_bytes);
                json_put_uint(j, "pooled_saves_bytes", row->pool_bytes);
        } else {
                json_put_null(j, "freed_at_once_peak_bytes");
                json_put_null(j, "pooled_saves_bytes");
        }
        json_put_uint(j, "untouched_bytes", row->untouched_bytes);
        if (w->estimates.knows_moves) {
                json_put_uint(j, "grown", row->n_grown);
                json_put_uint(j, "copied_bytes", row->copied_bytes);
        } else {
                json_put_null(j, "grown");
                json_put_null(j, "copied_bytes");
        }
        show_put_stack(j, w->q, row->stack);
        json_end(j);
}

static void put_estimates(struct json *j, const struct whatif *w) {
        const struct site_estimates *e = &w->estimates;

        json_key(j, "estimates");
        json_object(j);
        json_put_uint(j, "peak_live_bytes", e->peak_bytes);
        put_bool(j, "exact", e->is_exact);
        put_bool(j, "sampled", e->is_sampled);
        json_key(j, "sites");
        json_array(j);
        for (size_t i = 0; i < e->n; i++)
                put_estimate(j, w, &e->rows[i]);
        json_end(j);
        json_end(j);
}

static void put_doubts(struct json *j, const struct whatif *w) {
        struct str all = {0}, line = {0};
        const char *end;

        whatif_add_doubts(w, &all);
        json_key(j, "notes");
        json_array(j);
        for (const char *at = str_text(&all); (end = strchr(at, '\n')); at = end + 1) {
                str_clear(&line);
                str_addn(&line, at, (size_t)(end - at));
                json_string(j, str_text(&line));
        }
        json_end(j);
        str_done(&all);
        str_done(&line);
}

void whatif_print_json(FILE *out, const struct whatif *w) {
        const struct trace_view *v = query_view(w->q);
        struct str advice = {0};
        struct json j;

        whatif_add_advice(w, true, &advice);
        json_init(&j, out);
        json_object(&j);
        json_put_string(&j, "schema", "silt.whatif/1");
        json_put_string(&j, "advice", str_text(&advice));
        if (w->process < v->n_processes)
                show_put_pid(&j, v, w->process);
        else
                json_put_null(&j, "pid");
        if (w->no_replay[0])
                json_put_string(&j, "not_replayed", w->no_replay);
        put_replayed(&j, w);
        json_key(&j, "recorded_allocator");
        if (w->recorded_name)
                json_string(&j, w->recorded_name);
        else
                json_null(&j);
        put_known(&j, "recorded_peak_rss_bytes", w->recorded.peak_rss_bytes);
        put_known(&j, "recorded_end_rss_bytes", w->recorded.end_rss_bytes);
        put_rows(&j, w);
        put_doubts(&j, w);
        put_estimates(&j, w);
        json_end(&j);
        fputc('\n', out);
        str_done(&advice);
}
