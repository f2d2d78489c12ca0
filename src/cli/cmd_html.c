/* SPDX-License-Identifier: MIT */
/* silt html: reads the command line, leaves the page to page/, and puts it where it belongs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/answerer.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/units.h"
#include "cli/asking.h"
#include "cli/commands.h"
#include "cli/help_html.h"
#include "cli/missing_names.h"
#include "cli/product.h"
#include "page/page_assets.h"
#include "page/page_file.h"

struct html_command_options {
        const char *path;
        const char *output; /* NULL: not given */
        struct request request;
        bool force;
};

static const struct cli_command html_command = {
        .name = "html",
        .help_text = html_help_text,
        .options = html_option_table,
        .n_options = ARRAY_SIZE(html_option_table),
        .usage_exit_status = EXIT_STATUS_TROUBLE,
};

/* ---- options ----------------------------------------------------------------------------------- */

static bool take_file(struct html_command_options *o, struct cli_parser *p) {
        if (o->path) {
                cli_parser_error(p, "more than one trace given: leave out '%s'", p->value);
                return false;
        }
        o->path = p->value;
        return true;
}

/* False after an error was printed. */
static bool take_option(struct html_command_options *o, enum html_option option,
                        struct cli_parser *p) {
        switch (option) {
        case HTML_OUTPUT: o->output = p->value; break;
        case HTML_FORCE: o->force = true; break;
        case HTML_DEBUG_PATH: return cli_take_debug_path(p);
        case HTML_RULES: return cli_take_key(p, &o->request);
        case HTML_OPTION_NONE: break;
        }
        return true;
}

static bool parse(int argc, char **argv, struct html_command_options *ret, int *ret_exit_status) {
        struct cli_parser p;
        bool ok = true;
        int id;

        cli_missing_names_init();
        cli_parser_init(&p, &html_command, argc, argv);
        while (ok && (id = cli_parser_next(&p)) != CLI_END) {
                if (id == CLI_STOP)
                        ok = false;
                else if (id == CLI_OPERAND)
                        ok = take_file(ret, &p);
                else
                        ok = take_option(ret, (enum html_option)id, &p);
        }
        if (ok && !ret->path) {
                cli_parser_error(&p, "no trace given: write 'silt html FILE -o OUT.html'");
                ok = false;
        }
        if (ok && !ret->output) {
                cli_parser_error(&p, "no file given for the page: add '-o OUT.html'");
                ok = false;
        }
        *ret_exit_status = p.exit_status;
        return ok;
}

/* ---- the file ---------------------------------------------------------------------------------- */

static int make_page(const struct html_command_options *o, FILE *out, struct page_file_result *ret,
                     struct err *reterr) {
        _cleanup_(answerer_freep) struct answerer *a = NULL;
        _cleanup_(asker_freep) struct asker *k = NULL;
        const struct answerer_options options = {.path = o->path, .rules = o->request.rules};
        int r;

        if (!page_is_built())
                return err_set(reterr, -ENOTSUP,
                               "this silt was built without the page: build it with -Dweb=true");
        r = answerer_new(&options, &a, reterr);
        if (r < 0)
                return r;
        k = asker_new(a);
        return page_file_write(out, k, &(struct page_file_options){.start = ""}, ret, reterr);
}

static int make_file(const struct html_command_options *o, struct err *reterr) {
        const struct product product = {o->output, PAGE_FILE_MARK, PAGE_FILE_MARK_WITHIN, o->force,
                                        true};
        struct page_file_result result = {0};
        struct unit_text size;
        char *text = NULL;
        size_t n = 0;
        FILE *out;
        int r = product_check(&product, reterr); /* before the work */

        if (r < 0)
                return r;
        out = open_memstream(&text, &n);
        if (!out)
                abort();
        r = make_page(o, out, &result, reterr);
        fclose(out);
        if (r >= 0)
                r = product_write(&product, text, n, reterr);
        if (r >= 0)
                fprintf(stderr, "silt: page: %s (%s): open it in a browser, or mail it\n",
                        o->output, unit_bytes(&size, n));
        free(text);
        return r;
}

int cmd_html(int argc, char **argv) {
        struct html_command_options o = {.request = REQUEST_DEFAULT};
        struct page_file_result result;
        struct err err = {0};
        int exit_status, r;

        if (!parse(argc, argv, &o, &exit_status)) {
                request_done(&o.request);
                return exit_status;
        }
        o.request.rules.with_config = true;
        r = strcmp(o.output, "-") == 0 ? make_page(&o, stdout, &result, &err) : make_file(&o, &err);
        request_done(&o.request);
        cli_say_err(r, &err);
        return r < 0 ? EXIT_STATUS_TROUBLE : EXIT_STATUS_OK;
}
