/* SPDX-License-Identifier: MIT */
#include "pipeline/block_residency.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "trace/writer.h"

/* Bits of an entry of /proc/PID/pagemap. */
#define PAGEMAP_PRESENT ((uint64_t)1 << 63)
#define PAGEMAP_SWAPPED ((uint64_t)1 << 62)

enum {
        READ_PAGES = 4096,
        WRITE_SHARE = 16, /* rows go out when the recording is a sixteenth older: few in days */
};

/* ---- which blocks ------------------------------------------------------------------------------- */

static void *residency_must(void *p) {
        if (!p) {
                fputs("silt: out of memory\n", stderr);
                abort();
        }
        return p;
}

static struct residency *residency_new(uint32_t process) {
        struct residency *r = residency_must(calloc(1, sizeof(*r)));

        r->process = process;
        r->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
        return r;
}

struct residency *residency_free(struct residency *r) {
        if (!r)
                return NULL;
        for (size_t i = 0; i < r->blocks.n; i++)
                free(r->blocks.items[i].touched);
        vec_free(&r->blocks);
        vec_free(&r->rows);
        map_done(&r->row_by_stack);
        free(r);
        return NULL;
}

static bool block_is_live(const struct residency_block *b, const struct live *live) {
        struct block found;

        return live_find(live, b->address, &found) && block_seq(&found) == b->seq;
}

/* The last one takes its place. */
static void residency_drop(struct residency *r, size_t i) {
        struct residency_block *b = &r->blocks.items[i];

        r->n_pages -= b->n_pages;
        free(b->touched);
        *b = r->blocks.items[--r->blocks.n];
}

static bool residency_has_room(const struct residency *r, uint64_t n_pages) {
        return r->blocks.n < RESIDENCY_MAX_BLOCKS && r->n_pages + n_pages <= RESIDENCY_MAX_PAGES;
}

static void residency_make_room(struct residency *r, const struct live *live) {
        for (size_t i = r->blocks.n; i-- > 0;)
                if (!block_is_live(&r->blocks.items[i], live))
                        residency_drop(r, i);
        /* too little for the next ones to be worth it */
        r->is_full = r->blocks.n > RESIDENCY_MAX_BLOCKS / 4 * 3 ||
                     r->n_pages > RESIDENCY_MAX_PAGES / 4 * 3;
}

/* A program that asks for large blocks again and again is handed the same addresses: the block before is gone. */
static struct residency_block *residency_find_recent(const struct residency *r, uint64_t address,
                                                     uint16_t *recent) {
        struct residency_block *b = *recent < r->blocks.n ? &r->blocks.items[*recent] : NULL;

        return b && b->address == address && !b->touched ? b : NULL;
}

void residency_note(struct residency **place, const struct live *live,
                    const struct residency_birth *birth) {
        struct residency *r = *place ? *place : (*place = residency_new(birth->process));
        uint64_t end = birth->address + birth->size_bytes;
        uint64_t n_pages = (end - 1) / r->page_bytes - birth->address / r->page_bytes + 1;
        uint16_t *recent = &r->recent[map_hash(birth->address) % RESIDENCY_N_RECENT];
        struct residency_block *b = residency_find_recent(r, birth->address, recent);

        if (n_pages > RESIDENCY_MAX_BLOCK_PAGES)
                return;
        if (!b && !r->is_full && !residency_has_room(r, n_pages))
                residency_make_room(r, live);
        if (!b && (r->is_full || !residency_has_room(r, n_pages)))
                return;
        if (!b) {
                *recent = (uint16_t)r->blocks.n;
                b = vec_add(&r->blocks);
        }
        r->n_pages += n_pages - b->n_pages;
        *b = (struct residency_block){.address = birth->address,
                                      .seq = birth->seq,
                                      .size_bytes = birth->size_bytes,
                                      .stack = birth->stack,
                                      .n_pages = (uint32_t)n_pages};
}

/* ---- a look ------------------------------------------------------------------------------------- */

/* Which of the pages behind page `at` were touched; true when some were not known to be. */
static bool block_take(struct residency_block *b, uint32_t at, const uint64_t *entries, size_t n) {
        bool has_new = false;

        for (size_t i = 0; i < n; i++, at++) {
                uint64_t bit = (uint64_t)1 << at % 64;

                if (entries[i] & (PAGEMAP_PRESENT | PAGEMAP_SWAPPED) &&
                    !(b->touched[at / 64] & bit)) {
                        b->touched[at / 64] |= bit;
                        has_new = true;
                }
        }
        return has_new;
}

/* Does not count when not all of it could be read; what was read does no harm. */
static void block_look(struct residency_block *b, int pagemap_fd, uint64_t page_bytes) {
        static uint64_t entries[READ_PAGES];
        uint64_t first_page = b->address / page_bytes;

        b->is_steady = b->touched != NULL;
        if (!b->touched)
                b->touched = residency_must(calloc((b->n_pages + 63) / 64, sizeof(b->touched[0])));
        for (uint32_t at = 0; at < b->n_pages;) {
                size_t want = MIN(b->n_pages - at, (uint32_t)READ_PAGES);
                ssize_t n = pread(pagemap_fd, entries, want * sizeof(entries[0]),
                                  (off_t)((first_page + at) * sizeof(entries[0])));

                n /= (ssize_t)sizeof(entries[0]);
                if (n <= 0)
                        return;
                if (block_take(b, at, entries, (size_t)n))
                        b->is_steady = false;
                at += (uint32_t)n;
        }
        b->is_looked_at = true;
}

/* The block itself may begin and end inside a page. */
static uint64_t block_touched_bytes(const struct residency_block *b, uint64_t page_bytes) {
        uint64_t first_page = b->address / page_bytes, end = b->address + b->size_bytes, bytes = 0;

        for (uint32_t i = 0; i < b->n_pages; i++) {
                uint64_t begin = (first_page + i) * page_bytes;

                if (b->touched[i / 64] >> i % 64 & 1)
                        bytes += MIN(begin + page_bytes, end) - MAX(begin, b->address);
        }
        return bytes;
}

void residency_look(struct residency *r, const struct live *live, int pagemap_fd, uint64_t now_ns,
                    struct residency_budget *budget) {
        r->wants_more = false;
        for (size_t n = r->blocks.n; n > 0 && r->blocks.n > 0; n--) {
                size_t i = r->cursor % r->blocks.n;
                struct residency_block *b = &r->blocks.items[i];

                if (!block_is_live(b, live)) {
                        residency_drop(r, i);
                        continue;
                }
                if (b->n_pages > budget->n_pages || budget->n_blocks == 0) {
                        r->wants_more = true;
                        break; /* it is the first of the next look */
                }
                r->cursor = i + 1;
                budget->n_blocks--;
                budget->n_pages -= b->n_pages;
                block_look(b, pagemap_fd, r->page_bytes);
                r->wants_more |= b->is_looked_at && !b->is_seen && !b->is_steady;
        }
        r->look_ns = r->last_look_ns = now_ns;
        r->is_full = false;
}

/* ---- what it showed ----------------------------------------------------------------------------- */

static struct residency_row *residency_row_of(struct residency *r, uint32_t stack) {
        bool added;
        uint64_t *idx = map_put(&r->row_by_stack, stack, r->rows.n, &added);

        if (added)
                vec_add(&r->rows)->state =
                        (struct trace_residency){.process = r->process, .stack = stack};
        return &r->rows.items[*idx];
}

static void block_count(struct residency_block *b, struct trace_residency *row,
                        uint64_t page_bytes) {
        uint64_t before_bytes = b->touched_bytes;

        if (b->is_looked_at) {
                if (!b->is_seen || !b->is_steady)
                        b->touched_bytes = block_touched_bytes(b, page_bytes);
                row->seen.n_blocks += !b->is_seen;
                row->seen.bytes += b->is_seen ? 0 : b->size_bytes;
                row->seen.touched_bytes += b->touched_bytes - before_bytes;
                b->is_looked_at = false;
                b->is_seen = true;
        }
        row->now.n_blocks++;
        row->now.bytes += b->size_bytes;
        row->now.touched_bytes += b->touched_bytes;
}

static void row_begin(struct residency_row *row) {
        row->before = row->state;
        row->state.now = (struct trace_look){0};
}

static void row_end(struct residency_row *row, uint64_t look_ns) {
        struct trace_residency *s = &row->state;

        if (memcmp(s, &row->before, sizeof(*s)) == 0)
                return;
        row->is_changed = true;
        s->time_ns = look_ns;
        s->max_touched_bytes = MAX(s->max_touched_bytes, s->now.touched_bytes);
        if (s->now.bytes >= s->peak.bytes) {
                s->peak = s->now;
                s->peak_ns = look_ns;
        }
}

static void residency_count(struct residency *r, const struct live *live) {
        for (size_t i = 0; i < r->rows.n; i++)
                row_begin(&r->rows.items[i]);
        for (size_t i = r->blocks.n; i-- > 0;) {
                struct residency_block *b = &r->blocks.items[i];

                if (!block_is_live(b, live))
                        residency_drop(r, i);
                else if (b->is_seen || (b->is_looked_at && b->is_steady))
                        block_count(b, &residency_row_of(r, b->stack)->state, r->page_bytes);
        }
        for (size_t i = 0; i < r->rows.n; i++)
                row_end(&r->rows.items[i], r->look_ns);
}

void residency_settle(struct residency *r, const struct live *live, bool is_valid) {
        if (!r->look_ns)
                return;
        if (is_valid)
                residency_count(r, live);
        for (size_t i = 0; i < r->blocks.n; i++)
                r->blocks.items[i].is_looked_at = false;
        r->look_ns = 0;
}

void residency_write(struct residency *r, struct trace_writer *w, bool is_end) {
        if (!is_end && r->last_look_ns < r->next_write_ns)
                return;
        for (size_t i = 0; i < r->rows.n; i++)
                if (r->rows.items[i].is_changed) {
                        trace_put_residency(w, &r->rows.items[i].state);
                        r->rows.items[i].is_changed = false;
                }
        r->next_write_ns = r->last_look_ns + r->last_look_ns / WRITE_SHARE;
}
