/* SPDX-License-Identifier: MIT */
#include "query/testing/questions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "query/cursor.h"

enum { N_COLUMNS = 17, MAX_EVENTS = 100000000 };

static const char *const names[N_QUESTIONS] = {
        [QUESTION_ASK] = "ask",
        [QUESTION_FUNCTIONS] = "functions",
        [QUESTION_SIZES] = "sizes",
        [QUESTION_PROCESSES] = "processes",
        [QUESTION_TREE] = "tree",
        [QUESTION_HISTORY] = "history",
        [QUESTION_HISTORY_BY_WORK] = "history by work",
        [QUESTION_HISTORY_BY_THREAD] = "history by thread",
        [QUESTION_TIMELINE] = "timeline",
        [QUESTION_HISTOGRAM] = "histogram",
        [QUESTION_MOVES] = "moves",
        [QUESTION_MAPPINGS] = "mappings",
        [QUESTION_RESIDENCY] = "residency",
        [QUESTION_THREADS] = "threads",
        [QUESTION_BLOCKS] = "blocks",
        [QUESTION_CURSORS] = "cursors",
};

const char *question_name(enum question question) {
        return names[question];
}

static void mix(uint64_t *digest, const void *p, size_t n_bytes) {
        const unsigned char *at = p;

        for (; n_bytes >= sizeof(uint64_t); at += sizeof(uint64_t), n_bytes -= sizeof(uint64_t)) {
                uint64_t word;

                memcpy(&word, at, sizeof(word));
                *digest = (*digest ^ word) * 1099511628211ull;
                *digest ^= *digest >> 29;
        }
        for (size_t i = 0; i < n_bytes; i++)
                *digest = (*digest ^ at[i]) * 1099511628211ull;
}

static void mix_number(uint64_t *digest, uint64_t n) {
        mix(digest, &n, sizeof(n));
}

static void mix_text(uint64_t *digest, const char *text) {
        mix(digest, text, strlen(text) + 1);
}

static void mix_figures(uint64_t *digest, const struct query_figures *f) {
        mix(digest, f, sizeof(*f)); /* 64-bit numbers, no gaps */
}

static void mix_frame(uint64_t *digest, const struct query_frame *f) {
        mix_text(digest, f->function);
        mix_text(digest, f->file);
        mix_text(digest, f->module);
        mix_number(digest, f->offset);
        mix_number(digest, f->line);
}

static void mix_totals(uint64_t *digest, const struct query_totals *t) {
        const uint64_t of[] = {t->n_allocs,      t->n_frees,         t->n_reallocs,
                               t->n_failed,      t->n_unknown_frees, t->n_prior_frees,
                               t->alloc_bytes,   t->n_temporary,     t->n_lost,
                               t->peak_bytes,    t->peak_blocks,     t->peak_ns,
                               t->begin_bytes,   t->begin_blocks,    t->end_bytes,
                               t->end_blocks,    t->peak_rss_bytes,  t->runtime_bytes,
                               t->n_threads,     t->n_sites,         t->n_implicit_frees,
                               t->n_inversions,  t->is_tallied,      t->n_complete_stacks,
                               t->n_wrong_sizes, t->blocked_ns};

        mix(digest, of, sizeof(of));
}

static int ask(struct query *q, const struct query_scope *scope, uint64_t *d, struct err *reterr) {
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        int r = query_ask(q, scope, &a, reterr);

        if (r < 0)
                return r;
        query_sort_sites(a->sites, a->n_sites, QUERY_ALLOCATED);
        mix_totals(d, &a->totals);
        for (size_t i = 0; i < a->n_processes; i++)
                mix_totals(d, &a->processes[i]);
        for (size_t i = 0; i < a->n_sites; i++) {
                mix_number(d, a->sites[i].stack);
                mix_figures(d, &a->sites[i].f);
        }
        mix_number(d, a->is_exact);
        mix_number(d, a->scope.from_ns);
        mix_number(d, a->scope.to_ns);
        return 0;
}

static void mix_groups(uint64_t *d, const struct query_groups *g) {
        for (size_t i = 0; i < g->n; i++) {
                const struct query_group *x = &g->rows[i];
                const uint64_t of[] = {x->process, x->thread, x->min_bytes, x->n_sites, x->stack};

                mix_frame(d, &x->frame);
                mix_text(d, x->name);
                mix(d, of, sizeof(of));
                mix_figures(d, &x->self);
                mix_figures(d, &x->total);
        }
}

static int group(struct query *q, const struct query_scope *scope, enum query_by by, uint64_t *d,
                 struct err *reterr) {
        const struct query_group_options o = {.by = by, .metric = QUERY_ALLOCATED};
        _cleanup_(query_groups_freep) struct query_groups *g = NULL;
        int r = query_group(q, scope, &o, &g, reterr);

        if (r < 0)
                return r;
        mix_groups(d, g);
        return 0;
}

static int tree(struct query *q, const struct query_scope *scope, uint64_t *d, struct err *reterr) {
        const struct query_tree_options o = {.metric = QUERY_PEAK, .min_share = 0.01};
        _cleanup_(query_tree_freep) struct query_tree *t = NULL;
        int r = query_tree(q, scope, &o, &t, reterr);

        if (r < 0)
                return r;
        for (size_t i = 0; i < t->n_nodes; i++) {
                mix_frame(d, &t->nodes[i].frame);
                mix_number(d, t->nodes[i].n_children);
                mix_figures(d, &t->nodes[i].self);
                mix_figures(d, &t->nodes[i].total);
        }
        return 0;
}

static int history(struct query *q, const struct query_scope *scope, enum query_by by, bool by_work,
                   uint64_t *d, struct err *reterr) {
        const struct query_group_options o = {.by = by, .metric = QUERY_ALLOCATED};
        _cleanup_(query_history_freep) struct query_history *first = NULL;
        _cleanup_(query_history_freep) struct query_history *h = NULL;
        int r = query_history(q, scope, &o, 5, N_COLUMNS, MAX_EVENTS, by_work ? &first : &h,
                              reterr);
        size_t n;

        if (r >= 0 && by_work)
                r = query_history_by_work(q, first, MAX_EVENTS, &h, reterr);

        if (r < 0)
                return r;
        n = (h->n_groups + 1) * h->n_columns;
        mix_groups(d, h->groups);
        mix(d, h->at_ns, h->n_columns * sizeof(h->at_ns[0]));
        mix(d, h->live_bytes, n * sizeof(h->live_bytes[0]));
        mix(d, h->live_blocks, n * sizeof(h->live_blocks[0]));
        mix(d, h->n_allocs, n * sizeof(h->n_allocs[0]));
        mix(d, h->n_frees, n * sizeof(h->n_frees[0]));
        return 0;
}

static int timeline(struct query *q, const struct query_scope *scope, uint64_t *d,
                    struct err *reterr) {
        struct query_column columns[N_COLUMNS];
        int r = query_timeline(q, scope, N_COLUMNS, MAX_EVENTS, columns, reterr);

        for (size_t i = 0; r >= 0 && i < N_COLUMNS; i++) {
                const struct query_column *c = &columns[i];
                const uint64_t of[] = {c->begin_ns,       c->end_ns,    c->live_bytes,
                                       c->low_live_bytes, c->rss_bytes, c->has_rss};

                mix(d, of, sizeof(of));
        }
        return r;
}

static int histogram(struct query *q, const struct query_scope *scope, uint64_t *d,
                     struct err *reterr) {
        _cleanup_(query_histogram_freep) struct query_histogram *h = NULL;
        int r = query_histogram(q, scope, QUERY_LIFETIMES, false, &h, reterr);

        if (r < 0)
                return r;
        mix(d, h->buckets, h->n * sizeof(h->buckets[0]));
        return 0;
}

static int moves(struct query *q, const struct query_scope *scope, uint64_t *d,
                 struct err *reterr) {
        _cleanup_(query_moves_freep) struct query_moves *m = NULL;
        int r = query_moves(q, scope, &m, reterr);

        if (r < 0)
                return r;
        mix_number(d, (uint64_t)m->is_known << 1 | m->is_exact);
        for (size_t i = 0; i < m->n; i++) {
                const struct query_move *x = &m->rows[i];
                const uint64_t of[] = {x->stack,          x->n_foreign_frees, x->foreign_bytes,
                                       x->n_grown,        x->copied_bytes,    x->grown_bytes,
                                       x->in_place_bytes, x->n_shrunk};

                mix(d, of, sizeof(of));
        }
        return 0;
}

static void mix_mapping(uint64_t *d, const struct query_mapping *m) {
        const uint64_t of[] = {m->stack,      m->n_calls,   m->mapped_bytes,
                               m->peak_bytes, m->end_bytes, m->reserved_bytes};

        mix(d, of, sizeof(of));
}

static int mappings(struct query *q, const struct query_scope *scope, uint64_t *d,
                    struct err *reterr) {
        _cleanup_free_ struct query_mapping *rows = NULL;
        struct query_mapped sum;
        size_t n;
        int r = query_mappings(q, scope, &rows, &n, &sum, reterr);

        if (r < 0)
                return r;
        mix(d, &sum, sizeof(sum));
        for (size_t i = 0; i < n; i++)
                mix_mapping(d, &rows[i]);
        return 0;
}

static int residency(struct query *q, const struct query_scope *scope, uint64_t *d,
                     struct err *reterr) {
        _cleanup_free_ struct query_residency *rows = NULL;
        size_t n;
        int r = query_residency(q, scope, &rows, &n, reterr);

        if (r >= 0)
                mix(d, rows, n * sizeof(rows[0]));
        return r;
}

static void mix_thread(uint64_t *d, const struct query_thread *t) {
        const uint64_t of[] = {t->thread,  t->n_allocs,    t->alloc_bytes,
                               t->n_frees, t->n_temporary, t->n_foreign_frees};

        mix(d, of, sizeof(of));
}

static int threads(struct query *q, const struct query_scope *scope, uint64_t *d,
                   struct err *reterr) {
        _cleanup_free_ struct query_thread *rows = NULL;
        bool has_figures;
        size_t n;
        int r = query_threads(q, scope, UINT64_MAX, &rows, &n, &has_figures, reterr);

        for (size_t i = 0; r >= 0 && i < n; i++)
                mix_thread(d, &rows[i]);
        return r;
}

static bool mix_block(void *d, const struct query_block *b) {
        const uint64_t of[] = {b->time_ns, b->size_bytes, b->seq,   b->address, b->n_blocks,
                               b->age_ns,  b->thread,     b->stack, b->is_live};

        mix(d, of, sizeof(of));
        return true;
}

static void mix_row(uint64_t *d, enum query_rows rows, const struct query_row *row) {
        switch (rows) {
        case QUERY_ROWS_BLOCKS: mix_block(d, &row->block); break;
        case QUERY_ROWS_EVENTS:
                mix_number(d, row->event.process);
                mix_number(d, row->event.event->time_ns);
                mix_number(d, row->event.event->seq);
                mix_number(d, row->event.event->stack);
                mix_number(d, row->event.event->size_bytes);
                break;
        case QUERY_ROWS_SITES:
                mix_number(d, row->site.slice_idx);
                mix_number(d, row->site.is_whole);
                mix_number(d, row->site.site->stack);
                mix_number(d, row->site.site->alloc_bytes);
                break;
        case QUERY_ROWS_MAPPINGS: mix_mapping(d, &row->mapping); break;
        case QUERY_ROWS_MAPPING_CALLS: mix_number(d, row->mapping_call->address); break;
        case QUERY_ROWS_THREADS: mix_thread(d, &row->thread); break;
        case QUERY_ROWS_NOTES: mix_text(d, row->note->text); break;
        case QUERY_N_ROWS: break;
        }
}

/* All of them open at once, a row of each in turn. */
static int cursors(struct query *q, const struct query_scope *scope, uint64_t *d,
                   struct err *reterr) {
        struct query_cursor *c[QUERY_N_ROWS] = {0};
        uint64_t digests[QUERY_N_ROWS] = {0};
        int r = 0;

        for (unsigned i = 0; i < QUERY_N_ROWS && r >= 0; i++)
                r = query_cursor_open(q, scope, (enum query_rows)i, &c[i], reterr);
        for (bool more = r >= 0; more;) {
                more = false;
                for (unsigned i = 0; i < QUERY_N_ROWS && r >= 0; i++) {
                        const struct query_row *row;

                        r = query_cursor_next(c[i], &row, reterr);
                        if (r > 0)
                                mix_row(&digests[i], (enum query_rows)i, row);
                        more |= r > 0;
                }
                more &= r >= 0;
        }
        for (unsigned i = 0; i < QUERY_N_ROWS; i++)
                query_cursor_free(c[i]);
        mix(d, digests, sizeof(digests));
        return MIN(r, 0);
}

int question_ask(struct query *q, enum question question, const struct query_scope *scope,
                 uint64_t *ret_digest, struct err *reterr) {
        uint64_t *d = ret_digest;

        *d = 14695981039346656037ull;
        switch (question) {
        case QUESTION_ASK: return ask(q, scope, d, reterr);
        case QUESTION_FUNCTIONS: return group(q, scope, QUERY_BY_FUNCTION, d, reterr);
        case QUESTION_SIZES: return group(q, scope, QUERY_BY_SIZE, d, reterr);
        case QUESTION_PROCESSES: return group(q, scope, QUERY_BY_PROCESS, d, reterr);
        case QUESTION_TREE: return tree(q, scope, d, reterr);
        case QUESTION_HISTORY: return history(q, scope, QUERY_BY_FUNCTION, false, d, reterr);
        case QUESTION_HISTORY_BY_WORK: return history(q, scope, QUERY_BY_SITE, true, d, reterr);
        case QUESTION_HISTORY_BY_THREAD:
                return history(q, scope, QUERY_BY_THREAD, false, d, reterr);
        case QUESTION_TIMELINE: return timeline(q, scope, d, reterr);
        case QUESTION_HISTOGRAM: return histogram(q, scope, d, reterr);
        case QUESTION_MOVES: return moves(q, scope, d, reterr);
        case QUESTION_MAPPINGS: return mappings(q, scope, d, reterr);
        case QUESTION_RESIDENCY: return residency(q, scope, d, reterr);
        case QUESTION_THREADS: return threads(q, scope, d, reterr);
        case QUESTION_BLOCKS: return query_blocks(q, scope, mix_block, d, reterr);
        case QUESTION_CURSORS: return cursors(q, scope, d, reterr);
        case N_QUESTIONS: break;
        }
        return -EINVAL;
}

const char *questions_compare(struct query *x, struct query *y, const struct query_scope *scope) {
        for (unsigned i = 0; i < N_QUESTIONS; i++) {
                uint64_t of_x, of_y;
                struct err e = {0};

                if (question_ask(x, (enum question)i, scope, &of_x, &e) < 0 ||
                    question_ask(y, (enum question)i, scope, &of_y, &e) < 0) {
                        fprintf(stderr, "%s: %s\n", names[i], e.text);
                        return names[i];
                }
                if (of_x != of_y)
                        return names[i];
        }
        return NULL;
}
