/* SPDX-License-Identifier: MIT */
#include "show/show_json.h"

#include "show/opened.h"

/* Counts and bytes are whole numbers and are written so. */
static void put_number(struct json *j, const struct finding_number *n) {
        if (n->value >= 0 && n->value < 9e15 && n->value == (double)(uint64_t)n->value)
                json_put_uint(j, n->name, (uint64_t)n->value);
        else
                json_put_double(j, n->name, n->value, 6);
}

/* The next step as a page asks it: who is to answer, and the query of a URL; null, null where there is none. */
static void put_step(struct json *j, const struct request_step *step) {
        struct str url = {0};

        json_key(j, "next_view");
        if (step)
                json_string(j, request_view_name(step->view));
        else
                json_null(j);
        json_key(j, "next_request");
        if (step) {
                request_add_url(&step->request, &url);
                json_string(j, str_text(&url));
        } else {
                json_null(j);
        }
        str_done(&url);
}

/* What the first sentence of the next command tells, and what of. */
static void put_shows(struct json *j, const struct finding_shows *s) {
        json_key(j, "next_shows");
        if (!s->is_known) {
                json_null(j);
                return;
        }
        json_object(j);
        json_put_string(j, "metric", query_metric_name(s->by));
        json_key(j, "value");
        json_int(j, s->value);
        json_put_uint(j, "whole", s->whole);
        json_end(j);
}

void show_put_findings(struct json *j, const struct query *q, const char *path,
                       const struct findings *found, char *const *held_by) {
        const struct trace_view *v = query_view(q);

        json_key(j, "findings");
        json_array(j);
        for (size_t i = 0; i < found->n; i++) {
                const struct finding *f = &found->items[i];
                struct str next = {0};

                opened_add_step(f->next, path, &next);
                json_object(j);
                json_put_string(j, "kind", f->kind);
                json_put_string(j, "severity", finding_severity_name(f->severity));
                json_put_string(j, "text", f->text);
                json_put_uint(j, "bytes", f->bytes);
                if (f->is_time)
                        json_put_uint(j, "time_ns", f->time_ns);
                if (f->process != QUERY_ALL) {
                        show_put_pid(j, v, f->process);
                        json_put_string(j, "process", query_process_name(q, f->process));
                }
                json_put_string(j, "next", str_text(&next));
                str_done(&next);
                put_step(j, f->next);
                put_shows(j, &f->shows);
                json_key(j, "site");
                if (f->has_site)
                        show_put_site(j, q, &f->site, f->metric);
                else
                        json_null(j);
                json_put_string(j, "function", f->function);
                json_key(j, "held_by");
                if (held_by[i])
                        json_string(j, held_by[i]);
                else
                        json_null(j);
                json_key(j, "evidence");
                json_object(j);
                for (size_t k = 0; k < f->n_numbers; k++)
                        put_number(j, &f->numbers[k]);
                json_end(j);
                json_end(j);
        }
        json_end(j);
}
