/* SPDX-License-Identifier: MIT */
/* Memcheck's log: lines behind "==PID== ". The last leak check of the first process counts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/import_format.h"
#include "import/leak_records.h"

struct memcheck_log {
        struct leak_records leaks;
        struct leak_record record; /* whose frames are being read */
        bool in_record;
        uint32_t n_others; /* lines of other processes */
};

/* The text behind "==4711== ", and the number; NULL: it is another line. */
static const char *own_line(const char *line, uint32_t *ret_pid) {
        char *end;
        unsigned long pid;

        if (strncmp(line, "==", 2) != 0)
                return NULL;
        pid = strtoul(line + 2, &end, 10);
        if (end == line + 2 || strncmp(end, "==", 2) != 0 || pid > UINT32_MAX)
                return NULL;
        *ret_pid = (uint32_t)pid;
        return end[2] == ' ' ? end + 3 : end + 2;
}

static bool matches(const uint8_t *head, size_t n) {
        return n > 4 && head[0] == '=' && head[1] == '=' && head[2] >= '0' && head[2] <= '9' &&
               memmem(head, n, "Memcheck", 8);
}

static void without_commas(const char *text, char *to, size_t cap) {
        size_t n = 0;

        for (; *text && n + 1 < cap; text++)
                if (*text != ',' || text[1] == ' ')
                        to[n++] = *text;
        to[n] = '\0';
}

static void take_summary(struct leak_records *l, const char *text) {
        unsigned long long a, b, c;
        char plain[200];

        without_commas(text, plain, sizeof(plain));
        if (sscanf(plain, " in use at exit: %llu bytes in %llu blocks", &a, &b) == 2) {
                l->end_bytes = a, l->end_blocks = b;
        } else if (sscanf(plain, " total heap usage: %llu allocs, %llu frees, %llu bytes", &a, &b,
                          &c) == 3) {
                l->n_allocs = a, l->n_frees = b, l->alloc_bytes = c;
                l->has_summary = true;
        }
}

static void end_record(struct memcheck_log *m) {
        if (m->in_record)
                leak_records_add(&m->leaks, &m->record);
        m->in_record = false;
}

static void take_line(struct memcheck_log *m, const char *text) {
        const char *bare = text + strspn(text, " ");

        if (m->in_record && (strncmp(bare, "at ", 3) == 0 || strncmp(bare, "by ", 3) == 0)) {
                import_frames_add_text(&m->leaks.path, bare + 3);
                return;
        }
        end_record(m);
        if (strncmp(text, "Command: ", 9) == 0 && !m->leaks.command[0]) {
                m->leaks.command = arena_strdup(m->leaks.arena, text + 9);
        } else if (strncmp(text, "HEAP SUMMARY:", 13) == 0) {
                leak_records_clear(&m->leaks);
        } else if (leak_records_parse(text, &m->record)) {
                import_frames_clear(&m->leaks.path);
                m->in_record = true;
        } else {
                leak_records_take_kind(&m->leaks, text);
                take_summary(&m->leaks, text);
        }
}

static int read_log(struct import_input *in, struct import_trace *t, struct err *reterr) {
        struct memcheck_log m = {0};
        uint32_t pid;
        char *line;
        size_t n;
        int r;

        leak_records_init(&m.leaks);
        while ((r = import_input_line(in, &line, &n, reterr)) > 0) {
                const char *text = own_line(line, &pid);

                if (!text)
                        continue;
                if (!m.leaks.pid)
                        m.leaks.pid = pid;
                if (pid == m.leaks.pid)
                        take_line(&m, text);
                else
                        m.n_others++;
        }
        end_record(&m);
        if (r >= 0 && !m.leaks.list.n && !m.leaks.has_summary)
                r = import_input_refuse(
                        in, reterr,
                        "the log has no heap summary and no loss record: run valgrind with --leak-check=full");
        if (r >= 0)
                r = leak_records_put(&m.leaks, t, reterr);
        if (r >= 0 && m.n_others)
                import_trace_limit(t, "Other processes of the log were left out");
        leak_records_done(&m.leaks);
        return r;
}

const struct import_format import_memcheck_text = {
        .name = "memcheck",
        .title = "a memcheck log",
        .lacks =
                "what was in use at exit by call path, but no peak, no times, no threads and nothing of what was freed but sums",
        .matches = matches,
        .read = read_log,
};
