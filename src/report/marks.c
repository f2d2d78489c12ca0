/* SPDX-License-Identifier: MIT */
#include "report/marks.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

/* "mark PID: text" */
bool mark_read(const struct trace_note *note, struct chart_mark *ret, uint32_t *ret_pid) {
        static const char word[] = "mark ";
        char *end;
        unsigned long pid;

        if (strncmp(note->text, word, sizeof(word) - 1) != 0)
                return false;
        pid = strtoul(note->text + sizeof(word) - 1, &end, 10);
        if (end == note->text + sizeof(word) - 1 || end[0] != ':' || end[1] != ' ')
                return false;
        *ret_pid = (uint32_t)pid;
        *ret = (struct chart_mark){note->time_ns, end + 2};
        return true;
}

void marks_gather(const struct report *r, struct chart *c) {
        uint64_t begin_ns = c->columns[0].begin_ns, end_ns = c->columns[c->n_columns - 1].end_ns;
        bool is_all = r->scope.process == QUERY_ALL;
        struct chart_mark *marks = arena_alloc(r->arena, (r->v->n_notes + 1) * sizeof(marks[0]));
        uint32_t pid;

        c->marks = marks;
        for (size_t i = 0; i < r->v->n_notes; i++) {
                struct chart_mark m;

                if (mark_read(&r->v->notes[i], &m, &pid) && m.time_ns >= begin_ns &&
                    m.time_ns <= end_ns && (is_all || pid == report_process(r)->start.pid))
                        marks[c->n_marks++] = m;
        }
}

void marks_put(struct json *j, const struct trace_view *v) {
        json_key(j, "marks");
        json_array(j);
        for (size_t i = 0; i < v->n_notes; i++) {
                struct chart_mark m;
                uint32_t pid;

                if (!mark_read(&v->notes[i], &m, &pid))
                        continue;
                json_object(j);
                json_put_double(j, "at_s", (double)m.time_ns / 1e9, 6);
                json_put_uint(j, "pid", pid);
                json_put_string(j, "text", m.text);
                json_end(j);
        }
        json_end(j);
}
