/* SPDX-License-Identifier: MIT */
/* silt heap: reads the command line, leaves the picture to bill/, and puts it where it belongs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/str.h"
#include "base/units.h"
#include "bill/heap_picture.h"
#include "cli/asking.h"
#include "cli/commands.h"
#include "cli/help_heap.h"
#include "cli/missing_names.h"
#include "cli/product.h"

static const struct cli_command heap_command = {
        .name = "heap",
        .help_text = heap_help_text,
        .options = heap_option_table,
        .n_options = ARRAY_SIZE(heap_option_table),
        .usage_exit_status = EXIT_STATUS_TROUBLE,
};

struct heap_words {
        struct heap_options options;
        struct request request;
        const char *output; /* NULL: by the name of the trace; "-": standard output */
        bool force;
};

static bool ends_with(const char *text, const char *end) {
        size_t n = strlen(text), m = strlen(end);

        return n > m && strcmp(text + n - m, end) == 0;
}

static bool take_file(struct heap_words *w, struct cli_parser *p) {
        if (w->options.view.path) {
                cli_parser_error(p, "only one trace can be drawn: leave out '%s'", p->value);
                return false;
        }
        w->options.view.path = p->value;
        return true;
}

/* False after an error was printed. */
static bool take_word(struct heap_words *w, int id, struct cli_parser *p) {
        switch (id) {
        case CLI_STOP: return false;
        case CLI_OPERAND: return take_file(w, p);
        case HEAP_OUTPUT: w->output = p->value; break;
        case HEAP_FORCE: w->force = true; break;
        case HEAP_FILM: w->options.is_film = true; break;
        case HEAP_DEBUG_PATH: return cli_take_debug_path(p);
        case HEAP_AT:
        case HEAP_PROCESS:
        case HEAP_RULES: return cli_take_key(p, &w->request);
        default: break;
        }
        return true;
}

/* A moment is SVG, a film is HTML. */
static bool check(struct heap_words *w, struct cli_parser *p) {
        bool is_film = w->options.is_film;

        if (!w->options.view.path) {
                cli_parser_error(p, "no trace given: write 'silt heap FILE'");
                return false;
        }
        if (is_film && w->request.at.is_set) {
                cli_parser_error(p, "--at: a film has all moments: leave out --at or --film");
                return false;
        }
        if (!w->output || strcmp(w->output, "-") == 0 ||
            ends_with(w->output, is_film ? ".html" : ".svg"))
                return true;
        cli_parser_error(p, "--output: '%s' does not end in %s: use a name that does, for %s",
                         w->output, is_film ? ".html" : ".svg", is_film ? "a film" : "a picture");
        return false;
}

static bool parse(int argc, char **argv, struct heap_words *w, int *ret_exit_status) {
        struct cli_parser p;
        bool ok = true;
        int id;

        cli_missing_names_init();
        cli_parser_init(&p, &heap_command, argc, argv);
        while (ok && (id = cli_parser_next(&p)) != CLI_END)
                ok = take_word(w, id, &p);
        ok = ok && check(w, &p);
        *ret_exit_status = p.exit_status;
        return ok;
}

/* server.silt → server.heap.svg, in the working directory. */
static void add_output(const struct heap_words *w, struct str *to) {
        const char *path = w->options.view.path, *slash = strrchr(path, '/');
        const char *name = slash && slash[1] ? slash + 1 : path;

        if (w->output) {
                str_add(to, w->output);
                return;
        }
        str_addn(to, name, strlen(name) - (ends_with(name, ".silt") ? strlen(".silt") : 0));
        str_add(to, w->options.is_film ? ".heap.html" : ".heap.svg");
}

struct heap_drawing {
        const struct heap_options *options;
        struct heap_result result;
};

static int draw(void *ctx, FILE *out, struct err *reterr) {
        struct heap_drawing *d = ctx;

        return heap_draw(out, d->options, &d->result, reterr);
}

static int draw_into_file(const struct heap_words *w, const char *path, struct err *reterr) {
        const struct product product = {path, HEAP_MARK, HEAP_MARK_WITHIN, w->force, false};
        struct heap_drawing d = {.options = &w->options};
        struct unit_text size, moments;
        size_t n;
        int r = product_draw(&product, draw, &d, &n, reterr);

        if (r >= 0)
                cli_say("heap: %s (%s, %s moment%s): open it in a browser", path,
                        unit_bytes(&size, n), unit_count(&moments, d.result.n_moments),
                        unit_s(d.result.n_moments));
        return r;
}

int cmd_heap(int argc, char **argv) {
        struct heap_words w = {.options = HEAP_OPTIONS_DEFAULT, .request = REQUEST_DEFAULT};
        struct heap_result result;
        struct str path = {0};
        struct err err = {0};
        int exit_status, r;

        w.options.view.request = &w.request;
        if (parse(argc, argv, &w, &exit_status)) {
                w.request.rules.with_config = true;
                add_output(&w, &path);
                if (strcmp(str_text(&path), "-") == 0)
                        r = heap_draw(stdout, &w.options, &result, &err);
                else
                        r = draw_into_file(&w, str_text(&path), &err);
                cli_say_err(r, &err);
                exit_status = r < 0 ? EXIT_STATUS_TROUBLE : EXIT_STATUS_OK;
        }
        request_done(&w.request);
        str_done(&path);
        return exit_status;
}
