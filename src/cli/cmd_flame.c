/* SPDX-License-Identifier: MIT */
/* silt flame: reads the command line, leaves the image to flame/ and the page to page/, and puts it where it belongs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/str.h"
#include "base/units.h"
#include "cli/asking.h"
#include "cli/cmd_parse.h"
#include "cli/commands.h"
#include "cli/help_flame.h"
#include "cli/missing_names.h"
#include "cli/page_product.h"
#include "cli/product.h"

static const struct cli_command flame_command = {
        .name = "flame",
        .help_text = flame_help_text,
        .options = flame_option_table,
        .n_options = ARRAY_SIZE(flame_option_table),
        .usage_exit_status = EXIT_STATUS_TROUBLE,
};

/* ---- options ----------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end) {
        size_t n = strlen(text), m = strlen(end);

        return n > m && strcmp(text + n - m, end) == 0;
}

static bool take_output(struct flame_command_options *o, struct cli_parser *p) {
        o->output = p->value;
        o->is_page = ends_with(p->value, ".html") || ends_with(p->value, ".htm");
        if (o->is_page || ends_with(p->value, ".svg") || strcmp(p->value, "-") == 0)
                return true;
        cli_parser_error(
                p, "--output: '%s' is neither SVG nor HTML: use a name that ends in .svg or .html",
                p->value);
        return false;
}

static bool take_width(struct flame_command_options *o, struct cli_parser *p) {
        uint64_t px;

        if (!cli_value_number(p, FLAME_MIN_WIDTH_PX, FLAME_MAX_WIDTH_PX, &px))
                return false;
        o->draw.width_px = (uint32_t)px;
        return true;
}

/* The newer trace is the last one. */
static bool take_file(struct flame_command_options *o, struct cli_parser *p) {
        if (o->draw.old_path) {
                cli_parser_error(p, "more than two traces given: leave out '%s'", p->value);
                return false;
        }
        o->draw.old_path = o->draw.ask.path;
        o->draw.ask.path = p->value;
        return true;
}

/* False after an error was printed. */
static bool take_option(struct flame_command_options *o, enum flame_option option,
                        struct cli_parser *p) {
        switch (option) {
        case FLAME_OUTPUT: return take_output(o, p);
        case FLAME_FORCE: o->force = true; break;
        case FLAME_REVERSE: o->draw.is_reversed = true; break;
        case FLAME_TITLE: o->draw.title = p->value; break;
        case FLAME_WIDTH: return take_width(o, p);
        case FLAME_DEBUG_PATH: return cli_take_debug_path(p);
        case FLAME_BY:
        case FLAME_FROM:
        case FLAME_TO:
        case FLAME_AT:
        case FLAME_PROCESS:
        case FLAME_MIN_SHARE:
        case FLAME_FULL:
        case FLAME_RULES: CLI_FILTER_CASES(FLAME) : return cli_take_key(p, &o->request);
        case FLAME_OPTION_NONE: break;
        }
        return true;
}

bool flame_options_parse(int argc, char **argv, struct flame_command_options *ret,
                         int *ret_exit_status) {
        struct cli_parser p;
        bool ok = true;
        int id;

        *ret = (struct flame_command_options){.draw = FLAME_OPTIONS_DEFAULT,
                                              .request = REQUEST_DEFAULT};
        ret->draw.ask.request = &ret->request;
        cli_missing_names_init();
        cli_parser_init(&p, &flame_command, argc, argv);
        while (ok && (id = cli_parser_next(&p)) != CLI_END) {
                if (id == CLI_STOP)
                        ok = false;
                else if (id == CLI_OPERAND)
                        ok = take_file(ret, &p);
                else
                        ok = take_option(ret, (enum flame_option)id, &p);
        }
        if (ok && !ret->draw.ask.path) {
                cli_parser_error(&p, "no trace given: write 'silt flame FILE'");
                ok = false;
        }
        ok = ok && cli_check_request(&p, &ret->request, REQUEST_FLAME);
        *ret_exit_status = p.exit_status;
        return ok;
}

void flame_command_done(struct flame_command_options *c) {
        request_done(&c->request);
}

/* ---- the file ---------------------------------------------------------------------------------- */

/* server.silt → server.svg, in the working directory. */
static void add_default_output(const char *trace, struct str *to) {
        const char *slash = strrchr(trace, '/');
        const char *name = slash && slash[1] ? slash + 1 : trace;

        str_addn(to, name, strlen(name) - (ends_with(name, ".silt") ? strlen(".silt") : 0));
        str_add(to, ".svg");
}

/* The page, opened on the flame graph of the request. */
static int make_page(const struct flame_command_options *o, struct err *reterr) {
        const struct page_product product = {
                .path = o->draw.ask.path,
                .old_path = o->draw.old_path,
                .output = o->output,
                .force = o->force,
                .page = {.view = o->draw.old_path ? "compare" : "flame",
                         .request = &o->request,
                         .is_reversed = o->draw.is_reversed,
                         .is_compared = o->draw.old_path != NULL,
                         .title = o->draw.title},
        };

        return page_product_make(&product, reterr);
}

struct flame_drawing {
        const struct flame_command_options *options;
        struct flame_result result;
};

static int draw(void *ctx, FILE *out, struct err *reterr) {
        struct flame_drawing *d = ctx;

        return flame_draw(out, &d->options->draw, &d->result, reterr);
}

static int draw_into_file(const struct flame_command_options *o, const char *path,
                          struct err *reterr) {
        const struct product product = {path, FLAME_MARK, FLAME_MARK_WITHIN, o->force, false};
        struct flame_drawing d = {.options = o};
        struct unit_text size, frames;
        size_t n;
        int r = product_draw(&product, draw, &d, &n, reterr);

        if (r >= 0)
                cli_say("flame graph: %s (%s, %s frame%s): %s", path, unit_bytes(&size, n),
                        unit_count(&frames, d.result.n_frames), unit_s(d.result.n_frames),
                        d.result.n_frames ? "open it in a browser"
                                          : "there is nothing to draw; the picture says why");
        return r;
}

int cmd_flame(int argc, char **argv) {
        struct flame_command_options options;
        struct flame_result result;
        struct str path = {0};
        struct err err = {0};
        int exit_status, r;

        if (!flame_options_parse(argc, argv, &options, &exit_status)) {
                flame_command_done(&options);
                return exit_status;
        }
        options.request.rules.with_config = true;
        if (options.output)
                str_add(&path, options.output);
        else
                add_default_output(options.draw.ask.path, &path);
        if (options.is_page)
                r = make_page(&options, &err);
        else if (strcmp(str_text(&path), "-") == 0)
                r = flame_draw(stdout, &options.draw, &result, &err);
        else
                r = draw_into_file(&options, str_text(&path), &err);
        flame_command_done(&options);
        str_done(&path);
        cli_say_err(r, &err);
        if (r < 0)
                return EXIT_STATUS_TROUBLE;
        return EXIT_STATUS_OK;
}
