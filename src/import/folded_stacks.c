/* SPDX-License-Identifier: MIT */
/* Folded stacks, as scripts for flame graphs write and read them:
 *
 *   main;serve;parse 1204                   a call path, the outermost function first, and a weight
 *
 * Nobody knows what the weights are. A line given twice adds up. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "import/import_format.h"

enum { FOLDED_MAX_FRAMES = 4096 };

/* The number behind the last blank, which becomes the end of the path; NULL: there is none. */
static char *find_weight(char *line, uint64_t *ret) {
        char *blank = strrchr(line, ' '), *end;

        if (!blank || blank == line || blank[1] < '0' || blank[1] > '9')
                return NULL;
        errno = 0;
        *ret = strtoull(blank + 1, &end, 10);
        return *end || errno || *ret >> 62 ? NULL : blank;
}

/* No mark says what it is: the first line, whole and of text, has to have the form. */
static bool matches(const uint8_t *head, size_t n) {
        const uint8_t *end = memchr(head, '\n', n);
        size_t len = end ? (size_t)(end - head) : n;
        uint64_t weight;
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

static int read_folded(struct import_input *in, struct import_trace *t, struct err *reterr) {
        uint64_t weight, sum = 0;
        char *line, *end;
        size_t n;
        int r = import_trace_begin(t,
                                   &(struct import_begin){.is_totals = true,
                                                          .has_no_time = true,
                                                          .has_no_blocks = true,
                                                          .unit = TRACE_UNIT_OTHER},
                                   reterr);

        if (r < 0)
                return r;
        while ((r = import_input_line(in, &line, &n, reterr)) > 0) {
                if (line[0] == '#' || line[0] == '\0')
                        continue;
                end = find_weight(line, &weight);
                if (in->n_lines == 1 && is_of_go(line))
                        return import_input_refuse(
                                in, reterr,
                                "a profile of Go in text (debug=1) that is not of the heap: write it without debug=1");
                if (!end)
                        return import_input_refuse(in, reterr, "'%.40s' ends with no weight", line);
                *end = '\0';
                if (__builtin_add_overflow(sum, weight, &sum) || sum >> 62)
                        return import_input_refuse(in, reterr, "weights do not fit into 64 bits");
                r = weight ? put_path(t, in, line, weight, reterr) : 0;
                if (r < 0)
                        return r;
        }
        return r < 0 ? r : import_trace_moment(t, 0, reterr);
}

const struct import_format import_folded = {
        .name = "folded",
        .title = "a file of folded stacks",
        .lacks = "weights by call path, but does not say of what, and no times",
        .matches = matches,
        .read = read_folded,
};
