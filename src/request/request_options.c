/* SPDX-License-Identifier: MIT */
/* Requests as they are typed, and as they are said. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "request/request.h"
#include "request/request_pairs.h"

struct telling {
        request_pair_fn fn;
        void *ctx;
};

static void tell(const struct telling *t, const char *key, const char *value) {
        size_t n;
        const struct request_key *keys = request_keys(&n);

        for (size_t i = 0; i < n; i++)
                if (strcmp(keys[i].name, key) == 0)
                        t->fn(t->ctx, &keys[i], value);
}

static void tell_time(const struct telling *t, const char *key, const struct request_time *time) {
        struct str text = {0};
        struct unit_text u;

        if (!time->is_set)
                return;
        if (time->name)
                str_addf(&text, "@%s", time->name);
        else
                str_add(&text, unit_time(&u, time->ns));
        tell(t, key, str_text(&text));
        str_done(&text);
}

static void tell_filter(const struct telling *t, const struct request *r) {
        for (size_t i = 0; i < query_filter_n(r->filter); i++) {
                struct query_condition c = query_filter_condition(r->filter, i);

                if (strcmp(c.kind, "process") != 0) /* a condition that no key makes */
                        tell(t, c.kind, c.value);
        }
}

/* The shortest that is read back as the same. */
static void tell_share(const struct telling *t, double pct) {
        char text[40];

        for (int digits = 6; digits <= 17; digits++) {
                snprintf(text, sizeof(text), "%.*g", digits, pct);
                if (strtod(text, NULL) == pct)
                        break;
        }
        tell(t, "min-share", text);
}

static void tell_number(const struct telling *t, const char *key, uint32_t n) {
        char text[16];

        snprintf(text, sizeof(text), "%u", n);
        tell(t, key, text);
}

static void tell_shape(const struct telling *t, const struct request *r) {
        switch (r->shape) {
        case REQUEST_SUMMARY: break;
        case REQUEST_BLOCKS: tell(t, "blocks", NULL); break;
        case REQUEST_GROUPS: tell(t, "group-by", query_by_name(r->group_by)); break;
        case REQUEST_TREE: tell(t, "tree", NULL); break;
        case REQUEST_BOTTOM_UP: tell(t, "bottom-up", NULL); break;
        case REQUEST_CALLERS: tell(t, "callers", r->function); break;
        case REQUEST_CALLEES: tell(t, "callees", r->function); break;
        case REQUEST_SIZES: tell(t, "histogram", "size"); break;
        case REQUEST_LIFETIMES: tell(t, "histogram", "lifetime"); break;
        }
        if (r->has_metric)
                tell(t, "by", query_metric_name(r->metric));
        if (r->has_top)
                tell_number(t, "top", r->n_top);
        if (r->min_share_pct >= 0)
                tell_share(t, r->min_share_pct);
        if (r->max_depth)
                tell_number(t, "depth", r->max_depth);
        if (r->full)
                tell(t, "full", NULL);
        if (r->per_second)
                tell(t, "per-second", NULL);
}

void request_each_pair(const struct request *r, unsigned which, request_pair_fn fn, void *ctx) {
        const struct telling t = {fn, ctx};

        if (r->process && which & REQUEST_PROCESS_PAIR)
                tell(&t, "process", r->process);
        if (which & REQUEST_WINDOW_PAIRS) {
                tell_time(&t, "from", &r->from);
                tell_time(&t, "to", &r->to);
                tell_time(&t, "at", &r->at);
        }
        if (which & REQUEST_FILTER_PAIRS)
                tell_filter(&t, r);
        if (which & REQUEST_SHAPE_PAIRS)
                tell_shape(&t, r);
        for (size_t i = 0; which & REQUEST_RULES_PAIRS && i < r->rules.n_files; i++)
                tell(&t, "rules", r->rules.files[i]);
        for (size_t i = 0; which & REQUEST_RULES_PAIRS && i < r->rules.n_components; i++)
                tell(&t, "components", r->rules.components[i]);
}

/* ---- options --------------------------------------------------------------------------------- */

/* Functions are, always: people put others in their place, with what needs it. */
static void add_quoted(struct str *to, const char *text) {
        str_add(to, "'");
        for (; *text; text++)
                if (*text == '\'')
                        str_add(to, "'\\''");
                else
                        str_addn(to, text, 1);
        str_add(to, "'");
}

static void add_option(void *ctx, const struct request_key *key, const char *value) {
        struct str *to = ctx;

        str_addf(to, " --%s", key->name);
        if (!value)
                return;
        str_add(to, " ");
        if (strncmp(key->name, "calle", 5) == 0)
                add_quoted(to, value);
        else
                str_add_shell(to, value);
}

void request_add_options(const struct request *r, struct str *to) {
        request_each_pair(r, REQUEST_ALL_PAIRS, add_option, to);
}

void request_add_command(const struct request_step *s, const char *path, const char *more,
                         struct str *to) {
        str_addf(to, "silt %s ", request_view_name(s->view));
        str_add_shell(to, path);
        request_each_pair(&s->request,
                          REQUEST_PROCESS_PAIR | REQUEST_FILTER_PAIRS | REQUEST_RULES_PAIRS |
                                  (s->is_window_new ? 0 : REQUEST_WINDOW_PAIRS),
                          add_option, to);
        str_add(to, more);
        request_each_pair(&s->request, REQUEST_SHAPE_PAIRS, add_option, to);
        if (s->is_window_new)
                request_each_pair(&s->request, REQUEST_WINDOW_PAIRS, add_option, to);
}

/* ---- words ----------------------------------------------------------------------------------- */

static const char *shape_words(enum request_shape s) {
        switch (s) {
        case REQUEST_SUMMARY: return NULL;
        case REQUEST_BLOCKS: return "block by block";
        case REQUEST_GROUPS: return "by ";
        case REQUEST_TREE: return "as a tree";
        case REQUEST_BOTTOM_UP: return "as a tree from the bottom up";
        case REQUEST_CALLERS: return "by callers of ";
        case REQUEST_CALLEES: return "by callees of ";
        case REQUEST_SIZES: return "by size of blocks";
        case REQUEST_LIFETIMES: return "by lifetime of blocks";
        }
        return NULL;
}

static void add_time_words(struct str *to, const char *word, const struct request_time *t) {
        struct unit_text u;

        if (t->is_set && t->name)
                str_addf(to, " %s @%s", word, t->name);
        else if (t->is_set)
                str_addf(to, " %s %s", word, unit_time(&u, t->ns));
}

void request_add_words(const struct request *r, struct str *to) {
        const char *shape = shape_words(r->shape);
        size_t begin = to->n;

        str_add(to, r->has_metric ? query_metric_name(r->metric) : "all");
        if (r->per_second)
                str_add(to, " per second");
        if (r->process)
                str_addf(to, " of process %s", r->process);
        add_time_words(to, "from", &r->from);
        add_time_words(to, "to", &r->to);
        add_time_words(to, "at", &r->at);
        if (!query_filter_is_empty(r->filter))
                str_addf(to, ", of blocks with %s", query_filter_text(r->filter));
        if (shape)
                str_addf(to, ", %s%s", shape,
                         r->shape == REQUEST_GROUPS ? query_by_name(r->group_by)
                         : r->function              ? r->function
                                                    : "");
        if (to->n > begin) {
                err_make_one_line(to->bytes + begin);
                to->n = begin + strlen(to->bytes + begin);
        }
}
