/* SPDX-License-Identifier: MIT */
#include "report/marks.h"

#include <stdlib.h>

#include "base/arena.h"

/* Notes stand in the order they were written: snapshots a little later than marks. */
static int compare_marks(const void *a, const void *b) {
        const struct chart_mark *x = a, *y = b;

        return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

void marks_gather(const struct report *r, struct chart *c) {
        uint64_t begin_ns = c->columns[0].begin_ns, end_ns = c->columns[c->n_columns - 1].end_ns;
        uint32_t pid = report_process(r)->start.pid;
        bool is_all = r->scope.process == QUERY_ALL;
        struct chart_mark *marks = arena_alloc(r->arena, (r->v->n_notes + 1) * sizeof(marks[0]));

        c->marks = marks;
        for (size_t i = 0; i < r->v->n_notes; i++) {
                struct query_moment m;

                if (query_moment_of(&r->v->notes[i], &m) && m.time_ns >= begin_ns &&
                    m.time_ns <= end_ns && (is_all || m.is_snapshot || m.pid == pid))
                        marks[c->n_marks++] = (struct chart_mark){m.time_ns, m.name, m.is_snapshot};
        }
        qsort(marks, c->n_marks, sizeof(marks[0]), compare_marks);
}

static void put_moments(struct json *j, const struct trace_view *v, bool snapshots) {
        json_array(j);
        for (size_t i = 0; i < v->n_notes; i++) {
                struct query_moment m;

                if (!query_moment_of(&v->notes[i], &m) || m.is_snapshot != snapshots)
                        continue;
                json_object(j);
                json_put_double(j, "at_s", (double)m.time_ns / 1e9, 6);
                if (!snapshots)
                        json_put_uint(j, "pid", m.pid);
                json_put_string(j, snapshots ? "name" : "text", m.name);
                json_end(j);
        }
        json_end(j);
}

void marks_put(struct json *j, const struct trace_view *v) {
        json_key(j, "marks");
        put_moments(j, v, false);
        json_key(j, "snapshots");
        put_moments(j, v, true);
}
