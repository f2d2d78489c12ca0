/* SPDX-License-Identifier: MIT */
/* allocations: every block; live(at): those alive at a moment. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/units.h"
#include "base/vec.h"
#include "query/block_rows.h"
#include "sql/all_tables.h"
#include "sql/row_feed.h"
#include "sql/value_range.h"

/* ---- allocations ------------------------------------------------------------------------------- */

enum {
        BLOCK_ID,
        BLOCK_TIME,
        BLOCK_BYTES,
        BLOCK_STACK,
        BLOCK_PROCESS,
        BLOCK_THREAD,
        BLOCK_LIFETIME,
        BLOCK_FREED,
        BLOCK_FREED_BY,
        BLOCK_FREED_STACK,
        BLOCK_IS_TEMPORARY,
        BLOCK_BY_REALLOC,
        BLOCK_STANDS_FOR,
        BLOCK_ADDRESS,
};

struct block_cursor {
        struct sql_cursor c;
        struct query *q; /* that the feed reads with */
        struct query_block_rows *rows;
        struct row_feed feed;
        bool knows_reallocs;
        const struct query_block_row *row, *end; /* at hand, and the end of its batch */
};

static double n_blocks(struct sql_space *space) {
        return (double)space->view->n_events / 2;
}

/* Taken for even. */
static double part_before(struct sql_space *space, int64_t time_ns) {
        return (double)time_ns / fmax((double)space->view->end_ns, 1);
}

static double n_in_slice(struct sql_space *space) {
        return (double)space->view->n_events / fmax((double)space->view->n_slices, 1);
}

static double n_stacks(struct sql_space *space) {
        return (double)space->view->n_stacks;
}

static double n_threads(struct sql_space *space) {
        return (double)space->view->n_threads;
}

static double n_processes(struct sql_space *space) {
        return (double)space->view->n_processes;
}

static struct query_block_ask block_ask(const struct sql_space *space, const struct sql_ask *ask) {
        static const uint8_t keys[QUERY_N_BLOCK_KEYS] = {
                [QUERY_BLOCK_TIME] = BLOCK_TIME,         [QUERY_BLOCK_SEQ] = BLOCK_ID,
                [QUERY_BLOCK_STACK] = BLOCK_STACK,       [QUERY_BLOCK_BYTES] = BLOCK_BYTES,
                [QUERY_BLOCK_THREAD] = BLOCK_THREAD,     [QUERY_BLOCK_PROCESS] = BLOCK_PROCESS,
                [QUERY_BLOCK_LIFETIME] = BLOCK_LIFETIME, [QUERY_BLOCK_FREED] = BLOCK_FREED,
        };
        struct query_block_ask to = {.process = space->process};

        for (size_t i = 0; i < QUERY_N_BLOCK_KEYS; i++)
                to.ranges[i] = sql_value_range(&ask->ranges[keys[i]]);
        if (ask->ranges[BLOCK_FREED].is_set) /* NULL matches nothing */
                to.ranges[QUERY_BLOCK_FREED].high =
                        MIN(to.ranges[QUERY_BLOCK_FREED].high, UINT64_MAX - 1);
        for (int i = BLOCK_LIFETIME; i <= BLOCK_IS_TEMPORARY; i++)
                to.with_release |= sql_ask_uses(ask, i) || ask->ranges[i].is_set;
        to.with_address = sql_ask_uses(ask, BLOCK_ADDRESS);
        to.only_seq = !(ask->columns_used & ~(UINT64_C(1) << BLOCK_ID));
        return to;
}

static int block_take(struct block_cursor *b, struct err *reterr) {
        const void *batch = NULL;
        int r = row_feed_next(&b->feed, &batch, reterr);

        if (r < 0)
                return r;
        b->row = batch;
        b->end = r ? b->row + r : NULL;
        b->c.is_eof = r == 0;
        if (r)
                b->c.rowid = (int64_t)b->row->seq;
        return 0;
}

static int block_next(struct sql_cursor *base, struct err *reterr) {
        struct block_cursor *b = (struct block_cursor *)base;

        if (unlikely(++b->row == b->end))
                return block_take(b, reterr);
        base->rowid = (int64_t)b->row->seq;
        return 0;
}

static int block_fill(void *ctx, void *ret, size_t cap, struct err *reterr) {
        return query_block_rows_fill(ctx, ret, cap, reterr);
}

static int block_begin(struct sql_cursor *base, const struct sql_ask *ask, struct err *reterr) {
        struct block_cursor *b = (struct block_cursor *)base;
        struct query_block_ask of = block_ask(base->space, ask);
        int r = space_check_detail(base->space, of.ranges[QUERY_BLOCK_TIME].low,
                                   of.ranges[QUERY_BLOCK_TIME].high, reterr);

        if (r < 0)
                return r;
        if (ask->ranges[BLOCK_LIFETIME].is_set && space_lacks_time(base->space)) {
                base->is_eof = true; /* NULL matches nothing */
                return 0;
        }
        b->knows_reallocs =
                sql_ask_uses(ask, BLOCK_BY_REALLOC) && space_knows_reallocs(base->space);
        b->q = space_borrow(base->space);
        query_block_rows_open(b->q, &of, &b->rows);
        row_feed_begin(&b->feed, &(struct row_feed_source){.asked = base->space->trace.q,
                                                           .reader = b->q,
                                                           .fill = block_fill,
                                                           .ctx = b->rows,
                                                           .row_bytes = sizeof(*b->row)});
        return block_take(b, reterr);
}

static void block_end(struct sql_cursor *base) {
        struct block_cursor *b = (struct block_cursor *)base;

        row_feed_end(&b->feed);
        if (b->rows)
                base->space->is_inexact |= !query_block_rows_is_exact(b->rows);
        b->rows = query_block_rows_free(b->rows);
        space_return(base->space, b->q);
        b->q = NULL;
}

static void block_column(struct sql_cursor *base, sqlite3_context *to, int column) {
        const struct block_cursor *b = (const struct block_cursor *)base;
        const struct query_block_row *row = b->row;

        switch (column) {
        case BLOCK_ID: sql_result_count(to, row->seq); break;
        case BLOCK_TIME: sql_result_count(to, row->time_ns); break;
        case BLOCK_BYTES: sql_result_count(to, row->size_bytes); break;
        case BLOCK_STACK: sql_result_count(to, row->stack); break;
        case BLOCK_PROCESS:
                sql_result_count(to, base->space->view->threads[row->thread].start.process);
                break;
        case BLOCK_THREAD: sql_result_count(to, row->thread); break;
        case BLOCK_LIFETIME:
                if (!space_lacks_time(base->space))
                        sql_result_count(to, query_block_lifetime_ns(base->space->trace.q, row));
                break;
        case BLOCK_FREED:
                if (row->freed_ns != UINT64_MAX)
                        sql_result_count(to, row->freed_ns);
                break;
        case BLOCK_FREED_BY:
                if (row->freed_by != TRACE_NO_THREAD)
                        sql_result_count(to, row->freed_by);
                break;
        case BLOCK_FREED_STACK:
                if (row->freed_stack)
                        sql_result_count(to, row->freed_stack);
                break;
        case BLOCK_IS_TEMPORARY: sqlite3_result_int(to, row->is_temporary); break;
        case BLOCK_BY_REALLOC:
                if (b->knows_reallocs)
                        sqlite3_result_int(to, row->by_realloc);
                break;
        case BLOCK_STANDS_FOR: sql_result_count(to, row->n_blocks); break;
        case BLOCK_ADDRESS:
                if (row->address)
                        sqlite3_result_int64(to, (int64_t)row->address);
                break;
        default: break;
        }
}

static const struct sql_column block_columns[] = {
        [BLOCK_ID] = {"id", "its number: allocations count from 0",
                      SQL_IS_KEY | SQL_IS_RANGE | SQL_IS_SOUGHT},
        [BLOCK_TIME] = {"time_ns", "when it was allocated", SQL_IS_RANGE | SQL_IS_SOUGHT,
                        .part_below = part_before},
        [BLOCK_BYTES] = {"bytes", "requested", SQL_IS_RANGE},
        [BLOCK_STACK] = {"stack", "call path that allocated it", SQL_IS_RANGE, n_stacks},
        [BLOCK_PROCESS] = {"process", "that allocated it", SQL_IS_RANGE, n_processes},
        [BLOCK_THREAD] = {"thread", "that allocated it", SQL_IS_RANGE, n_threads},
        [BLOCK_LIFETIME] = {"lifetime_ns",
                            "to its free, or to the end of its process or of the recording",
                            SQL_IS_RANGE | SQL_IS_COSTLY},
        [BLOCK_FREED] = {"freed_ns", "when it was freed; NULL: never",
                         SQL_IS_RANGE | SQL_IS_COSTLY},
        [BLOCK_FREED_BY] = {"freed_by", "thread that freed it; NULL: none, or unknown",
                            SQL_IS_COSTLY},
        [BLOCK_FREED_STACK] = {"freed_stack",
                               "call path that freed it: of run --free-stacks, and of realloc",
                               SQL_IS_COSTLY},
        [BLOCK_IS_TEMPORARY] = {"is_temporary", "freed by its thread before that allocated again",
                                SQL_IS_COSTLY},
        [BLOCK_BY_REALLOC] = {"by_realloc", "made by realloc"},
        [BLOCK_STANDS_FOR] = {"stands_for",
                              "blocks of its size: 1, unless the recording is of samples"},
        [BLOCK_ADDRESS] = {"address", "of run --addresses"},
};

const struct sql_table sql_allocations = {
        .name = "allocations",
        .is_of_memory = true,
        .help = "every block, from its allocation to its free",
        SQL_COLUMNS(block_columns),
        .cursor_bytes = sizeof(struct block_cursor),
        .n_rows = n_blocks,
        .row_cost = 1,
        .n_read_at_once = n_in_slice,
        .begin = block_begin,
        .next = block_next,
        .column = block_column,
        .end = block_end,
};

/* ---- live(at) ---------------------------------------------------------------------------------- */

enum {
        LIVE_ID,
        LIVE_TIME,
        LIVE_AGE,
        LIVE_BYTES,
        LIVE_STACK,
        LIVE_PROCESS,
        LIVE_THREAD,
        LIVE_STANDS_FOR,
        LIVE_FREED,
        LIVE_AT,
};

/* What was alive at one moment, made once for all rounds of a join. */
struct live_moment {
        uint64_t at_ns;
        bool is_peak; /* the very event that made it: many may have the same time */
        bool with_release, is_exact;
        VEC(struct query_live_block) blocks; /* by seq */
        unsigned n_users;                    /* cursors */
};

struct live_cursor {
        struct sql_cursor c;
        struct live_moment *moment;
        size_t next; /* block to look at */
        const struct query_live_block *now;
        struct sql_ask ask; /* its arguments are not valid any more */
};

static double n_live(struct sql_space *space) {
        return (double)space->view->n_events / 100;
}

static bool live_take(void *ctx, const struct query_live_block *b) {
        struct live_moment *m = ctx;

        vec_push(&m->blocks, *b);
        return true;
}

static int compare_seq(const void *a, const void *b) {
        const struct query_live_block *x = a, *y = b;

        return (x->seq > y->seq) - (x->seq < y->seq);
}

static void moment_free(struct live_moment *m) {
        if (m)
                vec_free(&m->blocks);
        free(m);
}

void live_moments_done(struct sql_space *s) {
        for (size_t i = 0; i < ARRAY_SIZE(s->moments); i++) {
                moment_free(s->moments[i]);
                s->moments[i] = NULL;
        }
}

/* A place for another one; NULL: all are in use. */
static struct live_moment **moment_place(struct sql_space *space) {
        struct live_moment **place = NULL;

        for (size_t i = 0; i < ARRAY_SIZE(space->moments); i++) {
                struct live_moment *m = space->moments[i];

                if (!m)
                        return &space->moments[i];
                if (!m->n_users)
                        place = &space->moments[i];
        }
        return place;
}

static bool live_pass(void *ctx, const struct query_live_block *b) {
        (void)ctx;
        (void)b;
        return true;
}

/* Whether a process by itself has blocks of which no event is known. Of all together, others than dropped ones may be missing:
 * those that outlived their process in a child. */
static int lacks_dropped(struct sql_space *space, uint64_t at_ns, bool *ret, struct err *reterr) {
        *ret = space->process != QUERY_ALL || space->view->n_processes == 1;
        for (uint32_t i = 0; !*ret && i < space->view->n_processes; i++) {
                bool is_exact = true;
                int r = query_live_blocks(space->trace.q, i, at_ns, false, live_pass, NULL,
                                          &is_exact, reterr);

                if (r < 0)
                        return r;
                *ret = !is_exact;
        }
        return 0;
}

/* History has more blocks than are known singly, because the events of old times were dropped: refuses. */
static int check_dropped(struct sql_space *space, const struct live_moment *m, struct err *reterr) {
        struct query_scope scope = {.process = space->process,
                                    .to_ns = m->is_peak ? UINT64_MAX : m->at_ns};
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        uint64_t n = 0, bytes = 0, n_held, held_bytes;
        struct unit_text of_blocks, of_bytes;
        bool is_lacking = false;
        int r = query_ask(space->trace.q, &scope, &a, reterr);

        if (r >= 0)
                r = lacks_dropped(space, m->at_ns, &is_lacking, reterr);
        if (r < 0)
                return r;
        for (size_t i = 0; i < m->blocks.n; i++) {
                n += m->blocks.items[i].n_blocks;
                bytes += m->blocks.items[i].n_blocks * m->blocks.items[i].size_bytes;
        }
        n_held = m->is_peak ? a->totals.peak_blocks : a->totals.end_blocks;
        held_bytes = m->is_peak ? a->totals.peak_bytes : a->totals.end_bytes;
        if (!is_lacking || n >= n_held)
                return 0;
        return err_set(
                reterr, -ENODATA,
                "%s: %s blocks (%s) that were alive then are known only by call path, single "
                "ones from %.6g s on, older ones were dropped to keep the file small: ask "
                "'sites' or 'window'",
                space->trace.path, unit_count(&of_blocks, n_held - n),
                unit_bytes(&of_bytes, held_bytes - MIN(bytes, held_bytes)),
                (double)space->view->detail_from_ns / 1e9);
}

static int moment_read(struct sql_space *space, struct live_moment *m, struct err *reterr) {
        int r = m->is_peak ? query_peak_blocks(space->trace.q, space->process, m->with_release,
                                               live_take, m, &m->is_exact, reterr)
                           : query_live_blocks(space->trace.q, space->process, m->at_ns,
                                               m->with_release, live_take, m, &m->is_exact, reterr);

        if (r >= 0 && !m->is_exact && space->view->detail_from_ns)
                r = check_dropped(space, m, reterr);
        return r;
}

static int moment_get(struct sql_space *space, uint64_t at_ns, bool is_peak, bool with_release,
                      struct live_moment **ret, struct err *reterr) {
        struct live_moment **place, *m;
        int r;

        for (size_t i = 0; i < ARRAY_SIZE(space->moments); i++) {
                m = space->moments[i];
                if (m && m->at_ns == at_ns && m->is_peak == is_peak &&
                    m->with_release >= with_release) {
                        *ret = m;
                        return 0;
                }
        }
        place = moment_place(space);
        if (!place)
                return err_set(reterr, -E2BIG,
                               "a statement can ask about at most %zu moments at once",
                               ARRAY_SIZE(space->moments));
        m = calloc(1, sizeof(*m));
        if (!m)
                abort();
        *m = (struct live_moment){.at_ns = at_ns,
                                  .is_peak = is_peak,
                                  .with_release = with_release,
                                  .is_exact = true};
        r = moment_read(space, m, reterr);
        if (r < 0) {
                moment_free(m);
                return r;
        }
        if (m->blocks.n)
                qsort(m->blocks.items, m->blocks.n, sizeof(m->blocks.items[0]), compare_seq);
        moment_free(*place);
        *ret = *place = m;
        return 0;
}

/* The first block with this number or a higher one. */
static size_t moment_find(const struct live_moment *m, int64_t seq) {
        size_t low = 0, high = m->blocks.n;

        while (low < high) {
                size_t mid = low + (high - low) / 2;

                if ((int64_t)m->blocks.items[mid].seq < seq)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low;
}

static uint64_t live_age_ns(const struct live_moment *m, const struct query_live_block *b) {
        return m->at_ns > b->time_ns ? m->at_ns - b->time_ns : 0;
}

/* Figures beyond 2^63 − 1, of damaged files, are told as that. */
static bool has_count(const struct sql_range *r, uint64_t n) {
        return sql_range_has(r, n > INT64_MAX ? INT64_MAX : (int64_t)n);
}

static bool live_is_asked_for(const struct live_moment *m, const struct sql_range *r,
                              const struct query_live_block *b) {
        return has_count(&r[LIVE_TIME], b->time_ns) && has_count(&r[LIVE_BYTES], b->size_bytes) &&
               has_count(&r[LIVE_AGE], live_age_ns(m, b)) &&
               sql_range_has(&r[LIVE_STACK], b->stack) &&
               sql_range_has(&r[LIVE_THREAD], b->thread) &&
               sql_range_has(&r[LIVE_PROCESS], b->process);
}

static int live_next(struct sql_cursor *base, struct err *reterr) {
        struct live_cursor *l = (struct live_cursor *)base;

        (void)reterr;
        while (l->next < l->moment->blocks.n) {
                l->now = &l->moment->blocks.items[l->next++];
                if (!sql_range_has(&l->ask.ranges[LIVE_ID], (int64_t)l->now->seq))
                        break;
                if (live_is_asked_for(l->moment, l->ask.ranges, l->now)) {
                        base->rowid = (int64_t)l->next;
                        return 0;
                }
        }
        base->is_eof = true;
        return 0;
}

static int live_begin(struct sql_cursor *base, const struct sql_ask *ask, struct err *reterr) {
        struct live_cursor *l = (struct live_cursor *)base;
        struct sql_space *space = base->space;
        bool is_peak;
        uint64_t at_ns;
        int r = space_moment(space, ask->arguments[LIVE_AT], space->view->end_ns, &at_ns, &is_peak,
                             reterr);

        if (r >= 0)
                r = space_check_window(space, at_ns, at_ns, reterr);
        if (r >= 0)
                r = space_check_detail(space, 0, at_ns, reterr);
        if (r >= 0)
                r = moment_get(space, at_ns, is_peak, sql_ask_uses(ask, LIVE_FREED), &l->moment,
                               reterr);
        if (r < 0)
                return r;
        l->moment->n_users++;
        l->ask = *ask;
        if (ask->ranges[LIVE_AGE].is_set && space_lacks_time(space)) {
                base->is_eof = true;
                return 0;
        }
        l->next =
                ask->ranges[LIVE_ID].is_set ? moment_find(l->moment, ask->ranges[LIVE_ID].low) : 0;
        space->is_inexact |= !l->moment->is_exact;
        space->lacks_heirs |= !l->moment->is_exact && space->process == QUERY_ALL &&
                              space->view->n_processes > 1 && !space->lacks_detail;
        return live_next(base, reterr);
}

static void live_end(struct sql_cursor *base) {
        struct live_cursor *l = (struct live_cursor *)base;

        if (l->moment)
                l->moment->n_users--;
        l->moment = NULL;
}

static void live_column(struct sql_cursor *base, sqlite3_context *to, int column) {
        const struct live_cursor *l = (const struct live_cursor *)base;
        const struct query_live_block *b = l->now;

        switch (column) {
        case LIVE_ID: sql_result_count(to, b->seq); break;
        case LIVE_TIME: sql_result_count(to, b->time_ns); break;
        case LIVE_AGE:
                if (!space_lacks_time(base->space))
                        sql_result_count(to, live_age_ns(l->moment, b));
                break;
        case LIVE_BYTES: sql_result_count(to, b->size_bytes); break;
        case LIVE_STACK: sql_result_count(to, b->stack); break;
        case LIVE_PROCESS: sql_result_count(to, b->process); break;
        case LIVE_THREAD: sql_result_count(to, b->thread); break;
        case LIVE_STANDS_FOR: sql_result_count(to, b->n_blocks); break;
        case LIVE_FREED:
                if (b->freed_ns != UINT64_MAX)
                        sql_result_count(to, b->freed_ns);
                break;
        default: break;
        }
}

static const struct sql_column live_columns[] = {
        [LIVE_ID] = {"id", "its number, of allocations", SQL_IS_KEY | SQL_IS_RANGE | SQL_IS_SOUGHT},
        [LIVE_TIME] = {"time_ns", "when it was allocated", SQL_IS_RANGE},
        [LIVE_AGE] = {"age_ns", "since then", SQL_IS_RANGE},
        [LIVE_BYTES] = {"bytes", "requested", SQL_IS_RANGE},
        [LIVE_STACK] = {"stack", "call path that allocated it", SQL_IS_RANGE, n_stacks},
        [LIVE_PROCESS] = {"process", "that holds it", SQL_IS_RANGE, n_processes},
        [LIVE_THREAD] = {"thread", "that allocated it", SQL_IS_RANGE, n_threads},
        [LIVE_STANDS_FOR] = {"stands_for",
                             "blocks of its size: 1, unless the recording is of samples"},
        [LIVE_FREED] = {"freed_ns", "when it was freed; NULL: never", SQL_IS_COSTLY},
        [LIVE_AT] = {"at", "the moment; left out: the end", SQL_IS_ARGUMENT},
};

const struct sql_table sql_live = {
        .name = "live",
        .is_of_memory = true,
        .help = "blocks alive at a moment",
        SQL_COLUMNS(live_columns),
        .cursor_bytes = sizeof(struct live_cursor),
        .n_rows = n_live,
        .row_cost = 1,
        .begin = live_begin,
        .next = live_next,
        .column = live_column,
        .end = live_end,
};
