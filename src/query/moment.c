/* SPDX-License-Identifier: MIT */
/* Moments that have a name: notes of the trace that say "snapshot: NAME" or "mark PID: NAME". */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "query/filter.h"
#include "query/query.h"
#include "query/query_internal.h"

enum { MOMENT_LIST_BYTES = 280, MOMENT_NAME_BYTES = 64 }; /* of the names an error lists */

bool query_moment_of(const struct trace_note *note, struct query_moment *ret) {
        static const char snapshot[] = "snapshot: ", mark[] = "mark ";
        const char *digits = note->text + sizeof(mark) - 1;
        unsigned long pid;
        char *end;

        if (strncmp(note->text, snapshot, sizeof(snapshot) - 1) == 0) {
                *ret = (struct query_moment){.time_ns = note->time_ns,
                                             .name = note->text + sizeof(snapshot) - 1,
                                             .is_snapshot = true};
                return true;
        }
        if (strncmp(note->text, mark, sizeof(mark) - 1) != 0)
                return false;
        pid = strtoul(digits, &end, 10);
        if (end == digits || end[0] != ':' || end[1] != ' ')
                return false;
        *ret = (struct query_moment){.time_ns = note->time_ns,
                                     .name = end + 2,
                                     .pid = (uint32_t)pid};
        return true;
}

/* "not seen: 3 processes of 'PROGRAM': WHY"; a program's name has no quotes. */
bool query_unseen_of(const struct trace_note *note, struct query_unseen *ret) {
        static const char begin[] = "not seen: ";
        const char *at = note->text + sizeof(begin) - 1, *end;
        struct query_unseen u = {0};

        if (strncmp(note->text, begin, sizeof(begin) - 1) != 0 || *at < '0' || *at > '9')
                return false;
        u.n_processes = strtoull(at, NULL, 10);
        at = strchr(at, '\'');
        end = at ? strchr(at + 1, '\'') : NULL;
        if (!end || strncmp(end, "': ", 3) != 0 || u.n_processes == 0)
                return false;
        u.program = at + 1;
        u.n_program = (size_t)(end - u.program);
        u.why = end + 3;
        *ret = u;
        return true;
}

bool query_hold_of(const struct trace_note *note, struct query_hold *ret) {
        static const char held[] = "held: ";
        const char *digits = note->text + sizeof(held) - 1;
        char *end;

        if (strncmp(note->text, held, sizeof(held) - 1) != 0 || *digits < '0' || *digits > '9')
                return false;
        ret->held_ns = strtoull(digits, &end, 10);
        ret->is_leaving = strcmp(end, " ns to leave") == 0;
        return ret->is_leaving || strcmp(end, " ns to attach") == 0;
}

static bool is_listed(const char *const *listed, size_t n, const char *name) {
        for (size_t i = 0; i < n; i++)
                if (strcmp(listed[i], name) == 0)
                        return true;
        return false;
}

/* "@warm, @1, @2 and 97 more": snapshots first; a program may have made thousands of marks. */
static void list_names(const struct query *q, struct str *to) {
        const char *listed[MOMENT_LIST_BYTES / 3];
        size_t n_listed = 0, n_left = 0;
        struct query_moment m;

        for (int snapshots = 1; snapshots >= 0; snapshots--)
                for (size_t i = 0; i < q->view->n_notes; i++) {
                        if (!query_moment_of(&q->view->notes[i], &m) ||
                            m.is_snapshot != (snapshots == 1) || !m.name[0] ||
                            is_listed(listed, n_listed, m.name))
                                continue;
                        if (n_left || n_listed == sizeof(listed) / sizeof(listed[0]) ||
                            to->n + MIN(strlen(m.name), (size_t)MOMENT_NAME_BYTES) >
                                    MOMENT_LIST_BYTES) {
                                n_left++;
                                continue;
                        }
                        str_addf(to, "%s@%.*s%s", n_listed ? ", " : "", MOMENT_NAME_BYTES, m.name,
                                 strlen(m.name) > MOMENT_NAME_BYTES ? "..." : "");
                        listed[n_listed++] = m.name;
                }
        if (n_left)
                str_addf(to, " and %zu more", n_left);
}

static int refuse_name(const struct query *q, const char *name, struct err *reterr) {
        struct str names = {0};

        list_names(q, &names);
        if (names.n)
                err_set(reterr, -ENOENT,
                        "no moment has the name '@%.*s': choose from %s, @start, @peak and @end",
                        MOMENT_NAME_BYTES, name, str_text(&names));
        else
                err_set(reterr, -ENOENT,
                        "no moment has the name '@%.*s': the recording has no snapshots and no marks: give a time such as 90s, @start, @peak or @end",
                        MOMENT_NAME_BYTES, name);
        str_done(&names);
        return -ENOENT;
}

/* Behind the event that made the peak, so that what is alive there is what made it. */
static int find_peak(struct query *q, uint32_t process, uint64_t *ret_ns, struct err *reterr) {
        const struct query_scope scope = {.process = process, .to_ns = UINT64_MAX};
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        int r = query_ask(q, &scope, &a, reterr);

        if (r >= 0)
                *ret_ns = a->totals.peak_ns + 1;
        return r;
}

/* 1: found; 0: not one of the three. */
static int find_edge(struct query *q, uint32_t process, const char *name, struct query_moment *ret,
                     struct err *reterr) {
        struct query_moment m = {.name = name};
        int r = 0;

        if (strcmp(name, "start") == 0) {
                m.edge = QUERY_START;
        } else if (strcmp(name, "end") == 0) {
                m.edge = QUERY_FINISH;
                m.time_ns = q->view->end_ns;
        } else if (strcmp(name, "peak") == 0) {
                m.edge = QUERY_AT_PEAK;
                r = find_peak(q, process, &m.time_ns, reterr);
        } else {
                return 0;
        }
        if (r < 0)
                return r;
        m.time_ns = MIN(m.time_ns, q->view->end_ns);
        *ret = m;
        return 1;
}

uint64_t query_edge_near(const struct query *q, uint64_t time_ns) {
        size_t next = query_slice_at(q, time_ns);
        uint64_t before_ns = next ? trace_slice(q->reader, next - 1)->end_ns : 0, behind_ns;

        if (next >= q->view->n_slices)
                return before_ns;
        behind_ns = trace_slice(q->reader, next)->end_ns;
        return time_ns - before_ns <= behind_ns - time_ns ? before_ns : behind_ns;
}

int query_find_moment(struct query *q, uint32_t process, const char *name, struct query_moment *ret,
                      size_t *ret_n_same, struct err *reterr) {
        struct query_moment m;
        size_t n = 0;
        int r;

        for (size_t i = 0; i < q->view->n_notes; i++) {
                if (!query_moment_of(&q->view->notes[i], &m) || strcmp(m.name, name) != 0)
                        continue;
                if (n++ == 0 || m.time_ns < ret->time_ns)
                        *ret = m;
        }
        if (n == 0) {
                r = find_edge(q, process, name, ret, reterr);
                if (ret_n_same)
                        *ret_n_same = 1;
                return r < 0 ? r : r == 0 ? refuse_name(q, name, reterr) : 0;
        }
        ret->time_ns = MIN(ret->time_ns, q->view->end_ns);
        if (ret_n_same)
                *ret_n_same = n;
        return 0;
}

struct query_filter *query_filter_copy(const struct query_filter *f) {
        struct query_filter *copy = query_filter_new();

        if (!f)
                return copy;
        copy->q = f->q;
        copy->scope = f->scope;
        for (size_t i = 0; i < f->words.n; i++)
                if (query_filter_add(copy, f->words.items[i].kind, f->words.items[i].value, NULL) <
                    0)
                        abort(); /* it was added before */
        return copy;
}

int query_filter_name_times(const struct query_filter *f, struct query *q,
                            const struct query_scope *scope, struct query_filter **ret,
                            struct err *reterr) {
        _cleanup_(query_filter_freep) struct query_filter *named = NULL;

        *ret = NULL;
        if (!f || !f->has_names)
                return 0;
        named = query_filter_new();
        named->q = q;
        named->scope = *scope;
        for (size_t i = 0; i < f->words.n; i++) {
                const struct filter_word *w = &f->words.items[i];
                int r = query_filter_add(named, w->kind, w->value, reterr);

                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(named);
        return 0;
}
