/* SPDX-License-Identifier: MIT */
/* A server that answers anything to questions that anybody may ask: the input's first part is the query of a URL, or '!' and a statement,
 * the others, with bars between them, are the answers one after the other. What is refused is so in one line; what is not is one whole
 * document, and text that moves no cursor.
 *
 * covers: src/fleet/server_rows.c src/fleet/fleet_question.c src/fleet/fleet_answer.c src/fleet/fleet_sql.c src/fleet/fleet_words.c src/fleet/fleet_text.c src/fleet/fleet_json.c src/fleet/fleet_csv.c */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/fleet_question.h"
#include "fleet/server_link.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* In the place of server_link.c. */
struct server_link {
        const char *at, *end;
};

static void expect(bool is_so) {
        if (!is_so)
                abort();
}

/* The next part. */
static const char *next(struct server_link *l, size_t *ret_n) {
        const char *begin = l->at;
        const char *bar = begin < l->end ? memchr(begin, '|', (size_t)(l->end - begin)) : NULL;

        *ret_n = (size_t)((bar ? bar : l->end) - begin);
        l->at = bar ? bar + 1 : l->end;
        return begin;
}

int server_link_ask(struct server_link *l, const char *sql, size_t n_columns, size_t max_rows,
                    struct server_rows *ret, struct err *reterr) {
        size_t n;
        const char *part = next(l, &n);
        int r = server_rows_parse(ret, part, n, n_columns, max_rows, reterr);

        expect(sql[0] == 'S');
        expect(r < 0 || ret->n_rows <= max_rows);
        expect(r < 0 || ret->cells.n == ret->n_rows * ret->n_columns);
        return r;
}

int server_link_ask_own(struct server_link *l, const char *sql, size_t max_rows,
                        struct server_rows *ret, struct err *reterr) {
        size_t n;
        const char *part = next(l, &n);

        return server_rows_parse(ret, part, n, 0, max_rows, reterr);
}

static void check_text(const struct fleet_answer *a) {
        char *text = NULL;
        size_t n = 0;
        FILE *out = open_memstream(&text, &n);

        expect(out != NULL);
        fleet_print_text(out, a);
        fclose(out);
        for (size_t i = 0; i < n; i++)
                expect(text[i] == '\n' || ((unsigned char)text[i] >= ' ' && text[i] != 0x7f));
        free(text);
}

static void check_json(const struct fleet_answer *a) {
        char *text = NULL;
        size_t n = 0;
        FILE *out = open_memstream(&text, &n);

        expect(out != NULL);
        fleet_print_json(out, a);
        fclose(out);
        expect(n > 2 && text[0] == '{' && strcmp(text + n - 2, "}\n") == 0 && strlen(text) == n);
        free(text);
}

/* Every line has as many cells as the one before, whatever is in them. */
static void check_csv(const struct fleet_answer *a) {
        char *text = NULL;
        size_t n = 0, n_cells = 1, n_before = 0, n_lines = 0;
        bool is_quoted = false;
        FILE *out = open_memstream(&text, &n);

        expect(out != NULL);
        fleet_print_csv(out, a);
        fclose(out);
        for (size_t i = 0; i < n; i++) {
                is_quoted ^= text[i] == '"';
                if (is_quoted || (text[i] != ',' && text[i] != '\n'))
                        continue;
                n_cells++;
                if (text[i] != '\n')
                        continue;
                expect(n_lines++ == 0 || n_cells == n_before);
                n_before = n_cells;
                n_cells = 1;
        }
        expect(!is_quoted && n_cells == 1 && n_lines == a->n_rows + (a->columns.n > 0));
        free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        struct server_link l = {.at = (const char *)data, .end = (const char *)data + n};
        struct fleet_question q = FLEET_QUESTION_DEFAULT;
        struct fleet_answer a = {0};
        struct str texts = {0};
        struct err err = {0};
        size_t n_keys;
        const char *part = next(&l, &n_keys);
        char *keys = strndup(part ? part : "", n_keys);
        int r;

        expect(keys != NULL);
        if (keys[0] == '!') {
                q.kind = FLEET_SQL;
                r = fleet_question_take(&q, "sql", keys + 1, &err);
        } else
                r = fleet_question_parse(&q, keys, &texts, &err);
        if (r >= 0) {
                r = fleet_ask(&l, &q, &a, &err);
                if (r >= 0) {
                        check_text(&a);
                        check_json(&a);
                        check_csv(&a);
                }
                fleet_answer_done(&a);
        }
        expect(r >= 0 || (err.text[0] && !strchr(err.text, '\n')));
        str_done(&texts);
        free(keys);
        return 0;
}
