/* SPDX-License-Identifier: MIT */
/* Keys and values. */
#include "request/request.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "query/spent_time.h"

const struct request request_default = {.min_share_pct = -1};

static char *copy_text(const char *text) {
        char *copy = text ? strdup(text) : NULL;

        if (text && !copy)
                abort();
        return copy;
}

void request_done(struct request *r) {
        free(r->process);
        free(r->from.name);
        free(r->to.name);
        free(r->at.name);
        free(r->function);
        query_filter_free(r->filter);
        for (size_t i = 0; i < r->rules.n_files; i++)
                free((char *)r->rules.files[i]);
        for (size_t i = 0; i < r->rules.n_components; i++)
                free((char *)r->rules.components[i]);
        *r = REQUEST_DEFAULT;
}

struct request request_copy(const struct request *r) {
        struct request copy = r ? *r : REQUEST_DEFAULT;

        copy.process = copy_text(copy.process);
        copy.from.name = copy_text(copy.from.name);
        copy.to.name = copy_text(copy.to.name);
        copy.at.name = copy_text(copy.at.name);
        copy.function = copy_text(copy.function);
        copy.filter = copy.filter ? query_filter_copy(copy.filter) : NULL;
        for (size_t i = 0; i < copy.rules.n_files; i++)
                copy.rules.files[i] = copy_text(copy.rules.files[i]);
        for (size_t i = 0; i < copy.rules.n_components; i++)
                copy.rules.components[i] = copy_text(copy.rules.components[i]);
        return copy;
}

void request_set_time(struct request_time *t, uint64_t ns) {
        free(t->name);
        *t = (struct request_time){.is_set = ns != UINT64_MAX, .ns = ns};
}

/* ---- one key each ---------------------------------------------------------------------------- */

typedef int (*set_fn)(struct request *r, const char *key, const char *value, struct err *reterr);

static void replace(char **to, const char *value) {
        char *copy = copy_text(value);

        free(*to);
        *to = copy;
}

static int set_process(struct request *r, const char *key, const char *value, struct err *reterr) {
        (void)key;
        if (!value[0])
                return err_set(reterr, -EINVAL,
                               "'' is not a process: use a pid, a name, main or all");
        replace(&r->process, value);
        return 0;
}

static int set_time(struct request *r, const char *key, const char *value, struct err *reterr) {
        struct request_time *t = key[0] == 'f' ? &r->from : key[0] == 't' ? &r->to : &r->at;
        uint64_t ns = 0;
        int x = 0;

        if (value[0] != '@')
                x = unit_parse_duration(value, &ns, reterr);
        else if (!value[1])
                x = err_set(reterr, -EINVAL, "'@' has no name: write @NAME");
        if (x < 0)
                return x;
        replace(&t->name, value[0] == '@' ? value + 1 : NULL);
        t->ns = ns;
        t->is_set = t->name || t != &r->from || ns > 0; /* from 0 is from the start */
        return 0;
}

static int set_metric(struct request *r, const char *key, const char *value, struct err *reterr) {
        int x = query_metric_parse(value, &r->metric, reterr);

        (void)key;
        r->has_metric |= x >= 0;
        return x;
}

static int set_filter(struct request *r, const char *key, const char *value, struct err *reterr) {
        if (!r->filter)
                r->filter = query_filter_new();
        return query_filter_add(r->filter, key, value, reterr);
}

static const struct {
        enum request_shape shape;
        const char *key, *value; /* NULL: any, or none */
} shapes[] = {
        {REQUEST_BLOCKS, "blocks", NULL},     {REQUEST_GROUPS, "group-by", NULL},
        {REQUEST_TREE, "tree", NULL},         {REQUEST_BOTTOM_UP, "bottom-up", NULL},
        {REQUEST_CALLERS, "callers", NULL},   {REQUEST_CALLEES, "callees", NULL},
        {REQUEST_SIZES, "histogram", "size"}, {REQUEST_LIFETIMES, "histogram", "lifetime"},
};

static const char *shape_key(enum request_shape shape) {
        for (size_t i = 0; i < ARRAY_SIZE(shapes); i++)
                if (shapes[i].shape == shape)
                        return shapes[i].key;
        return NULL;
}

static int set_shape(struct request *r, const char *key, const char *value, struct err *reterr) {
        const char *before = shape_key(r->shape);
        enum request_shape shape = REQUEST_SUMMARY;
        int x = 0;

        if (before && strcmp(before, key) != 0)
                return err_set(reterr, -EINVAL,
                               "more than one view: '%s' selects another: leave one out", before);
        for (size_t i = 0; i < ARRAY_SIZE(shapes) && shape == REQUEST_SUMMARY; i++)
                if (strcmp(shapes[i].key, key) == 0 &&
                    (!shapes[i].value || strcmp(shapes[i].value, value) == 0))
                        shape = shapes[i].shape;
        if (shape == REQUEST_SUMMARY)
                return err_set(reterr, -EINVAL, "'%s' has no histogram: use size or lifetime",
                               value);
        if (shape == REQUEST_GROUPS)
                x = query_by_parse(value, &r->group_by, reterr);
        if (x < 0)
                return x;
        if (shape == REQUEST_CALLERS || shape == REQUEST_CALLEES)
                replace(&r->function, value);
        r->shape = shape;
        return 0;
}

static int parse_number(const char *value, uint64_t min, uint64_t max, uint32_t *ret,
                        struct err *reterr) {
        unsigned long long number;
        char *end;

        errno = 0;
        number = strtoull(value, &end, 10);
        /* strtoull takes signs and blanks, which are no part of a count. */
        if (value[0] < '0' || value[0] > '9' || *end || errno || number < min || number > max)
                return err_set(reterr, -EINVAL, "'%s' is not a number from %llu to %llu", value,
                               (unsigned long long)min, (unsigned long long)max);
        *ret = (uint32_t)number;
        return 0;
}

static int set_top(struct request *r, const char *key, const char *value, struct err *reterr) {
        int x = parse_number(value, 0, REQUEST_MAX_TOP, &r->n_top, reterr);

        (void)key;
        r->has_top |= x >= 0;
        return x;
}

static int set_depth(struct request *r, const char *key, const char *value, struct err *reterr) {
        (void)key;
        return parse_number(value, 1, REQUEST_MAX_DEPTH, &r->max_depth, reterr);
}

static int set_share(struct request *r, const char *key, const char *value, struct err *reterr) {
        bool is_number = isdigit((unsigned char)value[0]) || value[0] == '.';
        char *end = NULL;
        double pct = is_number ? strtod(value, &end) : -1;

        (void)key;
        if (!is_number || end == value || *end || !(pct >= 0 && pct <= 100))
                return err_set(reterr, -EINVAL,
                               "'%s' is not a percentage: use a number from 0 to 100", value);
        r->min_share_pct = pct;
        return 0;
}

static int set_flag(struct request *r, const char *key, const char *value, struct err *reterr) {
        (void)value;
        (void)reterr;
        if (strcmp(key, "full") == 0)
                r->full = true;
        else
                r->per_second = true;
        return 0;
}

static int set_rules(struct request *r, const char *key, const char *value, struct err *reterr) {
        bool is_names = strcmp(key, "rules") == 0;
        size_t *n = is_names ? &r->rules.n_files : &r->rules.n_components;

        if (*n == NAME_MAX_FILES)
                return err_set(reterr, -E2BIG, "given more than %d times: merge the files",
                               NAME_MAX_FILES);
        (is_names ? r->rules.files : r->rules.components)[(*n)++] = copy_text(value);
        return 0;
}

static const struct request_key keys[] = {
        {"process", .is_flag = false},
        {"from", .is_flag = false},
        {"to", .is_flag = false},
        {"at", .is_flag = false},
        {"function", .is_filter = true},
        {"not-function", .is_filter = true},
        {"module", .is_filter = true},
        {"not-module", .is_filter = true},
        {"file", .is_filter = true},
        {"not-file", .is_filter = true},
        {"asked-by", .is_filter = true},
        {"not-asked-by", .is_filter = true},
        {"site", .is_filter = true},
        {"not-site", .is_filter = true},
        {"thread", .is_filter = true},
        {"size", .is_filter = true},
        {"lifetime", .is_filter = true},
        {"older-than", .is_filter = true},
        {"allocated", .is_filter = true},
        {"alive-at", .is_filter = true},
        {"freed-before", .is_filter = true},
        {"blocks", .is_flag = true},
        {"group-by", .is_flag = false},
        {"tree", .is_flag = true},
        {"bottom-up", .is_flag = true},
        {"callers", .is_flag = false},
        {"callees", .is_flag = false},
        {"histogram", .is_flag = false},
        {"by", .is_flag = false},
        {"top", .is_flag = false},
        {"min-share", .is_flag = false},
        {"depth", .is_flag = false},
        {"full", .is_flag = true},
        {"per-second", .is_flag = true},
        {"rules", .is_local = true},
        {"components", .is_local = true},
};

const struct request_key *request_keys(size_t *ret_n) {
        *ret_n = ARRAY_SIZE(keys);
        return keys;
}

static set_fn setter_of(const struct request_key *k) {
        static const struct {
                const char *key;
                set_fn set;
        } others[] = {
                {"process", set_process}, {"from", set_time},       {"to", set_time},
                {"at", set_time},         {"by", set_metric},       {"top", set_top},
                {"depth", set_depth},     {"min-share", set_share}, {"full", set_flag},
                {"rules", set_rules},     {"per-second", set_flag}, {"components", set_rules},
        };

        if (k->is_filter)
                return set_filter;
        for (size_t i = 0; i < ARRAY_SIZE(others); i++)
                if (strcmp(others[i].key, k->name) == 0)
                        return others[i].set;
        return set_shape;
}

static bool is_set_flag(const char *value) {
        return !value || !value[0] || strcmp(value, "1") == 0;
}

int request_set(struct request *r, const char *key, const char *value, struct err *reterr) {
        for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
                const struct request_key *k = &keys[i];
                int x;

                if (strcmp(k->name, key) != 0)
                        continue;
                if (k->is_flag && !is_set_flag(value))
                        x = err_set(reterr, -EINVAL, "it takes no value: leave out '%s'", value);
                else if (!k->is_flag && !value)
                        x = err_set(reterr, -EINVAL, "it needs a value");
                else
                        x = setter_of(k)(r, k->name, value, reterr);
                return x < 0 ? err_about(reterr, k->name, x) : 0;
        }
        return err_set(reterr, -EINVAL, "'%.64s' is not a key", key);
}

/* ---- keys together --------------------------------------------------------------------------- */

const char *request_view_name(enum request_view v) {
        static const char *const names[REQUEST_N_VIEWS] = {
                [REQUEST_REPORT] = "report", [REQUEST_FLAME] = "flame",
                [REQUEST_SOURCE] = "source", [REQUEST_DIFF] = "diff",
                [REQUEST_EXPORT] = "export",
        };

        return names[v];
}

static bool is_tree(enum request_shape s) {
        return s == REQUEST_TREE || s == REQUEST_BOTTOM_UP || s == REQUEST_CALLERS ||
               s == REQUEST_CALLEES;
}

static int refuse(struct err *reterr, const char *key, const char *why) {
        return err_about(reterr, key, err_set(reterr, -EINVAL, "%s", why));
}

/* Times that are known already; those of moments a trace has to tell. */
static int check_window(const struct request *r, struct err *reterr) {
        const struct request_time *end = r->at.is_set ? &r->at : &r->to;

        if (r->at.is_set && r->to.is_set)
                return refuse(reterr, "at", "'to' also sets the end of the window: leave one out");
        if (!end->is_set || end->name || r->from.name || r->from.ns < end->ns)
                return 0;
        if (r->from.is_set)
                return refuse(reterr, "from", "the window is empty: it must begin before it ends");
        if (r->at.is_set)
                return refuse(reterr, "at", "nothing is recorded at 0: it must be later than 0");
        return refuse(reterr, "to", "the window is empty: it must end later than 0");
}

int request_check(const struct request *r, enum request_view view, struct err *reterr) {
        const char *lost = r->max_depth ? "depth" : r->min_share_pct >= 0 ? "min-share" : NULL;
        bool is_of_blocks = r->shape == REQUEST_BLOCKS || r->shape == REQUEST_SIZES ||
                            r->shape == REQUEST_LIFETIMES;

        if (view != REQUEST_REPORT && r->shape != REQUEST_SUMMARY)
                return refuse(reterr, shape_key(r->shape), "this view exists only in a report");
        if (r->has_metric && is_of_blocks && r->metric == QUERY_MAPPED)
                return refuse(reterr, shape_key(r->shape),
                              "this view is of blocks, not of mappings: leave out 'by mapped'");
        if (r->has_metric && is_of_blocks && query_metric_time(r->metric))
                return refuse(reterr, shape_key(r->shape),
                              "this view is of blocks, not of time: leave out 'by'");
        if (view != REQUEST_DIFF && r->per_second)
                return refuse(reterr, "per-second", "rates exist only in a comparison");
        if (lost && view != REQUEST_FLAME && !is_tree(r->shape))
                return refuse(reterr, lost,
                              "it applies only to trees: add tree, bottom-up, callers or callees");
        return check_window(r, reterr);
}

enum query_metric request_metric(const struct request *r) {
        if (r->has_metric)
                return r->metric;
        if (query_filter_is_by_age(r->filter))
                return QUERY_END;
        if (r->per_second)
                return QUERY_ALLOCATED;
        return r->at.is_set ? QUERY_END : QUERY_PEAK;
}

uint32_t request_n_top(const struct request *r, uint32_t usual) {
        return r->has_top ? r->n_top : usual;
}
