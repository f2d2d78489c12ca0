/* SPDX-License-Identifier: MIT */
/* silt.fleet/1: one document for the command and for the page. docs/fleet.md has its fields. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "fleet/fleet_answer.h"

static void put_text(struct json *j, const char *key, const char *text) {
        json_key(j, key);
        if (text)
                json_string(j, text);
        else
                json_null(j);
}

static void put_question(struct json *j, const struct fleet_answer *a) {
        const struct fleet_question *q = a->question;

        json_put_string(j, "question", fleet_kind_name(q->kind));
        json_put_uint(j, "since_s", q->since_s);
        put_text(j, "service", q->service);
        put_text(j, "host", q->host);
        put_text(j, "build", q->build);
        put_text(j, "old", q->old_build);
        put_text(j, "new", q->new_build);
        json_put_uint(j, "now_s", a->now_s);
        json_put_uint(j, "before_s", a->before_s);
}

static void put_cell(struct json *j, const struct fleet_column *c, const struct fleet_cell *cell) {
        json_key(j, c->key);
        switch (c->kind) {
        case FLEET_CELL_TEXT:
        case FLEET_CELL_PATH:
                if (!cell->text || (c->kind == FLEET_CELL_PATH && !*cell->text))
                        json_null(j);
                else
                        json_string(j, cell->text);
                break;
        case FLEET_CELL_REAL: json_double(j, cell->number, 3); break;
        case FLEET_CELL_BYTES:
        case FLEET_CELL_CHANGE:
        case FLEET_CELL_COUNT:
        case FLEET_CELL_TIME: json_double(j, cell->number, 0); break;
        }
}

static void put_row(struct json *j, const struct fleet_answer *a, size_t row) {
        json_object(j);
        for (size_t c = 0; c < a->columns.n; c++)
                put_cell(j, &a->columns.items[c], &a->cells.items[row * a->columns.n + c]);
        if (a->history.n) {
                json_key(j, "history");
                json_array(j);
                for (size_t k = 0; k < FLEET_N_HISTORY; k++)
                        if (a->history.items[row * FLEET_N_HISTORY + k] < 0)
                                json_null(j);
                        else
                                json_double(j, a->history.items[row * FLEET_N_HISTORY + k], 0);
                json_end(j);
        }
        json_end(j);
}

/* Of a statement: columns may have one name, so rows are arrays. */
static void put_own_rows(struct json *j, const struct fleet_answer *a) {
        JSON_PUT_EACH(j, "columns", a->columns.n, json_string, a->columns.items[i].key);
        json_key(j, "rows");
        json_array(j);
        for (size_t row = 0; row < a->n_rows; row++) {
                json_array(j);
                for (size_t c = 0; c < a->columns.n; c++)
                        if (a->cells.items[row * a->columns.n + c].text)
                                json_string(j, a->cells.items[row * a->columns.n + c].text);
                        else
                                json_null(j);
                json_end(j);
        }
        json_end(j);
}

static void put_frames(struct json *j, const char *frames) {
        json_array(j);
        for (const char *at = frames ? frames : ""; *at;) {
                size_t n = strcspn(at, "\n");

                json_stringn(j, at, n);
                at += n + (at[n] == '\n');
        }
        json_end(j);
}

static void put_paths(struct json *j, const struct fleet_answer *a) {
        json_key(j, "paths");
        json_array(j);
        for (size_t i = 0; i < a->paths.n; i++) {
                json_object(j);
                json_put_string(j, "path", a->paths.items[i].id);
                json_key(j, "frames");
                put_frames(j, a->paths.items[i].frames);
                json_end(j);
        }
        json_end(j);
}

void fleet_print_json(FILE *out, const struct fleet_answer *a) {
        struct json j;
        struct str sentence = {0};

        str_addn(&sentence, a->sentence.bytes ? a->sentence.bytes : "", a->sentence.n);
        json_init(&j, out);
        json_object(&j);
        json_put_string(&j, "schema", "silt.fleet/1");
        json_put_string(&j, "sentence", str_text(&sentence));
        JSON_PUT_EACH(&j, "doubts", a->doubts.n, json_string, a->doubts.items[i]);
        put_question(&j, a);
        json_key(&j, "has_more");
        json_bool(&j, a->has_more);
        if (a->question->kind == FLEET_SQL)
                put_own_rows(&j, a);
        else {
                json_key(&j, "rows");
                json_array(&j);
                for (size_t i = 0; i < a->n_rows; i++)
                        put_row(&j, a, i);
                json_end(&j);
                put_paths(&j, a);
        }
        json_end(&j);
        str_done(&sentence);
}
