/* SPDX-License-Identifier: MIT */
/* An answer as CSV, quoted as RFC 4180 says: columns are named as in JSON, and figures are whole numbers, not "1.2 MiB". What limits them
 * is not in it: whoever prints it says that beside it. */
#include <string.h>
#include <unistd.h>

#include "fleet/fleet_answer.h"
#include "show/style.h"

/* "" is the empty text, nothing is NULL. On a terminal nothing that steers it. */
static void put_text(FILE *out, const char *text) {
        struct str clean = {0};
        size_t n;

        if (isatty(fileno(out)) == 1) {
                style_add_clean(&clean, text);
                text = str_text(&clean);
        }
        n = strlen(text);
        if (n && !text[strcspn(text, ",\"\r\n")] && text[0] != ' ' && text[n - 1] != ' ') {
                fputs(text, out);
        } else {
                fputc('"', out);
                for (; *text; text++)
                        fprintf(out, "%s%c", *text == '"' ? "\"" : "", *text);
                fputc('"', out);
        }
        str_done(&clean);
}

/* Functions, innermost first, between semicolons: their names have none of their own. */
static void put_frames(FILE *out, const char *frames) {
        struct str text = {0};

        for (; frames && *frames; frames++)
                if (*frames != '\n' || frames[1])
                        str_addf(&text, "%c",
                                 *frames == ';'    ? ':'
                                 : *frames == '\n' ? ';'
                                                   : *frames);
        if (text.n)
                put_text(out, str_text(&text));
        str_done(&text);
}

static void put_cell(FILE *out, const struct fleet_answer *a, const struct fleet_column *c,
                     const struct fleet_cell *cell) {
        switch (c->kind) {
        case FLEET_CELL_TEXT:
                if (cell->text)
                        put_text(out, cell->text);
                break;
        case FLEET_CELL_PATH:
                if (cell->text && *cell->text)
                        put_text(out, cell->text);
                fputc(',', out);
                put_frames(out, cell->text ? fleet_answer_frames(a, cell->text) : NULL);
                break;
        case FLEET_CELL_REAL: fprintf(out, "%.3f", cell->number); break;
        case FLEET_CELL_BYTES:
        case FLEET_CELL_CHANGE:
        case FLEET_CELL_COUNT:
        case FLEET_CELL_TIME: fprintf(out, "%.0f", cell->number); break;
        }
}

void fleet_print_csv(FILE *out, const struct fleet_answer *a) {
        for (size_t c = 0; c < a->columns.n; c++) {
                const struct fleet_column *x = &a->columns.items[c];

                fputs(c ? "," : "", out);
                put_text(out, x->key);
                if (x->kind == FLEET_CELL_PATH)
                        fprintf(out, ",%s_frames", x->key);
        }
        if (a->columns.n)
                fputc('\n', out);
        for (size_t row = 0; row < a->n_rows; row++) {
                for (size_t c = 0; c < a->columns.n; c++) {
                        fputs(c ? "," : "", out);
                        put_cell(out, a, &a->columns.items[c],
                                 &a->cells.items[row * a->columns.n + c]);
                }
                fputc('\n', out);
        }
}
