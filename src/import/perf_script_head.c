/* SPDX-License-Identifier: MIT */
#include "import/perf_script_head.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "import/sample_events.h"

const char *perf_script_skip_blanks(const char *text) {
        return text + strspn(text, " \t");
}

/* "1234.567890:", the time. */
static bool parse_time(const char *word, size_t n, uint64_t *ret_ns) {
        uint64_t seconds = 0, fraction = 0, unit = 1000000000;
        size_t i = 0;

        for (;
             i < n && isdigit((unsigned char)word[i]) && seconds < PERF_SCRIPT_MAX_NS / 1000000000;
             i++)
                seconds = seconds * 10 + (uint64_t)(word[i] - '0');
        if (i == 0 || i >= n || word[i++] != '.')
                return false;
        for (; i < n && isdigit((unsigned char)word[i]); i++)
                if (unit > 1)
                        fraction = fraction * 10 + (uint64_t)(word[i] - '0'), unit /= 10;
        *ret_ns = seconds * 1000000000 + fraction * unit;
        return i + 1 == n && word[i] == ':' && unit < 1000000000 && *ret_ns <= PERF_SCRIPT_MAX_NS;
}

/* "4712" or "4711/4712". */
static bool parse_task(const char *word, size_t n, struct script_head *h) {
        char *end;
        unsigned long a = strtoul(word, &end, 10), b = a;

        if (!isdigit((unsigned char)word[0]))
                return false;
        h->has_pid = *end == '/' && isdigit((unsigned char)end[1]);
        if (h->has_pid)
                b = strtoul(end + 1, &end, 10);
        h->has_task = end == word + n && a <= UINT32_MAX && b <= UINT32_MAX;
        h->task = (struct import_task){(uint32_t)a, (uint32_t)b};
        return h->has_task;
}

/* What stands before the time: a name, which may have blanks; the thread; and a processor in brackets. */
static void parse_who(const char *line, const char *end, struct script_head *h) {
        const char *word;

        for (;;) {
                while (end > line && (end[-1] == ' ' || end[-1] == '\t'))
                        end--;
                for (word = end; word > line && word[-1] != ' ' && word[-1] != '\t';)
                        word--;
                if (word == end || word[0] != '[')
                        break;
                end = word;
        }
        if (parse_task(word, (size_t)(end - word), h))
                end = word;
        while (end > line && (end[-1] == ' ' || end[-1] == '\t'))
                end--;
        h->command = (struct text_part){line, (size_t)(end - line)};
}

/* malloc(0) has a period, which is 0. */
static bool is_allocation(struct text_part event) {
        return event.n == strlen(SAMPLE_ALLOCATION) &&
               memcmp(event.text, SAMPLE_ALLOCATION, event.n) == 0;
}

/* Behind the time: the period, if there is one, and the event. */
static bool parse_what(const char *text, struct script_head *h) {
        bool has_number;
        size_t n;

        h->is_record = strncmp(text, "PERF_RECORD_", strlen("PERF_RECORD_")) == 0;
        if (h->is_record)
                return true;
        n = strcspn(text, " \t");
        has_number = n && strspn(text, "0123456789") == n;
        if (has_number) {
                h->period = strtoull(text, NULL, 10);
                text = perf_script_skip_blanks(text + n);
                n = strcspn(text, " \t");
        }
        if (n < 2 || text[n - 1] != ':')
                return false;
        h->event = (struct text_part){text, n - 1};
        h->has_period = has_number && h->period <= PERF_SCRIPT_MAX_NS &&
                        (h->period > 0 || is_allocation(h->event));
        h->rest = perf_script_skip_blanks(text + n);
        return true;
}

bool perf_script_head_parse(const char *line, struct script_head *ret) {
        size_t n;

        line = perf_script_skip_blanks(line);
        for (const char *word = line; *word; word = perf_script_skip_blanks(word + n)) {
                n = strcspn(word, " \t");
                *ret = (struct script_head){.rest = ""};
                if (!parse_time(word, n, &ret->time_ns))
                        continue;
                parse_who(line, word, ret);
                return parse_what(perf_script_skip_blanks(word + n), ret);
        }
        return false;
}
