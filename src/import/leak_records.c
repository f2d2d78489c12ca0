/* SPDX-License-Identifier: MIT */
#include "import/leak_records.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/units.h"
#include "trace/loss_note.h"

static const char *const kind_words[LEAK_N_KINDS] = {
        [LEAK_DEFINITE] = "definitely lost",
        [LEAK_INDIRECT] = "indirectly lost",
        [LEAK_POSSIBLE] = "possibly lost",
        [LEAK_REACHABLE] = "still reachable",
};

void leak_records_init(struct leak_records *l) {
        *l = (struct leak_records){.arena = arena_new(), .command = ""};
        import_frames_init(&l->path);
        l->path.are_of_memory = true;
}

void leak_records_done(struct leak_records *l) {
        import_frames_done(&l->path);
        vec_free(&l->list);
        vec_free(&l->frames);
        l->arena = arena_free(l->arena);
}

void leak_records_clear(struct leak_records *l) {
        vec_clear(&l->list);
        vec_clear(&l->frames);
        import_frames_clear(&l->path);
        l->has_kinds = false;
}

/* "1,064" */
static bool take_count(const char **at, uint64_t *ret) {
        uint64_t v = 0;
        const char *s = *at;

        if (*s < '0' || *s > '9')
                return false;
        for (; (*s >= '0' && *s <= '9') || *s == ','; s++)
                if (*s != ',' && (__builtin_mul_overflow(v, 10u, &v) ||
                                  __builtin_add_overflow(v, (uint64_t)(*s - '0'), &v)))
                        return false;
        *at = s;
        *ret = v;
        return true;
}

static bool take_text(const char **at, const char *text) {
        size_t n = strlen(text);

        if (strncmp(*at, text, n) != 0)
                return false;
        *at += n;
        return true;
}

bool leak_records_parse(const char *text, struct leak_record *ret) {
        struct leak_record x = {0};

        if (!take_count(&text, &x.n_bytes))
                return false;
        if (take_text(&text, " (") &&
            (!take_count(&text, &x.n_bytes) || !take_text(&text, " direct, ") ||
             !take_count(&text, &x.indirect_bytes) || !take_text(&text, " indirect)")))
                return false;
        if (!take_text(&text, " bytes in ") || !take_count(&text, &x.n_blocks) ||
            !take_text(&text, " blocks are "))
                return false;
        for (int k = 0; k < LEAK_N_KINDS; k++)
                if (strncmp(text, kind_words[k], strlen(kind_words[k])) == 0) {
                        x.kind = (enum leak_kind)k;
                        *ret = x;
                        return true;
                }
        return false;
}

void leak_records_take_kind(struct leak_records *l, const char *text) {
        struct leak_sum sum;

        text += strspn(text, " ");
        for (int k = 0; k < LEAK_N_KINDS; k++) {
                const char *at = text;

                if (!take_text(&at, kind_words[k]) || !take_text(&at, ": ") ||
                    !take_count(&at, &sum.n_bytes) || !take_text(&at, " bytes in ") ||
                    !take_count(&at, &sum.n_blocks))
                        continue;
                if (!l->has_kinds)
                        memset(l->kinds, 0, sizeof(l->kinds));
                l->has_kinds = true;
                l->kinds[k] = sum;
        }
}

void leak_records_add(struct leak_records *l, const struct leak_record *record) {
        struct leak_record x = *record;

        x.first = l->frames.n;
        for (size_t i = 0; i < l->path.list.n; i++) {
                struct import_frame f = l->path.list.items[i];

                f.module = arena_strdup(l->arena, f.module);
                f.function.name = arena_strdup(l->arena, f.function.name);
                f.function.file = arena_strdup(l->arena, f.function.file);
                vec_push(&l->frames, f);
        }
        x.n = l->frames.n - x.first;
        vec_push(&l->list, x);
        import_frames_clear(&l->path);
}

/* ---- the trace --------------------------------------------------------------------------------- */

/* For `silt leaks`: no graph says it. */
static void put_loss(struct import_trace *t, struct trace_loss *loss, enum leak_kind kind) {
        char note[160];

        loss->class = LEAK_N_KINDS - 1 - kind; /* theirs are numbered the other way round */
        trace_loss_write(loss, note, sizeof(note));
        import_trace_note(t, 0, note);
}

static int put_record(struct leak_records *l, const struct leak_record *x, struct import_trace *t,
                      struct err *reterr) {
        uint32_t stack;
        int r;

        import_frames_clear(&l->path);
        for (size_t i = x->first; i < x->first + x->n; i++)
                vec_push(&l->path.list, l->frames.items[i]);
        r = import_frames_stack(&l->path, t, &stack, reterr);
        if (r >= 0)
                r = import_trace_total(t, stack,
                                       &(struct import_total){.n_allocs = x->n_blocks,
                                                              .alloc_bytes = x->n_bytes});
        if (r >= 0)
                put_loss(t,
                         &(struct trace_loss){.bytes = x->n_bytes,
                                              .blocks = x->n_blocks,
                                              .indirect_bytes = x->indirect_bytes,
                                              .stack = stack},
                         x->kind);
        return r;
}

/* What the records do not name, and what was freed: known in sum, from nowhere. */
static int put_rest(const struct leak_records *l, uint64_t n_told, uint64_t told_bytes,
                    struct import_trace *t) {
        struct import_total rest = {.n_allocs = l->n_allocs - n_told,
                                    .alloc_bytes = l->alloc_bytes - told_bytes};

        rest.n_frees = l->n_allocs - l->end_blocks;
        rest.free_bytes = l->alloc_bytes - l->end_bytes;
        return rest.n_allocs ? import_trace_total(t, 0, &rest) : 0;
}

/* Without a summary a kind that has no record is unknown: memcheck shows only those it was asked for. */
static void tell_kinds(const struct leak_records *l, struct import_trace *t, uint64_t told_bytes) {
        struct leak_sum records[LEAK_N_KINDS] = {0};
        struct unit_text a;
        struct str text = {0};

        for (size_t i = 0; i < l->list.n; i++) {
                records[l->list.items[i].kind].n_blocks += l->list.items[i].n_blocks;
                records[l->list.items[i].kind].n_bytes += l->list.items[i].n_bytes;
        }
        for (int k = 0; k < LEAK_N_KINDS && l->has_kinds; k++)
                put_loss(t,
                         &(struct trace_loss){.is_sum = true,
                                              .bytes = l->kinds[k].n_bytes,
                                              .blocks = l->kinds[k].n_blocks},
                         (enum leak_kind)k);
        if (!l->has_summary && !records[LEAK_REACHABLE].n_blocks)
                import_trace_limit(
                        t,
                        "Blocks that were still reachable are not in it: valgrind shows them with --show-leak-kinds=all");
        if (l->has_summary && l->end_bytes > told_bytes) {
                str_clear(&text);
                str_addf(&text,
                         "The log does not say where %s of what was in use at exit came from",
                         unit_bytes(&a, l->end_bytes - told_bytes));
                import_trace_limit(t, str_text(&text));
        }
        if (!l->has_summary)
                import_trace_limit(t, "How much was allocated and freed in all is not in the file");
        str_done(&text);
}

int leak_records_put(struct leak_records *l, struct import_trace *t, struct err *reterr) {
        const struct import_begin begin = {.is_totals = true,
                                           .has_no_time = true,
                                           .has_no_traffic = !l->has_summary,
                                           .has_no_peak = true,
                                           .command = l->command,
                                           .pid = l->pid};
        uint64_t n_told = 0, told_bytes = 0;
        int r = import_trace_begin(t, &begin, reterr);

        for (size_t i = 0; i < l->list.n && r >= 0; i++) {
                if (__builtin_add_overflow(n_told, l->list.items[i].n_blocks, &n_told) ||
                    __builtin_add_overflow(told_bytes, l->list.items[i].n_bytes, &told_bytes))
                        return err_set(reterr, -ERANGE,
                                       "the sums of its loss records are too large");
                r = put_record(l, &l->list.items[i], t, reterr);
        }
        if (r >= 0 && l->has_summary &&
            (n_told > l->end_blocks || told_bytes > l->end_bytes || l->end_blocks > l->n_allocs ||
             l->end_bytes > l->alloc_bytes)) {
                import_trace_limit(
                        t, "Its heap summary does not fit its loss records, and was left out");
                l->has_summary = false;
        }
        if (r >= 0 && l->has_summary)
                r = put_rest(l, n_told, told_bytes, t);
        if (r < 0)
                return r;
        tell_kinds(l, t, told_bytes);
        return import_trace_moment(t, 1000000000, reterr);
}
