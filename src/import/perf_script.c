/* SPDX-License-Identifier: MIT */
/* What `perf script` prints:
 *
 *   server 4711 [002] 1234.567890:     250000 cpu-clock:u:    comm pid cpu time: period event:
 *           401136 hot+0x20 (/usr/bin/server)                 innermost first; without call graphs on the line above
 *           401180 main+0x10 (/usr/bin/server)
 *                                                             an empty line ends a sample
 *
 * Periods are of the event's own kind, so it is samples that are counted, of the first event alone. Addresses are those of memory and
 * perf does not say where files lay: places are known by function. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/import_format.h"
#include "import/import_frames.h"

enum { PERF_MAX_FRAMES = 4096 };

struct perf_script {
        struct import_input *in;
        struct import_trace *t;
        struct import_frames frames;
        char *event; /* the first */
        uint64_t n_others;
        bool is_in_sample, is_counted;
};

static const char *skip_blanks(const char *text) {
        return text + strspn(text, " \t");
}

/* "1234.567890:", the time. */
static bool is_time(const char *word, size_t n) {
        size_t i = 0, n_points = 0;

        while (i < n && (isdigit((unsigned char)word[i]) || word[i] == '.'))
                n_points += word[i++] == '.';
        return i + 1 == n && word[i] == ':' && n_points == 1 && n > 3;
}

/* The event's name behind the time; *ret_rest what follows it. False: the line is not the head of a sample. */
static bool find_event(const char *line, const char **ret, size_t *ret_n, const char **ret_rest) {
        const char *word = line;
        bool has_time = false;
        size_t n;

        if (line[0] == ' ' || line[0] == '\t')
                return false;
        for (; *word; word = skip_blanks(word + n)) {
                n = strcspn(word, " \t");
                if (has_time && word[n - 1] == ':') {
                        *ret = word;
                        *ret_n = n - 1;
                        *ret_rest = skip_blanks(word + n);
                        return true;
                }
                has_time |= is_time(word, n);
        }
        return false;
}

static bool matches(const uint8_t *head, size_t n) {
        char *text = strndup((const char *)head, n), *rest = text, *line;
        const char *event, *behind;
        bool is_it = false;
        size_t len;

        if (!text)
                abort();
        while ((line = strsep(&rest, "\n")))
                if (line[0] && line[0] != '#') {
                        is_it = find_event(line, &event, &len, &behind);
                        break;
                }
        free(text);
        return is_it;
}

/* "401136 hot+0x20 (/usr/bin/server)" */
static int take_frame(struct perf_script *p, const char *line, struct err *reterr) {
        struct import_frame frame = {.module = "", .function = {"", "", 0}};
        char *text, *end, *place, *name, *offset;

        frame.address = strtoull(line, &end, 16);
        if (end == line || (*end && *end != ' ') || p->frames.list.n == PERF_MAX_FRAMES)
                return import_input_refuse(p->in, reterr, "'%.40s' is no frame", line);
        text = strdup(skip_blanks(end));
        if (!text)
                abort();
        name = text;
        /* names have brackets of their own: the module is in the last ones */
        for (place = NULL, end = text; (end = strstr(end, "(")); end++)
                if (end == text || end[-1] == ' ')
                        place = end;
        if (place && place[strlen(place) - 1] == ')') {
                place[strlen(place) - 1] = '\0';
                *place = '\0';
                frame.module = place + 1;
                if (place > text && place[-1] == ' ')
                        place[-1] = '\0';
        }
        offset = strrchr(name, '+');
        if (offset && strncmp(offset, "+0x", 3) == 0)
                *offset = '\0';
        if (strcmp(name, "[unknown]") == 0 || !name[0])
                frame.module = ""; /* an address in memory, and no file's */
        else
                frame.function.name = name, frame.address = 0;
        if (strcmp(frame.module, "inlined") == 0 || frame.module[0] == '[')
                frame.module = "";
        import_frames_add(&p->frames, &frame);
        free(text);
        return 0;
}

static int end_sample(struct perf_script *p, struct err *reterr) {
        uint32_t stack;
        int r;

        if (!p->is_in_sample)
                return 0;
        p->is_in_sample = false;
        if (!p->is_counted)
                return 0;
        r = import_frames_stack(&p->frames, p->t, &stack, reterr);
        return r < 0 ? r : import_trace_total(p->t, stack, &(struct import_total){1, 1, 0, 0});
}

static int begin_sample(struct perf_script *p, const char *line, struct err *reterr) {
        const char *event, *rest;
        size_t n;
        int r = end_sample(p, reterr);

        if (r < 0)
                return r;
        if (!find_event(line, &event, &n, &rest))
                return import_input_refuse(p->in, reterr, "'%.40s' is no sample", line);
        if (!p->event) {
                p->event = strndup(event, n);
                if (!p->event)
                        abort();
        }
        p->is_counted = strlen(p->event) == n && memcmp(p->event, event, n) == 0;
        p->n_others += !p->is_counted;
        p->is_in_sample = true;
        import_frames_clear(&p->frames);
        return rest[0] ? take_frame(p, rest, reterr) : 0;
}

static int take_line(struct perf_script *p, const char *line, struct err *reterr) {
        if (line[0] == '#')
                return 0;
        if (!skip_blanks(line)[0])
                return end_sample(p, reterr);
        if (line[0] != ' ' && line[0] != '\t')
                return begin_sample(p, line, reterr);
        if (!p->is_in_sample)
                return import_input_refuse(p->in, reterr, "'%.40s' is a frame of no sample", line);
        return take_frame(p, skip_blanks(line), reterr);
}

static void tell_event(const struct perf_script *p) {
        char text[200];

        if (!p->event)
                return;
        snprintf(text, sizeof(text), "Samples are those of the event %.60s, of all processes",
                 p->event);
        import_trace_limit(p->t, text);
        if (p->n_others) {
                snprintf(text, sizeof(text), "%llu samples of other events are left out",
                         (unsigned long long)p->n_others);
                import_trace_limit(p->t, text);
        }
}

static int read_perf_script(struct import_input *in, struct import_trace *t, struct err *reterr) {
        struct perf_script p = {.in = in, .t = t};
        char *line;
        size_t n;
        int r = import_trace_begin(t,
                                   &(struct import_begin){.is_totals = true,
                                                          .has_no_time = true,
                                                          .has_no_blocks = true,
                                                          .unit = TRACE_UNIT_SAMPLES},
                                   reterr);

        import_frames_init(&p.frames);
        while (r >= 0 && (r = import_input_line(in, &line, &n, reterr)) > 0)
                r = take_line(&p, line, reterr);
        if (r >= 0)
                r = end_sample(&p, reterr);
        if (r >= 0)
                r = import_trace_moment(t, 0, reterr);
        if (r >= 0)
                tell_event(&p);
        free(p.event);
        import_frames_done(&p.frames);
        return r;
}

const struct import_format import_perf_script = {
        .name = "perf-script",
        .title = "samples that perf script printed",
        .lacks = "samples by call path, but nothing about memory; when they were taken is not kept",
        .matches = matches,
        .read = read_perf_script,
};
