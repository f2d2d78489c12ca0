/* SPDX-License-Identifier: MIT */
#include "name/stable.h"

#include <stdbool.h>
#include <string.h>

#include "base/macros.h"
#include "name/scan.h"

enum {
        STABLE_HASH_DIGITS = 16,     /* of Rust's hashes, in names of functions and of files */
        STABLE_MIN_CRATE_DIGITS = 8, /* of `crate[0123456789abcdef]` */
};

static bool is_digit(char c) {
        return c >= '0' && c <= '9';
}

static bool is_hex(char c) {
        return is_digit(c) || (c >= 'a' && c <= 'f');
}

static bool is_letter(char c) {
        return scan_is_word(c) && c != '.' && c != '~' && c != '\'' && c != '@';
}

static size_t digits_at(const char *p, const char *end) {
        size_t n = 0;

        while (p + n < end && is_digit(p[n]))
                n++;
        return n;
}

static bool has_at(const char *p, const char *end, const char *text) {
        size_t n = strlen(text);

        return (size_t)(end - p) >= n && memcmp(p, text, n) == 0;
}

/* ---- what compilers put behind a name -------------------------------------------------------- */

/* The length of a suffix at `dot`, which is a '.', that reaches to `end`; 0: it is none. */
static size_t suffix_at(const char *dot, const char *end) {
        static const char *const words[] = {
                "isra", "constprop", "part", "cold",   "lto_priv", "llvm",   "localalias", "clone",
                "hot",  "unlikely",  "warm", "ltrans", "__uniq",   "resume", "destroy",    "actor",
        };
        const char *p = dot + 1;
        size_t n = digits_at(p, end);

        if (n && p + n == end)
                return (size_t)(end - dot);
        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                if (p + strlen(words[i]) == end && memcmp(p, words[i], strlen(words[i])) == 0)
                        return (size_t)(end - dot);
        return 0;
}

static size_t cut_suffixes(const char *name, size_t n) {
        for (;;) {
                const char *end = name + n, *at = end;

                if (n > STABLE_HASH_DIGITS + 3 &&
                    memcmp(end - STABLE_HASH_DIGITS - 3, "::h", 3) == 0) {
                        const char *hash = end - STABLE_HASH_DIGITS;

                        while (hash < end && is_hex(*hash))
                                hash++;
                        if (hash == end) {
                                n -= STABLE_HASH_DIGITS + 3;
                                continue;
                        }
                }
                while (at > name && is_letter(at[-1]))
                        at--;
                if (at > name + 1 && at[-1] == '.' && suffix_at(at - 1, end)) {
                        n = (size_t)(at - 1 - name);
                        continue;
                }
                return n;
        }
}

/* memcpy@@GLIBC_2.14, malloc@plt: versions, and the linker's own entries. */
static size_t cut_version(const char *name, size_t n) {
        const char *at = memchr(name, '@', n);

        return at && at > name && !memchr(name, '(', n) && !memchr(name, ' ', n)
                       ? (size_t)(at - name)
                       : n;
}

/* ---- what stands inside of it ---------------------------------------------------------------- */

/* Inline namespaces of the C++ libraries. */
static size_t inline_namespace_at(const char *p, const char *end) {
        static const char *const names[] = {"__cxx11::", "__1::", "__ndk1::", "_V2::", "__8::"};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (has_at(p, end, names[i]))
                        return strlen(names[i]);
        return 0;
}

/* `[abi:cxx11]`, ` [clone .isra.0]`, and the hash of Rust's `crate[0123456789abcdef]`. */
static size_t tag_at(const char *begin, const char *p, const char *end) {
        const char *close;
        size_t n = 1;

        if (*p != '[')
                return 0;
        if (has_at(p, end, "[abi:") || has_at(p, end, "[clone ")) {
                close = memchr(p, ']', (size_t)(end - p));
                return close ? (size_t)(close + 1 - p) : 0;
        }
        while (p + n < end && is_hex(p[n]))
                n++;
        return n > STABLE_MIN_CRATE_DIGITS && p + n < end && p[n] == ']' && p > begin &&
                               is_letter(p[-1])
                       ? n + 1
                       : 0;
}

/* `(lambda at /home/me/app.cc:12:3)`: where something without a name was written. */
static size_t written_at(const char *p, const char *end) {
        const char *at = NULL, *close;

        if (!has_at(p, end, "(lambda at ") && !has_at(p, end, "(anonymous ") &&
            !has_at(p, end, "(unnamed "))
                return 0;
        close = memchr(p, ')', (size_t)(end - p));
        for (const char *x = p; close && x + 4 < close && !at; x++)
                if (memcmp(x, " at ", 4) == 0)
                        at = x;
        return at ? (size_t)(close - p) : 0;
}

struct spelling {
        const char *from, *to;
};

/* Different words for one thing, by compiler and demangler. */
static const struct spelling spellings[] = {
        {"{{closure}}", "{closure}"},
        {"{anonymous}", "(anonymous namespace)"},
        {"(anon)", "(anonymous namespace)"},
        {"<unnamed>", "(anonymous namespace)"},
        {"`anonymous namespace'", "(anonymous namespace)"},
};

static const struct spelling *spelling_at(const char *p, const char *end) {
        if (!strchr("{(<`", *p))
                return NULL;
        for (size_t i = 0; i < ARRAY_SIZE(spellings); i++)
                if (has_at(p, end, spellings[i].from))
                        return &spellings[i];
        return NULL;
}

/* Clang's lambdas: `$_0`, `'lambda0'(int)`; their length. */
static size_t lambda_at(const char *begin, const char *p, const char *end) {
        size_t n;

        if (has_at(p, end, "$_") && (p == begin || p[-1] == ':')) {
                n = 2 + digits_at(p + 2, end);
                return p + n == end || !is_letter(p[n]) ? n : 0;
        }
        if (!has_at(p, end, "'lambda"))
                return 0;
        n = 7 + digits_at(p + 7, end);
        return p + n < end && p[n] == '\'' ? n + 1 : 0;
}

/* The length of a number that only counts: `#2` before a brace. */
static size_t counter_at(const char *p, const char *end) {
        size_t n = *p == '#' ? digits_at(p + 1, end) : 0;

        return n && p + 1 + n < end && p[1 + n] == '}' ? n + 1 : 0;
}

/* Blanks count only between words. */
static bool is_idle_blank(const struct str *to, size_t begin, const char *p, const char *end) {
        while (p < end && *p == ' ')
                p++;
        return to->n == begin || p == end || !is_letter(to->bytes[to->n - 1]) || !is_letter(*p);
}

static void add_body(struct str *to, const char *name, size_t n) {
        const char *end = name + n, *p = name;
        size_t begin = to->n, skip;

        while (p < end) {
                const struct spelling *spelling = spelling_at(p, end);

                if (spelling) {
                        str_add(to, spelling->to);
                        p += strlen(spelling->from);
                } else if ((skip = tag_at(name, p, end)) || (skip = counter_at(p, end)) ||
                           (p - name >= 2 && p[-1] == ':' &&
                            (skip = inline_namespace_at(p, end)))) {
                        p += skip;
                } else if ((skip = lambda_at(name, p, end))) {
                        str_add(to, "{lambda}");
                        p += skip;
                } else if ((skip = written_at(p, end))) {
                        const char *word = p;

                        while (word < p + skip && memcmp(word, " at ", 4) != 0)
                                word++;
                        str_addn(to, p, (size_t)(word - p));
                        p += skip;
                } else if (*p == ' ' && is_idle_blank(to, begin, p, end)) {
                        p++;
                } else if (*p == ' ' && p[1] == ' ') {
                        p++;
                } else {
                        str_addn(to, p++, 1);
                }
        }
}

void stable_add_function(struct str *to, const char *function) {
        size_t n = cut_suffixes(function, strlen(function));

        n = cut_suffixes(function, cut_version(function, n));
        add_body(to, function, n);
}

/* ---- modules --------------------------------------------------------------------------------- */

void stable_add_module(struct str *to, const char *path) {
        const char *slash = strrchr(path, '/'), *name = slash && slash[1] ? slash + 1 : path;
        const char *so = strstr(name, ".so"), *dash;
        size_t n = strlen(name);
        static const char deleted[] = " (deleted)";

        if (n > sizeof(deleted) - 1 &&
            strcmp(name + n - (sizeof(deleted) - 1), deleted) == 0) /* of a file built anew */
                n -= sizeof(deleted) - 1;
        if (so && (so[3] == '.' || so + 3 == name + n))
                n = (size_t)(so + 3 - name);
        dash = memchr(name, '-', n);
        for (; dash; dash = memchr(dash + 1, '-', (size_t)(name + n - dash - 1))) {
                size_t hash = 1;

                while (dash + hash < name + n && is_hex(dash[hash]))
                        hash++;
                if (hash == STABLE_HASH_DIGITS + 1) { /* app-0123456789abcdef, of cargo */
                        str_addn(to, name, (size_t)(dash - name));
                        str_addn(to, dash + hash, (size_t)(name + n - dash) - hash);
                        return;
                }
        }
        str_addn(to, name, n);
}
