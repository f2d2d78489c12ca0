/* SPDX-License-Identifier: MIT */
#include "cli/options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/near.h"
#include "base/str.h"
#include "base/units.h"
#include "base/visible.h"

void cli_parser_init(struct cli_parser *p, const struct cli_command *command, int argc,
                     char **argv) {
        *p = (struct cli_parser){.command = command, .argc = argc, .argv = argv, .next_idx = 1};
}

int cli_parser_error(struct cli_parser *p, const char *fmt, ...) {
        struct err e;
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(e.text, sizeof(e.text), fmt, ap);
        va_end(ap);
        err_make_one_line(e.text);
        fprintf(stderr, "silt: %s: %s\n", p->command->name, e.text);
        p->exit_status = p->command->usage_exit_status;
        return p->exit_status;
}

/* Options other programs have for what silt calls otherwise. */
static const struct near_other other_options[] = {
        {"pid", "process"},
        {"out", "output"},
        {"reversed", "reverse"},
        {"inverted", "reverse"},
        {"since", "from"},
        {"until", "to"},
        {"begin", "from"},
        {"start", "from"},
        {"end", "to"},
        {"time", "at"},
        {"sort", "by"},
        {"metric", "by"},
        {"sort-by", "by"},
        {"order-by", "by"},
        {"limit", "top"},
        {"filter", "function"},
        {"symbol", "function"},
        {"exclude", "not-function"},
        {"lib", "module"},
        {"library", "module"},
        {"dso", "module"},
        {"min-age", "older-than"},
        {"age", "older-than"},
        {"all", "full"},
        {"verbose", "full"},
        {"overwrite", "force"},
        {"baseline", "against"},
        {"base", "against"},
        {"threshold", "fail-above"},
        {"group", "group-by"},
        {"inverse", "reverse"},
        {"timeout", "duration"},
        {"rate", "sample"},
};

/* The option that was probably meant; NULL: none is like it. */
static const char *option_near(const struct cli_command *command, const char *name, size_t n) {
        struct near near;

        near_init(&near, name, n);
        for (size_t i = 0; i < command->n_options; i++)
                near_offer(&near, command->options[i].long_name);
        for (size_t i = 0; i < ARRAY_SIZE(other_options); i++)
                for (size_t k = 0; k < command->n_options; k++)
                        if (strcmp(command->options[k].long_name, other_options[i].means) == 0)
                                near_offer_other(&near, &other_options[i]);
        return near_best(&near);
}

static int stop_unknown(struct cli_parser *p, const char *dashes, const char *name, size_t n) {
        const char *meant = dashes[1] ? option_near(p->command, name, n) : NULL;

        if (meant)
                cli_parser_error(p, "unknown option '%s%.*s': did you mean '--%s'?", dashes, (int)n,
                                 name, meant);
        else
                cli_parser_error(p, "unknown option '%s%.*s': see 'silt %s --help'", dashes, (int)n,
                                 name, p->command->name);
        return CLI_STOP;
}

static int option_found(struct cli_parser *p, const struct cli_option *o) {
        p->name = o->long_name;
        if (o->id != CLI_OPTION_HELP)
                return o->id;
        fputs(p->command->help_text, stdout);
        p->exit_status = 0;
        return CLI_STOP;
}

/* The word after an option that needs a value. */
static int take_value(struct cli_parser *p, const struct cli_option *o) {
        if (p->next_idx >= p->argc) {
                cli_parser_error(p, "option '--%s' needs a value: write '--%s %s'", o->long_name,
                                 o->long_name, o->value_name);
                return CLI_STOP;
        }
        p->value = p->argv[p->next_idx++];
        return option_found(p, o);
}

static int next_long(struct cli_parser *p, const char *word) {
        const char *equals = strchr(word, '=');
        size_t n = equals ? (size_t)(equals - word) : strlen(word);

        for (size_t i = 0; i < p->command->n_options; i++) {
                const struct cli_option *o = &p->command->options[i];

                if (strncmp(o->long_name, word, n) != 0 || o->long_name[n])
                        continue;
                if (equals && !o->value_name) {
                        cli_parser_error(p, "option '--%s' takes no value: leave out '%s'",
                                         o->long_name, equals);
                        return CLI_STOP;
                }
                if (!equals && o->value_name)
                        return take_value(p, o);
                p->value = equals ? equals + 1 : NULL;
                return option_found(p, o);
        }
        return stop_unknown(p, "--", word, n);
}

static int next_short(struct cli_parser *p) {
        char c = *p->cluster++;

        for (size_t i = 0; i < p->command->n_options; i++) {
                const struct cli_option *o = &p->command->options[i];
                const char *rest = p->cluster;

                if (o->short_name != c)
                        continue;
                if (!*rest || o->value_name)
                        p->cluster = NULL;
                if (o->value_name && !*rest)
                        return take_value(p, o);
                p->value = o->value_name ? rest : NULL;
                return option_found(p, o);
        }
        return stop_unknown(p, "-", &c, 1);
}

int cli_parser_next(struct cli_parser *p) {
        const char *word;

        if (p->cluster)
                return next_short(p);
        if (p->next_idx >= p->argc)
                return CLI_END;

        word = p->argv[p->next_idx];
        if (!p->only_operands && strcmp(word, "--") == 0) {
                p->next_idx++;
                p->only_operands = true;
                return cli_parser_next(p);
        }
        if (p->only_operands || word[0] != '-' || !word[1]) {
                if (p->command->stops_at_operand)
                        return CLI_END;
                p->next_idx++;
                p->value = word;
                return CLI_OPERAND;
        }

        p->next_idx++;
        if (word[1] == '-')
                return next_long(p, word + 2);
        p->cluster = word + 1;
        return next_short(p);
}

bool cli_value_duration(struct cli_parser *p, uint64_t *ret_ns) {
        struct err err = {0};

        if (unit_parse_duration(p->value, ret_ns, &err) >= 0)
                return true;
        cli_parser_error(p, "--%s: %s", p->name, err.text);
        return false;
}

bool cli_value_bytes(struct cli_parser *p, uint64_t *ret_bytes) {
        struct err err = {0};

        if (unit_parse_bytes(p->value, ret_bytes, &err) >= 0)
                return true;
        cli_parser_error(p, "--%s: %s", p->name, err.text);
        return false;
}

bool cli_value_count(struct cli_parser *p, uint64_t *ret_n) {
        struct err err = {0};

        if (unit_parse_count(p->value, ret_n, &err) >= 0)
                return true;
        cli_parser_error(p, "--%s: %s", p->name, err.text);
        return false;
}

bool cli_value_percent(struct cli_parser *p, double *ret_pct) {
        char *end = NULL;
        double v = p->value[0] >= '0' && p->value[0] <= '9' ? strtod(p->value, &end) : 0;

        if (!end || (end[0] != '\0' && strcmp(end, "%") != 0) || !(v >= 0 && v <= 1e9)) {
                cli_parser_error(p, "--%s: '%s' is not a percentage: write 3%%", p->name, p->value);
                return false;
        }
        *ret_pct = v;
        return true;
}

bool cli_value_number(struct cli_parser *p, uint64_t min, uint64_t max, uint64_t *ret_number) {
        unsigned long long number;
        char *end;

        errno = 0;
        number = strtoull(p->value, &end, 10);
        /* strtoull takes signs and blanks, which are no part of a count. */
        if (p->value[0] < '0' || p->value[0] > '9' || *end || errno || number < min ||
            number > max) {
                cli_parser_error(
                        p, "--%s: '%s' is not a number from %llu to %llu: see 'silt %s --help'",
                        p->name, p->value, (unsigned long long)min, (unsigned long long)max,
                        p->command->name);
                return false;
        }
        *ret_number = number;
        return true;
}

void cli_say(const char *fmt, ...) {
        struct str clean = {0};
        va_list args;
        char *line;

        va_start(args, fmt);
        if (vasprintf(&line, fmt, args) < 0)
                abort();
        va_end(args);
        visible_add(&clean, line);
        fprintf(stderr, "silt: %s\n", str_text(&clean));
        str_done(&clean);
        free(line);
}

void cli_say_err(int r, const struct err *err) {
        if (r < 0 || (err->text[0] && !err->code))
                fprintf(stderr, "silt: %s%s%s%s\n", err->key ? "--" : "", err->key ? err->key : "",
                        err->key ? ": " : "", err->text);
}
