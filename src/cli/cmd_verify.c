/* SPDX-License-Identifier: MIT */
/* silt verify: checks a trace with code that shares nothing with the reader. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/fs.h"
#include "base/macros.h"
#include "cli/commands.h"
#include "cli/help_verify.h"
#include "import/import.h"
#include "verify/verify.h"

static const struct cli_command verify_command = {
        .name = "verify",
        .help_text = verify_help_text,
        .options = verify_option_table,
        .n_options = ARRAY_SIZE(verify_option_table),
        .usage_exit_status = EXIT_STATUS_TROUBLE,
};

struct verify_options {
        const char *path;
        bool quiet;
};

static void take_option(struct verify_options *o, enum verify_option option) {
        switch (option) {
        case VERIFY_QUIET: o->quiet = true; break;
        case VERIFY_OPTION_NONE: break;
        }
}

/* False when silt is to end with p->exit_status. */
static bool parse(struct cli_parser *p, struct verify_options *o) {
        int id;

        while ((id = cli_parser_next(p)) != CLI_END) {
                if (id == CLI_STOP)
                        return false;
                if (id != CLI_OPERAND) {
                        take_option(o, (enum verify_option)id);
                } else if (o->path) {
                        cli_parser_error(p, "only one trace can be given: leave out '%s'",
                                         p->value);
                        return false;
                } else {
                        o->path = p->value;
                }
        }
        if (!o->path)
                cli_parser_error(p, "no trace given: write 'silt verify FILE'");
        return o->path != NULL;
}

/* A file that silt reads all the same: what is to be checked is made of it first. */
static int refuse_foreign(const char *path, struct err *reterr) {
        _cleanup_close_ int fd = fs_open(path, O_RDONLY, 0);
        const char *title = fd >= 0 ? import_title(fd) : NULL;

        return title ? err_set(reterr, -EINVAL,
                               "'%s' is %s, not a silt trace: make a trace of it with 'silt import'",
                               path, title)
                     : 0;
}

int cmd_verify(int argc, char **argv) {
        struct verify_options options = {0};
        struct err err = {0};
        struct cli_parser p;
        FILE *out = stdout;
        int r;

        cli_parser_init(&p, &verify_command, argc, argv);
        if (!parse(&p, &options))
                return p.exit_status;
        if (options.quiet)
                out = fopen("/dev/null", "we");
        if (!out) {
                fprintf(stderr,
                        "silt: verify: cannot open /dev/null: %m: run it without --quiet\n");
                return EXIT_STATUS_TROUBLE;
        }
        r = refuse_foreign(options.path, &err);
        if (r >= 0)
                r = trace_verify(options.path, out, &err);
        if (options.quiet)
                fclose(out);
        if (r < 0) {
                fprintf(stderr, "silt: %s\n", err.text);
                return EXIT_STATUS_TROUBLE;
        }
        return r ? EXIT_STATUS_FOUND : EXIT_STATUS_OK;
}
