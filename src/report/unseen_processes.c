/* SPDX-License-Identifier: MIT */
#include "report/unseen_processes.h"

#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "base/units.h"
#include "report/gather.h"
#include "show/style.h"
#include "trace/limit.h"

enum { UNSEEN_MAX_TOLD = 3 };

struct unseen {
        struct query_unseen rows[UNSEEN_MAX];
        size_t n;
        uint64_t n_processes;
};

static bool is_same(const struct query_unseen *a, const struct query_unseen *b) {
        return a->n_program == b->n_program && memcmp(a->program, b->program, a->n_program) == 0 &&
               strcmp(a->why, b->why) == 0;
}

/* Notes of one program add up. Those with most processes first. */
static void gather(const struct report *r, struct unseen *u) {
        *u = (struct unseen){0};
        for (size_t i = 0; i < r->v->n_notes; i++) {
                struct query_unseen x;
                size_t k = 0;

                if (!query_unseen_of(&r->v->notes[i], &x))
                        continue;
                u->n_processes += x.n_processes;
                while (k < u->n && !is_same(&u->rows[k], &x))
                        k++;
                if (k == UNSEEN_MAX)
                        continue;
                if (k == u->n)
                        u->rows[u->n++] = (struct query_unseen){0, x.program, x.n_program, x.why};
                u->rows[k].n_processes += x.n_processes;
                for (; k > 0 && u->rows[k].n_processes > u->rows[k - 1].n_processes; k--) {
                        x = u->rows[k];
                        u->rows[k] = u->rows[k - 1];
                        u->rows[k - 1] = x;
                }
        }
}

static void add_clean(struct str *to, const char *text, size_t n) {
        struct str raw = {0};

        str_addn(&raw, text, n);
        style_add_clean(to, str_text(&raw));
        str_done(&raw);
}

void unseen_add_sentence(const struct report *r, struct str *to) {
        struct unseen u;
        struct unit_text t;
        uint64_t n_told = 0;

        gather(r, &u);
        if (u.n_processes == 0)
                return;
        str_addf(to, "%s process%s not seen: ", unit_count(&t, u.n_processes),
                 u.n_processes == 1 ? " was" : "es were");
        for (size_t i = 0; i < u.n && i < UNSEEN_MAX_TOLD; i++) {
                const struct query_unseen *x = &u.rows[i];

                str_addf(to, "%s", i ? ", " : "");
                if (u.n > 1)
                        str_addf(to, "%s of ", unit_count(&t, x->n_processes));
                if (x->n_program)
                        add_clean(to, x->program, x->n_program);
                else
                        str_add(to, "others");
                str_add(to, " (");
                add_clean(to, x->why, strlen(x->why));
                str_add(to, ")");
                n_told += x->n_processes;
        }
        if (n_told < u.n_processes)
                str_addf(to, " and %s of other programs", unit_count(&t, u.n_processes - n_told));
        str_add(to, ".");
}

bool unseen_is_any(const struct report *r) {
        struct unseen u;

        gather(r, &u);
        return u.n_processes > 0;
}

size_t unseen_limits(const struct report *r, struct trace_limit *ret, size_t cap) {
        struct unseen u;
        size_t n = 0;

        gather(r, &u);
        for (; n < u.n && n < cap; n++) {
                const struct query_unseen *x = &u.rows[n];
                struct str text = {0};

                str_addf(&text, "not seen: %llu process%s of '", (unsigned long long)x->n_processes,
                         x->n_processes == 1 ? "" : "es");
                str_addn(&text, x->program, x->n_program);
                str_addf(&text, "': %s", x->why);
                ret[n] = (struct trace_limit){.kind = LIMIT_NOT_FOLLOWED,
                                              .count = x->n_processes,
                                              .text = arena_strdup(r->arena, str_text(&text)),
                                              .is_summed = true};
                str_done(&text);
        }
        return n;
}

void unseen_put_json(struct json *j, const struct report *r) {
        struct unseen u;

        gather(r, &u);
        json_key(j, "unseen_processes");
        json_array(j);
        for (size_t i = 0; i < u.n; i++) {
                struct str program = {0};

                str_addn(&program, u.rows[i].program, u.rows[i].n_program);
                json_object(j);
                json_put_string(j, "program", str_text(&program));
                json_put_uint(j, "processes", u.rows[i].n_processes);
                json_put_string(j, "reason", u.rows[i].why);
                json_end(j);
                str_done(&program);
        }
        json_end(j);
}
