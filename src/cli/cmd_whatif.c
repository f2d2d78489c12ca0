/* SPDX-License-Identifier: MIT */
/* silt whatif: reads the command line, leaves the rest to replay/, and puts the picture where it belongs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/units.h"
#include "cli/asking.h"
#include "cli/cmd_parse.h"
#include "cli/commands.h"
#include "cli/help_whatif.h"
#include "cli/missing_names.h"
#include "cli/product.h"
#include "replay/whatif.h"

static const struct cli_command whatif_command = {
        .name = "whatif",
        .help_text = whatif_help_text,
        .options = whatif_option_table,
        .n_options = ARRAY_SIZE(whatif_option_table),
        .usage_exit_status = EXIT_STATUS_TROUBLE,
};

struct whatif_words {
        struct whatif_options options;
        struct request request;
        const char *allocators, *output;
        VEC(const char *) settings;
        bool force;
};

static bool take_operand(struct whatif_words *w, struct cli_parser *p) {
        if (w->options.view.path) {
                cli_parser_error(p, "one trace at a time: leave out '%s'", p->value);
                return false;
        }
        w->options.view.path = p->value;
        return true;
}

static bool take_pace(struct whatif_words *w, enum whatif_pace pace, struct cli_parser *p) {
        if (w->options.pace != PACE_AS_SUITS && w->options.pace != pace) {
                cli_parser_error(p, "--paced and --fast exclude each other: leave out one");
                return false;
        }
        w->options.pace = pace;
        return true;
}

/* False after an error was printed. */
static bool take_word(struct whatif_words *w, int id, struct cli_parser *p) {
        switch (id) {
        case CLI_STOP: return false;
        case CLI_OPERAND: return take_operand(w, p);
        case WHATIF_ALLOCATOR: w->allocators = p->value; break;
        case WHATIF_SET: vec_push(&w->settings, p->value); break;
        case WHATIF_PACED: return take_pace(w, PACE_RECORDED, p);
        case WHATIF_FAST: return take_pace(w, PACE_FAST, p);
        case WHATIF_ESTIMATE: w->options.only_estimates = true; break;
        case WHATIF_OUTPUT: w->output = p->value; break;
        case WHATIF_FORCE: w->force = true; break;
        case WHATIF_JSON: w->options.view.json = true; break;
        case WHATIF_DEBUG_PATH: return cli_take_debug_path(p);
        case WHATIF_PROCESS:
        case WHATIF_TOP:
        case WHATIF_RULES: return cli_take_key(p, &w->request);
        default: break;
        }
        return true;
}

static bool is_svg(const char *name) {
        size_t n = strlen(name);

        return strcmp(name, "-") == 0 || (n >= 4 && strcmp(name + n - 4, ".svg") == 0);
}

static bool check_words(const struct whatif_words *w, struct cli_parser *p) {
        if (!w->options.view.path)
                cli_parser_error(p, "no trace given: write 'silt whatif FILE'");
        else if (w->options.only_estimates && (w->allocators || w->settings.n || w->output))
                cli_parser_error(
                        p, "--estimate replays nothing: leave out --allocator, --set and --output");
        else if (w->output && !is_svg(w->output))
                cli_parser_error(p, "--output: '%s' does not end in .svg: use a name that does",
                                 w->output);
        else
                return true;
        return false;
}

static bool parse(int argc, char **argv, struct whatif_words *w, int *ret_exit_status) {
        struct cli_parser p;
        bool ok = true;
        int id;

        cli_missing_names_init();
        cli_parser_init(&p, &whatif_command, argc, argv);
        while (ok && (id = cli_parser_next(&p)) != CLI_END)
                ok = take_word(w, id, &p);
        ok = ok && check_words(w, &p);
        *ret_exit_status = p.exit_status;
        return ok;
}

/* Before the trace is opened: a slip is told at once. Settings alone mean: these, beside all allocators as they come. */
static int choose_contenders(struct whatif_words *w, struct err *reterr) {
        int r = contenders_add_list(&w->options.contenders, w->allocators, reterr);

        for (size_t i = 0; r >= 0 && i < w->settings.n; i++)
                r = contenders_add_setting(&w->options.contenders, w->settings.items[i], reterr);
        return r;
}

static int print(void *words, FILE *picture, struct err *reterr) {
        struct whatif_words *w = words;

        return whatif_print(stdout, picture, &w->options, reterr);
}

static int print_with_picture(struct whatif_words *w, struct err *reterr) {
        const struct product product = {w->output, WHATIF_MARK, WHATIF_MARK_WITHIN, w->force,
                                        false};
        struct unit_text size;
        size_t n;
        int r = product_draw(&product, print, w, &n, reterr);

        if (r >= 0)
                cli_say("picture: %s (%s): open it in a browser", w->output, unit_bytes(&size, n));
        return r;
}

int cmd_whatif(int argc, char **argv) {
        struct whatif_words w = {.options = WHATIF_OPTIONS_DEFAULT, .request = REQUEST_DEFAULT};
        struct err err = {0};
        int exit_status, r;

        w.options.view.request = &w.request;
        if (parse(argc, argv, &w, &exit_status)) {
                w.request.rules.with_config = true;
                r = choose_contenders(&w, &err);
                if (r >= 0)
                        r = w.output ? print_with_picture(&w, &err)
                                     : whatif_print(stdout, NULL, &w.options, &err);
                cli_say_err(r, &err);
                exit_status = r < 0 ? EXIT_STATUS_TROUBLE : EXIT_STATUS_OK;
        }
        contenders_done(&w.options.contenders);
        vec_free(&w.settings);
        request_done(&w.request);
        return exit_status;
}
