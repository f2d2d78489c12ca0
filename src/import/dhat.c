/* SPDX-License-Identifier: MIT */
/* DHAT's JSON, of valgrind and of the dhat crate. Program points have sums, what was live at the moment of the highest total (t-gmax) and
 * what was live at the end; frames are numbers in a table behind them, so points wait for it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "import/import_format.h"
#include "import/import_frames.h"
#include "import/json_reader.h"

struct dhat_point {
        uint64_t n_allocs, alloc_bytes, peak_blocks, peak_bytes, end_blocks, end_bytes;
        size_t first, n; /* of its frames */
};

struct dhat {
        VEC(struct dhat_point) points;
        VEC(uint64_t) frames; /* indices in texts; innermost first */
        VEC(const char *) texts;
        struct arena *arena;
        const char *command, *mode, *verb;
        uint64_t version, pid, end_time, peak_time, sample_bytes;
        double ns_a_unit; /* 0: its times are no time */
        bool has_lives;   /* of blocks: without them it does not know what was live when */
        bool has_accesses, has_points, is_of_valgrind;
};

static bool matches(const uint8_t *head, size_t n) {
        static const char mark[] = "\"dhatFileVersion\"";
        const uint8_t *at = memchr(head, '{', n < 64 ? n : 64);

        return at && memmem(at, n - (size_t)(at - head), mark, sizeof(mark) - 1);
}

static void read_frames_of(struct dhat *d, struct json_reader *j, struct dhat_point *p) {
        p->first = d->frames.n;
        for (json_reader_open(j, '['); json_reader_next(j);)
                vec_push(&d->frames, json_reader_uint(j));
        p->n = d->frames.n - p->first;
}

static void read_point(struct dhat *d, struct json_reader *j) {
        struct dhat_point p = {0};
        const struct {
                const char *key;
                uint64_t *to;
        } fields[] = {{"tb", &p.alloc_bytes},  {"tbk", &p.n_allocs}, {"gb", &p.peak_bytes},
                      {"gbk", &p.peak_blocks}, {"eb", &p.end_bytes}, {"ebk", &p.end_blocks}};

        for (json_reader_open(j, '{'); json_reader_next(j);) {
                bool is_taken = false;

                for (size_t i = 0; i < ARRAY_SIZE(fields) && !is_taken; i++)
                        if (json_reader_key_is(j, fields[i].key)) {
                                *fields[i].to = json_reader_uint(j);
                                is_taken = true;
                        }
                if (is_taken)
                        continue;
                if (json_reader_key_is(j, "fs"))
                        read_frames_of(d, j, &p);
                else
                        json_reader_skip(j);
        }
        vec_push(&d->points, p);
}

/* Valgrind counts instructions, the crate microseconds. */
static double ns_of_unit(const char *unit) {
        if (strcmp(unit, "ms") == 0)
                return 1e6;
        if (strcmp(unit, "s") == 0)
                return 1e9;
        if (strcmp(unit, "ns") == 0)
                return 1;
        return strcmp(unit, "µs") == 0 || strcmp(unit, "us") == 0 ? 1e3 : 0;
}

static void read_member(struct dhat *d, struct json_reader *j) {
        if (json_reader_key_is(j, "dhatFileVersion")) {
                d->version = json_reader_uint(j);
        } else if (json_reader_key_is(j, "mode")) {
                d->mode = arena_strdup(d->arena, json_reader_string(j));
        } else if (json_reader_key_is(j, "verb")) {
                d->verb = arena_strdup(d->arena, json_reader_string(j));
        } else if (json_reader_key_is(j, "cmd")) {
                d->command = arena_strdup(d->arena, json_reader_string(j));
        } else if (json_reader_key_is(j, "pid")) {
                d->pid = json_reader_uint(j);
        } else if (json_reader_key_is(j, "te")) {
                d->end_time = json_reader_uint(j);
        } else if (json_reader_key_is(j, "tg")) {
                d->peak_time = json_reader_uint(j);
        } else if (json_reader_key_is(j, "tu")) {
                const char *unit = json_reader_string(j);

                d->ns_a_unit = ns_of_unit(unit);
                d->is_of_valgrind = strcmp(unit, "instrs") == 0;
        } else if (json_reader_key_is(j, "bklt")) {
                d->has_lives = json_reader_bool(j);
        } else if (json_reader_key_is(j, "bkacc")) {
                d->has_accesses = json_reader_bool(j);
        } else if (json_reader_key_is(j, "sampleBytes")) { /* of silt alone */
                d->sample_bytes = json_reader_uint(j);
        } else if (json_reader_key_is(j, "pps")) {
                d->has_points = true;
                for (json_reader_open(j, '['); json_reader_next(j);)
                        read_point(d, j);
        } else if (json_reader_key_is(j, "ftbl")) {
                for (json_reader_open(j, '['); json_reader_next(j);)
                        vec_push(&d->texts, arena_strdup(d->arena, json_reader_string(j)));
        } else {
                json_reader_skip(j);
        }
}

/* ---- the trace --------------------------------------------------------------------------------- */

static int find_stack(const struct dhat *d, const struct dhat_point *p,
                      struct import_frames *frames, struct import_trace *t, uint32_t *ret,
                      const struct import_input *in, struct err *reterr) {
        import_frames_clear(frames);
        for (size_t i = p->first; i < p->first + p->n; i++) {
                uint64_t k = d->frames.items[i];

                if (k >= d->texts.n)
                        return import_input_refuse(in, reterr, "frame %llu is not in its table",
                                                   (unsigned long long)k);
                if (strcmp(d->texts.items[k], "[root]") != 0)
                        import_frames_add_text(frames, d->texts.items[k]);
        }
        return import_frames_stack(frames, t, ret, reterr);
}

/* Of a window (silt writes it) a program point may have blocks from before. */
static bool is_larger(const struct dhat_point *p) {
        return p->end_blocks > p->n_allocs || p->end_bytes > p->alloc_bytes ||
               p->peak_blocks > p->n_allocs || p->peak_bytes > p->alloc_bytes;
}

static struct import_total total_of(const struct dhat_point *p) {
        uint64_t n_allocs = MAX(p->n_allocs, MAX(p->peak_blocks, p->end_blocks));
        uint64_t bytes = MAX(p->alloc_bytes, MAX(p->peak_bytes, p->end_bytes));

        if (is_larger(p) && n_allocs == p->end_blocks && bytes > p->end_bytes &&
            n_allocs < UINT64_MAX)
                n_allocs++; /* what was freed was a block */
        return (struct import_total){n_allocs, bytes, n_allocs - p->end_blocks,
                                     bytes - p->end_bytes};
}

/* What was allocated up to the peak is not known, but for what was live then. */
static int put_points(const struct dhat *d, const uint32_t *stacks, struct import_trace *t,
                      struct err *reterr) {
        double unit = d->ns_a_unit > 0 ? d->ns_a_unit : 1;
        uint64_t n_larger = 0;
        int r = 0;

        for (size_t i = 0; i < d->points.n && r >= 0 && d->has_lives; i++) {
                const struct dhat_point *p = &d->points.items[i];

                r = import_trace_total(t, stacks[i],
                                       &(struct import_total){.n_allocs = p->peak_blocks,
                                                              .alloc_bytes = p->peak_bytes});
        }
        if (r >= 0 && d->has_lives)
                r = import_trace_moment(t, (uint64_t)((double)d->peak_time * unit), reterr);
        for (size_t i = 0; i < d->points.n && r >= 0; i++) {
                const struct dhat_point *p = &d->points.items[i];
                struct import_total total = {.n_allocs = p->n_allocs,
                                             .alloc_bytes = p->alloc_bytes};

                if (d->has_lives) {
                        total = total_of(p);
                        n_larger += is_larger(p);
                }
                r = import_trace_total(t, stacks[i], &total);
        }
        if (!d->has_lives)
                import_trace_limit(t, "It does not say what was freed: what was live is unknown");
        import_trace_estimates(t, d->sample_bytes);
        import_trace_tell_larger(t, n_larger);
        if (d->has_lives || d->has_accesses)
                import_trace_limit(t,
                                   d->has_accesses
                                           ? "Lifetimes of blocks and accesses to them are left out"
                                           : "Lifetimes of blocks are left out");
        return r < 0 ? r : import_trace_moment(t, (uint64_t)((double)d->end_time * unit), reterr);
}

static int put_all(const struct dhat *d, struct import_trace *t, const struct import_input *in,
                   struct err *reterr) {
        struct import_begin begin = {.is_totals = true,
                                     .command = d->command,
                                     .pid = (uint32_t)d->pid,
                                     .has_no_live = !d->has_lives,
                                     .sample_bytes = d->sample_bytes,
                                     .has_no_time = d->ns_a_unit <= 0};
        struct import_frames frames;
        VEC(uint32_t) stacks = {0};
        int r = import_trace_begin(t, &begin, reterr);

        import_frames_init(&frames);
        frames.are_of_memory = d->is_of_valgrind;
        for (size_t i = 0; i < d->points.n && r >= 0; i++) {
                uint32_t stack = 0;

                r = find_stack(d, &d->points.items[i], &frames, t, &stack, in, reterr);
                vec_push(&stacks, stack);
        }
        if (r >= 0)
                r = put_points(d, stacks.items, t, reterr);
        import_frames_done(&frames);
        vec_free(&stacks);
        return r;
}

static int check(const struct dhat *d, const struct json_reader *j, struct import_input *in,
                 struct err *reterr) {
        if (j->wrong) {
                in->taken_bytes = (uint64_t)(j->pos - j->begin);
                return import_input_refuse(in, reterr, "%s", j->wrong);
        }
        if (d->version != 2)
                return import_input_refuse(
                        in, reterr, "version %llu of DHAT's files is unknown: silt reads version 2",
                        (unsigned long long)d->version);
        if (strcmp(d->verb, "Allocated") != 0 || strstr(d->mode, "ad-hoc"))
                return import_input_refuse(in, reterr,
                                           "a DHAT profile of mode '%.20s' does not count memory",
                                           d->mode);
        if (!d->has_points)
                return import_input_refuse(in, reterr, "it has no program points");
        return 0;
}

static int read_dhat(struct import_input *in, struct import_trace *t, struct err *reterr) {
        struct dhat d = {.arena = arena_new(), .mode = "", .verb = "Allocated"};
        struct json_reader j;
        bytes_buf bytes = {0};
        int r = import_input_all(in, &bytes, reterr);

        json_reader_init(&j, bytes.items, bytes.n);
        if (r >= 0) {
                for (json_reader_open(&j, '{'); json_reader_next(&j);)
                        read_member(&d, &j);
                r = check(&d, &j, in, reterr);
        }
        if (r >= 0)
                r = put_all(&d, t, in, reterr);
        json_reader_done(&j);
        vec_free(&bytes);
        vec_free(&d.points);
        vec_free(&d.frames);
        vec_free(&d.texts);
        arena_free(d.arena);
        return r;
}

const struct import_format import_dhat = {
        .name = "dhat",
        .title = "a DHAT profile",
        .lacks =
                "sums by call path at its peak and at its end, but no single blocks, no threads and nothing between",
        .matches = matches,
        .read = read_dhat,
};
