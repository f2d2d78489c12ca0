/* SPDX-License-Identifier: MIT */
/* Checks in words and as JSON. */
#include "diff/check.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/units.h"
#include "diff/check_measure.h"
#include "diff/diff_words.h"
#include "show/process_holders.h"

/* ---- words ----------------------------------------------------------------------------------- */

static const char *const kind_names[LIMIT_N_KINDS] = {
        [LIMIT_PEAK] = "peak",
        [LIMIT_END] = "live at the end",
        [LIMIT_GROWTH] = "growth",
        [LIMIT_ALLOCATED] = "allocated",
        [LIMIT_ALLOCATIONS] = "allocations",
        [LIMIT_TEMPORARY_SHARE] = "temporary share",
        [LIMIT_RSS] = "peak RSS",
        [LIMIT_CPU] = "CPU time",
        [LIMIT_BLOCKED] = "blocked",
        [LIMIT_LEAKED] = "leaked",
        [LIMIT_FUNCTION] = "function",
        [LIMIT_AGAINST] = "against",
};

static const char *metric_name(const char *metric) {
        return strcmp(metric, "cpu") == 0     ? "CPU time"
               : strcmp(metric, "end") == 0   ? "live at the end"
               : strcmp(metric, "count") == 0 ? "allocations"
                                              : metric;
}

/* Told in nanoseconds. */
static bool is_time(const struct limit *l) {
        return l->unit == LIMIT_IN_NS ||
               (l->kind == LIMIT_AGAINST &&
                (l->of_unit == TRACE_UNIT_NS || strcmp(l->metric, "cpu") == 0 ||
                 strcmp(l->metric, "blocked") == 0));
}

/* Compared weights that are neither bytes nor numbers have no metric, but a unit. */
static bool is_weight(const struct limit *l) {
        return l->kind == LIMIT_AGAINST && l->of_unit != TRACE_UNIT_BYTES &&
               strcmp(l->metric, "cpu") != 0 && strcmp(l->metric, "blocked") != 0;
}

static const char *weight_name(const struct limit *l) {
        return l->of_unit == TRACE_UNIT_SAMPLES ? "samples" : "units";
}

/* "peak", "growth" … */
static const char *limit_name(const struct limit *l) {
        return l->kind == LIMIT_FUNCTION  ? l->function
               : is_weight(l)             ? is_time(l) ? "time" : "weight"
               : l->kind == LIMIT_AGAINST ? metric_name(l->metric)
                                          : kind_names[l->kind];
}

/* from here on percent of growth say nothing */
#define CHECK_MAX_PCT 1000

static bool metric_counts(const char *metric) {
        return strcmp(metric, "count") == 0 || strcmp(metric, "temporary") == 0;
}

/* "200.0 MiB", "1.2 %/min"; buffer of the caller. */
struct value_text {
        char s[64];
};
static const char *value_text(const struct limit *l, double v, struct value_text *t) {
        struct unit_text u;
        bool counts =
                l->unit == LIMIT_IN_COUNT || (l->kind == LIMIT_AGAINST && metric_counts(l->metric));

        if (l->unit == LIMIT_IN_BYTES_PER_S)
                snprintf(t->s, sizeof(t->s), "%s/%s", unit_bytes(&u, unit_nearest(v * l->rate_s)),
                         l->rate_name);
        else if (l->unit == LIMIT_IN_PERCENT_PER_S)
                snprintf(t->s, sizeof(t->s),
                         v * l->rate_s < CHECK_MAX_PCT ? "%.3g %%/%s" : "%.0f %%/%s", v * l->rate_s,
                         l->rate_name);
        else if (is_time(l))
                snprintf(t->s, sizeof(t->s), "%s", unit_duration(&u, unit_nearest(fabs(v))));
        else if (is_weight(l))
                snprintf(t->s, sizeof(t->s), "%s %s", unit_count(&u, unit_nearest(fabs(v))),
                         weight_name(l));
        else if (counts)
                snprintf(t->s, sizeof(t->s), "%s", unit_count(&u, unit_nearest(v)));
        else if (l->unit == LIMIT_IN_PERCENT && l->kind != LIMIT_AGAINST)
                snprintf(t->s, sizeof(t->s), "%.3g %%", v);
        else
                snprintf(t->s, sizeof(t->s), "%s", unit_bytes(&u, unit_nearest(fabs(v))));
        return t->s;
}

/* What was measured. Growth from nearly nothing has no percentage that says anything: it is told in bytes. */
static const char *measured_text(const struct check_result *r, struct value_text *t) {
        const struct limit *l = r->limit;
        struct unit_text u;

        if (l->unit != LIMIT_IN_PERCENT_PER_S || r->measured * l->rate_s < CHECK_MAX_PCT)
                return value_text(l, r->measured, t);
        snprintf(t->s, sizeof(t->s), "%s/%s",
                 unit_bytes(&u, unit_nearest(r->growth_bytes_per_s * l->rate_s)), l->rate_name);
        return t->s;
}

/* The limit in the units of tables: "200.0 MiB" for 200M, "+5 %". */
static const char *limit_text(const struct limit *l, struct value_text *t) {
        if (l->unit != LIMIT_IN_PERCENT)
                return value_text(l, l->limit, t);
        snprintf(t->s, sizeof(t->s), l->kind == LIMIT_AGAINST ? "+%g %%" : "%g %%", l->limit);
        return t->s;
}

/* "peak 62.8 MiB of at most 200.0 MiB"; compared: "peak 62.8 MiB, base 61.0 MiB (+3 %)". */
static void add_result(const struct check_result *r, struct str *to) {
        struct value_text a, b;
        struct words w;

        style_add_clean(to, limit_name(r->limit));
        if (r->status == CHECK_UNTOLD) {
                str_addf(to, " unknown (%s)", r->remark);
                return;
        }
        measured_text(r, &a);
        if (r->limit->kind == LIMIT_AGAINST) {
                value_text(r->limit, r->base, &b);
                str_addf(to, " %s, base %s", a.s, b.s);
                words_percent(r->base, r->measured, &w);
                if (w.s[0])
                        str_addf(to, " (%s%s%s)", w.s, r->remark[0] ? ", " : "", r->remark);
                return;
        }
        str_addf(to, " %s, limit %s", a.s, value_text(r->limit, r->limit->limit, &b));
}

static void add_failure(const struct check_result *r, struct str *to) {
        struct value_text a, b;
        struct words w;

        style_add_clean(to, limit_name(r->limit));
        measured_text(r, &a);
        if (r->limit->kind == LIMIT_AGAINST) {
                words_percent(r->base, r->measured, &w);
                str_addf(to, " %s, %s%sbase %s", a.s, w.s, w.s[0] ? " from " : "",
                         value_text(r->limit, r->base, &b));
                return;
        }
        str_addf(to, " %s, limit %s", a.s, value_text(r->limit, r->limit->limit, &b));
}

enum { CHECK_MAX_TOLD = 3 }; /* failures in the first sentence */

/* The first sentence. */
static void add_verdict(const struct check *c, struct str *to) {
        size_t n_failed = check_count(c, CHECK_FAILED), n = c->results.n, n_told = 0;
        bool is_doubted = check_status_of(c) == CHECK_UNTOLD;
        struct str crowd = {0};

        if (n_failed)
                str_addf(to, n == 1 ? "The check failed" : "%zu of %zu checks failed", n_failed, n);
        else if (check_count(c, CHECK_UNTOLD))
                str_addf(to,
                         n == 1 ? "The check could not be done"
                                : "No check failed, but %zu of %zu could not be done",
                         check_count(c, CHECK_UNTOLD), n);
        else if (is_doubted)
                str_addf(to,
                         n == 1   ? "As far as is known, the check holds"
                         : n == 2 ? "As far as is known, both checks hold"
                                  : "As far as is known, all %zu checks hold",
                         n);
        else
                str_addf(to,
                         n == 1   ? "The check holds"
                         : n == 2 ? "Both checks hold"
                                  : "All %zu checks hold",
                         n);
        if (holder_add_crowd(c->side.q, c->side.answer, &crowd))
                str_addf(to, " for %s", str_text(&crowd));
        str_done(&crowd);
        str_add(to, ": ");
        for (size_t i = 0; i < n; i++) {
                if (n_failed && c->results.items[i].status != CHECK_FAILED)
                        continue;
                if (n_told == CHECK_MAX_TOLD && n_failed > n_told + 1) {
                        str_addf(to, "; and %zu more", n_failed - n_told);
                        break;
                }
                str_add(to, n_told++ ? "; " : "");
                if (n_failed)
                        add_failure(&c->results.items[i], to);
                else
                        add_result(&c->results.items[i], to);
        }
        str_add(to, ".");
}

/* ---- text ------------------------------------------------------------------------------------ */

enum {
        CHECK_CULPRIT_CELLS = 12,
        CHECK_NAME_CELLS = 23, /* "live at the end vs base" */
        CHECK_LIMIT_CELLS = 20,
        CHECK_VALUE_CELLS = 14,
        CHECK_WIDE = 72, /* columns that suffice for them */
};

/* Of narrow screens a fifth less. */
static size_t cells(const struct style *s, size_t n) {
        return s->width < CHECK_WIDE ? n - (n + 4) / 5 : n;
}

static const char *verdict_word(enum check_status s) {
        return s == CHECK_OK ? "ok" : s == CHECK_FAILED ? "FAILED" : "unknown";
}

static void print_culprits(const struct style *s, const struct check_result *r) {
        struct value_text t;

        for (size_t i = 0; i < r->n_culprits; i++) {
                const struct culprit *x = &r->culprits[i];
                struct limit unit = *r->limit;
                bool is_change = r->limit->kind == LIMIT_AGAINST || r->limit->kind == LIMIT_GROWTH;
                struct str line = {0}, value = {0};
                size_t left;

                if (r->limit->kind == LIMIT_GROWTH)
                        unit.unit = LIMIT_IN_BYTES;
                else if (r->limit->kind == LIMIT_TEMPORARY_SHARE)
                        unit.unit = LIMIT_IN_COUNT;
                str_add(&value, is_change ? "+" : "");
                str_add(&value, value_text(&unit, x->value, &t));
                str_addf(&line, "%*s  ", CHECK_CULPRIT_CELLS, str_text(&value));
                left = s->width - MIN(s->width - 20, str_width(str_text(&line)));
                style_add_cut(s, &line, x->name, left);
                if (x->place[0] && str_width(x->name) + 2 + str_width(x->place) <= left)
                        str_addf(&line, "  %s%s%s", s->dim, x->place, s->plain);
                fprintf(s->out, "%s\n", str_text(&line));
                str_done(&line);
                str_done(&value);
        }
}

static void add_cell(const struct style *s, struct str *line, const char *text, size_t cells,
                     bool is_right) {
        size_t begin = line->n;
        struct str cut = {0};

        style_add_cut(s, &cut, text, cells);
        if (is_right)
                str_pad(line, ' ', cells - MIN(cells, str_width(str_text(&cut))));
        str_add(line, str_text(&cut));
        style_pad_to(line, begin, cells);
        str_add(line, "  ");
        str_done(&cut);
}

static void print_result(const struct style *s, const struct check_result *r) {
        struct value_text t;
        struct str line = {0}, name = {0}, measured = {0}, remark = {0};
        struct words w;

        style_add_clean(&name, limit_name(r->limit));
        if (r->limit->kind == LIMIT_AGAINST)
                str_add(&name, " vs base");
        add_cell(s, &line, str_text(&name), cells(s, CHECK_NAME_CELLS), false);
        add_cell(s, &line, limit_text(r->limit, &t), cells(s, CHECK_LIMIT_CELLS), true);
        str_add(&measured, r->status == CHECK_UNTOLD ? "-" : measured_text(r, &t));
        add_cell(s, &line, str_text(&measured), cells(s, CHECK_VALUE_CELLS), true);
        str_addf(&line, "%s%s%s", r->status == CHECK_FAILED ? s->alarm : "",
                 verdict_word(r->status), r->status == CHECK_FAILED ? s->plain : "");
        if (r->limit->kind == LIMIT_AGAINST) {
                words_percent(r->base, r->measured, &w);
                str_addf(&remark, "%s%sbase %s%s%s", w.s, w.s[0] ? ", " : "",
                         value_text(r->limit, r->base, &t), r->remark[0] ? "; " : "", r->remark);
        } else {
                str_add(&remark, r->remark);
        }
        fprintf(s->out, "%s\n", str_text(&line));
        if (remark.n) {
                fprintf(s->out, "%s    ", s->dim);
                style_wrap(s, str_text(&remark), 4);
                fputs(s->plain, s->out);
        }
        print_culprits(s, r);
        str_done(&line);
        str_done(&name);
        str_done(&measured);
        str_done(&remark);
}

static void print_doubts(const struct style *s, struct check *c) {
        if (c->doubt.n)
                style_wrap(s, str_text(&c->doubt), 0);
        if (c->base_doubt.n) {
                struct str text = {0};

                str_addf(&text, "The base: %s", str_text(&c->base_doubt));
                style_wrap(s, str_text(&text), 0);
                str_done(&text);
        }
}

static void write_text(FILE *out, struct check *c) {
        struct str text = {0}, line = {0};
        struct style s;

        style_init(&s, out);
        add_verdict(c, &text);
        fputs(s.bold, out);
        style_wrap(&s, str_text(&text), 0);
        fputs(s.plain, out);
        print_doubts(&s, c);
        if (check_count(c, CHECK_FAILED)) {
                add_cell(&s, &line, "check", cells(&s, CHECK_NAME_CELLS), false);
                add_cell(&s, &line, "limit", cells(&s, CHECK_LIMIT_CELLS), true);
                add_cell(&s, &line, "measured", cells(&s, CHECK_VALUE_CELLS), true);
                fprintf(out, "\n%s%sverdict%s\n", s.dim, str_text(&line), s.plain);
                for (size_t i = 0; i < c->results.n; i++)
                        print_result(&s, &c->results.items[i]);
        }
        str_done(&text);
        str_done(&line);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_culprits(struct json *j, const struct check_result *r) {
        json_key(j, "sites");
        json_array(j);
        for (size_t i = 0; i < r->n_culprits; i++) {
                const struct culprit *x = &r->culprits[i];

                json_object(j);
                json_put_string(j, "name", x->name);
                json_put_string(j, "place", x->place);
                json_put_double(j, "value", x->value, 0);
                json_end(j);
        }
        json_end(j);
}

static const char *unit_name(const struct limit *l) {
        if (l->kind == LIMIT_AGAINST)
                return is_time(l)                 ? "nanoseconds"
                       : is_weight(l)             ? weight_name(l)
                       : metric_counts(l->metric) ? "count"
                                                  : "bytes";
        switch (l->unit) {
        case LIMIT_IN_BYTES: return "bytes";
        case LIMIT_IN_COUNT: return "count";
        case LIMIT_IN_NS: return "nanoseconds";
        case LIMIT_IN_PERCENT: return "percent";
        case LIMIT_IN_BYTES_PER_S: return "bytes_per_second";
        case LIMIT_IN_PERCENT_PER_S: return "percent_per_second";
        }
        return "";
}

static const char *const kind_keys[LIMIT_N_KINDS] = {
        "peak",     "end", "growth",  "allocated", "allocations", "temporary_share",
        "peak_rss", "cpu", "blocked", "leaked",    "function",    "against",
};

static void put_result(struct json *j, const struct check_result *r) {
        json_object(j);
        json_put_string(j, "check", kind_keys[r->limit->kind]);
        if (r->limit->function)
                json_put_string(j, "function", r->limit->function);
        if (r->limit->metric)
                json_put_string(j, "metric", r->limit->metric);
        json_put_string(j, "written", r->limit->text);
        json_put_double(j, r->limit->kind == LIMIT_AGAINST ? "limit_pct" : "limit", r->limit->limit,
                        6);
        json_put_string(j, "unit", unit_name(r->limit));
        json_key(j, "measured"); /* null: could not be told */
        if (r->status == CHECK_UNTOLD)
                json_null(j);
        else
                json_double(j, r->measured, 6);
        if (r->limit->kind == LIMIT_AGAINST)
                json_put_double(j, "base", r->base, 0);
        if (r->limit->kind == LIMIT_GROWTH && r->status != CHECK_UNTOLD)
                json_put_double(j, "growth_bytes_per_s", r->growth_bytes_per_s, 0);
        json_put_string(j, "verdict", check_status_name(r->status));
        json_put_string(j, "remark", r->remark);
        put_culprits(j, r);
        json_end(j);
}

static void put_doubt(struct json *j, const char *key, struct str *doubt) {
        json_key(j, key); /* null: the figures are whole */
        if (doubt->n)
                json_string(j, str_text(doubt));
        else
                json_null(j);
}

/* null: the moments of the trace have numbers and no times. */
static void put_time(struct json *j, const char *key, const struct diff_side *s, uint64_t ns) {
        json_key(j, key);
        if (s->answer->totals.lacks_time)
                json_null(j);
        else
                json_double(j, (double)ns / 1e9, 6);
}

static void write_json(FILE *out, struct check *c) {
        const struct diff_side *s = &c->side;
        struct str verdict = {0};
        struct json j;

        add_verdict(c, &verdict);
        json_init(&j, out);
        json_object(&j);
        json_put_string(&j, "schema", "silt.check/1");
        json_put_string(&j, "text", str_text(&verdict));
        json_put_string(&j, "verdict", check_status_name(check_status_of(c)));
        json_put_string(&j, "file", s->source->path);
        json_key(&j, "against");
        if (c->options->against)
                json_string(&j, c->options->against);
        else
                json_null(&j);
        json_key(&j, "window");
        json_object(&j);
        put_time(&j, "from_s", s, s->from_ns);
        put_time(&j, "to_s", s, s->to_ns);
        json_end(&j);
        json_put_string(&j, "filter", query_filter_text(c->options->source.request->filter));
        put_doubt(&j, "doubt", &c->doubt);
        put_doubt(&j, "base_doubt", &c->base_doubt);
        json_key(&j, "checks");
        json_array(&j);
        for (size_t i = 0; i < c->results.n; i++)
                put_result(&j, &c->results.items[i]);
        json_end(&j);
        json_end(&j);
        str_done(&verdict);
}

int check_print(FILE *out, const struct check_options *o, enum check_status *ret_status,
                struct err *reterr) {
        struct check c;
        int r = check_measure(&c, o, reterr);

        if (r < 0)
                return r;
        *ret_status = check_status_of(&c);
        if (o->json)
                write_json(out, &c);
        else
                write_text(out, &c);
        check_done(&c);
        return 0;
}
