/* SPDX-License-Identifier: MIT */
/* silt html: reads the command line, leaves the page to page/, and puts it where it belongs. */

#include "base/macros.h"
#include "cli/asking.h"
#include "cli/commands.h"
#include "cli/help_html.h"
#include "cli/missing_names.h"
#include "cli/page_product.h"

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
        case HTML_COMPONENTS:
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

int cmd_html(int argc, char **argv) {
        struct html_command_options o = {.request = REQUEST_DEFAULT};
        struct page_product product = {.page = PAGE_FILE_OPTIONS_DEFAULT};
        struct err err = {0};
        int exit_status, r;

        if (!parse(argc, argv, &o, &exit_status)) {
                request_done(&o.request);
                return exit_status;
        }
        o.request.rules.with_config = true;
        product.path = o.path, product.output = o.output, product.force = o.force;
        product.page.request = &o.request;
        r = page_product_make(&product, &err);
        request_done(&o.request);
        cli_say_err(r, &err);
        return r < 0 ? EXIT_STATUS_TROUBLE : EXIT_STATUS_OK;
}
