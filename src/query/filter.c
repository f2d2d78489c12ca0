/* SPDX-License-Identifier: MIT */
/* Conditions on blocks from the words that say them. */
#include "query/filter.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "query/trace_times.h"

struct query_filter *query_filter_new(void) {
        struct query_filter *f = calloc(1, sizeof(*f));

        if (!f)
                abort();
        return f;
}

struct query_filter *query_filter_free(struct query_filter *f) {
        if (!f)
                return NULL;
        for (size_t i = 0; i < f->paths.n; i++) {
                pattern_free(f->paths.items[i].pattern);
                vec_free(&f->paths.items[i].stacks);
        }
        for (size_t i = 0; i < f->threads.n; i++) {
                pattern_free(f->threads.items[i].pattern);
                vec_free(&f->threads.items[i].ids);
        }
        for (size_t i = 0; i < f->processes.n; i++)
                vec_free(&f->processes.items[i].ids);
        for (size_t i = 0; i < f->words.n; i++) {
                free(f->words.items[i].kind);
                free(f->words.items[i].value);
        }
        vec_free(&f->words);
        vec_free(&f->paths);
        vec_free(&f->threads);
        vec_free(&f->processes);
        vec_free(&f->sizes);
        vec_free(&f->lifetimes);
        vec_free(&f->allocated);
        vec_free(&f->alive_at_ns);
        vec_free(&f->freed_before_ns);
        str_done(&f->text);
        free(f);
        return NULL;
}

bool query_filter_is_empty(const struct query_filter *f) {
        return !f || f->serial == 0;
}

bool query_filter_needs_events(const struct query_filter *f) {
        return f && (f->threads.n || f->sizes.n || f->lifetimes.n || f->allocated.n ||
                     f->alive_at_ns.n || f->freed_before_ns.n);
}

bool query_filter_has_sites(const struct query_filter *f) {
        for (size_t i = 0; f && i < f->paths.n; i++)
                if (f->paths.items[i].name == FILTER_SITE)
                        return true;
        return false;
}

int query_filter_check(const struct query_filter *f, const struct query *q, struct err *reterr) {
        uint64_t end_ns = query_view(q)->end_ns;
        const char *late = NULL;

        for (size_t i = 0; f && i < f->allocated.n; i++)
                if (f->allocated.items[i].min > 0 && f->allocated.items[i].min >= end_ns)
                        late = "allocated";
        for (size_t i = 0; f && i < f->alive_at_ns.n; i++)
                if (f->alive_at_ns.items[i] > end_ns)
                        late = "alive-at";
        for (size_t i = 0; f && i < f->freed_before_ns.n; i++)
                if (f->freed_before_ns.items[i] > end_ns)
                        late = "freed-before";
        return late ? err_about(reterr, late, query_refuse_late(q, reterr)) : 0;
}

int query_refuse_late(const struct query *q, struct err *reterr) {
        uint64_t end_ns = query_view(q)->end_ns;
        struct unit_text t;

        if (!query_has_times(q))
                return err_set(reterr, -ERANGE, "the recording ends at %s: choose an earlier one",
                               query_moment_text(q, &t, end_ns));
        return err_set(reterr, -ERANGE, "the recording is only %s long: choose an earlier time",
                       unit_duration(&t, end_ns));
}

const char *query_filter_text(const struct query_filter *f) {
        return f && f->text.n ? f->text.bytes : "";
}

size_t query_filter_n(const struct query_filter *f) {
        return f ? f->words.n : 0;
}

struct query_condition query_filter_condition(const struct query_filter *f, size_t i) {
        return (struct query_condition){f->words.items[i].kind, f->words.items[i].value};
}

/* ---- one condition each ---------------------------------------------------------------------- */

static void say(struct query_filter *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void say(struct query_filter *f, const char *fmt, ...) {
        char words[600];
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(words, sizeof(words), fmt, ap);
        va_end(ap);
        err_make_one_line(words);
        if (f->text.n)
                str_add(&f->text, ", ");
        str_add(&f->text, words);
        str_text(&f->text); /* ends it */
}

static int add_path(struct query_filter *f, const char *kind, enum filter_name name,
                    const char *value, struct err *reterr) {
        bool is_negated = strncmp(kind, "not-", 4) == 0;
        const char *plain = is_negated ? kind + 4 : kind;
        struct pattern *p;
        int r = pattern_new(value, &p, reterr);

        if (r < 0)
                return r;
        vec_push(&f->paths,
                 ((struct filter_path){.name = name, .is_negated = is_negated, .pattern = p}));
        if (name == FILTER_ASKED_BY)
                say(f, "%srequested by /%s/", is_negated ? "not " : "", value);
        else
                say(f, "%s%s /%s/", is_negated ? "no " : "", plain, value);
        return 0;
}

/* "17" or "17,18". */
static bool parse_ids(const char *value, struct filter_who *who) {
        const char *at = value;

        for (;; at++) {
                uint64_t id = 0;

                if (!isdigit((unsigned char)*at))
                        break;
                for (; isdigit((unsigned char)*at); at++)
                        id = MIN(id * 10 + (uint64_t)(*at - '0'), (uint64_t)UINT32_MAX + 1);
                vec_push(&who->ids, id);
                if (*at != ',')
                        break;
        }
        if (!*at && at > value && at[-1] != ',')
                return true;
        vec_free(&who->ids);
        return false;
}

static int add_thread(struct query_filter *f, const char *value, struct err *reterr) {
        struct filter_who who = {0};

        if (!parse_ids(value, &who)) {
                int r;

                if (value[0] && !value[strspn(value, "0123456789,")])
                        return err_set(reterr, -EINVAL,
                                       "'%s' is not a list of threads: write 17, or 17,18", value);
                r = pattern_new(value, &who.pattern, reterr);

                if (r < 0)
                        return r;
        }
        vec_push(&f->threads, who);
        say(f, who.pattern ? "thread /%s/" : "thread %s", value);
        return 0;
}

static int add_process(struct query_filter *f, const char *value, struct err *reterr) {
        struct filter_who who = {0};

        if (!parse_ids(value, &who))
                return err_set(reterr, -EINVAL, "'%s' is not a process: write a pid, or 17,18",
                               value);
        vec_push(&f->processes, who);
        say(f, "process %s", value);
        return 0;
}

static int add_sites(struct query_filter *f, bool is_negated, const char *value,
                     struct err *reterr) {
        struct filter_path path = {.name = FILTER_SITE, .is_negated = is_negated};
        struct filter_who who = {0};

        if (!parse_ids(value, &who))
                return err_set(
                        reterr, -EINVAL,
                        "'%s' is not a call path: write its number, as JSON has it, or 17,18",
                        value);
        for (size_t i = 0; i < who.ids.n; i++)
                vec_push(&path.stacks, who.ids.items[i]);
        vec_free(&who.ids);
        vec_push(&f->paths, path);
        say(f, "%scall path %s", is_negated ? "not " : "", value);
        return 0;
}

static int add_site(struct query_filter *f, const char *value, struct err *reterr) {
        return add_sites(f, false, value, reterr);
}

static int add_not_site(struct query_filter *f, const char *value, struct err *reterr) {
        return add_sites(f, true, value, reterr);
}

typedef int (*parse_fn)(struct query_filter *f, const char *text, uint64_t *ret,
                        struct err *reterr);

static int parse_bytes(struct query_filter *f, const char *text, uint64_t *ret,
                       struct err *reterr) {
        (void)f;
        return unit_parse_bytes(text, ret, reterr);
}

static int parse_duration(struct query_filter *f, const char *text, uint64_t *ret,
                          struct err *reterr) {
        (void)f;
        return unit_parse_duration(text, ret, reterr);
}

/* A time, or @NAME: what is left open until there is a recording is 0. */
static int parse_moment(struct query_filter *f, const char *text, uint64_t *ret,
                        struct err *reterr) {
        struct query_moment m = {0};
        int r = 0;

        if (text[0] != '@')
                return unit_parse_duration(text, ret, reterr);
        if (!text[1])
                return err_set(reterr, -EINVAL, "'@' has no name: write @NAME");
        if (f->q)
                r = query_find_moment(f->q, f->scope.process, text + 1, &m, NULL, reterr);
        else
                f->has_names = true;
        *ret = m.time_ns;
        return r;
}

/* MIN..MAX, MIN.., ..MAX; without dots *ret_is_range = false and both are the value. */
static int parse_range(struct query_filter *f, const char *value, parse_fn parse,
                       struct filter_range *ret, bool *ret_is_range, struct err *reterr) {
        const char *dots = strstr(value, "..");
        struct filter_range range = {0, UINT64_MAX};
        char low[256] = "";
        int r = 0;

        *ret_is_range = dots;
        if (!dots) {
                r = parse(f, value, &range.min, reterr);
                range.max = range.min;
        } else if ((size_t)(dots - value) >= sizeof(low)) {
                return err_set(reterr, -EINVAL, "'%s' is too long: write MIN..MAX", value);
        } else {
                memcpy(low, value, (size_t)(dots - value));
                if (low[0])
                        r = parse(f, low, &range.min, reterr);
                if (r >= 0 && dots[2])
                        r = parse(f, dots + 2, &range.max, reterr);
                if (r >= 0 && !low[0] && !dots[2])
                        return err_set(reterr, -EINVAL, "'..' has neither limit: write MIN..MAX");
        }
        if (r < 0)
                return r;
        if (dots && range.min > range.max && !f->has_names)
                return err_set(reterr, -EINVAL,
                               "'%s' is empty: its limits are swapped: write %s..%s", value,
                               dots + 2, low);
        *ret = range;
        return 0;
}

static int add_size(struct query_filter *f, const char *value, struct err *reterr) {
        struct filter_range range;
        bool is_range;
        int r = parse_range(f, value, parse_bytes, &range, &is_range, reterr);

        if (r < 0)
                return r;
        vec_push(&f->sizes, range);
        say(f, "size %s", value);
        return 0;
}

static int add_lifetime(struct query_filter *f, const char *value, struct err *reterr) {
        struct filter_range range;
        bool is_range;
        int r = parse_range(f, value, parse_duration, &range, &is_range, reterr);

        if (r >= 0 && !is_range)
                r = err_set(reterr, -EINVAL, "'%s' is a single duration: write %s.. or ..%s", value,
                            value, value);
        if (r < 0)
                return r;
        vec_push(&f->lifetimes, range);
        say(f, "lifetime %s", value);
        return 0;
}

static int add_allocated(struct query_filter *f, const char *value, struct err *reterr) {
        struct filter_range range;
        bool is_range;
        int r = parse_range(f, value, parse_moment, &range, &is_range, reterr);

        if (r >= 0 && !is_range)
                r = err_set(reterr, -EINVAL, "'%s' is a single time: write %s.. or ..%s", value,
                            value, value);
        if (r < 0)
                return r;
        vec_push(&f->allocated, range);
        say(f, "allocated in %s", value);
        return 0;
}

/* Alive at the end of the window, and since so long before it. */
static int add_older_than(struct query_filter *f, const char *value, struct err *reterr) {
        uint64_t age_ns, at_ns;
        struct unit_text t;
        int r = unit_parse_duration(value, &age_ns, reterr);

        if (r < 0)
                return r;
        if (f->q) {
                at_ns = MIN(f->scope.to_ns, query_view(f->q)->end_ns);
                if (age_ns > at_ns)
                        return err_set(
                                reterr, -ERANGE,
                                "no block can be that old after only %s: choose a shorter time",
                                unit_duration(&t, at_ns));
                vec_push(&f->alive_at_ns, at_ns);
                vec_push(&f->allocated, ((struct filter_range){0, at_ns - age_ns + 1}));
        } else {
                vec_push(&f->alive_at_ns, 0); /* events are needed */
        }
        f->has_names |= !f->q;
        f->is_by_age = true;
        say(f, "older than %s", value);
        return 0;
}

bool query_filter_is_by_age(const struct query_filter *f) {
        return f && f->is_by_age;
}

bool query_filter_has_ages(const struct query_filter *f) {
        return f && (f->is_by_age || f->lifetimes.n);
}

static int add_alive_at(struct query_filter *f, const char *value, struct err *reterr) {
        uint64_t time_ns;
        int r = parse_moment(f, value, &time_ns, reterr);

        if (r < 0)
                return r;
        vec_push(&f->alive_at_ns, time_ns);
        say(f, "live at %s", value);
        return 0;
}

static int add_freed_before(struct query_filter *f, const char *value, struct err *reterr) {
        uint64_t time_ns;
        int r = parse_moment(f, value, &time_ns, reterr);

        if (r < 0)
                return r;
        vec_push(&f->freed_before_ns, time_ns);
        say(f, "freed before %s", value);
        return 0;
}

static const struct {
        const char *kind;
        enum filter_name name;
} path_kinds[] = {
        {"function", FILTER_FUNCTION},
        {"module", FILTER_MODULE},
        {"file", FILTER_FILE},
        {"asked-by", FILTER_ASKED_BY},
        {"not-function", FILTER_FUNCTION},
        {"not-module", FILTER_MODULE},
        {"not-file", FILTER_FILE},
        {"not-asked-by", FILTER_ASKED_BY},
};

static const struct {
        const char *kind;
        int (*add)(struct query_filter *f, const char *value, struct err *reterr);
} other_kinds[] = {
        {"site", add_site},
        {"not-site", add_not_site},
        {"thread", add_thread},
        {"process", add_process},
        {"size", add_size},
        {"lifetime", add_lifetime},
        {"older-than", add_older_than},
        {"allocated", add_allocated},
        {"alive-at", add_alive_at},
        {"freed-before", add_freed_before},
};

static int add_condition(struct query_filter *f, const char *kind, const char *value,
                         struct err *reterr) {
        for (size_t i = 0; i < ARRAY_SIZE(path_kinds); i++)
                if (strcmp(kind, path_kinds[i].kind) == 0)
                        return add_path(f, kind, path_kinds[i].name, value, reterr);
        for (size_t i = 0; i < ARRAY_SIZE(other_kinds); i++)
                if (strcmp(kind, other_kinds[i].kind) == 0)
                        return other_kinds[i].add(f, value, reterr);
        return err_set(
                reterr, -EINVAL,
                "'%s' is not a condition: use function, module, file, asked-by, site, thread, process, size, lifetime, older-than, allocated, alive-at or freed-before",
                kind);
}

/* The constant that is called so; NULL: none. */
static const char *kind_of(const char *kind) {
        for (size_t i = 0; i < ARRAY_SIZE(path_kinds); i++)
                if (strcmp(kind, path_kinds[i].kind) == 0)
                        return path_kinds[i].kind;
        for (size_t i = 0; i < ARRAY_SIZE(other_kinds); i++)
                if (strcmp(kind, other_kinds[i].kind) == 0)
                        return other_kinds[i].kind;
        return NULL;
}

int query_filter_add(struct query_filter *f, const char *kind, const char *value,
                     struct err *reterr) {
        static _Atomic uint64_t last_serial;
        struct filter_word word = {strdup(kind), strdup(value)};
        int r = add_condition(f, kind, value, reterr);

        if (!word.kind || !word.value)
                abort();
        if (r < 0) {
                free(word.kind);
                free(word.value);
                return err_about(reterr, kind_of(kind), r);
        }
        vec_push(&f->words, word);
        /* relaxed: only different numbers are needed */
        f->serial = atomic_fetch_add_explicit(&last_serial, 1, memory_order_relaxed) + 1;
        return r;
}
