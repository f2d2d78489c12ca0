/* SPDX-License-Identifier: MIT */
/* Callgrind's profiles (valgrind's cl-format documents them; KCachegrind and callgrind_annotate read them), with memory in place of
 * instructions: for each line of each function what it asked for itself, and for each call what was asked for below.
 *
 * To readers a function has with all below it what calls to it cost. So that recursion does not count twice, a call path counts the
 * outermost call of each function alone; and all begin below one name, so that every function is called. */
#include <string.h>

#include "export/export_job.h"
#include "export/frame_table.h"
#include "export/one_process.h"
#include "export/text_table.h"

enum { CALLGRIND_N_COSTS = 7 };

struct callgrind_cost {
        uint64_t v[CALLGRIND_N_COSTS];
};

/* A function as readers tell them apart: name, file and module. */
struct callgrind_function {
        uint32_t frame;     /* one of it */
        uint32_t next;      /* of the same hash; index + 1 */
        uint32_t first_row; /* index + 1 */
        uint32_t seen_by;   /* the last call path it was on, + 1 */
};

/* What a line of a function asked for itself, or by calls to another one. */
struct callgrind_row {
        uint32_t function, line;
        uint32_t callee, callee_line;            /* function index + 1; 0: itself */
        uint32_t next_of_function, next_of_hash; /* index + 1 */
        struct callgrind_cost cost;
};

struct callgrind {
        struct export_job *job;
        struct frame_table frames;
        uint32_t root;             /* frame that every call path begins below */
        VEC(uint32_t) function_of; /* by frame, + 1 */
        VEC(struct callgrind_function) functions;
        VEC(struct callgrind_row) rows;
        struct map function_ids, row_ids; /* by hash: first index + 1 */
        struct text_table names[3];       /* enum callgrind_name */
        uint32_t n_written[3];
};

/* ---- adding up --------------------------------------------------------------------------------- */

static bool is_same_function(const struct query_frame *a, const struct query_frame *b) {
        return strcmp(a->function, b->function) == 0 && strcmp(a->file, b->file) == 0 &&
               strcmp(a->module, b->module) == 0 && (a->function[0] || a->offset == b->offset);
}

static uint64_t hash_text(uint64_t hash, const char *text) {
        for (; *text; text++)
                hash = (hash ^ (uint8_t)*text) * 0x100000001b3ull;
        return map_hash(hash + 1);
}

static uint32_t function_of(struct callgrind *c, uint32_t frame) {
        const struct query_frame *f = &c->frames.frames.items[frame].frame;
        uint64_t hash, *first;

        while (c->function_of.n <= frame)
                vec_push(&c->function_of, 0);
        if (c->function_of.items[frame])
                return c->function_of.items[frame] - 1;
        hash = hash_text(hash_text(f->function[0] ? 0 : f->offset, f->function), f->file);
        first = map_put(&c->function_ids, hash, 0, NULL);
        for (uint32_t i = (uint32_t)*first; i; i = c->functions.items[i - 1].next) {
                uint32_t other = c->functions.items[i - 1].frame;

                if (is_same_function(&c->frames.frames.items[other].frame, f)) {
                        c->function_of.items[frame] = i;
                        return i - 1;
                }
        }
        vec_push(&c->functions,
                 (struct callgrind_function){.frame = frame, .next = (uint32_t)*first});
        *first = c->functions.n;
        c->function_of.items[frame] = (uint32_t)c->functions.n;
        return (uint32_t)c->functions.n - 1;
}

static void add_cost(struct callgrind *c, struct callgrind_row row) {
        uint64_t hash = map_hash((uint64_t)row.function << 32 | row.line) ^
                        map_hash(((uint64_t)row.callee << 32 | row.callee_line) + 1);
        uint64_t *first = map_put(&c->row_ids, hash, 0, NULL);

        for (uint32_t i = (uint32_t)*first; i; i = c->rows.items[i - 1].next_of_hash) {
                struct callgrind_row *other = &c->rows.items[i - 1];

                if (other->function != row.function || other->line != row.line ||
                    other->callee != row.callee || other->callee_line != row.callee_line)
                        continue;
                for (size_t k = 0; k < CALLGRIND_N_COSTS; k++)
                        other->cost.v[k] += row.cost.v[k];
                return;
        }
        row.next_of_hash = (uint32_t)*first;
        row.next_of_function = c->functions.items[row.function].first_row;
        vec_push(&c->rows, row);
        *first = c->rows.n;
        c->functions.items[row.function].first_row = (uint32_t)c->rows.n;
}

static uint32_t line_of(const struct callgrind *c, uint32_t frame) {
        return c->frames.frames.items[frame].frame.line;
}

static void add_call(struct callgrind *c, uint32_t from, uint32_t to,
                     const struct callgrind_cost *cost) {
        add_cost(c, (struct callgrind_row){.function = function_of(c, from),
                                           .line = line_of(c, from),
                                           .callee = function_of(c, to) + 1,
                                           .callee_line = line_of(c, to),
                                           .cost = *cost});
}

static void add_path(struct callgrind *c, const uint32_t *path, size_t n, uint32_t number,
                     const struct callgrind_cost *cost) {
        uint32_t caller = c->root;

        for (size_t i = n; i-- > 0; caller = path[i]) {
                uint32_t callee = function_of(c, path[i]);

                if (c->functions.items[callee].seen_by == number + 1)
                        continue;
                c->functions.items[callee].seen_by = number + 1;
                add_call(c, caller, path[i], cost);
        }
        add_cost(c, (struct callgrind_row){.function = function_of(c, path[0]),
                                           .line = line_of(c, path[0]),
                                           .cost = *cost});
}

static struct callgrind_cost cost_of(const struct query_figures *f) {
        return (struct callgrind_cost){{f->alloc_bytes, f->n_allocs, f->n_temporary,
                                        (uint64_t)MAX(f->peak_bytes, (int64_t)0),
                                        (uint64_t)MAX(f->peak_blocks, (int64_t)0),
                                        (uint64_t)MAX(f->end_bytes, (int64_t)0),
                                        (uint64_t)MAX(f->end_blocks, (int64_t)0)}};
}

/* ---- writing ----------------------------------------------------------------------------------- */

enum callgrind_name { CALLGRIND_MODULE, CALLGRIND_FILE, CALLGRIND_FUNCTION };

/* "fn=(3) main", later "fn=(3)". */
static void put_name(struct callgrind *c, const char *key, enum callgrind_name kind,
                     const char *text) {
        uint32_t id = text_table_number(&c->names[kind], text);

        fprintf(c->job->out, "%s=(%u)", key, id);
        if (id > c->n_written[kind]) {
                c->n_written[kind] = id;
                putc(' ', c->job->out);
                for (; *text; text++)
                        putc((unsigned char)*text < ' ' ? ' ' : *text, c->job->out);
        }
        putc('\n', c->job->out);
}

static const char *or_unknown(const char *text) {
        return text[0] ? text : "???";
}

static const struct {
        const char *name, *title;
        uint32_t lacks; /* flags of a trace that does not know it */
} events[CALLGRIND_N_COSTS] = {
        {"Allocated", "bytes allocated", TRACE_LACKS_TRAFFIC},
        {"Allocations", "allocations", TRACE_LACKS_TRAFFIC | TRACE_LACKS_BLOCKS},
        {"Temporary", "temporary allocations", TRACE_IS_TOTALS},
        {"Peak", "bytes live at the peak", TRACE_LACKS_PEAK},
        {"PeakBlocks", "blocks live at the peak", TRACE_LACKS_PEAK | TRACE_LACKS_BLOCKS},
        {"End", "bytes live at the end", TRACE_LACKS_LIVE},
        {"EndBlocks", "blocks live at the end", TRACE_LACKS_LIVE | TRACE_LACKS_BLOCKS},
};

static bool is_known(const struct callgrind *c, size_t event) {
        return !(c->job->view->meta.flags & events[event].lacks);
}

static void put_cost(const struct callgrind *c, const struct callgrind_cost *cost) {
        for (size_t k = 0; k < CALLGRIND_N_COSTS; k++)
                if (is_known(c, k))
                        fprintf(c->job->out, " %llu", (unsigned long long)cost->v[k]);
        putc('\n', c->job->out);
}

static void put_row(struct callgrind *c, const struct callgrind_row *row) {
        FILE *out = c->job->out;
        const struct frame_entry *f;

        if (row->callee) {
                f = &c->frames.frames.items[c->functions.items[row->callee - 1].frame];
                put_name(c, "cob", CALLGRIND_MODULE, or_unknown(f->frame.module));
                put_name(c, "cfi", CALLGRIND_FILE, or_unknown(f->frame.file));
                put_name(c, "cfn", CALLGRIND_FUNCTION, f->name);
                /* how often it was called is not known: how often something was asked for below is */
                fprintf(out, "calls=%llu %u\n",
                        is_known(c, 1) ? (unsigned long long)row->cost.v[1] : 0, row->callee_line);
        }
        fprintf(out, "%u", row->line);
        put_cost(c, &row->cost);
}

static void put_function(struct callgrind *c, const struct callgrind_function *fn) {
        const struct frame_entry *f = &c->frames.frames.items[fn->frame];

        putc('\n', c->job->out);
        put_name(c, "ob", CALLGRIND_MODULE, or_unknown(f->frame.module));
        put_name(c, "fl", CALLGRIND_FILE, or_unknown(f->frame.file));
        put_name(c, "fn", CALLGRIND_FUNCTION, f->name);
        for (uint32_t i = fn->first_row; i; i = c->rows.items[i - 1].next_of_function)
                put_row(c, &c->rows.items[i - 1]);
}

static void put_head(struct callgrind *c, const struct callgrind_cost *sum) {
        FILE *out = c->job->out;
        struct str command = {0};

        export_add_command(c->job, &command);
        fprintf(out, "# callgrind format\nversion: 1\ncreator: silt\npid: %u\ncmd: %s\npart: 1\n\n",
                c->job->view->meta.pid, str_text(&command));
        fputs("desc: Trigger: Program termination\n\npositions: line\n", out);
        for (size_t k = 0; k < CALLGRIND_N_COSTS; k++)
                if (is_known(c, k))
                        fprintf(out, "event: %s : %s\n", events[k].name, events[k].title);
        fputs("events:", out);
        for (size_t k = 0; k < CALLGRIND_N_COSTS; k++)
                if (is_known(c, k))
                        fprintf(out, " %s", events[k].name);
        fputs("\nsummary:", out);
        put_cost(c, sum);
        str_done(&command);
}

static void write_answer(struct callgrind *c, const struct query_answer *a) {
        struct callgrind_cost sum = {0};
        const struct query_frame unknown = {"unknown", "", "", 0, 0, 0, false, false};
        const struct query_frame root = {"(below main)", "", "", 0, 0, 0, false, false};

        c->root = frame_table_add(&c->frames, &root);
        for (size_t i = 0; i < a->n_sites; i++) {
                struct callgrind_cost cost = cost_of(&a->sites[i].f);
                size_t n;
                const uint32_t *path = frame_table_path(&c->frames, a->sites[i].stack, &n);
                uint32_t none = n ? 0 : frame_table_add(&c->frames, &unknown);

                if (query_figures_are_idle(&a->sites[i].f))
                        continue;
                add_path(c, n ? path : &none, n ? n : 1, (uint32_t)i, &cost);
                for (size_t k = 0; k < CALLGRIND_N_COSTS; k++)
                        sum.v[k] += cost.v[k];
                c->job->told->n_rows++;
        }
        put_head(c, &sum);
        for (size_t i = 0; i < c->functions.n; i++)
                put_function(c, &c->functions.items[i]);
        fputs("\ntotals:", c->job->out);
        put_cost(c, &sum);
}

int export_callgrind(struct export_job *job, struct err *reterr) {
        struct callgrind c = {.job = job};
        struct query_answer *a = NULL;
        int r = query_ask(job->q, &job->scope, &a, reterr);

        if (r < 0)
                return r;
        job->told->rows = "call paths";
        frame_table_init(&c.frames, job->q);
        for (size_t i = 0; i < ARRAY_SIZE(c.names); i++)
                text_table_init(&c.names[i]);
        write_answer(&c, a);
        frame_table_done(&c.frames);
        query_answer_free(a);
        vec_free(&c.function_of);
        vec_free(&c.functions);
        vec_free(&c.rows);
        map_done(&c.function_ids);
        map_done(&c.row_ids);
        for (size_t i = 0; i < ARRAY_SIZE(c.names); i++)
                text_table_done(&c.names[i]);
        return 0;
}
