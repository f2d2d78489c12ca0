/* SPDX-License-Identifier: MIT */
/* One pass over the characters. Between two of `;`, `{` and `}` stands a head: the declaration of what the next brace opens, or
 * a statement. A head that calls a name with `(` or `<` behind it, outside of parentheses and not as part of an expression, is
 * that of a function. */
#include "source/function_lines.h"

#include <string.h>

#include "base/macros.h"

enum { EXTENT_MAX_DEPTH = 4096, EXTENT_MAX_RAW_DELIMITER = 64, EXTENT_MAX = 65536 };

struct head {
        uint32_t line;     /* of its first character; 0: it has none yet */
        bool has_function; /* the name stands in it */
        bool is_expression, is_template;
};

struct block {
        struct head head;
        bool is_function;
        uint32_t n_parens; /* open where it began */
};

struct scan {
        const char *p, *end, *begin;
        uint32_t line;
        const char *name;
        size_t n_name;
        struct head head;
        struct head behind; /* of the block just closed: goes on if an expression does */
        bool is_behind;
        uint32_t n_parens;
        VEC(struct block) blocks;
        VEC(uint32_t) conditions; /* blocks open where #if stands */
        struct extents *ret;
};

static bool is_word(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || (unsigned char)c >= 0x80;
}

static bool at(const struct scan *s, const char *text) {
        size_t n = strlen(text);

        return (size_t)(s->end - s->p) >= n && memcmp(s->p, text, n) == 0;
}

static void step(struct scan *s) {
        if (s->p < s->end)
                s->line += *s->p++ == '\n';
}

static void step_to(struct scan *s, const char *to) {
        while (s->p < to)
                step(s);
}

/* ---- what is no code ------------------------------------------------------------------------- */

static void skip_line(struct scan *s) {
        while (s->p < s->end && *s->p != '\n') {
                if (*s->p == '\\')
                        step(s);
                step(s);
        }
}

/* Rust's comments nest; a C comment with another begin in it is rare and ends too late then. */
static void skip_comment(struct scan *s, bool is_rust) {
        unsigned depth = 0;

        do {
                if (at(s, "/*") && (depth == 0 || is_rust)) {
                        depth++;
                        step(s);
                } else if (at(s, "*/")) {
                        depth--;
                        step(s);
                }
                step(s);
        } while (depth && s->p < s->end);
}

static void skip_quoted(struct scan *s, char quote) {
        step(s);
        while (s->p < s->end && *s->p != quote) {
                if (*s->p == '\\')
                        step(s);
                step(s);
        }
        step(s);
}

static void skip_past(struct scan *s, const char *end, size_t n) {
        const char *found = memmem(s->p, (size_t)(s->end - s->p), end, n);

        step_to(s, found ? found + n : s->end);
}

/* R"xx( … )xx" behind its R. */
static void skip_raw(struct scan *s) {
        const char *open =
                memchr(s->p, '(', MIN((size_t)(s->end - s->p), (size_t)EXTENT_MAX_RAW_DELIMITER));
        char end[EXTENT_MAX_RAW_DELIMITER + 2];
        size_t n;

        if (!open) {
                skip_quoted(s, '"');
                return;
        }
        n = (size_t)(open - s->p) - 1;
        end[0] = ')';
        memcpy(end + 1, s->p + 1, n);
        end[n + 1] = '"';
        skip_past(s, end, n + 2);
}

/* r"…", r#"…"# behind their r; nothing where it is a raw name, r#match. */
static void skip_rust_raw(struct scan *s) {
        char end[EXTENT_MAX_RAW_DELIMITER] = "\"";
        size_t n = 0;

        while (s->p + n < s->end && s->p[n] == '#' && n < sizeof(end) - 2)
                end[++n] = '#';
        if (s->p + n >= s->end || s->p[n] != '"')
                return;
        s->p += n + 1;
        skip_past(s, end, n + 1);
}

/* A character, or a lifetime ('a), or a separator of digits. */
static void skip_tick(struct scan *s) {
        bool is_separator = s->p > s->begin && is_word(s->p[-1]);

        if (!is_separator && s->end - s->p > 2 &&
            (s->p[1] == '\\' || s->p[2] == '\'' || !is_word(s->p[1]) ||
             (unsigned char)s->p[1] >= 0x80))
                skip_quoted(s, '\'');
        else
                step(s);
}

/* Only one branch of a condition counts its braces: each begins with those that were open at the #if. */
static void take_directive(struct scan *s) {
        s->p++;
        while (s->p < s->end && (*s->p == ' ' || *s->p == '\t'))
                s->p++;
        if (at(s, "if") && s->conditions.n < EXTENT_MAX_DEPTH)
                vec_push(&s->conditions, (uint32_t)s->blocks.n);
        else if (at(s, "el") && s->conditions.n)
                s->blocks.n = MIN(s->blocks.n, (size_t)s->conditions.items[s->conditions.n - 1]);
        else if (at(s, "endif") && s->conditions.n)
                s->conditions.n--;
        skip_line(s);
}

static bool is_first_of_line(const struct scan *s) {
        const char *p = s->p;

        while (p > s->begin && (p[-1] == ' ' || p[-1] == '\t'))
                p--;
        return p == s->begin || p[-1] == '\n';
}

/* ---- code ------------------------------------------------------------------------------------ */

static bool is_one_of(const char *word, size_t n, const char *const *words, size_t n_words) {
        for (size_t i = 0; i < n_words; i++)
                if (strlen(words[i]) == n && memcmp(words[i], word, n) == 0)
                        return true;
        return false;
}

static bool begins_expression(const char *word, size_t n) {
        static const char *const words[] = {"if",     "else",     "while",     "for",      "switch",
                                            "match",  "return",   "do",        "catch",    "loop",
                                            "case",   "let",      "goto",      "throw",    "new",
                                            "delete", "co_await", "co_return", "co_yield", "sizeof",
                                            "await",  "in"};

        return is_one_of(word, n, words, ARRAY_SIZE(words));
}

static bool is_section(const char *word, size_t n) {
        static const char *const words[] = {"public", "private", "protected"};

        return is_one_of(word, n, words, ARRAY_SIZE(words));
}

/* Words with parentheses that are no functions. */
static bool is_qualifier(const char *word, size_t n) {
        static const char *const words[] = {"template", "alignas",  "decltype", "__attribute__",
                                            "noexcept", "requires", "asm",      "where",
                                            "struct",   "class",    "union",    "enum"};

        return is_one_of(word, n, words, ARRAY_SIZE(words));
}

static const char *skip_blanks(const char *p, const char *end) {
        while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
                p++;
        return p;
}

/* `operator ==` and its like are names of several characters. */
static size_t operator_len(const struct scan *s, const char *p) {
        const char *symbol = skip_blanks(p, s->end), *name = s->name;

        if (!name || strncmp(name, "operator", 8) != 0)
                return 0;
        name += 8 + strspn(name + 8, " ");
        if ((size_t)(s->end - symbol) < strlen(name) || memcmp(symbol, name, strlen(name)) != 0)
                return 0;
        return (size_t)(symbol - p) + strlen(name);
}

static bool is_name(const struct scan *s, const char *word, size_t n, size_t *ret_more) {
        const char *name = s->name;
        size_t n_name = s->n_name;

        *ret_more = 0;
        if (!name)
                return !is_qualifier(word, n);
        if (n == 8 && memcmp(word, "operator", 8) == 0) {
                *ret_more = operator_len(s, word + n);
                return *ret_more > 0;
        }
        if (*name == '~') {
                if (word == s->begin || word[-1] != '~')
                        return false;
                name++, n_name--;
        } else if (word > s->begin && word[-1] == '~') {
                return false;
        }
        return n == n_name && memcmp(word, name, n) == 0;
}

/* Whether the word, and `more` bytes behind it, declares a function: what comes next tells. */
static bool is_declared(const struct scan *s, const char *word, size_t n, size_t more) {
        const char *next = skip_blanks(word + n + more, s->end);

        if (!s->name && ((n == 2 && memcmp(word, "fn", 2) == 0) ||
                         (n == 8 && memcmp(word, "operator", 8) == 0)))
                return true;
        return next < s->end && (*next == '(' || (*next == '<' && s->name));
}

static void take_word(struct scan *s) {
        const char *word = s->p;
        size_t n = 0, more;

        while (s->p + n < s->end && is_word(s->p[n]))
                n++;
        s->p += n;
        if (n <= 3 && word[n - 1] == 'R' && at(s, "\""))
                skip_raw(s);
        else if ((n == 1 || n == 2) && word[n - 1] == 'r' && (at(s, "\"") || at(s, "#")))
                skip_rust_raw(s);
        if (s->n_parens)
                return;
        s->head.is_template |= n == 8 && memcmp(word, "template", 8) == 0;
        if (is_section(word, n) && at(s, ":") && !at(s, "::")) {
                step(s);
                s->head = (struct head){0};
        } else if (begins_expression(word, n)) {
                s->head.is_expression = true;
        } else if (!s->head.is_expression && is_name(s, word, n, &more) &&
                   is_declared(s, word, n, more)) {
                s->head.has_function = true;
                step_to(s, s->p + more);
        }
}

static void open_block(struct scan *s) {
        if (s->blocks.n < EXTENT_MAX_DEPTH) {
                struct block b = {.head = s->head,
                                  .is_function = s->head.has_function && s->n_parens == 0,
                                  .n_parens = s->n_parens};

                vec_push(&s->blocks, b);
        }
        s->n_parens = 0;
        s->head = (struct head){0};
}

static void close_block(struct scan *s) {
        s->head = (struct head){0};
        s->n_parens = 0;
        if (s->blocks.n == 0)
                return;
        struct block b = s->blocks.items[--s->blocks.n];

        if (b.is_function && s->ret->items.n < EXTENT_MAX)
                vec_push(&s->ret->items, (struct extent){b.head.line, s->line});
        s->n_parens = b.n_parens;
        s->behind = b.head;
        s->is_behind = true;
}

/* Behind `a_{1}` of a constructor or `f(|x| {…})` the head goes on; the block was none of a function then. */
static void go_on(struct scan *s) {
        if (s->is_behind && (*s->p == ',' || *s->p == ')' || *s->p == '{' || *s->p == '.')) {
                s->head = s->behind;
                if (s->ret->items.n && s->head.has_function && s->n_parens == 0 &&
                    (*s->p == ',' || *s->p == '{') &&
                    s->ret->items.items[s->ret->items.n - 1].begin == s->head.line)
                        s->ret->items.n--;
        }
        s->is_behind = false;
}

static void take_code(struct scan *s) {
        char c = *s->p;

        go_on(s);
        if (c != '}' && c != ';' && !s->head.line)
                s->head.line = s->line;
        if (is_word(c)) {
                take_word(s);
                return;
        }
        if (c == '{')
                open_block(s);
        else if (c == '}')
                close_block(s);
        else if (c == ';' && s->n_parens == 0)
                s->head = (struct head){0};
        else if (c == '(' || c == '[')
                s->n_parens++;
        else if ((c == ')' || c == ']') && s->n_parens)
                s->n_parens--;
        else if (c == '=' && s->n_parens == 0 && !s->head.has_function && !s->head.is_template)
                s->head.is_expression = true;
        step(s);
}

static void scan_next(struct scan *s, bool is_rust) {
        if (at(s, "//"))
                skip_line(s);
        else if (at(s, "/*"))
                skip_comment(s, is_rust);
        else if (*s->p == '"')
                skip_quoted(s, '"');
        else if (*s->p == '\'')
                skip_tick(s);
        else if (*s->p == '#' && !at(s, "#[") && !at(s, "#!") && is_first_of_line(s))
                take_directive(s);
        else if (*s->p == ' ' || *s->p == '\t' || *s->p == '\n' || *s->p == '\r')
                step(s);
        else
                take_code(s);
}

void extents_find(struct extents *e, const char *text, size_t n_bytes, const char *name) {
        struct scan s = {.p = text,
                         .begin = text,
                         .end = text + n_bytes,
                         .line = 1,
                         .name = name,
                         .n_name = name ? strlen(name) : 0,
                         .ret = e};
        bool is_rust = n_bytes && memmem(text, n_bytes, "fn ", 3);

        while (s.p < s.end)
                scan_next(&s, is_rust);
        vec_free(&s.blocks);
        vec_free(&s.conditions);
}

void extents_done(struct extents *e) {
        vec_free(&e->items);
}

const struct extent *extents_at(const struct extents *e, uint32_t line) {
        size_t begin = 0, end = e->items.n;

        while (begin < end) { /* the first that does not end before the line */
                size_t middle = (begin + end) / 2;

                if (e->items.items[middle].end < line)
                        begin = middle + 1;
                else
                        end = middle;
        }
        for (; begin < e->items.n; begin++) /* inner ones end first */
                if (e->items.items[begin].begin <= line)
                        return &e->items.items[begin];
        return NULL;
}
