/* SPDX-License-Identifier: MIT */
/* silt export: reads the command line, leaves the writing to export/, and puts what it wrote where it belongs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/str.h"
#include "base/units.h"
#include "cli/asking.h"
#include "cli/commands.h"
#include "cli/help_export.h"
#include "cli/missing_names.h"
#include "cli/options.h"
#include "cli/product.h"
#include "export/export.h"

struct export_command {
        struct export_options options;
        struct request request;
        const char *output; /* NULL: by the name of the trace; "-": standard output */
        bool force;
};

static const struct cli_command export_command = {
        .name = "export",
        .help_text = export_help_text,
        .options = export_option_table,
        .n_options = ARRAY_SIZE(export_option_table),
        .usage_exit_status = EXIT_STATUS_TROUBLE,
};

static bool take_format(struct export_command *c, struct cli_parser *p) {
        struct err err = {0};

        if (export_format_find(p->value, &c->options.format, &err) >= 0)
                return true;
        cli_parser_error(p, "--format: %s", err.text);
        return false;
}

/* False after an error was printed. */
static bool take_option(struct export_command *c, enum export_option option, struct cli_parser *p) {
        switch (option) {
        case EXPORT_FORMAT: return take_format(c, p);
        case EXPORT_OUTPUT: c->output = p->value; break;
        case EXPORT_FORCE: c->force = true; break;
        case EXPORT_DEBUG_PATH: return cli_take_debug_path(p);
        case EXPORT_BY:
        case EXPORT_FROM:
        case EXPORT_TO:
        case EXPORT_AT:
        case EXPORT_PROCESS: CLI_FILTER_CASES(EXPORT) : return cli_take_key(p, &c->request);
        case EXPORT_OPTION_NONE: break;
        }
        return true;
}

static bool parse(int argc, char **argv, struct export_command *c, int *ret_exit_status) {
        struct cli_parser p;
        bool ok = true;
        int id;

        cli_missing_names_init();
        cli_parser_init(&p, &export_command, argc, argv);
        while (ok && (id = cli_parser_next(&p)) != CLI_END) {
                if (id == CLI_STOP) {
                        ok = false;
                } else if (id != CLI_OPERAND) {
                        ok = take_option(c, (enum export_option)id, &p);
                } else if (c->options.path) {
                        cli_parser_error(&p, "more than one trace given: leave out '%s'", p.value);
                        ok = false;
                } else {
                        c->options.path = p.value;
                }
        }
        if (ok && !c->options.path) {
                cli_parser_error(&p, "no trace given: write 'silt export FILE --format FORMAT'");
                ok = false;
        }
        if (ok && !c->options.format) {
                struct str names = {0};

                export_add_names(&names);
                cli_parser_error(&p, "no format given: add --format with one of %s",
                                 str_text(&names));
                str_done(&names);
                ok = false;
        }
        ok = ok && cli_check_request(&p, &c->request, REQUEST_EXPORT);
        *ret_exit_status = p.exit_status;
        return ok;
}

/* ---- the file ---------------------------------------------------------------------------------- */

/* server.silt → server.folded, in the working directory. */
static void add_default_output(const struct export_command *c, struct str *to) {
        const char *slash = strrchr(c->options.path, '/');
        const char *name = slash && slash[1] ? slash + 1 : c->options.path;
        size_t n = strlen(name);

        if (n > strlen(".silt") && strcmp(name + n - strlen(".silt"), ".silt") == 0)
                n -= strlen(".silt");
        str_addn(to, name, n);
        str_add(to, c->options.format->ending);
}

/* What whoever reads the file alone does not learn. */
static void tell_missing(const struct export_command *c, struct export_told *told) {
        if (told->note[0])
                cli_say("%s", told->note);
        if (told->unseen.n)
                cli_say("%s: %s", c->options.path, str_text(&told->unseen));
        if (told->damage[0])
                cli_say("'%s' is incomplete, and so is what was written: %s", c->options.path,
                        told->damage);
}

/* "call paths", of one "call path". */
static const char *rows_word(const struct export_told *told, char *ret) {
        size_t n = strlen(told->rows);

        snprintf(ret, 40, "%.*s", (int)(told->n_rows == 1 && n ? n - 1 : n), told->rows);
        return ret;
}

static void tell(const struct export_command *c, struct export_told *told, const char *path,
                 uint64_t n_bytes) {
        struct unit_text size, rows;
        char word[40];

        cli_say("%s: %s (%s, %s %s): %s", c->options.format->name, path, unit_bytes(&size, n_bytes),
                unit_count(&rows, told->n_rows), rows_word(told, word), c->options.format->opener);
        if (told->lacks && told->lacks[0])
                cli_say("the format has %s", told->lacks);
        tell_missing(c, told);
}

static int write_file(struct export_command *c, const char *path, struct err *reterr) {
        const struct product product = {.path = path, .force = c->force, .is_private = true};
        struct product_stream stream;
        struct export_told told = {0};
        uint64_t n_bytes = 0;
        FILE *out;
        int r = product_begin(&stream, &product, reterr);

        if (r < 0)
                return r;
        out = fdopen(dup(stream.fd), "w");
        if (!out)
                abort();
        c->options.output = path;
        r = export_write(out, &c->options, &told, reterr);
        n_bytes = (uint64_t)MAX(ftello(out), (off_t)0);
        if (fclose(out) != 0 && r >= 0)
                r = err_set_errno(reterr, -errno, "cannot write '%s'", path);
        r = product_end(&stream, r, reterr);
        if (r >= 0)
                tell(c, &told, path, n_bytes);
        export_told_done(&told);
        return r;
}

static int write_stdout(const struct export_command *c, struct err *reterr) {
        struct export_told told;
        int r;

        if (c->options.format->is_binary && isatty(STDOUT_FILENO))
                return err_set(reterr, -EINVAL, "%s is not for a terminal: name a file with -o",
                               c->options.format->name);
        r = export_write(stdout, &c->options, &told, reterr);
        if (r >= 0)
                tell_missing(c, &told);
        export_told_done(&told);
        return r;
}

int cmd_export(int argc, char **argv) {
        struct export_command c = {.request = REQUEST_DEFAULT};
        struct str path = {0};
        struct err err = {0};
        int exit_status, r;

        c.options.request = &c.request;
        if (!parse(argc, argv, &c, &exit_status)) {
                request_done(&c.request);
                return exit_status;
        }
        if (c.output)
                str_add(&path, c.output);
        else
                add_default_output(&c, &path);
        r = strcmp(str_text(&path), "-") == 0 ? write_stdout(&c, &err)
                                              : write_file(&c, str_text(&path), &err);
        request_done(&c.request);
        str_done(&path);
        cli_say_err(r, &err);
        return r < 0 ? EXIT_STATUS_TROUBLE : EXIT_STATUS_OK;
}
