/* SPDX-License-Identifier: MIT */
/* The difference for programs: schema silt.diff/1, told in docs/diff.md. */
#include <string.h>

#include "base/json.h"
#include "diff/diff_text.h"
#include "diff/diff_words.h"
#include "show/frame.h"
#include "show/show_json.h"
#include "show/view.h"

static void put_bool(struct json *j, const char *key, bool v) {
        json_key(j, key);
        json_bool(j, v);
}

/* Whole numbers where nothing is divided. */
static void put_value(struct json *j, const struct diff *d, const char *key, double v) {
        json_key(j, key);
        json_double(j, v, diff_request(d->options)->per_second ? 3 : 0);
}

static void put_percent(struct json *j, const char *key, double old, double new) {
        json_key(j, key); /* null: nothing to compare with */
        if (old != 0)
                json_double(j, 100 * (new - old) / (old < 0 ? -old : old), 3);
        else
                json_null(j);
}

/* null where a side does not know it: resident memory that nobody looked at, events of a recording of totals. */
/* ---- what is compared ------------------------------------------------------------------------ */

static void put_side(struct json *j, const struct diff *d, enum name_side side) {
        const struct diff_side *x = &d->sides[side];
        const struct trace_view *v = x->v;
        struct str doubt = {0};

        json_key(j, side == NAME_OLD ? "old" : "new");
        json_object(j);
        json_put_string(j, "file", x->source->path);
        json_key(j, "command");
        json_array(j);
        for (uint32_t i = 0; i < v->meta.n_args; i++)
                json_string(j, v->meta.args[i]);
        json_end(j);
        show_put_pid(j, v, x->answer->scope.process);
        json_key(j, "window");
        json_object(j);
        json_put_known_double(j, "from_s", (double)x->from_ns / 1e9, 6,
                              !x->answer->totals.lacks_time);
        json_put_known_double(j, "to_s", (double)x->to_ns / 1e9, 6, !x->answer->totals.lacks_time);
        json_end(j);
        put_bool(j, "exact", x->answer->is_exact);
        side_add_doubt(x, &doubt);
        json_key(j, "doubt"); /* null: its figures are whole */
        if (doubt.n)
                json_string(j, str_text(&doubt));
        else
                json_null(j);
        json_end(j);
        str_done(&doubt);
}

static void put_totals(struct json *j, const struct diff *d) {
        struct total_row rows[TOTALS_MAX];
        size_t n = diff_totals(d, rows);

        json_key(j, "totals");
        json_object(j);
        for (size_t i = 0; i < n; i++) {
                const struct total_row *r = &rows[i];
                double unit = r->unit == TOTAL_NS ? 1e9 : 1, old = r->values[NAME_OLD] / unit,
                       new = r->values[NAME_NEW] / unit;
                int decimals = r->unit == TOTAL_NS ? 6 : 0;

                json_key(j, r->key);
                json_object(j);
                bool is_known = r->is_known[NAME_OLD] && r->is_known[NAME_NEW];

                json_put_known_double(j, "old", old, decimals, r->is_known[NAME_OLD]);
                json_put_known_double(j, "new", new, decimals, r->is_known[NAME_NEW]);
                json_put_known_double(j, "change", new - old, decimals, is_known);
                if (is_known)
                        put_percent(j, "change_pct", old, new);
                else
                        json_put_null(j, "change_pct");
                json_end(j);
        }
        json_end(j);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void put_asker(struct json *j, struct names *names, const struct name_frame *f,
                      bool is_task) {
        const char *label = name_label(names, f, is_task);

        json_put_string(j, "function", f->function);
        json_put_string(j, "file", f->file);
        json_put_uint(j, "line", f->line);
        json_put_string(j, "module", f->module);
        if (f->guess) {
                json_key(j, "guess");
                json_bool(j, true);
        }
        if (!f->function[0] || f->guess) /* its place is what it is known by */
                json_put_uint(j, "offset", f->offset);
        if (strcmp(label, f->function) != 0)
                json_put_string(j, "label", label);
}

/* Of code without a name, and with the nearest one only, its place. */
static const char *old_function(const struct frame_names *names, const struct frame_stack *x) {
        const struct name_frame *f =
                x->shown.n ? &x->frames.items[x->shown.items[0].frame_idx] : NULL;

        if (!f)
                return "";
        return f->function[0] && !f->guess ? f->function : name_label(names->names, f, false);
}

static void put_function(struct json *j, const struct diff *d, const struct diff_row *row) {
        enum name_side side = diff_told_side(row);
        struct frame_stack x = {0};
        struct str old = {0};

        frame_stack_fill(&x, &d->sides[side].frames, row->stacks[side], false);
        put_asker(j, d->sides[side].frames.names,
                  x.shown.n ? &x.frames.items[x.shown.items[0].frame_idx]
                            : &(struct name_frame){"", "", "", 0, 0, false, false},
                  x.shown.n && x.shown.items[0].is_task);
        words_add_old_name(d, row, true, &old);
        if (old.n) {
                vec_clear(&x.frames);
                frame_stack_fill(&x, &d->sides[NAME_OLD].frames, row->stacks[NAME_OLD], false);
                json_put_string(j, "old_function", old_function(&d->sides[NAME_OLD].frames, &x));
        }
        json_key(j, "call_paths");
        json_object(j);
        json_put_uint(j, "old", row->n_paths[NAME_OLD]);
        json_put_uint(j, "new", row->n_paths[NAME_NEW]);
        json_end(j);
        str_done(&old);
        frame_stack_done(&x);
}

static void put_path(struct json *j, const struct diff *d, const struct diff_row *row) {
        enum name_side side = diff_told_side(row);

        show_put_stack(j, d->sides[side].q, row->stacks[side]);
}

/* Of a row that the side has nothing of as well: what its trace does not know is no 0. */
static void put_figures(struct json *j, const struct diff *d, const struct diff_row *row,
                        enum name_side side) {
        const struct query_totals *t = &d->sides[side].answer->totals;
        struct query_figures f = row->f[side];

        f.lacks_events |= t->lacks_events;
        f.lacks_blocks |= t->lacks_blocks;
        f.lacks_traffic |= t->lacks_traffic;
        f.lacks_live |= t->lacks_live;
        show_put_figures(j, side == NAME_OLD ? "old" : "new", &f, d->metric);
}

static void put_row(struct json *j, const struct diff *d, const struct diff_row *row) {
        double old = diff_value(d, &row->f[NAME_OLD], NAME_OLD);
        double new = diff_value(d, &row->f[NAME_NEW], NAME_NEW);

        json_put_string(j, "status", diff_status_name(diff_status_of(d, row)));
        put_value(j, d, "change", new - old);
        put_percent(j, "change_pct", old, new);
        put_bool(j, "of_note", diff_row_is_noted(d, row));
        put_bool(j, "flutters", row->is_chance);
        put_figures(j, d, row, NAME_OLD);
        put_figures(j, d, row, NAME_NEW);
}

static void put_rows(struct json *j, const struct diff *d, const char *key,
                     const struct diff_row *rows, size_t n, bool is_path) {
        size_t n_told = 0, n_changed = 0,
               n_max = diff_request(d->options)->full
                               ? n
                               : request_n_top(diff_request(d->options), DIFF_USUAL_TOP);

        for (size_t i = 0; i < n; i++)
                n_changed += diff_change(d, &rows[i]) != 0;
        json_key(j, key);
        json_array(j);
        for (size_t i = 0; i < n && n_told < n_max; i++) {
                if (diff_change(d, &rows[i]) == 0)
                        continue;
                n_told++;
                json_object(j);
                put_row(j, d, &rows[i]);
                if (is_path)
                        put_path(j, d, &rows[i]);
                else
                        put_function(j, d, &rows[i]);
                json_end(j);
        }
        json_end(j);
        json_put_uint(j, is_path ? "sites_changed" : "functions_changed", n_changed);
}

void diff_json(FILE *out, const struct diff *d) {
        const struct style plain = {.utf8 = true};
        double old = diff_total(d, NAME_OLD), new = diff_total(d, NAME_NEW);
        struct str verdict = {0};
        struct json j;

        words_add_verdict(d, &plain, &verdict);
        json_init(&j, out);
        json_object(&j);
        json_put_string(&j, "schema", "silt.diff/1");
        json_put_string(&j, "text", str_text(&verdict));
        put_bool(&j, "found", diff_is_found(d));
        json_put_string(&j, "metric", query_metric_name(d->metric));
        put_bool(&j, "per_second", diff_request(d->options)->per_second);
        json_put_string(&j, "filter", query_filter_text(diff_request(d->options)->filter));
        json_put_double(&j, "min_change", d->limit, 3);
        put_value(&j, d, "change", new - old);
        put_percent(&j, "change_pct", old, new);
        put_side(&j, d, NAME_OLD);
        put_side(&j, d, NAME_NEW);
        put_totals(&j, d);
        put_rows(&j, d, "functions", d->functions.items, d->functions.n, false);
        put_rows(&j, d, "sites", d->sites.items, d->sites.n, true);
        json_end(&j);
        str_done(&verdict);
}
