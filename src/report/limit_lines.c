/* SPDX-License-Identifier: MIT */
#include "report/limit_lines.h"

#include <string.h>

#include "base/map.h"
#include "base/units.h"
#include "report/unseen_processes.h"
#include "show/view.h"
#include "trace/being_written.h"

enum { LIMITS_MAX_PUT = 1000 };
#define LIMITS_MAX_CUT_PCT 50.0

/* The worst of each kind. */
struct limits_told {
        struct {
                struct trace_limit worst;
                const struct trace_note *note; /* NULL: it was made here */
                uint64_t n;
        } of[LIMIT_N_KINDS];
};

typedef void (*limit_fn)(void *ctx, const struct trace_limit *l, const struct trace_note *note);

/* Of one process that was asked for only its own are told. */
static bool is_of_one(const struct report *r) {
        return r->options->request->process && r->scope.process != QUERY_ALL;
}

static bool is_asked_for(const struct report *r, const struct trace_limit *l) {
        return !is_of_one(r) || !l->pid || l->pid == report_process(r)->start.pid;
}

static uint64_t count_lost(const struct report *r) {
        uint64_t n = 0;

        if (is_of_one(r))
                return r->whole.n_lost;
        for (uint32_t i = 0; i < r->answer->n_processes; i++)
                n += r->answer->processes[i].n_lost;
        return MAX(n, r->whole.n_lost);
}

static uint64_t count_unknown_frees(const struct report *r) {
        uint64_t n = 0;

        for (uint32_t i = 0; !is_of_one(r) && i < r->answer->n_processes; i++)
                n += r->answer->processes[i].n_unknown_frees;
        return MAX(n, r->whole.n_unknown_frees);
}

static const char *kept_text(const struct report *r, struct str *text) {
        const char *kept = arena_strdup(r->arena, str_text(text));

        str_clear(text);
        return kept;
}

/* Code that no file has was made while the program ran. */
struct made_code {
        bool is_last; /* the outermost frame is in it: the path ends there */
        bool is_there;
};

static bool look_for_made_code(void *ctx, const struct query_frame *frame) {
        struct made_code *m = ctx;

        m->is_last = !frame->module[0];
        m->is_there |= m->is_last;
        return true;
}

/* Of all allocations, those whose call path ends in such code, and those whose path leads through it. */
static void count_made_code(const struct report *r, double *ret_end_pct, double *ret_through_pct) {
        uint64_t n_end = 0, n_through = 0, n_all = 0;

        for (size_t i = 0; i < r->answer->n_sites; i++) {
                const struct query_site *site = &r->answer->sites[i];
                struct made_code m = {0};

                query_each_frame(r->q, site->stack, look_for_made_code, &m);
                n_end += m.is_last ? site->f.n_allocs : 0;
                n_through += m.is_there && !m.is_last ? site->f.n_allocs : 0;
                n_all += site->f.n_allocs;
        }
        *ret_end_pct = n_all ? 100.0 * (double)n_end / (double)n_all : 0;
        *ret_through_pct = n_all ? 100.0 * (double)n_through / (double)n_all : 0;
}

/* Where most call paths are not complete, whoever reads the callers is misled. */
static void add_cut_stacks(const struct report *r, limit_fn fn, void *ctx) {
        double pct = 100 - r->quality.complete_stacks_pct, end_pct, through_pct;
        struct trace_limit l = {.kind = LIMIT_STACKS};
        struct str text = {0};

        if (!r->findings || !r->whole.n_allocs || !(pct > LIMITS_MAX_CUT_PCT))
                return;
        count_made_code(r, &end_pct, &through_pct);
        if (end_pct >= pct / 2)
                str_addf(
                        &text,
                        "%.0f %% of the stacks are cut short, most of them in code that was made while the program ran (a JIT compiler's or an interpreter's), which has no unwind information",
                        pct);
        else if (through_pct >= pct / 2)
                str_addf(
                        &text,
                        "%.0f %% of the stacks lead through code without unwind information, most of them through code that was made while the program ran (a JIT compiler's or an interpreter's): silt followed frame pointers there, so callers may be missing",
                        pct);
        else
                str_addf(
                        &text,
                        "only %.1f %% of the stacks are complete: code without unwind information cuts the others short or hides some of their frames",
                        100 - pct);
        l.text = kept_text(r, &text);
        fn(ctx, &l, NULL);
        str_done(&text);
}

/* is_known: notes say already that an allocator is not hooked. */
static void each_made_here(const struct report *r, bool is_known, limit_fn fn, void *ctx) {
        uint64_t n_lost = count_lost(r), n_unwritten = r->v->n_unwritten_events;
        const char *damage = query_damage(r->q);
        struct trace_limit l = {.kind = LIMIT_LOST};
        struct str text = {0};

        if (n_lost) {
                view_add_lost(n_lost, count_unknown_frees(r), &text);
                l = (struct trace_limit){.kind = LIMIT_LOST, .count = n_lost};
                l.text = kept_text(r, &text);
                fn(ctx, &l, NULL);
        }
        if (n_unwritten) {
                view_add_unwritten(n_unwritten, &text);
                l = (struct trace_limit){.kind = LIMIT_LOST, .count = n_unwritten};
                l.text = kept_text(r, &text);
                fn(ctx, &l, NULL);
        }
        if (damage[0]) {
                l = (struct trace_limit){.kind = LIMIT_DAMAGED, .bytes = r->v->n_damaged_bytes};
                l.text = damage;
                fn(ctx, &l, NULL);
        } else if (!r->v->finished) {
                const char *path = r->options->path;

                view_add_unfinished(r->v, path && trace_is_being_written(path), &text);
                l = (struct trace_limit){.kind = LIMIT_DAMAGED};
                l.text = kept_text(r, &text);
                fn(ctx, &l, NULL);
        }
        for (size_t i = 0; r->findings && i < r->findings->n && !is_known; i++)
                if (!strcmp(r->findings->items[i].kind, "unseen")) {
                        l = (struct trace_limit){.kind = LIMIT_UNHOOKED,
                                                 .bytes = r->findings->items[i].bytes};
                        l.text = r->findings->items[i].text;
                        fn(ctx, &l, NULL);
                }
        str_done(&text);
}

/* Memory that silt does not see is told again when there is more of it: the last note of a process counts. */
static struct map last_unseen(const struct report *r) {
        struct map last = {0};
        struct trace_limit l;

        for (size_t i = 0; i < r->v->n_notes; i++)
                if (trace_limit_parse(r->v->notes[i].text, &l) && l.kind == LIMIT_UNSEEN)
                        *map_put(&last, l.pid, i, NULL) = i;
        return last;
}

static bool is_outdated(const struct map *last, size_t note_idx, const struct trace_limit *l) {
        uint64_t idx;

        return l->kind == LIMIT_UNSEEN && map_get(last, l->pid, &idx) && idx != note_idx;
}

static void limits_each(const struct report *r, limit_fn fn, void *ctx) {
        struct trace_limit l, unseen[UNSEEN_MAX];
        size_t n_unseen = unseen_limits(r, unseen, UNSEEN_MAX);
        struct map last = last_unseen(r);
        struct query_unseen part;
        bool is_known = false;

        for (size_t i = 0; i < r->v->n_notes; i++)
                if (trace_limit_parse(r->v->notes[i].text, &l) && is_asked_for(r, &l) &&
                    !query_unseen_of(&r->v->notes[i], &part) && !is_outdated(&last, i, &l)) {
                        l.is_summed = false;
                        is_known |= l.kind == LIMIT_UNHOOKED || l.kind == LIMIT_UNSEEN;
                        fn(ctx, &l, &r->v->notes[i]);
                }
        map_done(&last);
        for (size_t i = 0; i < n_unseen; i++)
                fn(ctx, &unseen[i], NULL);
        each_made_here(r, is_known, fn, ctx);
        add_cut_stacks(r, fn, ctx);
}

static void take_worst(void *ctx, const struct trace_limit *l, const struct trace_note *note) {
        struct limits_told *t = ctx;
        const struct trace_limit *worst = &t->of[l->kind].worst;

        if (l->is_summed)
                return;
        if (t->of[l->kind].n++ &&
            (l->bytes < worst->bytes || (l->bytes == worst->bytes && l->count <= worst->count)))
                return;
        t->of[l->kind].worst = *l;
        t->of[l->kind].note = note;
}

void limits_print(const struct style *s, const struct report *r) {
        struct limits_told t = {0};
        struct str text = {0};
        struct unit_text n;

        limits_each(r, take_worst, &t);
        for (int i = 0; i < LIMIT_N_KINDS; i++) {
                if (!t.of[i].n)
                        continue;
                str_addf(&text, "%s%s",
                         i == LIMIT_UNCOUNTED || i == LIMIT_IMPORTED ? "" : "Incomplete: ",
                         t.of[i].worst.text);
                if (t.of[i].n > 1)
                        str_addf(&text, " (and %s more like this: see Notes)",
                                 unit_count(&n, t.of[i].n - 1));
                if (text.n && str_text(&text)[text.n - 1] != '.')
                        str_add(&text, ".");
                fprintf(s->out, "%s!%s ", s->alarm, s->plain);
                style_wrap(s, str_text(&text), 2);
                str_clear(&text);
        }
        unseen_add_sentence(r, &text);
        if (text.n) {
                fprintf(s->out, "%s!%s ", s->alarm, s->plain);
                style_wrap(s, str_text(&text), 2);
        }
        str_done(&text);
}

struct limits_put {
        struct json *j;
        size_t n;
};

static void put_one(void *ctx, const struct trace_limit *l, const struct trace_note *note) {
        struct limits_put *p = ctx;

        (void)note;
        if (p->n++ >= LIMITS_MAX_PUT)
                return;
        json_object(p->j);
        json_put_string(p->j, "kind", trace_limit_name(l->kind));
        json_put_uint(p->j, "pid", l->pid);
        json_put_uint(p->j, "bytes", l->bytes);
        json_put_uint(p->j, "count", l->kind == LIMIT_IMPORTED ? 0 : l->count);
        json_put_string(p->j, "text", l->text);
        json_end(p->j);
}

void limits_put(struct json *j, const struct report *r) {
        struct limits_put p = {j, 0};

        json_key(j, "limits");
        json_array(j);
        limits_each(r, put_one, &p);
        json_end(j);
}

static void look_if_material(void *ctx, const struct trace_limit *l,
                             const struct trace_note *note) {
        bool *is = ctx;

        (void)note;
        *is |= l->kind != LIMIT_UNCOUNTED && l->kind != LIMIT_STACKS; /* all blocks are counted */
}

static void look_for_stacks(void *ctx, const struct trace_limit *l, const struct trace_note *note) {
        bool *is = ctx;

        (void)note;
        *is |= l->kind == LIMIT_STACKS;
}

bool limits_have_cut_stacks(const struct report *r) {
        bool is = false;

        add_cut_stacks(r, look_for_stacks, &is);
        return is;
}

bool limits_are_material(const struct report *r) {
        bool is = false;

        limits_each(r, look_if_material, &is);
        return is || unseen_is_any(r);
}

void limits_told_notes(const struct report *r, const struct trace_note **ret) {
        struct limits_told t = {0};

        limits_each(r, take_worst, &t);
        for (int i = 0; i < LIMIT_N_KINDS; i++)
                ret[i] = t.of[i].note;
}
