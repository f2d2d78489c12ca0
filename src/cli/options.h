/* SPDX-License-Identifier: MIT */
/* Reads a command line against a table of options.
 *
 * Tables and help texts are generated from man/silt-CMD.md, the one source of each option; a
 * command includes its generated header and switches over the option's name.
 *
 *   cli_parser_init(&p, &command, argc, argv);
 *   while ((id = cli_parser_next(&p)) != CLI_END)
 *           switch (id) {
 *           case CLI_STOP: return p.exit_status;     (help or an error was printed)
 *           case CLI_OPERAND: use p.value; break;
 *           case RUN_OUTPUT: use p.value; break;
 *           }
 *
 * Options and operands may be mixed, except where the first operand begins another program's
 * command line. "--" ends the options. --name=value, --name value, -ovalue and -o value are
 * understood, and -qf as -q -f. Long names are never abbreviated: a script must not change its
 * meaning when an option is added. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cli_option {
        int id;          /* > 0 */
        char short_name; /* 0: none */
        const char *long_name;
        const char *value_name; /* NULL: takes no value */
};

struct cli_command {
        const char *name;
        const char *help_text;
        const struct cli_option *options;
        size_t n_options;
        bool stops_at_operand; /* what follows the first operand belongs to another program */
        int usage_exit_status; /* after a wrong command line */
};

enum {
        CLI_END = 0,
        CLI_OPERAND = -1,
        CLI_STOP = -2,
        CLI_OPTION_HELP = 1 << 20, /* above all generated ids */
};

struct cli_parser {
        const struct cli_command *command;
        int argc;
        char **argv;
        int next_idx;        /* the next word of argv; where operands begin after CLI_END */
        const char *cluster; /* rest of a word such as -qf, or NULL */
        const char *value;   /* of the option or operand just returned */
        const char *name;    /* of the option just returned, as in the table's long_name */
        bool only_operands;
        int exit_status; /* valid after CLI_STOP */
};

/* argv[0] is the name of the command. */
void cli_parser_init(struct cli_parser *p, const struct cli_command *command, int argc,
                     char **argv);
int cli_parser_next(struct cli_parser *p);

/* Convert p->value. On failure the error has been printed: return p->exit_status. */
bool cli_value_duration(struct cli_parser *p, uint64_t *ret_ns);
bool cli_value_bytes(struct cli_parser *p, uint64_t *ret_bytes);
/* 5000, 100K, 2M: thousands, not 1024. */
bool cli_value_count(struct cli_parser *p, uint64_t *ret_n);
bool cli_value_number(struct cli_parser *p, uint64_t min, uint64_t max, uint64_t *ret_number);

/* 3%, 0.5 or 12.5%: from 0 on. */
bool cli_value_percent(struct cli_parser *p, double *ret_pct);

/* Prints "silt: <command>: <text>" on stderr and returns the exit status for a wrong command line. */
int cli_parser_error(struct cli_parser *p, const char *fmt, ...)
        __attribute__((format(printf, 2, 3)));

/* A line of what was done, in which names and paths of others stand: what would move the cursor is shown as \xNN. */
void cli_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Prints why a command failed (r < 0), or what is worth saying although it did not. */
struct err;
void cli_say_err(int r, const struct err *err);
