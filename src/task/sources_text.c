/* SPDX-License-Identifier: MIT */
#include "base/units.h"
#include "show/show_json.h"
#include "task/tasks_write.h"

enum { USUAL_ROWS = 20, USUAL_GROUPS = 1000 };

/* ---- words --------------------------------------------------------------------------------------------------- */

static const char *text_of(const struct tasks *t, uint32_t text) {
        return t->texts.pool.items.items[text];
}

void sources_add_kind(const struct tasks *t, const struct source_group *x, uint64_t n,
                      struct str *to) {
        if (x->kind)
                str_add(to, n == 1 ? x->kind->one : x->kind->several);
        else
                str_addf(to, "source%s of %s", unit_s(n), text_of(t, x->table));
        if (x->callback)
                str_addf(to, n == 1 ? " that calls %s" : " that call %s", text_of(t, x->callback));
}

bool sources_add_adder(const struct tasks *t, const struct source_group *x, bool utf8,
                       struct str *to) {
        const struct name_frame *f;
        struct frame_stack s = {0};
        bool is_known = x->stack != REACH_NO_SITE && source_adder_find(&t->names, x->stack, &s, &f);

        if (is_known && f->file[0] && f->line) {
                str_add(to, "added at ");
                frame_add_place(to, f, t->options->is_full);
        } else if (is_known) {
                str_add(to, "added by ");
                frame_add_function(to, &t->names, f, false, t->options->is_full, utf8);
        }
        frame_stack_done(&s);
        return is_known;
}

/* "3 ready and 1,017 waiting" */
static void add_states(const uint64_t *n_in, struct str *to) {
        static const enum source_state order[] = {SOURCE_RUNNING, SOURCE_READY, SOURCE_WAITING,
                                                  SOURCE_UNATTACHED, SOURCE_REMOVED};
        struct unit_text n;
        unsigned n_left = 0;
        bool is_first = true;

        for (unsigned i = 0; i < ARRAY_SIZE(order); i++)
                n_left += n_in[order[i]] > 0;
        for (unsigned i = 0; i < ARRAY_SIZE(order); i++) {
                if (!n_in[order[i]])
                        continue;
                n_left--;
                if (!is_first)
                        str_add(to, n_left ? ", " : " and ");
                is_first = false;
                str_addf(to, "%s %s", unit_count(&n, n_in[order[i]]), source_state_name(order[i]));
        }
}

void sources_add_sentence(const struct tasks *t, bool utf8, struct str *to) {
        const struct source_list *l = &t->sources;
        const struct source_group *most = l->groups.n ? &l->groups.items[0] : NULL;
        struct unit_text n, bytes;

        if (most) {
                str_addf(to, "%s source%s of GLib in %s: ", unit_count(&n, l->n), unit_s(l->n),
                         unit_bytes(&bytes, l->bytes));
                add_states(l->n_in, to);
                str_addf(to, "; %s of them %s ", unit_count(&n, most->n),
                         most->n > 1                         ? "are"
                         : most->kind && most->kind->is_idle ? "is an"
                                                             : "is a");
                sources_add_kind(t, most, most->n, to);
                str_add(to, ", ");
                if (!sources_add_adder(t, most, utf8, to))
                        to->n -= 2;
                str_add(to, ".");
        }
        if (l->n_doubtful)
                str_addf(to,
                         "%s%s block%s look%s like %s of GLib, but nothing names %s: not counted.",
                         most ? " " : "", unit_count(&n, l->n_doubtful), unit_s(l->n_doubtful),
                         l->n_doubtful == 1 ? "s" : "", l->n_doubtful == 1 ? "a source" : "sources",
                         l->n_doubtful == 1 ? "its kind" : "their kinds");
}

/* ---- the table ----------------------------------------------------------------------------------------------- */

static void print_count(const struct style *s, uint64_t n, int width) {
        struct unit_text text;

        fprintf(s->out, " %*s", width, n ? unit_count(&text, n) : "-");
}

static void print_group(const struct style *s, const struct tasks *t,
                        const struct source_group *x) {
        struct unit_text bytes, each, n;
        struct str line = {0};

        print_count(s, x->n, 8);
        print_count(s, x->n_in[SOURCE_RUNNING], 8);
        print_count(s, x->n_in[SOURCE_READY], 7);
        print_count(s, x->n_in[SOURCE_WAITING], 8);
        print_count(s, x->n_in[SOURCE_REMOVED], 8);
        fprintf(s->out, " %9s %9s %9s\n", unit_bytes(&bytes, x->bytes),
                unit_bytes(&each, x->bytes / x->n),
                x->oldest_ns == UINT64_MAX ? "-" : unit_duration(&n, x->oldest_ns));
        sources_add_kind(t, x, x->n, &line);
        if (!x->callback)
                str_add(&line, "; what is called is unknown");
        str_add(&line, "; ");
        if (!sources_add_adder(t, x, s->utf8, &line))
                str_add(&line, "added where silt did not see it");
        if (x->n_in[SOURCE_UNATTACHED])
                str_addf(&line, "; %s in no main loop", unit_count(&n, x->n_in[SOURCE_UNATTACHED]));
        if (x->n_same)
                str_addf(&line, "; %s with the data of another", unit_count(&n, x->n_same));
        if (x->n_gone)
                str_addf(&line, "; %s other%s gone", unit_count(&n, x->n_gone),
                         x->n_gone == 1 ? " is" : "s are");
        fputs("          ", s->out);
        style_wrap(s, str_text(&line), 10);
        str_done(&line);
}

void sources_text(const struct style *s, const struct tasks *t) {
        size_t n_top = t->options->is_full ? SIZE_MAX
                                           : request_n_top(t->options->view.request, USUAL_ROWS);
        const struct source_list *l = &t->sources;

        if (!l->groups.n)
                return;
        fprintf(s->out, "\n%s %8s %8s %7s %8s %8s %9s %9s %9s%s\n", s->bold, "sources", "running",
                "ready", "waiting", "removed", "bytes", "each", "oldest", s->plain);
        for (size_t i = 0; i < l->groups.n && i < n_top; i++)
                print_group(s, t, &l->groups.items[i]);
        if (l->groups.n > n_top)
                fprintf(s->out, "%10s%zu more: --top\n", "", l->groups.n - n_top);
}

/* ---- JSON ---------------------------------------------------------------------------------------------------- */

static void put_states(struct json *j, const uint64_t *n_in) {
        for (unsigned i = 0; i < N_SOURCE_STATES; i++)
                json_put_uint(j, source_state_name(i), n_in[i]);
}

static void put_group(struct json *j, const struct tasks *t, const struct source_group *x) {
        struct str text = {0};

        json_object(j);
        json_put_text(j, "kind", x->kind ? x->kind->one : "");
        json_put_text(j, "table", text_of(t, x->table));
        json_put_text(j, "calls", text_of(t, x->callback));
        sources_add_adder(t, x, true, &text);
        json_put_text(j, "added", str_text(&text));
        str_done(&text);
        json_put_uint(j, "sources", x->n);
        put_states(j, x->n_in);
        json_put_uint(j, "same_data", x->n_same);
        json_put_uint(j, "bytes", x->bytes);
        json_put_known_double(j, "oldest_s", (double)x->oldest_ns / 1e9, 3,
                              x->oldest_ns != UINT64_MAX);
        json_key(j, "gone");
        if (x->is_counted)
                json_uint(j, x->n_gone);
        else
                json_null(j);
        if (x->stack != REACH_NO_SITE) {
                show_put_stack(j, t->names.q, x->stack);
                show_put_shown(j, (struct query *)t->names.q, x->stack);
        }
        json_end(j);
}

void sources_json(struct json *j, const struct tasks *t) {
        size_t n_top = t->options->is_full ? SIZE_MAX
                                           : request_n_top(t->options->view.request, USUAL_GROUPS);
        const struct source_list *l = &t->sources;
        struct str sentence = {0};

        json_key(j, "sources");
        json_object(j);
        sources_add_sentence(t, true, &sentence);
        json_put_text(j, "sentence", str_text(&sentence));
        str_done(&sentence);
        json_put_uint(j, "sources", l->n);
        put_states(j, l->n_in);
        json_put_uint(j, "bytes", l->bytes);
        json_put_uint(j, "doubtful_blocks", l->n_doubtful);
        json_put_uint(j, "groups_in_all", l->groups.n);
        json_key(j, "groups");
        json_array(j);
        for (size_t i = 0; i < l->groups.n && i < n_top; i++)
                put_group(j, t, &l->groups.items[i]);
        json_end(j);
        json_end(j);
}
