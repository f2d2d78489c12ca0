/* SPDX-License-Identifier: MIT */
#include "answer/asked.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

/* ---- keys of answers alone --------------------------------------------------------------------- */

enum own_key {
        KEY_SINCE,
        KEY_WAIT,
        KEY_ID,
        KEY_COLUMNS,
        KEY_GROUPS,
        KEY_COARSE,
        KEY_REVERSE,
        KEY_LINES,
        KEY_AGAINST,
        KEY_OLD_FROM,
        KEY_OLD_TO,
        KEY_OLD_AT,
        KEY_OLD_PROCESS,
        KEY_ROWS,
        KEY_SPARKS,
        KEY_WHAT,
        KEY_BOXES,
        KEY_AGES,
        KEY_GRAPH,
        KEY_GROUP,
        KEY_SQL,
        KEY_RECIPE,
        KEY_SEARCH,
};

enum {
        FOR_ALL = ~0,
        FOR_TWO = 1 << ANSWER_FLAME | 1 << ANSWER_DIFF,
};

static const struct {
        const char *name;
        int answers; /* bits */
} own_keys[] = {
        [KEY_SINCE] = {"since", 1 << ANSWER_TRACE},
        [KEY_WAIT] = {"wait", 1 << ANSWER_TRACE},
        [KEY_ID] = {"id", FOR_ALL},
        [KEY_COLUMNS] = {"columns", 1 << ANSWER_TIMELINE},
        [KEY_GROUPS] = {"groups", 1 << ANSWER_TIMELINE},
        [KEY_COARSE] = {"coarse", 1 << ANSWER_TIMELINE | 1 << ANSWER_REPORT},
        [KEY_REVERSE] = {"reverse", 1 << ANSWER_FLAME},
        [KEY_LINES] = {"lines", 1 << ANSWER_FLAME},
        [KEY_AGAINST] = {"against", FOR_TWO},
        [KEY_OLD_FROM] = {"old-from", FOR_TWO},
        [KEY_OLD_TO] = {"old-to", FOR_TWO},
        [KEY_OLD_AT] = {"old-at", FOR_TWO},
        [KEY_OLD_PROCESS] = {"old-process", FOR_TWO},
        [KEY_ROWS] = {"rows", 1 << ANSWER_TABLE | 1 << ANSWER_COLUMNS | 1 << ANSWER_SQL},
        [KEY_SPARKS] = {"sparks", 1 << ANSWER_TABLE},
        [KEY_WHAT] = {"what", 1 << ANSWER_SOURCE | 1 << ANSWER_HOLDERS | 1 << ANSWER_NEIGHBOURS},
        [KEY_BOXES] = {"boxes", 1 << ANSWER_FLAME},
        [KEY_AGES] = {"ages", 1 << ANSWER_FLAME},
        [KEY_GRAPH] = {"graph", 1 << ANSWER_NEIGHBOURS},
        [KEY_GROUP] = {"group", 1 << ANSWER_NEIGHBOURS},
        [KEY_SQL] = {"sql", 1 << ANSWER_SQL},
        [KEY_RECIPE] = {"recipe", 1 << ANSWER_SQL},
        [KEY_SEARCH] = {"search", 1 << ANSWER_FOUND},
};

static int take_number(const char *value, uint32_t min, uint32_t max, uint32_t *ret,
                       struct err *reterr) {
        unsigned long long number = 0;
        char *end = NULL;

        errno = 0;
        if (value && value[0] >= '0' && value[0] <= '9')
                number = strtoull(value, &end, 10);
        if (!end || *end || errno || number < min || number > max)
                return err_set(reterr, -EINVAL, "'%.64s' is not a number from %u to %u",
                               value ? value : "", min, max);
        *ret = (uint32_t)number;
        return 0;
}

static int take_flag(const char *value, bool *ret, struct err *reterr) {
        if (value && value[0] && strcmp(value, "1") != 0)
                return err_set(reterr, -EINVAL, "it takes no value: leave out '%.64s'", value);
        *ret = true;
        return 0;
}

static int take_what(struct asked *a, const char *value, struct err *reterr) {
        if (!value || !value[0])
                return err_set(reterr, -EINVAL, "it needs a function, FILE or FILE:LINE");
        free(a->what);
        a->what = strdup(value);
        if (!a->what)
                abort();
        return 0;
}

static int take_text(const char *value, const char *what, char **to, struct err *reterr) {
        if (!value || !value[0])
                return err_set(reterr, -EINVAL, "it is empty: write %s", what);
        free(*to);
        *to = strdup(value);
        if (!*to)
                abort();
        return 0;
}

/* "p-since=5s": the value of :since. The last one counts. */
static int take_parameter(struct asked *a, const char *name, const char *value,
                          struct err *reterr) {
        struct asked_parameter one = {strdup(name), strdup(value ? value : "")};

        if (!one.name || !one.value)
                abort();
        if (a->parameters.n < ASKED_MAX_PARAMETERS) {
                vec_push(&a->parameters, one);
                return 0;
        }
        free(one.name);
        free(one.value);
        return err_about(reterr, "sql",
                         err_set(reterr, -EINVAL, "there are more than %d parameters",
                                 ASKED_MAX_PARAMETERS));
}

static int take_old(struct asked *a, const char *key, const char *value, struct err *reterr) {
        a->has_old = true;
        return request_set(&a->old, key + strlen("old-"), value, reterr);
}

static int take_own(struct asked *a, enum own_key key, const char *value, struct err *reterr) {
        switch (key) {
        case KEY_SINCE:
        case KEY_WAIT:
        case KEY_ID: return 0; /* for whoever serves */
        case KEY_COLUMNS: return take_number(value, 1, ASKED_MAX_COLUMNS, &a->n_columns, reterr);
        case KEY_GROUPS: return take_number(value, 0, ASKED_MAX_GROUPS, &a->n_groups, reterr);
        case KEY_ROWS:
                return take_number(value, 0,
                                   a->kind == ANSWER_SQL ? ASKED_MAX_SQL_ROWS : ASKED_MAX_ROWS,
                                   &a->n_rows, reterr);
        case KEY_SPARKS: return take_number(value, 0, ASKED_MAX_SPARKS, &a->n_sparks, reterr);
        case KEY_BOXES: return take_number(value, 1, ASKED_MAX_BOXES, &a->n_boxes, reterr);
        case KEY_COARSE: return take_flag(value, &a->is_coarse, reterr);
        case KEY_REVERSE: return take_flag(value, &a->is_reversed, reterr);
        case KEY_LINES: return take_flag(value, &a->by_line, reterr);
        case KEY_AGES: return take_flag(value, &a->with_ages, reterr);
        case KEY_AGAINST: return take_flag(value, &a->is_against, reterr);
        case KEY_OLD_FROM:
        case KEY_OLD_TO:
        case KEY_OLD_AT:
        case KEY_OLD_PROCESS: return take_old(a, own_keys[key].name, value, reterr);
        case KEY_GRAPH: return take_number(value, 0, UINT32_MAX - 1, &a->graph, reterr);
        case KEY_GROUP: return take_number(value, 0, UINT32_MAX - 1, &a->group, reterr);
        case KEY_WHAT: return take_what(a, value, reterr);
        case KEY_SQL: return take_text(value, "a SELECT", &a->sql, reterr);
        case KEY_RECIPE: return take_text(value, "its name", &a->recipe, reterr);
        case KEY_SEARCH: return take_text(value, "a pattern", &a->search, reterr);
        }
        return 0;
}

static bool is_of_sql(const struct asked *a) {
        return a->kind == ANSWER_SQL || a->kind == ANSWER_SQL_SCHEMA;
}

static int take_pair(void *ctx, const char *key, const char *value, struct err *reterr) {
        struct asked *a = ctx;

        for (size_t i = 0; i < ARRAY_SIZE(own_keys); i++) {
                int r;

                if (strcmp(key, own_keys[i].name) != 0)
                        continue;
                if (!(own_keys[i].answers & 1 << a->kind))
                        return err_about(reterr, own_keys[i].name,
                                         err_set(reterr, -EINVAL, "this answer has no such key"));
                r = take_own(a, (enum own_key)i, value, reterr);
                return r < 0 ? err_about(reterr, own_keys[i].name, r) : 0;
        }
        if (a->kind == ANSWER_SQL && strncmp(key, "p-", 2) == 0)
                return take_parameter(a, key + 2, value, reterr);
        if (is_of_sql(a) && strcmp(key, "process") != 0)
                return err_set(reterr, -EINVAL,
                               "a statement has its conditions in itself: leave out '%.64s'", key);
        return request_set_from_url(&a->request, key, value, reterr);
}

/* ---- together ------------------------------------------------------------------------------------ */

static enum request_view view_of(enum answer_kind kind) {
        switch (kind) {
        case ANSWER_FLAME: return REQUEST_FLAME;
        case ANSWER_SOURCE: return REQUEST_SOURCE;
        case ANSWER_DIFF: return REQUEST_DIFF;
        default: return REQUEST_REPORT;
        }
}

/* Whose rows are grouped, and who tells nothing of single blocks or trees. */
static bool may_have_shape(const struct asked *a) {
        if (a->request.shape == REQUEST_SUMMARY || a->kind == ANSWER_REPORT)
                return true;
        return a->request.shape == REQUEST_GROUPS &&
               (a->kind == ANSWER_TABLE || a->kind == ANSWER_TIMELINE);
}

static int check(const struct asked *a, struct err *reterr) {
        int r = request_check(&a->request, view_of(a->kind), reterr);

        if (r >= 0 && a->has_old)
                r = request_check(&a->old, REQUEST_DIFF, reterr);
        if (r < 0)
                return r;
        if (!may_have_shape(a))
                return err_set(reterr, -EINVAL, "this answer has one form: leave out %s",
                               a->request.shape == REQUEST_GROUPS ? "group-by" : "the view");
        if (a->kind == ANSWER_SOURCE && !a->what)
                return err_about(reterr, "what",
                                 err_set(reterr, -EINVAL,
                                         "it is missing: write a function, FILE or FILE:LINE"));
        if (a->kind == ANSWER_FOUND && !a->search)
                return err_about(reterr, "search",
                                 err_set(reterr, -EINVAL, "it is missing: write a pattern"));
        if (a->kind == ANSWER_SQL && !a->sql && !a->recipe)
                return err_about(reterr, "sql",
                                 err_set(reterr, -EINVAL, "it is missing: write a SELECT"));
        if (a->kind == ANSWER_SQL && a->sql && a->recipe)
                return err_about(reterr, "recipe",
                                 err_set(reterr, -EINVAL,
                                         "a recipe is a statement of its own: leave out one"));
        if (a->kind == ANSWER_NEIGHBOURS && (a->graph == UINT32_MAX || a->group == UINT32_MAX))
                return err_about(
                        reterr, a->graph == UINT32_MAX ? "graph" : "group",
                        err_set(reterr, -EINVAL,
                                "it is missing: write graph and group of the answer holders"));
        if (a->kind == ANSWER_DIFF && !a->has_old && !a->is_against)
                return err_set(reterr, -EINVAL,
                               "nothing to compare with: add against=1, or old-from and old-to");
        return 0;
}

int asked_parse(struct asked *a, enum answer_kind kind, const char *query, size_t n,
                struct err *reterr) {
        int r;

        *a = (struct asked){.kind = kind,
                            .request = REQUEST_DEFAULT,
                            .old = REQUEST_DEFAULT,
                            .n_columns = 600,
                            .graph = UINT32_MAX,
                            .group = UINT32_MAX,
                            .n_rows = 1000};
        r = request_each_url_pair(query, n, take_pair, a, reterr);
        return r < 0 ? r : check(a, reterr);
}

void asked_done(struct asked *a) {
        request_done(&a->request);
        request_done(&a->old);
        free(a->what);
        free(a->sql);
        free(a->recipe);
        free(a->search);
        for (size_t i = 0; i < a->parameters.n; i++) {
                free(a->parameters.items[i].name);
                free(a->parameters.items[i].value);
        }
        vec_free(&a->parameters);
        *a = (struct asked){0};
}

static void replace_time(struct request_time *to, struct request_time *from) {
        free(to->name);
        *to = *from;
        *from = (struct request_time){0};
}

/* Its own window, if it has one, takes the place of the other's. */
struct request asked_old_request(const struct asked *a) {
        struct request r = request_copy(&a->request), own = request_copy(&a->old);

        if (own.from.is_set || own.to.is_set || own.at.is_set) {
                replace_time(&r.from, &own.from);
                replace_time(&r.to, &own.to);
                replace_time(&r.at, &own.at);
        }
        if (own.process) {
                free(r.process);
                r.process = TAKE_PTR(own.process);
        }
        request_done(&own);
        return r;
}
