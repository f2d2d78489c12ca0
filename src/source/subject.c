/* SPDX-License-Identifier: MIT */
/* A word means, in this order: FILE:LINE; a file, by the end of its path; a function, by its whole or short name; by the
 * end of its path (`insert` is Cache::insert); by a regular expression. The first that something is called by counts. */
#include "source/subject.h"

#include <errno.h>
#include <string.h>

#include "base/map.h"
#include "name/name.h"
#include "query/search_pattern.h"
#include "query/spent_time.h"
#include "source/source_file.h"

enum { SUBJECT_MAX_TOLD = 5, SUBJECT_MAX_NAME = 70 };

/* How well a function fits. */
enum fit { FIT_NAME, FIT_END, FIT_PATTERN, FIT_NONE };

struct seeking {
        struct subject *s;
        struct query *q;
        const struct trace_view *v;
        const char *what;
        struct pattern *pattern;
        struct map paths;         /* text as recorded, by address → index into normal */
        VEC(const char *) normal; /* different paths */
        struct map by_path;       /* hash → index into normal */
        uint32_t *path_of; /* by symbol: index into normal; QUERY_NO_LINE: no line is known */
};

static uint64_t hash_text(const char *text) {
        uint64_t hash = 14695981039346656037ull;

        for (; *text; text++)
                hash = (hash ^ (unsigned char)*text) * 1099511628211ull;
        return hash;
}

static void *new_table(size_t n, size_t item_bytes) {
        void *p = calloc(n + 1, item_bytes);

        if (!p)
                abort();
        return p;
}

/* ---- files ----------------------------------------------------------------------------------- */

static uint32_t intern_path(struct seeking *k, const char *path) {
        struct str s = {0};
        uint64_t hash, *idx;
        bool added;

        file_add_normal(&s, path);
        for (hash = hash_text(str_text(&s));; hash = map_hash(hash + 1)) {
                idx = map_put(&k->by_path, hash, k->normal.n, &added);
                if (added)
                        vec_push(&k->normal, arena_strdup(k->s->arena, str_text(&s)));
                if (added || strcmp(k->normal.items[*idx], str_text(&s)) == 0)
                        break;
        }
        str_done(&s);
        return (uint32_t)*idx;
}

static void find_paths(struct seeking *k) {
        k->path_of = new_table(k->v->n_symbols, sizeof(uint32_t));
        for (size_t i = 0; i < k->v->n_symbols; i++) {
                const struct trace_symbol *x = &k->v->symbols[i];
                uint64_t *idx;
                bool added;

                k->path_of[i] = QUERY_NO_LINE;
                if (!x->file[0] || !x->line || x->guess)
                        continue;
                idx = map_put(&k->paths, (uint64_t)(uintptr_t)x->file, 0, &added);
                if (added)
                        *idx = intern_path(k, x->file);
                k->path_of[i] = (uint32_t)*idx;
        }
}

static bool path_ends_with(const char *path, const char *end, size_t n_end) {
        size_t n = strlen(path);

        return n_end && n >= n_end && memcmp(path + n - n_end, end, n_end) == 0 &&
               (n == n_end || end[0] == '/' || path[n - n_end - 1] == '/');
}

static const char *module_of(const struct trace_view *v, const struct trace_symbol *x) {
        uint32_t module =
                x->location < v->n_locations ? v->locations[x->location].module : UINT32_MAX;

        return module < v->n_modules ? v->modules[module].path : "";
}

/* Files whose symbols are meant, and the file of every symbol in them. */
static void take_files(struct seeking *k) {
        struct subject *s = k->s;
        uint32_t *idx =
                new_table(k->normal.n, sizeof(uint32_t)); /* by path: index into files, and 1 */

        for (size_t i = 0; i < k->v->n_symbols; i++)
                if (s->is_subject[i] && k->path_of[i] != QUERY_NO_LINE && !idx[k->path_of[i]]) {
                        vec_push(&s->files,
                                 (struct subject_file){k->normal.items[k->path_of[i]],
                                                       module_of(k->v, &k->v->symbols[i])});
                        idx[k->path_of[i]] = (uint32_t)s->files.n;
                }
        for (size_t i = 0; i < k->v->n_symbols; i++)
                s->file_of[i] = k->path_of[i] == QUERY_NO_LINE || !idx[k->path_of[i]]
                                        ? (uint32_t)QUERY_NO_LINE
                                        : idx[k->path_of[i]] - 1;
        free(idx);
}

/* ---- several ---------------------------------------------------------------------------------- */

static void add_clean_end(struct str *to, const char *name) {
        size_t n = strlen(name);

        if (n > SUBJECT_MAX_NAME)
                str_addf(to, "...%s", name + n - SUBJECT_MAX_NAME + 3);
        else
                str_add(to, name);
}

static int refuse_several(const char *what, const char *noun, const char *const *names, size_t n,
                          struct err *reterr) {
        struct str s = {0};
        int r;

        for (size_t i = 0; i < n && i < SUBJECT_MAX_TOLD; i++) {
                str_add(&s, i ? ", " : "");
                add_clean_end(&s, names[i]);
        }
        if (n > SUBJECT_MAX_TOLD)
                str_addf(&s, " and %zu more", n - SUBJECT_MAX_TOLD);
        r = err_set(reterr, -ENOTUNIQ, "'%.80s' matches %zu %s: choose one of %s", what, n, noun,
                    str_text(&s));
        str_done(&s);
        return r;
}

/* ---- FILE and FILE:LINE ----------------------------------------------------------------------- */

static size_t split_line(const char *what, uint32_t *ret_line) {
        const char *colon = strrchr(what, ':');
        char *end;
        unsigned long line;

        if (!colon || colon == what || colon[-1] == ':' || colon[1] < '0' || colon[1] > '9')
                return 0;
        errno = 0;
        line = strtoul(colon + 1, &end, 10);
        if (*end || errno || line == 0 || line > UINT32_MAX)
                return 0;
        *ret_line = (uint32_t)line;
        return (size_t)(colon - what);
}

/* The path that is meant; -ENOENT: none. */
static int find_path(struct seeking *k, size_t n_what, uint32_t *ret, struct err *reterr) {
        VEC(const char *) names = {0};
        struct str asked = {0};
        int r = -ENOENT;

        str_addn(&asked, k->what, n_what);
        if (strncmp(str_text(&asked), "./", 2) == 0)
                n_what -= 2;
        for (uint32_t i = 0; i < k->normal.n; i++) {
                const char *end = str_text(&asked) + asked.n - n_what;

                if (!path_ends_with(k->normal.items[i], end, n_what))
                        continue;
                *ret = i;
                vec_push(&names, k->normal.items[i]);
                if (strcmp(k->normal.items[i], end) == 0) {
                        names.n = 1; /* the whole path is what it says */
                        break;
                }
        }
        if (names.n == 1)
                r = 0;
        else if (names.n > 1)
                r = refuse_several(str_text(&asked), "files", names.items, names.n, reterr);
        vec_free(&names);
        str_done(&asked);
        return r;
}

static int find_file(struct seeking *k, struct err *reterr) {
        struct subject *s = k->s;
        uint32_t path = 0;
        size_t n = split_line(k->what, &s->line);
        int r = find_path(k, n ? n : strlen(k->what), &path, reterr);

        if (r == -ENOENT && n)
                return err_set(
                        reterr, -ENOENT,
                        "'%s': no call path contains such a file: see 'silt report --group-by line'",
                        k->what);
        if (r < 0)
                return r;
        s->kind = n ? SUBJECT_LINE : SUBJECT_FILE;
        for (size_t i = 0; i < k->v->n_symbols; i++)
                s->is_subject[i] = k->path_of[i] == path &&
                                   (s->kind == SUBJECT_FILE || k->v->symbols[i].line == s->line);
        vec_push(&s->files, (struct subject_file){k->normal.items[path], ""});
        for (size_t i = 0; i < k->v->n_symbols; i++) {
                s->file_of[i] = k->path_of[i] == path ? 0 : (uint32_t)QUERY_NO_LINE;
                if (k->path_of[i] == path && !s->files.items[0].module[0])
                        s->files.items[0].module = module_of(k->v, &k->v->symbols[i]);
        }
        return 0;
}

/* ---- functions -------------------------------------------------------------------------------- */

/* The path of a function without what is made inside of it: closures and lambdas belong to it. */
static const char *owner_of(struct seeking *k, const char *function) {
        const char *plain = name_plain(query_names(k->q), function);
        const char *inner = strstr(plain, "::{");

        return inner && inner > plain ? arena_strndup(k->s->arena, plain, (size_t)(inner - plain))
                                      : plain;
}

static enum fit fit_of(struct seeking *k, const char *function, const char *owner) {
        struct names *names = query_names(k->q);
        size_t n = strlen(owner), n_what = strlen(k->what);

        if (strcmp(function, k->what) == 0 || strcmp(owner, k->what) == 0 ||
            strcmp(name_full(names, function), k->what) == 0 ||
            strcmp(name_short(names, function), k->what) == 0)
                return FIT_NAME;
        if (n > n_what + 2 && strcmp(owner + n - n_what, k->what) == 0 &&
            strncmp(owner + n - n_what - 2, "::", 2) == 0)
                return FIT_END;
        return k->pattern && pattern_matches(k->pattern, function) ? FIT_PATTERN : FIT_NONE;
}

/* A function some symbols are of. */
struct candidate {
        const char *owner;
        enum fit fit;
        bool is_plain; /* not one the rules fold away */
        bool has_lines;
};

struct candidates {
        VEC(struct candidate) items;
        struct map by_owner;    /* hash → index */
        struct map by_function; /* text as recorded, by address → index, or UINT32_MAX */
        uint32_t *of;           /* by symbol: index, or UINT32_MAX */
};

static uint32_t candidate_of(struct seeking *k, struct candidates *c,
                             const struct trace_symbol *x) {
        const char *owner = owner_of(k, x->function);
        enum fit fit = fit_of(k, x->function, owner);
        enum name_kind kind;
        uint64_t *idx;
        bool added;

        if (fit == FIT_NONE)
                return UINT32_MAX;
        kind = name_kind(query_names(k->q), x->function, module_of(k->v, x));
        for (uint64_t hash = hash_text(owner) + fit;; hash = map_hash(hash + 1)) {
                idx = map_put(&c->by_owner, hash, c->items.n, &added);
                if (added)
                        vec_push(&c->items, (struct candidate){.owner = owner, .fit = fit});
                if (strcmp(c->items.items[*idx].owner, owner) == 0 &&
                    c->items.items[*idx].fit == fit)
                        break;
        }
        c->items.items[*idx].is_plain |= kind == NAME_PLAIN || kind == NAME_TASK;
        return (uint32_t)*idx;
}

static void find_candidates(struct seeking *k, struct candidates *c) {
        c->of = new_table(k->v->n_symbols, sizeof(uint32_t));
        for (size_t i = 0; i < k->v->n_symbols; i++) {
                const struct trace_symbol *x = &k->v->symbols[i];
                uint64_t *idx;
                bool added;

                c->of[i] = UINT32_MAX;
                if (!x->function[0] || x->guess)
                        continue;
                idx = map_put(&c->by_function, (uint64_t)(uintptr_t)x->function, UINT32_MAX,
                              &added);
                if (added)
                        *idx = candidate_of(k, c, x);
                c->of[i] = (uint32_t)*idx;
                if (c->of[i] != UINT32_MAX && k->path_of[i] != QUERY_NO_LINE)
                        c->items.items[c->of[i]].has_lines = true;
        }
}

enum { RANK_NO_LINES = 16, RANK_PATTERN = 32 };

/* Lower is better: names before patterns, then with lines of source, then how well it fits, then what people are shown. */
static unsigned rank(const struct candidate *c) {
        return (c->fit == FIT_PATTERN ? (unsigned)RANK_PATTERN : 0) +
               (c->has_lines ? 0 : (unsigned)RANK_NO_LINES) + 2 * (unsigned)c->fit + !c->is_plain;
}

static int choose(struct seeking *k, const struct candidates *c, unsigned *ret_rank,
                  struct err *reterr) {
        VEC(const char *) names = {0};
        unsigned best = UINT32_MAX;
        int r = 0;

        for (size_t i = 0; i < c->items.n; i++)
                best = MIN(best, rank(&c->items.items[i]));
        for (size_t i = 0; i < c->items.n; i++)
                if (rank(&c->items.items[i]) == best)
                        vec_push(&names, c->items.items[i].owner);
        if (names.n == 0)
                r = err_set(
                        reterr, -ENOENT,
                        "'%s': no call path contains such a function or file: see 'silt report --group-by function'",
                        k->what);
        else if (best & RANK_NO_LINES)
                r = err_set(
                        reterr, -ENODATA,
                        query_is_imported(k->q)
                                ? "'%s': the other tool's file has no line numbers for it: build with -g, and record the program again"
                                : "'%s': the trace has no line numbers for it: build with -g, or run 'silt symbolize FILE --debug-path DIR' with its debug information",
                        k->what);
        else if (names.n > 1)
                r = refuse_several(k->what, "functions", names.items, names.n, reterr);
        vec_free(&names);
        *ret_rank = best;
        return r;
}

/* The last part of a path: what stands before the parenthesis in the source. */
static const char *last_part(struct seeking *k, const char *owner) {
        const char *at = strstr(owner, "operator"), *last = owner;

        if (at && (at == owner || at[-1] == ':'))
                return at;
        for (const char *p = owner; *p; p++)
                if (p[0] == ':' && p[1] == ':')
                        last = p + 2;
        return arena_strndup(k->s->arena, last, strcspn(last, "<({ "));
}

static int take_function(struct seeking *k, const struct candidates *c, struct err *reterr) {
        struct subject *s = k->s;
        const char *whole = NULL;
        unsigned best = 0;
        int r = choose(k, c, &best, reterr);

        if (r < 0)
                return r;
        s->kind = SUBJECT_FUNCTION;
        for (size_t i = 0; i < k->v->n_symbols; i++) {
                const struct candidate *x =
                        c->of[i] == UINT32_MAX ? NULL : &c->items.items[c->of[i]];

                if (!x || rank(x) != best)
                        continue;
                s->is_subject[i] = true;
                s->last = last_part(k, x->owner);
                /* several instances are told by what they have in common */
                whole = !whole || strcmp(whole, k->v->symbols[i].function) == 0
                                ? k->v->symbols[i].function
                                : x->owner;
                s->name = whole == x->owner || strstr(name_plain(query_names(k->q), whole), "::{")
                                  ? x->owner
                                  : name_short(query_names(k->q), whole);
        }
        take_files(k);
        return 0;
}

static int find_function(struct seeking *k, struct err *reterr) {
        struct candidates c = {0};
        int r = 0;

        /* what is no pattern may still be a name: operator() */
        if (pattern_new(k->what, &k->pattern, NULL) < 0)
                k->pattern = NULL;
        find_candidates(k, &c);
        if (k->pattern)
                r = pattern_check(k->pattern, reterr);
        if (r >= 0)
                r = take_function(k, &c, reterr);
        vec_free(&c.items);
        map_done(&c.by_owner);
        map_done(&c.by_function);
        free(c.of);
        pattern_free(k->pattern);
        return r;
}

int subject_find(struct subject *s, struct query *q, const char *what, struct err *reterr) {
        struct seeking k = {.s = s, .q = q, .v = query_view(q), .what = what};
        int r;

        *s = (struct subject){.name = "", .last = "", .arena = arena_new()};
        s->is_subject = new_table(k.v->n_symbols, sizeof(bool));
        s->file_of = new_table(k.v->n_symbols, sizeof(uint32_t));
        find_paths(&k);
        r = find_file(&k, reterr);
        if (r == -ENOENT && !split_line(what, &s->line))
                r = find_function(&k, reterr);
        vec_free(&k.normal);
        map_done(&k.paths);
        map_done(&k.by_path);
        free(k.path_of);
        return r;
}

void subject_done(struct subject *s) {
        vec_free(&s->files);
        free(s->is_subject);
        free(s->file_of);
        arena_free(s->arena);
        *s = (struct subject){0};
}
