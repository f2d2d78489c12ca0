/* SPDX-License-Identifier: MIT */
#include "metrics/exposition.h"

#include <stdlib.h>
#include <strings.h>

const char *exposition_type(enum exposition e) {
        return e == EXPOSITION_OPENMETRICS
                       ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                       : "text/plain; version=0.0.4; charset=utf-8";
}

/* ---- what the client wants ------------------------------------------------------------------------ */

/* One parameter, as " q=0.5". */
static bool take_quality(const char *text, size_t n, double *ret) {
        char number[8] = "";

        while (n && (*text == ' ' || *text == '\t'))
                text++, n--;
        if (n < 3 || (text[0] != 'q' && text[0] != 'Q') || text[1] != '=')
                return false;
        memcpy(number, text + 2, MIN(n - 2, sizeof(number) - 1));
        if (number[0] != '0' && number[0] != '1')
                return false;
        *ret = strtod(number, NULL);
        return true;
}

/* One of the types between commas: how much it is wanted, 0 to 1. */
static double quality_of(const char *text, size_t n) {
        double quality = 1;

        for (size_t at = 0; at < n; at++)
                if (text[at] == ';') {
                        size_t end = at + 1;

                        while (end < n && text[end] != ';')
                                end++;
                        take_quality(text + at + 1, end - at - 1, &quality);
                }
        return quality;
}

static bool is_type(const char *text, size_t n, const char *type) {
        size_t n_type = strlen(type);

        return n >= n_type && strncasecmp(text, type, n_type) == 0 &&
               (n == n_type || text[n_type] == ';' || text[n_type] == ' ' || text[n_type] == '\t');
}

/* Whether this is a version that is known: 1.0.0, or none said. 0.0.1 was of before the standard. */
static bool is_known_version(const char *text, size_t n) {
        static const char word[] = "version=";

        for (size_t at = 0; at + sizeof(word) - 1 <= n; at++)
                if (strncasecmp(text + at, word, sizeof(word) - 1) == 0)
                        return at + sizeof(word) - 1 < n && text[at + sizeof(word) - 1] == '1';
        return true;
}

enum exposition exposition_of_accept(const char *accept) {
        double open = 0, text = 0, any = 0;

        for (const char *at = accept ? accept : ""; *at;) {
                size_t n = strcspn(at, ",");
                const char *type = at;
                size_t n_type = n;

                while (n_type && (*type == ' ' || *type == '\t'))
                        type++, n_type--;
                if (is_type(type, n_type, "application/openmetrics-text") &&
                    is_known_version(type, n_type))
                        open = MAX(open, quality_of(type, n_type));
                else if (is_type(type, n_type, "text/plain") || is_type(type, n_type, "text/*"))
                        text = MAX(text, quality_of(type, n_type));
                else if (is_type(type, n_type, "*/*"))
                        any = MAX(any, quality_of(type, n_type));
                at += n + (at[n] == ',');
        }
        return open > 0 && open >= text && open >= any ? EXPOSITION_OPENMETRICS
                                                       : EXPOSITION_PROMETHEUS;
}

bool exposition_may_be_gzip(const char *accept) {
        double gzip = -1, any = 0;

        for (const char *at = accept ? accept : ""; *at;) {
                size_t n = strcspn(at, ","), n_blank = strspn(at, " \t");
                const char *coding = at + MIN(n, n_blank);
                size_t n_coding = n - MIN(n, n_blank);

                if (is_type(coding, n_coding, "gzip") || is_type(coding, n_coding, "x-gzip"))
                        gzip = MAX(gzip, quality_of(coding, n_coding));
                else if (is_type(coding, n_coding, "*"))
                        any = MAX(any, quality_of(coding, n_coding));
                at += n + (at[n] == ',');
        }
        return gzip < 0 ? any > 0 : gzip > 0;
}

/* ---- writing ------------------------------------------------------------------------------------- */

static const char *suffix(enum metric_type type) {
        return type == METRIC_COUNTER ? "_total" : type == METRIC_INFO ? "_info" : "";
}

static const char *type_name(enum metric_type type, enum exposition e) {
        if (type == METRIC_INFO)
                return e == EXPOSITION_OPENMETRICS ? "info" : "gauge";
        return type == METRIC_COUNTER ? "counter" : "gauge";
}

/* OpenMetrics names the family, the older format what stands in the lines. */
static void write_head(const struct metric_name *m, enum exposition e, struct str *to) {
        const char *behind = e == EXPOSITION_OPENMETRICS ? "" : suffix(m->type);

        str_addf(to, "# HELP %s%s %s\n# TYPE %s%s %s\n", m->name, behind, m->help, m->name, behind,
                 type_name(m->type, e));
        if (e == EXPOSITION_OPENMETRICS && m->unit[0])
                str_addf(to, "# UNIT %s %s\n", m->name, m->unit);
}

static void write_value(const struct metric_name *m, const struct metric_set *set,
                        const struct metric_value *v, struct str *to) {
        const char *labels = set->text.items + v->labels;

        str_addf(to, "%s%s", m->name, suffix(m->type));
        if (labels[0])
                str_addf(to, "{%s}", labels);
        if (v->is_whole)
                str_addf(to, " %lld\n", (long long)v->whole);
        else
                str_addf(to, " %.9f\n", v->real);
}

void exposition_write(const struct metric_set *set, enum exposition e, struct str *to) {
        for (size_t i = 0; i < METRIC_N; i++) {
                if (set->values[i].n)
                        write_head(&metric_names[i], e, to);
                for (size_t v = 0; v < set->values[i].n; v++)
                        write_value(&metric_names[i], set, &set->values[i].items[v], to);
        }
        if (e == EXPOSITION_OPENMETRICS)
                str_add(to, "# EOF\n");
}
