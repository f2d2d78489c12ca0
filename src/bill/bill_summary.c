/* SPDX-License-Identifier: MIT */
#include "bill/bill_summary.h"

#include <stdlib.h>

#include "base/units.h"
#include "bill/bill_series.h"
#include "bill/bill_words.h"

enum { N_LINES = 5, TEXT_INDENT = 21 };

struct summary {
        struct bill bill;
        struct bill_keys keys;
        uint64_t time_ns;
        size_t n_moments; /* looked at */
        bool has_bill;
};

static void gather(struct summary *x, struct query *q, struct names *names, uint32_t process) {
        struct bill_moment moment = {0};
        struct bill_series series;
        struct err unsaid = {0};

        *x = (struct summary){.keys.frames = {.q = q, .names = names}};
        if (bill_series_read(&series, q, process, &unsaid) >= 0 && series.points.n) {
                bill_find_highest(&series, q, 0, UINT64_MAX, &moment);
                x->time_ns = moment.time_ns;
                x->n_moments = series.points.n;
                x->has_bill = moment.points.n > 0 &&
                              bill_make(&x->bill, q, &x->keys, &series, &moment, &unsaid) >= 0;
        }
        bill_moment_done(&moment);
        bill_series_done(&series);
}

static void summary_done(struct summary *x) {
        bill_done(&x->bill);
        bill_keys_done(&x->keys);
}

/* Kinds, the largest first. */
static void sort_kinds(const struct bill *b, enum bill_kind *ret) {
        for (unsigned k = 0; k < BILL_N_KINDS; k++) {
                unsigned at = k;

                for (; at > 0 && b->parts[ret[at - 1]].bytes < b->parts[k].bytes; at--)
                        ret[at] = ret[at - 1];
                ret[at] = (enum bill_kind)k;
        }
}

static void print_line(const struct style *s, const struct bill *b, int64_t bytes,
                       const char *text) {
        struct unit_text t;

        fprintf(s->out, "  %10s %4.0f %%  ", unit_bytes(&t, bytes > 0 ? (uint64_t)bytes : 0),
                100.0 * (double)bytes / (double)MAX(b->resident_bytes, (uint64_t)1));
        style_wrap(s, text, TEXT_INDENT);
}

/* The largest line of what the program mapped, by its function. */
static void add_part_words(const struct summary *x, enum bill_kind k, bool utf8, struct str *to) {
        const struct bill_part *p = &x->bill.parts[k];

        str_add(to, bill_kind_words(&x->bill, k));
        if (k == BILL_MAPPED && p->lines.n && p->lines.items[0].stack) {
                str_add(to, p->lines.items[0].name[0] ? ", most through " : ", most by ");
                bill_add_mapper(&x->keys.frames, &p->lines.items[0], utf8, to, NULL);
        }
}

/* Between two looks there may have been more, which nobody knows the parts of. */
static void print_heading(const struct style *s, const struct summary *x) {
        struct unit_text at, all, n;

        unit_bytes(&all, x->bill.resident_bytes);
        unit_duration(&at, x->time_ns);
        if (x->n_moments == 1)
                style_heading(s, "Resident memory: %s after %s, looked at once", all.s, at.s);
        else
                style_heading(s, "Resident memory: %s after %s, the most of %s looks", all.s, at.s,
                              unit_count(&n, x->n_moments));
}

void bill_summary_print(const struct style *s, struct query *q, struct names *names,
                        uint32_t process, const char *path) {
        enum bill_kind kinds[BILL_N_KINDS];
        struct str text = {0};
        struct summary x;
        int64_t rest;

        gather(&x, q, names, process);
        if (x.has_bill) {
                print_heading(s, &x);
                sort_kinds(&x.bill, kinds);
                rest = (int64_t)x.bill.resident_bytes;
                for (unsigned i = 0; i + 1 < N_LINES && x.bill.parts[kinds[i]].bytes > 0; i++) {
                        str_clear(&text);
                        add_part_words(&x, kinds[i], s->utf8, &text);
                        print_line(s, &x.bill, x.bill.parts[kinds[i]].bytes, str_text(&text));
                        rest -= x.bill.parts[kinds[i]].bytes;
                }
                str_clear(&text);
                str_add(&text, "all else; the whole bill: silt bill ");
                str_add_shell(&text, path);
                print_line(s, &x.bill, rest, str_text(&text));
        }
        summary_done(&x);
        str_done(&text);
}

void bill_summary_put(struct json *j, struct query *q, struct names *names, uint32_t process) {
        struct str text = {0};
        struct summary x;

        gather(&x, q, names, process);
        json_key(j, "bill");
        if (x.has_bill) {
                json_object(j);
                bill_add_largest(&x.bill, &x.keys.frames, true, &text);
                json_put_string(j, "text", str_text(&text));
                json_put_double(j, "at_s", (double)x.time_ns / 1e9, 6);
                json_put_uint(j, "resident_bytes", x.bill.resident_bytes);
                json_key(j, "parts");
                json_object(j);
                for (unsigned k = 0; k < BILL_N_KINDS; k++) {
                        json_key(j, bill_kind_key((enum bill_kind)k));
                        json_int(j, x.bill.parts[k].bytes);
                }
                json_end(j);
                json_end(j);
        } else {
                json_null(j);
        }
        summary_done(&x);
        str_done(&text);
}
