/* SPDX-License-Identifier: MIT */
#include "replay/contender.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "base/units.h"

/* ---- what is known ------------------------------------------------------------------------------ */

enum value_kind {
        VALUE_COUNT,
        VALUE_BYTES,
        VALUE_SWITCH,  /* on or off, true or false, 1 or 0; told as `on` and `off` */
        VALUE_MS,      /* a duration, told in milliseconds; "never": -1 */
        VALUE_TRIM,    /* a duration: ours, not the allocator's */
        VALUE_DECIMAL, /* told as it is written */
};

struct setting {
        const char *key;
        enum value_kind kind;
        const char *name; /* as the allocator calls it */
};

/* How it is told its settings. */
enum told { TOLD_TUNABLES, TOLD_CONF, TOLD_VARIABLES };

struct known {
        const char *name, *package;
        const char *files[4]; /* of its library, newest names last; none: it is libc's */
        enum told told;
        const char *on, *off;
        struct setting settings[12];
};

static const struct known allocators[] = {
        {.name = "glibc",
         .package = "",
         .told = TOLD_TUNABLES,
         .on = "1",
         .off = "0",
         .settings = {{"arenas", VALUE_COUNT, "arena_max"},
                      {"tcache", VALUE_COUNT, "tcache_count"},
                      {"tcache_max", VALUE_BYTES, "tcache_max"},
                      {"mmap_threshold", VALUE_BYTES, "mmap_threshold"},
                      {"trim_threshold", VALUE_BYTES, "trim_threshold"},
                      {"top_pad", VALUE_BYTES, "top_pad"},
                      {"mxfast", VALUE_BYTES, "mxfast"},
                      {"hugetlb", VALUE_COUNT, "hugetlb"},
                      {"trim", VALUE_TRIM, NULL}}},
        {.name = "jemalloc",
         .package = "libjemalloc2",
         .files = {"libjemalloc.so.2"},
         .told = TOLD_CONF,
         .on = "true",
         .off = "false",
         .settings = {{"arenas", VALUE_COUNT, "narenas"},
                      {"background_thread", VALUE_SWITCH, "background_thread"},
                      {"dirty_decay", VALUE_MS, "dirty_decay_ms"},
                      {"muzzy_decay", VALUE_MS, "muzzy_decay_ms"},
                      {"tcache", VALUE_SWITCH, "tcache"},
                      {"tcache_max", VALUE_BYTES, "tcache_max"},
                      {"retain", VALUE_SWITCH, "retain"},
                      {"oversize_threshold", VALUE_BYTES, "oversize_threshold"}}},
        {.name = "mimalloc",
         .package = "libmimalloc2.0",
         .files = {"libmimalloc.so.2.0", "libmimalloc.so.2", "libmimalloc.so.3"},
         .told = TOLD_VARIABLES,
         .on = "1",
         .off = "0",
         .settings = {{"allow_decommit", VALUE_SWITCH, "MIMALLOC_ALLOW_DECOMMIT"},
                      {"reset_delay", VALUE_MS, "MIMALLOC_RESET_DELAY"},
                      {"segment_decommit_delay", VALUE_MS, "MIMALLOC_SEGMENT_DECOMMIT_DELAY"},
                      {"purge_delay", VALUE_MS, "MIMALLOC_PURGE_DELAY"},
                      {"eager_commit", VALUE_SWITCH, "MIMALLOC_EAGER_COMMIT"},
                      {"eager_commit_delay", VALUE_COUNT, "MIMALLOC_EAGER_COMMIT_DELAY"},
                      {"large_os_pages", VALUE_SWITCH, "MIMALLOC_LARGE_OS_PAGES"}}},
        {.name = "tcmalloc",
         .package = "libtcmalloc-minimal4",
         .files = {"libtcmalloc_minimal.so.4", "libtcmalloc.so.4"},
         .told = TOLD_VARIABLES,
         .on = "1",
         .off = "0",
         .settings = {{"release_rate", VALUE_DECIMAL, "TCMALLOC_RELEASE_RATE"},
                      {"aggressive_decommit", VALUE_SWITCH, "TCMALLOC_AGGRESSIVE_DECOMMIT"},
                      {"thread_caches", VALUE_BYTES, "TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES"},
                      {"heap_limit", VALUE_BYTES, "TCMALLOC_HEAP_LIMIT_MB"},
                      {"transfer", VALUE_COUNT, "TCMALLOC_TRANSFER_NUM_OBJ"}}},
};

/* Where distributions have libraries; Debian's come first. */
static const char *const places[] = {
#if defined(__aarch64__)
        "/usr/lib/aarch64-linux-gnu",
        "/lib/aarch64-linux-gnu",
#elif defined(__x86_64__)
        "/usr/lib/x86_64-linux-gnu",
        "/lib/x86_64-linux-gnu",
#endif
        "/usr/lib64",
        "/usr/lib",
        "/usr/local/lib",
};

static const struct known *find_known(const char *name, size_t n) {
        for (size_t i = 0; i < ARRAY_SIZE(allocators); i++)
                if (strlen(allocators[i].name) == n && strncmp(allocators[i].name, name, n) == 0)
                        return &allocators[i];
        return NULL;
}

static void find_library(struct contender *c, const struct known *k) {
        c->is_missing = k->files[0] != NULL;
        for (size_t p = 0; c->is_missing && p < ARRAY_SIZE(places); p++)
                for (size_t f = 0; c->is_missing && f < ARRAY_SIZE(k->files) && k->files[f]; f++) {
                        snprintf(c->library, sizeof(c->library), "%s/%s", places[p], k->files[f]);
                        c->is_missing = access(c->library, R_OK) != 0;
                }
        if (c->is_missing)
                c->library[0] = 0;
}

static struct contender *add(struct contenders *c, const struct known *k) {
        struct contender *row = vec_add(&c->rows);

        snprintf(row->allocator, sizeof(row->allocator), "%s", k->name);
        row->package = k->package;
        find_library(row, k);
        return row;
}

/* ---- lists -------------------------------------------------------------------------------------- */

static int refuse_name(const char *key, const char *name, size_t n, struct err *reterr) {
        return err_set(
                reterr, -EINVAL,
                "%s: '%.*s' is not an allocator that silt knows: use glibc, jemalloc, mimalloc, tcmalloc, or the path of a library",
                key, (int)MIN(n, 80u), name);
}

/* LD_PRELOAD is a list, parted by blanks and colons. */
static int add_path(struct contenders *c, const char *path, size_t n, struct err *reterr) {
        char given[PATH_MAX], whole[PATH_MAX];
        struct contender *row;

        snprintf(given, sizeof(given), "%.*s", (int)MIN(n, sizeof(given) - 1), path);
        if (!realpath(given, whole))
                return err_set_errno(reterr, -errno, "--allocator: '%s'", given);
        if (strlen(whole) >= sizeof(row->library) || strpbrk(whole, " :\t\n"))
                return err_set(
                        reterr, -EINVAL,
                        "--allocator: '%s' cannot be preloaded: copy it to a short path without blanks and colons",
                        whole);
        row = vec_add(&c->rows);
        snprintf(row->library, sizeof(row->library), "%s", whole);
        snprintf(row->allocator, sizeof(row->allocator), "%s", strrchr(whole, '/') + 1);
        row->package = "";
        return 0;
}

int contenders_add_list(struct contenders *c, const char *list, struct err *reterr) {
        if (!list) {
                for (size_t i = 0; i < ARRAY_SIZE(allocators); i++)
                        add(c, &allocators[i]);
                return 0;
        }
        for (const char *at = list;; at++) {
                size_t n = strcspn(at, ",");
                const struct known *k = find_known(at, n);
                int r = 0;

                if (k)
                        add(c, k);
                else if (memchr(at, '/', n))
                        r = add_path(c, at, n, reterr);
                else
                        r = refuse_name("--allocator", at, n, reterr);
                if (r < 0)
                        return r;
                at += n;
                if (!*at)
                        return 0;
        }
}

/* ---- settings ----------------------------------------------------------------------------------- */

static const struct setting *find_setting(const struct known *k, const char *key, size_t n) {
        for (size_t i = 0; i < ARRAY_SIZE(k->settings) && k->settings[i].key; i++)
                if (strlen(k->settings[i].key) == n && strncmp(k->settings[i].key, key, n) == 0)
                        return &k->settings[i];
        return NULL;
}

static int refuse_key(const struct known *k, const char *key, size_t n, struct err *reterr) {
        struct str all = {0};
        int r;

        for (size_t i = 0; i < ARRAY_SIZE(k->settings) && k->settings[i].key; i++)
                str_addf(&all, "%s%s", i ? ", " : "", k->settings[i].key);
        r = err_set(reterr, -EINVAL, "--set: '%.*s' is no setting of %s: use one of %s",
                    (int)MIN(n, 80u), key, k->name, str_text(&all));
        str_done(&all);
        return r;
}

static bool is_word(const char *value, const char *const words[3]) {
        return strcmp(value, words[0]) == 0 || strcmp(value, words[1]) == 0 ||
               strcmp(value, words[2]) == 0;
}

static int parse_switch(const struct known *k, const char *value, struct str *to,
                        struct err *reterr) {
        static const char *const on[] = {"on", "true", "1"}, *const off[] = {"off", "false", "0"};

        if (!is_word(value, on) && !is_word(value, off))
                return err_set(reterr, -EINVAL, "'%.80s' is neither on nor off", value);
        str_add(to, is_word(value, on) ? k->on : k->off);
        return 0;
}

/* 0, 500ms, 10s; a bare number is milliseconds, as allocators take it. */
static int parse_ms(const char *value, struct str *to, struct err *reterr) {
        uint64_t ns;
        int r;

        if (strcmp(value, "never") == 0) {
                str_add(to, "-1");
                return 0;
        }
        if (value[0] && strspn(value, "0123456789") == strlen(value) && strlen(value) < 12) {
                str_add(to, value);
                return 0;
        }
        r = unit_parse_duration(value, &ns, reterr);
        if (r >= 0)
                str_addf(to, "%llu", (unsigned long long)(ns / 1000000));
        return r;
}

static int parse_decimal(const char *value, struct str *to, struct err *reterr) {
        if (!value[0] || strspn(value, "0123456789.") != strlen(value) || strlen(value) > 20)
                return err_set(reterr, -EINVAL, "'%.80s' is not a number", value);
        str_add(to, value);
        return 0;
}

/* Appends the value as the allocator takes it. */
static int parse_value(struct contender *c, const struct known *k, const struct setting *s,
                       const char *value, struct str *to, struct err *reterr) {
        uint64_t v = 0;
        int r = 0;

        switch (s->kind) {
        case VALUE_SWITCH: return parse_switch(k, value, to, reterr);
        case VALUE_MS: return parse_ms(value, to, reterr);
        case VALUE_DECIMAL: return parse_decimal(value, to, reterr);
        case VALUE_TRIM:
                r = unit_parse_duration(value, &v, reterr);
                if (r >= 0 && v < 1000)
                        r = err_set(reterr, -EINVAL, "'%.80s' is too short", value);
                c->trim_us = v / 1000;
                return r;
        case VALUE_COUNT: r = unit_parse_count(value, &v, reterr); break;
        case VALUE_BYTES: r = unit_parse_bytes(value, &v, reterr); break;
        }
        if (r >= 0 && strstr(s->name, "_MB"))
                v >>= 20;
        str_addf(to, "%llu", (unsigned long long)v);
        return r;
}

/* What is collected of all settings of a row before it becomes the environment. */
static void tell(struct contender *c, const struct known *k, const struct setting *s,
                 const char *value, struct str *joined) {
        char *variable;

        if (!s->name)
                return;
        if (k->told == TOLD_TUNABLES) {
                str_addf(joined, "%sglibc.malloc.%s=%s",
                         joined->n ? ":" : "GLIBC_TUNABLES=", s->name, value);
        } else if (k->told == TOLD_CONF) {
                str_addf(joined, "%s%s:%s", joined->n ? "," : "MALLOC_CONF=", s->name, value);
        } else if (asprintf(&variable, "%s=%s", s->name, value) >= 0) {
                vec_push(&c->environment, variable);
        }
}

/* "arenas=2" */
static int add_pair(struct contender *c, const struct known *k, const char *pair, size_t n,
                    struct str *joined, struct err *reterr) {
        const char *equals = memchr(pair, '=', n);
        size_t n_key = equals ? (size_t)(equals - pair) : n;
        const struct setting *s = find_setting(k, pair, n_key);
        struct str given = {0}, told = {0};
        struct err why = {0};
        int r = 0;

        if (!s)
                return refuse_key(k, pair, n_key, reterr);
        if (!equals)
                return err_set(reterr, -EINVAL, "--set: '%s' has no value: write '%s:%s=VALUE'",
                               s->key, k->name, s->key);
        str_addn(&given, equals + 1, n - n_key - 1);
        r = parse_value(c, k, s, str_text(&given), &told, &why);
        if (r < 0) {
                err_set(reterr, r, "--set: %s:%s: %s", k->name, s->key, why.text);
        } else {
                tell(c, k, s, str_text(&told), joined);
                str_addf(&c->settings, "%s%s=%s", c->settings.n ? ", " : "", s->key,
                         str_text(&given));
                c->needs_pace |= strcmp(s->key, "background_thread") == 0 &&
                                 strcmp(str_text(&told), k->on) == 0;
        }
        str_done(&given);
        str_done(&told);
        return r;
}

int contenders_add_setting(struct contenders *c, const char *text, struct err *reterr) {
        const char *colon = strchr(text, ':');
        const struct known *k = colon ? find_known(text, (size_t)(colon - text)) : NULL;
        struct str joined = {0};
        struct contender *row;
        int r = 0;

        if (!colon)
                return err_set(
                        reterr, -EINVAL,
                        "--set: '%.80s' names no allocator: write it as glibc:arenas=2 or jemalloc:dirty_decay=0",
                        text);
        if (!k)
                return refuse_name("--set", text, (size_t)(colon - text), reterr);
        row = add(c, k);
        for (const char *at = colon + 1; r >= 0;) {
                size_t n = strcspn(at, ",");

                r = add_pair(row, k, at, n, &joined, reterr);
                at += n;
                if (*at != ',')
                        break;
                at++;
        }
        if (joined.n)
                vec_push(&row->environment, strdup(str_text(&joined)));
        str_done(&joined);
        return r;
}

void contender_add_name(const struct contender *c, struct str *to) {
        struct str settings = c->settings;

        str_add(to, c->allocator);
        if (settings.n)
                str_addf(to, " with %.*s", (int)settings.n, settings.bytes);
}

void contenders_done(struct contenders *c) {
        for (size_t i = 0; i < c->rows.n; i++) {
                struct contender *row = &c->rows.items[i];

                for (size_t e = 0; e < row->environment.n; e++)
                        free(row->environment.items[e]);
                vec_free(&row->environment);
                str_done(&row->settings);
        }
        vec_free(&c->rows);
}
