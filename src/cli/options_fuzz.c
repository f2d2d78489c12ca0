/* SPDX-License-Identifier: MIT */
/* Any words as the command lines of run, attach, report, view, diff, check, source, flame and snapshot, and as sizes, times and conditions: refused in one
 * line, or understood. The input is words with tabs or NULs between them; the bits of the first byte choose the command ('0'
 * report, '1' run, '2' diff, '4' source, '6' check, '8' flame, '@' snapshot, those from 128 on attach, those from 192 on view).
 *
 * covers: src/cli/options.c src/cli/asking.c src/base/units.c src/query/filter.c src/record/snapshot_protocol.c */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/units.h"
#include "cli/cmd_parse.h"
#include "cli/options.h"
#include "query/query.h"
#include "record/supervisor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_WORDS = 32 };

/* Figures of traces whose bytes are something else. */
static void fuzz_weights(uint64_t n) {
        struct unit_text t;

        for (unsigned unit = UNIT_BYTES; unit <= UNIT_OTHER; unit++) {
                unit_set_weights(unit);
                unit_weight(&t, n);
                if ((size_t)unit_weight_width() < strlen(unit_weight_name()))
                        abort();
                if (!strchr("+-", unit_weight_signed(&t, (int64_t)~n)[0]))
                        abort();
        }
        unit_set_weights(UNIT_BYTES);
}

static void fuzz_numbers(const char *word) {
        struct unit_text t;
        struct err err = {0};
        uint64_t n = 0;

        if (unit_parse_bytes(word, &n, &err) < 0 && (!err.text[0] || strchr(err.text, '\n')))
                abort();
        unit_bytes(&t, n);
        unit_bytes_signed(&t, (int64_t)~n);
        unit_count(&t, n);
        fuzz_weights(n);
        if (unit_parse_duration(word, &n, &err) < 0 && !err.text[0])
                abort();
        unit_duration(&t, n);
        if (unit_parse_count(word, &n, &err) < 0 && !err.text[0])
                abort();
}

static void fuzz_filter(const struct query_filter *f) {
        if (strchr(query_filter_text(f), '\n'))
                abort();
        query_filter_needs_events(f);
        query_filter_is_by_age(f);
        query_filter_has_ages(f);
        query_filter_has_sites(f);
}

/* Each word as a condition of the next one, as others than the command line name them: refused in one line, or kept. */
static void fuzz_conditions(char *const *words, int n) {
        struct query_filter *f = query_filter_new();
        size_t n_kept = 0;

        for (int i = 1; i + 1 < n; i++) {
                struct err err = {0};

                if (query_filter_add(f, words[i], words[i + 1], &err) >= 0) {
                        if (strcmp(query_filter_condition(f, n_kept++).value, words[i + 1]) != 0)
                                abort();
                } else if (!err.text[0] || strchr(err.text, '\n')) {
                        abort();
                }
        }
        if (query_filter_n(f) != n_kept || query_filter_is_empty(f) != !n_kept)
                abort();
        fuzz_filter(f);
        query_filter_free(f);
}

/* What went to stderr is nothing, or one line. */
static void check_said(FILE *said, char *const *text, const size_t *n, bool understood) {
        fflush(said); /* fills text and n */
        if (understood ? *n != 0 : *n && strchr(*text, '\n') != *text + *n - 1)
                abort();
}

/* Whatever a name is, it stays in its line. */
static void fuzz_said(const char *word) {
        FILE *usual = stderr;
        char *text = NULL;
        size_t n = 0;

        stderr = open_memstream(&text, &n); /* glibc's is a variable */
        cli_say("'%s'", word);
        fclose(stderr);
        stderr = usual;
        for (size_t i = 0; i < n; i++)
                if ((unsigned char)text[i] < ' ' && (text[i] != '\n' || i + 1 < n))
                        abort();
        free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        char *words[MAX_WORDS + 1] = {(char *)"silt"}, *copy, *said_text = NULL;
        FILE *said, *usual_stderr = stderr, *usual_stdout = stdout;
        size_t n_said = 0;
        int n = 1, status;

        if (size < 2)
                return 0;
        copy = malloc(size);
        memcpy(copy, data + 1, size - 1);
        copy[size - 1] = 0;
        for (size_t i = 0; i < size; i++)
                if (copy[i] == '\t')
                        copy[i] = 0;
        for (char *p = copy; p < copy + size && n < MAX_WORDS; p += strlen(p) + 1) {
                words[n++] = p;
                fuzz_numbers(p);
                fuzz_said(p);
        }
        fuzz_conditions(words, n);
        said = open_memstream(&said_text, &n_said);
        stderr = said; /* glibc's are variables */
        stdout = fopen("/dev/null", "w");
        if (data[0] & 1) {
                struct run_options o;
                bool understood = run_options_parse(n, words, &o, &status);

                check_said(said, &said_text, &n_said, understood);
        } else if ((data[0] & 192) == 128) {
                struct attach_command c;
                bool understood = attach_options_parse(n, words, &c, &status);

                check_said(said, &said_text, &n_said, understood);
        } else if ((data[0] & 192) == 64) {
                struct snapshot_options o;
                bool understood = snapshot_options_parse(n, words, &o, &status);

                check_said(said, &said_text, &n_said, understood);
        } else if ((data[0] & 6) == 6) {
                struct check_command c;
                bool understood = check_options_parse(n, words, &c, &status);

                check_said(said, &said_text, &n_said, understood);
                check_command_done(&c);
        } else if (data[0] & 2) {
                struct diff_command c;
                bool understood = diff_options_parse(n, words, &c, &status);

                check_said(said, &said_text, &n_said, understood);
                diff_command_done(&c);
        } else if (data[0] & 4) {
                struct source_command c;
                bool understood = source_options_parse(n, words, &c, &status);

                check_said(said, &said_text, &n_said, understood);
                source_command_done(&c);
        } else if (data[0] & 64) {
                struct view_command c;
                bool understood = view_options_parse(n, words, &c, &status);

                check_said(said, &said_text, &n_said, understood);
                view_command_done(&c);
        } else if (data[0] & 8) {
                struct flame_command_options o;
                bool understood = flame_options_parse(n, words, &o, &status);

                check_said(said, &said_text, &n_said, understood);
                flame_command_done(&o);
        } else {
                struct report_command c;
                bool understood = report_options_parse(n, words, &c, &status);

                check_said(said, &said_text, &n_said, understood);
                fuzz_filter(c.request.filter);
                report_command_done(&c);
        }
        fclose(stdout);
        stdout = usual_stdout;
        stderr = usual_stderr;
        fclose(said);
        free(said_text);
        free(copy);
        return 0;
}
