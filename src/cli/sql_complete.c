/* SPDX-License-Identifier: MIT */
#include "cli/sql_complete.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "cli/sql_dots.h"
#include "sql/sql_advice.h"

/* ---- words of a statement ---------------------------------------------------------------------- */

struct token {
        const char *at;
        size_t n;
        enum { TOKEN_END, TOKEN_WORD, TOKEN_SIGN, TOKEN_TEXT } kind;
};

static bool is_word_byte(char c) {
        return isalnum((unsigned char)c) || c == '_';
}

/* Behind blanks and comments. */
static const char *skip_blanks(const char *p, const char *end) {
        while (p < end) {
                if (isspace((unsigned char)*p))
                        p++;
                else if (end - p >= 2 && p[0] == '-' && p[1] == '-')
                        while (p < end && *p != '\n')
                                p++;
                else if (end - p >= 2 && p[0] == '/' && p[1] == '*') {
                        for (p += 2; p < end && !(p[-1] == '*' && p[0] == '/'); p++)
                                ;
                        p += p < end;
                } else
                        break;
        }
        return p;
}

static struct token token_next(const char **p, const char *end) {
        struct token t = {.at = skip_blanks(*p, end)};
        const char *q = t.at;

        if (q >= end) {
                *p = end;
                return t;
        }
        if (*q == '\'' || *q == '"') {
                for (q++; q < end && *q != *t.at; q++)
                        ;
                q += q < end;
                t.kind = TOKEN_TEXT;
        } else if (is_word_byte(*q)) {
                while (q < end && is_word_byte(*q))
                        q++;
                t.kind = TOKEN_WORD;
        } else {
                q++;
                t.kind = TOKEN_SIGN;
        }
        t.n = (size_t)(q - t.at);
        *p = q;
        return t;
}

static bool token_is(const struct token *t, const char *word) {
        return t->kind != TOKEN_END && strlen(word) == t->n && strncasecmp(t->at, word, t->n) == 0;
}

static bool token_is_keyword(const struct token *t) {
        for (size_t i = 0; sql_keywords[i]; i++)
                if (token_is(t, sql_keywords[i]))
                        return true;
        return false;
}

static bool begins_list_of_tables(const struct token *t) {
        return token_is(t, "FROM") || token_is(t, "JOIN");
}

/* ---- tables of a statement --------------------------------------------------------------------- */

struct named_table {
        const struct sql_table_info *table;
        const char *name; /* as the statement calls it */
        size_t n_name;
};

typedef VEC(struct named_table) named_tables;

static const struct sql_table_info *find_table(const struct sql *s, const char *name, size_t n) {
        size_t n_tables;
        const struct sql_table_info *tables = sql_tables(s, &n_tables);

        for (size_t i = 0; i < n_tables; i++)
                if (strlen(tables[i].name) == n && strncasecmp(tables[i].name, name, n) == 0)
                        return &tables[i];
        return NULL;
}

static void skip_arguments(const char **p, const char *end) {
        const char *ahead = *p;
        struct token t = token_next(&ahead, end);
        size_t depth = 0;

        if (!token_is(&t, "("))
                return;
        do {
                depth += token_is(&t, "(");
                depth -= token_is(&t, ")");
                if (!depth)
                        break;
                t = token_next(&ahead, end);
        } while (t.kind != TOKEN_END);
        *p = ahead;
}

/* [schema.]table[(…)] [[AS] name]: from its first word on. */
static void take_table(const struct sql *s, struct token first, const char **p, const char *end,
                       named_tables *to) {
        const char *ahead = *p;
        struct token t = token_next(&ahead, end);
        const struct sql_table_info *table;

        if (token_is(&t, ".")) {
                first = token_next(&ahead, end);
                *p = ahead;
        }
        table = find_table(s, first.at, first.n);
        skip_arguments(p, end);
        ahead = *p;
        t = token_next(&ahead, end);
        if (token_is(&t, "AS"))
                t = token_next(&ahead, end);
        if (t.kind == TOKEN_WORD && !token_is_keyword(&t))
                *p = ahead;
        else
                t = first;
        if (table)
                vec_push(to, (struct named_table){table, t.at, t.n});
}

/* Whether a table is to come at the end of the text. */
static bool find_tables(const struct sql *s, const char *text, const char *end, named_tables *to) {
        bool is_list = false, is_awaited = false;
        struct token t;

        for (const char *p = text; (t = token_next(&p, end)).kind != TOKEN_END;) {
                if (begins_list_of_tables(&t)) {
                        is_list = is_awaited = true;
                } else if (is_awaited && t.kind == TOKEN_WORD && t.at + t.n == end) {
                        break; /* it is being written */
                } else if (is_awaited && t.kind == TOKEN_WORD) {
                        take_table(s, t, &p, end, to);
                        is_awaited = false;
                } else if (is_list && token_is(&t, ",")) {
                        is_awaited = true;
                } else {
                        is_awaited = false;
                        is_list = is_list && !token_is_keyword(&t) && !token_is(&t, ";");
                }
        }
        return is_awaited;
}

const struct sql_table_info *sql_table_called(const struct sql *s, const char *text,
                                              const char *name, size_t n_name) {
        const struct sql_table_info *found = NULL;
        named_tables tables = {0};

        find_tables(s, text, text + strlen(text) + 1, &tables); /* its last word is whole */
        for (size_t i = 0; i < tables.n && !found; i++)
                if (tables.items[i].n_name == n_name &&
                    strncasecmp(tables.items[i].name, name, n_name) == 0)
                        found = tables.items[i].table;
        vec_free(&tables);
        return found ? found : find_table(s, name, n_name);
}

/* ---- what may follow --------------------------------------------------------------------------- */

struct offer {
        const char *word; /* its beginning */
        size_t n_word;
        struct sql_completion *to;
};

static void offer(const struct offer *o, const char *word, const char *behind) {
        struct str whole = {0};

        if (strncasecmp(word, o->word, o->n_word) != 0)
                return;
        str_addf(&whole, "%s%s", word, behind);
        vec_push(&o->to->words, whole.bytes);
}

/* As the person writes: in capitals or not. */
static void offer_keyword(const struct offer *o, const char *word) {
        struct str small = {0};

        if (o->n_word && isupper((unsigned char)o->word[0])) {
                offer(o, word, "");
                return;
        }
        for (; *word; word++)
                str_addf(&small, "%c", tolower((unsigned char)*word));
        offer(o, str_text(&small), "");
        str_done(&small);
}

static void offer_tables(const struct offer *o, const struct sql *s, bool with_other) {
        size_t n;
        const struct sql_table_info *tables = sql_tables(s, &n);

        for (size_t i = 0; i < n; i++)
                offer(o, tables[i].name, "");
        if (with_other)
                offer(o, "other", ".");
}

static void offer_columns(const struct offer *o, const struct sql_table_info *t) {
        for (size_t i = 0; i < t->n_columns; i++)
                if (!t->columns[i].is_argument)
                        offer(o, t->columns[i].name, "");
}

static void offer_functions(const struct offer *o) {
        size_t n;
        const struct sql_function_info *functions = sql_functions(&n);

        for (size_t i = 0; i < n; i++)
                offer(o, functions[i].name, "(");
        for (size_t i = 0; sql_builtins[i]; i++)
                offer(o, sql_builtins[i], "(");
}

/* Behind "alias." or "other."; what the alias is of may come later. */
static void offer_parts(const struct offer *o, const struct sql *s, bool with_other,
                        const char *text, const char *name, size_t n_name) {
        size_t n;
        const struct sql_table_info *tables = sql_tables(s, &n), *table;

        if ((n_name == 4 && strncasecmp(name, "main", 4) == 0) ||
            (with_other && n_name == 5 && strncasecmp(name, "other", 5) == 0)) {
                offer_tables(o, s, false);
                return;
        }
        table = sql_table_called(s, text, name, n_name);
        for (size_t i = 0; i < n; i++)
                if (!table || table == &tables[i])
                        offer_columns(o, &tables[i]);
}

/* Of the tables that the statement names; while it names none, of all. */
static void offer_all_columns(const struct offer *o, const struct sql *s, const char *text) {
        named_tables named = {0};
        size_t n_all;
        const struct sql_table_info *all = sql_tables(s, &n_all);

        find_tables(s, text, text + strlen(text) + 1, &named);
        for (size_t i = 0; i < named.n; i++) {
                struct str name = {0};

                offer_columns(o, named.items[i].table);
                str_addn(&name, named.items[i].name, named.items[i].n_name);
                offer(o, str_text(&name), ".");
                str_done(&name);
        }
        for (size_t i = 0; !named.n && o->n_word && i < n_all; i++)
                offer_columns(o, &all[i]);
        vec_free(&named);
}

static int compare(const void *a, const void *b) {
        return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort(struct sql_completion *c) {
        size_t n = 0;

        if (c->words.n)
                qsort(c->words.items, c->words.n, sizeof(c->words.items[0]), compare);
        for (size_t i = 0; i < c->words.n; i++) {
                if (n && strcmp(c->words.items[i], c->words.items[n - 1]) == 0)
                        free(c->words.items[i]);
                else
                        c->words.items[n++] = c->words.items[i];
        }
        c->words.n = n;
}

/* ".sch", ".schema si", ".mode c". */
static void complete_dot(const struct offer *o, const struct sql *s, const char *text,
                         size_t begin) {
        static const char *const forms[] = {"table", "json", "csv"};

        if (begin <= 1) {
                for (size_t i = 0; sql_dot_name(i); i++)
                        offer(o, sql_dot_name(i) + 1, "");
        } else if (strncmp(text, ".mode ", 6) == 0) {
                for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
                        offer(o, forms[i], "");
        } else if (strncmp(text, ".schema ", 8) == 0) {
                offer_tables(o, s, false);
        }
}

void sql_complete(const struct sql *s, bool with_other, const char *text, size_t cursor,
                  struct sql_completion *ret) {
        struct offer o = {.to = ret};
        named_tables before = {0};
        size_t begin = cursor, name;

        while (begin && is_word_byte(text[begin - 1]))
                begin--;
        *ret = (struct sql_completion){.begin = begin};
        o.word = text + begin;
        o.n_word = cursor - begin;
        for (name = begin ? begin - 1 : 0; name && is_word_byte(text[name - 1]);)
                name--;
        if (text[0] == '.' && strncmp(text, ".explain ", 9) != 0)
                complete_dot(&o, s, text, begin);
        else if (begin && text[begin - 1] == '.')
                offer_parts(&o, s, with_other, text, text + name, begin - 1 - name);
        else if (find_tables(s, text, text + cursor, &before))
                offer_tables(&o, s, with_other);
        else {
                offer_all_columns(&o, s, text);
                if (o.n_word)
                        offer_functions(&o);
                for (size_t i = 0; o.n_word && sql_keywords[i]; i++)
                        offer_keyword(&o, sql_keywords[i]);
        }
        vec_free(&before);
        sort(ret);
}

void sql_completion_done(struct sql_completion *c) {
        for (size_t i = 0; i < c->words.n; i++)
                free(c->words.items[i]);
        vec_free(&c->words);
}

size_t sql_completion_common(const struct sql_completion *c) {
        size_t n = c->words.n ? strlen(c->words.items[0]) : 0;

        for (size_t i = 1; i < c->words.n; i++) {
                size_t same = 0;

                while (same < n && c->words.items[0][same] == c->words.items[i][same])
                        same++;
                n = same;
        }
        return n;
}
