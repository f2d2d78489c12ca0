/* SPDX-License-Identifier: MIT */
/* Folded stacks, as scripts for flame graphs write and read them:
 *
 *   main;serve;parse 1204                   a call path, the outermost function first, and a weight
 *
 * Nobody knows what the weights are. A line given twice adds up. Weights with decimals are read in parts of one, as fine as the
 * finest of them: the file is read once more before, to see how fine that is. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/units.h"
#include "import/import_format.h"

enum { FOLDED_MAX_FRAMES = 4096, FOLDED_MAX_DECIMALS = 9 };

#define FOLDED_MAX_SUM 1e18

struct folded_weight {
        uint64_t whole, part; /* part: of one, in as many decimals */
        unsigned n_decimals;
};

/* The number behind the last blank, which becomes the end of the path; NULL: there is none. Decimals beyond the ninth are left out. */
static char *find_weight(char *line, struct folded_weight *ret) {
        char *blank = strrchr(line, ' '), *at;

        if (!blank || blank == line || blank[1] < '0' || blank[1] > '9')
                return NULL;
        errno = 0;
        *ret = (struct folded_weight){.whole = strtoull(blank + 1, &at, 10)};
        if (*at == '.')
                for (at++; *at >= '0' && *at <= '9'; at++)
                        if (ret->n_decimals < FOLDED_MAX_DECIMALS) {
                                ret->part = ret->part * 10 + (uint64_t)(*at - '0');
                                ret->n_decimals++;
                        }
        for (; ret->n_decimals && ret->part % 10 == 0; ret->n_decimals--) /* 2.50 */
                ret->part /= 10;
        return *at || errno || ret->whole >> 62 ? NULL : blank;
}

static uint64_t power_of_ten(unsigned n) {
        uint64_t power = 1;

        while (n--)
                power *= 10;
        return power;
}

/* In parts of one with so many decimals; finer ones are left out. False: too large. */
static bool scale_weight(const struct folded_weight *w, unsigned n_decimals, uint64_t *ret) {
        uint64_t part = w->n_decimals > n_decimals
                                ? w->part / power_of_ten(w->n_decimals - n_decimals)
                                : w->part * power_of_ten(n_decimals - w->n_decimals);

        return !__builtin_mul_overflow(w->whole, power_of_ten(n_decimals), ret) &&
               !__builtin_add_overflow(*ret, part, ret) && !(*ret >> 62);
}

/* No mark says what it is: the first line, whole and of text, has to have the form. */
static bool matches(const uint8_t *head, size_t n) {
        const uint8_t *end = memchr(head, '\n', n);
        size_t len = end ? (size_t)(end - head) : n;
        struct folded_weight weight;
        char *line;
        bool is_it;

        for (size_t i = 0; i < len; i++)
                if (head[i] < ' ' && head[i] != '\r')
                        return false;
        line = strndup((const char *)head, len);
        if (!line)
                abort();
        if (len && line[len - 1] == '\r')
                line[len - 1] = '\0';
        line[strcspn(line, "\r")] =
                '\0'; /* the first of lines that end so alone: refused when it is read */
        is_it = (end || n < IMPORT_HEAD_BYTES) && find_weight(line, &weight) && line[0] != '#';
        free(line);
        return is_it;
}

static int put_path(struct import_trace *t, const struct import_input *in, char *path,
                    uint64_t weight, struct err *reterr) {
        uint32_t stack = 0;
        char *name;
        size_t n = 0;
        int r;

        while ((name = strsep(&path, ";"))) {
                const struct import_function function = {.name = name};
                const struct import_place place = {.functions = &function, .n_functions = 1};

                if (++n > FOLDED_MAX_FRAMES)
                        return import_input_refuse(in, reterr,
                                                   "a call path of more than %d functions",
                                                   FOLDED_MAX_FRAMES);
                r = import_trace_call(t, &place, &stack, reterr);
                if (r < 0)
                        return r;
        }
        r = import_trace_total(t, stack, &(struct import_total){1, weight, 0, 0});
        return r < 0 ? import_input_refuse(in, reterr, "weights do not fit into 64 bits") : 0;
}

/* "goroutine profile: total 7": counts by call path in another form. */
static bool is_of_go(const char *line) {
        static const char *const marks[] = {"goroutine profile: total ",
                                            "threadcreate profile: total "};

        for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
                if (strncmp(line, marks[i], strlen(marks[i])) == 0)
                        return true;
        return false;
}

static bool is_comment(const char *line) {
        return line[0] == '#' || line[0] == '\0';
}

/* As many decimals as the finest weight has, and the sum of all leaves room for. */
static int survey(struct import_input *in, unsigned *ret_n_decimals, struct err *reterr) {
        struct folded_weight weight;
        struct import_input first;
        double sum = 0;
        char *line;
        size_t n;
        int r = import_input_open(&first, in->fd, in->path, reterr);

        *ret_n_decimals = 0;
        while (r >= 0 && (r = import_input_line(&first, &line, &n, reterr)) > 0)
                if (!is_comment(line) && find_weight(line, &weight)) {
                        *ret_n_decimals = MAX(*ret_n_decimals, weight.n_decimals);
                        sum += (double)weight.whole + 1;
                }
        import_input_done(&first);
        while (*ret_n_decimals && sum * (double)power_of_ten(*ret_n_decimals) > FOLDED_MAX_SUM)
                --*ret_n_decimals;
        return r;
}

static int take_line(struct import_trace *t, const struct import_input *in, char *line,
                     unsigned n_decimals, uint64_t *sum, struct err *reterr) {
        char *end, *path = line;
        struct folded_weight weight;
        uint64_t value;

        end = find_weight(line, &weight);
        if (in->n_lines == 1 && is_of_go(line))
                return import_input_refuse(
                        in, reterr,
                        "a profile of Go in text (debug=1) that is not of the heap: write it without debug=1");
        if (!end)
                return import_input_refuse(in, reterr, "'%.40s' ends with no weight", line);
        *end = '\0';
        if (!scale_weight(&weight, n_decimals, &value) ||
            __builtin_add_overflow(*sum, value, sum) || *sum >> 62)
                return import_input_refuse(in, reterr, "weights do not fit into 64 bits");
        return value ? put_path(t, in, path, value, reterr) : 0;
}

static void tell_decimals(struct import_trace *t, unsigned n_decimals) {
        struct unit_text times;
        char text[100];

        if (!n_decimals)
                return;
        snprintf(text, sizeof(text), "Its weights have decimals: figures are %s times as large",
                 unit_count(&times, power_of_ten(n_decimals)));
        import_trace_limit(t, text);
}

static int read_folded(struct import_input *in, struct import_trace *t, struct err *reterr) {
        unsigned n_decimals;
        uint64_t sum = 0;
        char *line;
        size_t n;
        int r = survey(in, &n_decimals, reterr);

        if (r >= 0)
                r = import_trace_begin(t,
                                       &(struct import_begin){.is_totals = true,
                                                              .has_no_time = true,
                                                              .has_no_blocks = true,
                                                              .unit = TRACE_UNIT_OTHER},
                                       reterr);
        while (r >= 0 && (r = import_input_line(in, &line, &n, reterr)) > 0) {
                if (memchr(line, '\r', n))
                        return import_input_refuse(
                                in, reterr,
                                "its lines end with a carriage return alone: convert it with tr '\\r' '\\n'");
                if (!is_comment(line))
                        r = take_line(t, in, line, n_decimals, &sum, reterr);
        }
        if (r < 0)
                return r;
        tell_decimals(t, n_decimals);
        return import_trace_moment(t, 0, reterr);
}

const struct import_format import_folded = {
        .name = "folded",
        .title = "a file of folded stacks",
        .lacks = "weights by call path, but does not say of what, and no times",
        .matches = matches,
        .read = read_folded,
};
