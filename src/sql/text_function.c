/* SPDX-License-Identifier: MIT */
#include "sql/text_function.h"

#include <ctype.h>
#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/macros.h"
#include "sql/space.h"

enum { STEPS_BETWEEN_LOOKS = 1 << 16, MAX_PATTERN_BYTES = 1000 };

/* ---- characters -------------------------------------------------------------------------------- */

/* The next character as SQLite reads it, whatever the bytes are; 0 at the end. */
static uint32_t read_char(const unsigned char **at) {
        static const unsigned char low_bits[] = {0x1f, 0x1f, 0x1f, 0x1f, 0x0f, 0x0f, 0x07, 0x07};
        const unsigned char *p = *at;
        uint32_t c = *p;

        if (c == 0)
                return 0;
        p++;
        if (c >= 0xc0) {
                c &= c >= 0xfc   ? (c >= 0xfe ? 0x00 : 0x01)
                     : c >= 0xf8 ? 0x03
                                 : low_bits[(c - 0xc0) / 8];
                while ((*p & 0xc0) == 0x80)
                        c = (c << 6) + (0x3f & *p++);
                if (c < 0x80 || (c & 0xfffff800) == 0xd800 || (c & 0xfffffffe) == 0xfffe)
                        c = 0xfffd;
        }
        *at = p;
        return c;
}

static uint32_t fold(uint32_t c) {
        return c < 0x80 ? (uint32_t)tolower((int)c) : c;
}

/* ---- LIKE and GLOB ----------------------------------------------------------------------------- */

struct pattern {
        uint32_t many, one, set; /* characters with a meaning; 0: none has this one */
        uint32_t escape;
        bool no_case;
};

enum match { MATCH_NO, MATCH_YES, MATCH_STOPPED };

/* What stands in brackets; *at is behind the opening one, and behind the closing one afterwards. */
static bool set_has(const unsigned char **at, uint32_t c) {
        uint32_t before = 0, x = read_char(at);
        bool is_inverted = x == '^', is_seen = false;

        if (is_inverted)
                x = read_char(at);
        if (x == ']') {
                is_seen = c == ']';
                x = read_char(at);
        }
        for (; x && x != ']'; x = read_char(at)) {
                if (x == '-' && **at != ']' && **at && before) {
                        x = read_char(at);
                        is_seen |= c >= before && c <= x;
                        before = 0;
                } else {
                        is_seen |= c == x;
                        before = x;
                }
        }
        return x && is_seen != is_inverted;
}

/* One character of the text against what the pattern has next, which is not "many". Goes on in both where it matches. */
static bool match_one(const struct pattern *p, const unsigned char **pattern,
                      const unsigned char **text) {
        uint32_t want = read_char(pattern);
        uint32_t c;

        if (want == 0 || !**text)
                return false;
        c = read_char(text);
        if (p->set && want == p->set)
                return set_has(pattern, c);
        if (p->escape && want == p->escape) {
                want = read_char(pattern);
                if (want == 0)
                        return false;
        } else if (p->one && want == p->one) {
                return true;
        }
        return p->no_case ? fold(want) == fold(c) : want == c;
}

/* Where the rest does not match, only the last "many" is tried further on: what stands before it matched as early as it could. */
static enum match match(struct sql *s, const struct pattern *p, const unsigned char *pattern,
                        const unsigned char *text) {
        const unsigned char *again_pattern = NULL, *again_text = NULL;
        unsigned n_steps = 0;

        for (;;) {
                const unsigned char *next = pattern;

                if (++n_steps % STEPS_BETWEEN_LOOKS == 0 && sql_must_stop(s))
                        return MATCH_STOPPED;
                if (p->many && *pattern == p->many && p->many != p->escape) {
                        again_pattern = ++pattern;
                        again_text = text;
                        if (!*pattern)
                                return MATCH_YES;
                        continue;
                }
                if (!*pattern && !*text)
                        return MATCH_YES;
                if (match_one(p, &next, &text)) {
                        pattern = next;
                        continue;
                }
                if (!again_pattern || !*again_text)
                        return MATCH_NO;
                read_char(&again_text);
                pattern = again_pattern;
                text = again_text;
        }
}

static void match_values(sqlite3_context *to, const struct pattern *p, sqlite3_value **v) {
        struct sql_space *space = sqlite3_user_data(to);
        const unsigned char *pattern, *text;

        /* as SQLite is built where silt is: bytes match nothing */
        if (sqlite3_value_type(v[0]) == SQLITE_BLOB || sqlite3_value_type(v[1]) == SQLITE_BLOB) {
                sqlite3_result_int(to, 0);
                return;
        }
        if (sqlite3_value_bytes(v[0]) > MAX_PATTERN_BYTES) {
                sqlite3_result_error(to, "a pattern of LIKE or GLOB is longer than 1000 bytes", -1);
                return;
        }
        pattern = sqlite3_value_text(v[0]);
        text = sqlite3_value_text(v[1]);
        if (!pattern || !text)
                return;
        switch (match(space->sql, p, pattern, text)) {
        case MATCH_STOPPED: sqlite3_result_error_code(to, SQLITE_INTERRUPT); break;
        case MATCH_YES: sqlite3_result_int(to, 1); break;
        case MATCH_NO: sqlite3_result_int(to, 0); break;
        }
}

static void call_like(sqlite3_context *to, int n, sqlite3_value **v) {
        struct pattern p = {.many = '%', .one = '_', .no_case = true};

        if (n == 3) {
                const unsigned char *escape = sqlite3_value_text(v[2]);

                if (!escape)
                        return;
                p.escape = read_char(&escape);
                if (!p.escape || *escape) {
                        sqlite3_result_error(to, "ESCAPE expression must be a single character",
                                             -1);
                        return;
                }
        }
        match_values(to, &p, v);
}

static void call_glob(sqlite3_context *to, int n, sqlite3_value **v) {
        (void)n;
        match_values(to, &(struct pattern){.many = '*', .one = '?', .set = '['}, v);
}

/* ---- searching --------------------------------------------------------------------------------- */

static int64_t n_chars(const unsigned char *from, const unsigned char *to) {
        int64_t n = 0;

        for (; from < to; from++)
                n += (*from & 0xc0) != 0x80;
        return n;
}

static void call_instr(sqlite3_context *to, int n, sqlite3_value **v) {
        bool is_bytes =
                sqlite3_value_type(v[0]) == SQLITE_BLOB && sqlite3_value_type(v[1]) == SQLITE_BLOB;
        const unsigned char *in, *what, *found;
        size_t n_in, n_what;

        (void)n;
        if (sqlite3_value_type(v[0]) == SQLITE_NULL || sqlite3_value_type(v[1]) == SQLITE_NULL)
                return;
        in = is_bytes ? sqlite3_value_blob(v[0]) : sqlite3_value_text(v[0]);
        what = is_bytes ? sqlite3_value_blob(v[1]) : sqlite3_value_text(v[1]);
        n_in = (size_t)sqlite3_value_bytes(v[0]);
        n_what = (size_t)sqlite3_value_bytes(v[1]);
        if ((!in && n_in) || (!what && n_what))
                sqlite3_result_error_nomem(to);
        else if (n_what == 0)
                sqlite3_result_int(to, 1);
        else if (n_in == 0 || !(found = memmem(in, n_in, what, n_what)))
                sqlite3_result_int(to, 0);
        else
                sqlite3_result_int64(to, (is_bytes ? found - in : n_chars(in, found)) + 1);
}

static void call_replace(sqlite3_context *to, int n, sqlite3_value **v) {
        const char *in, *what, *with, *at, *end, *found;
        size_t n_what, n_with;
        sqlite3_str *made;

        (void)n;
        in = (const char *)sqlite3_value_text(v[0]);
        what = (const char *)sqlite3_value_text(v[1]);
        if (!in || !what)
                return;
        if (!what[0]) {
                sqlite3_result_value(to, v[0]); /* a number stays one */
                return;
        }
        with = (const char *)sqlite3_value_text(v[2]);
        if (!with)
                return;
        end = in + sqlite3_value_bytes(v[0]);
        n_what = (size_t)sqlite3_value_bytes(v[1]);
        n_with = (size_t)sqlite3_value_bytes(v[2]);
        made = sqlite3_str_new(sqlite3_context_db_handle(to));
        for (at = in; at < end && (found = memmem(at, (size_t)(end - at), what, n_what));
             at = found + n_what) {
                sqlite3_str_append(made, at, (int)(found - at));
                sqlite3_str_append(made, with, (int)n_with);
                if (sqlite3_str_errcode(made) != SQLITE_OK)
                        break;
        }
        if (at < end)
                sqlite3_str_append(made, at, (int)(end - at));
        if (sqlite3_str_errcode(made) != SQLITE_OK) {
                sqlite3_result_error_code(to, sqlite3_str_errcode(made));
                sqlite3_free(sqlite3_str_finish(made));
        } else {
                int n_made = sqlite3_str_length(made);
                char *text = sqlite3_str_finish(made);

                sqlite3_result_text(to, text ? text : "", n_made,
                                    text ? sqlite3_free : SQLITE_STATIC);
        }
}

/* ---- trimming ---------------------------------------------------------------------------------- */

enum trim_ends { TRIM_LEFT = 1, TRIM_RIGHT = 2, MAX_TRIM_CHARS = 100 };

/* The characters to take away. */
struct trim_set {
        bool is_byte[256]; /* those of one byte */
        struct {
                const unsigned char *at;
                size_t n;
        } chars[MAX_TRIM_CHARS]; /* and of several */
        size_t n;
};

static bool trim_set_init(struct trim_set *s, const unsigned char *at) {
        memset(s, 0, sizeof(*s));
        while (*at) {
                const unsigned char *begin = at;

                if (*at++ >= 0xc0)
                        while ((*at & 0xc0) == 0x80)
                                at++;
                if (at == begin + 1) {
                        s->is_byte[*begin] = true;
                        continue;
                }
                if (s->n == MAX_TRIM_CHARS)
                        return false;
                s->chars[s->n].at = begin;
                s->chars[s->n++].n = (size_t)(at - begin);
        }
        return true;
}

/* How many bytes of the text's beginning, or end, are a character of the set; 0: none. */
static size_t trim_char(const struct trim_set *s, const unsigned char *at, size_t n, bool is_end) {
        if (s->is_byte[is_end ? at[n - 1] : at[0]])
                return 1;
        for (size_t i = 0; i < s->n; i++)
                if (s->chars[i].n <= n && memcmp(is_end ? at + n - s->chars[i].n : at,
                                                 s->chars[i].at, s->chars[i].n) == 0)
                        return s->chars[i].n;
        return 0;
}

static void trim(sqlite3_context *to, int n_args, sqlite3_value **v, int ends) {
        const unsigned char *text = sqlite3_value_text(v[0]);
        const unsigned char *set =
                n_args == 2 ? sqlite3_value_text(v[1]) : (const unsigned char *)" ";
        struct trim_set chars;
        size_t n, k;

        if (!text || !set)
                return;
        if (!trim_set_init(&chars, set)) {
                sqlite3_result_error(
                        to, "trim takes away at most 100 different characters beside ASCII", -1);
                return;
        }
        n = (size_t)sqlite3_value_bytes(v[0]);
        while (ends & TRIM_LEFT && n && (k = trim_char(&chars, text, n, false)) > 0) {
                text += k;
                n -= k;
        }
        while (ends & TRIM_RIGHT && n && (k = trim_char(&chars, text, n, true)) > 0)
                n -= k;
        sqlite3_result_text(to, (const char *)text, (int)n, SQLITE_TRANSIENT);
}

static void call_trim(sqlite3_context *to, int n, sqlite3_value **v) {
        trim(to, n, v, TRIM_LEFT | TRIM_RIGHT);
}

static void call_ltrim(sqlite3_context *to, int n, sqlite3_value **v) {
        trim(to, n, v, TRIM_LEFT);
}

static void call_rtrim(sqlite3_context *to, int n, sqlite3_value **v) {
        trim(to, n, v, TRIM_RIGHT);
}

/* ---- all --------------------------------------------------------------------------------------- */

static const struct {
        const char *name;
        int n_args;
        void (*call)(sqlite3_context *, int, sqlite3_value **);
} functions[] = {
        {"like", 2, call_like},   {"like", 3, call_like},       {"glob", 2, call_glob},
        {"instr", 2, call_instr}, {"trim", 1, call_trim},       {"trim", 2, call_trim},
        {"ltrim", 1, call_ltrim}, {"ltrim", 2, call_ltrim},     {"rtrim", 1, call_rtrim},
        {"rtrim", 2, call_rtrim}, {"replace", 3, call_replace},
};

bool text_function_is(const char *name) {
        for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
                if (sqlite3_stricmp(name, functions[i].name) == 0)
                        return true;
        return false;
}

int text_function_create_all(struct sqlite3 *db, struct sql_space *space, struct err *reterr) {
        for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
                if (sqlite3_create_function(db, functions[i].name, functions[i].n_args,
                                            SQLITE_UTF8 | SQLITE_DETERMINISTIC, space,
                                            functions[i].call, NULL, NULL) != SQLITE_OK)
                        return err_set(reterr, -EINVAL, "%s: %s", functions[i].name,
                                       sqlite3_errmsg(db));
        return 0;
}
