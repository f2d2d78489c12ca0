/* SPDX-License-Identifier: MIT */
#include "ledger/book.h"

#include <stdlib.h>

#include "trace/writer.h"

void book_init(struct book *b, struct trace_writer *w, struct sites *s) {
        memset(b, 0, sizeof(*b));
        b->writer = w;
        b->sites = s;
        b->era_end_ns = BOOK_ERA_NS;
}

void book_done(struct book *b) {
        vec_free(&b->latest);
}

void book_add_thread(struct book *b, uint32_t thread) {
        while (b->latest.n <= thread)
                vec_push(&b->latest, (struct book_latest){UINT64_MAX, 0, BOOK_NO_SITE});
}

void book_begin_era(struct book *b) {
        bool is_long_past = b->now_ns - b->era_end_ns >= BOOK_ERA_NS; /* and nothing came since */

        b->old_seq = is_long_past ? b->next_seq : b->era_seq;
        b->era_seq = b->next_seq;
        b->era_end_ns = is_long_past ? b->now_ns + BOOK_ERA_NS : b->era_end_ns + BOOK_ERA_NS;
}

void book_exchange(struct book *b, const struct block *block, struct book_latest *latest) {
        struct trace_move *m = sites_moves(b->sites, block->site);

        latest->site = BOOK_NO_SITE;
        if (latest->size_bytes < block_size_bytes(block)) {
                m->n_shrunk++;
                return;
        }
        m->n_grown++;
        m->copied_bytes += block_size_bytes(block);
        m->grown_bytes += latest->size_bytes;
}

void book_release_implicitly(struct book *b, struct figures *f, const struct block *block,
                             uint32_t thread, uint32_t n_blocks) {
        trace_put_other(b->writer, thread, b->now_ns, TRACE_IMPLICIT_FREE, block_size_bytes(block),
                        block_seq(block), book_stack(b, block));
        sites_counts(b->sites, f, b->now_ns)->n_implicit_frees += n_blocks;
        sites_release(b->sites, f, block->site, n_blocks, n_blocks * block_size_bytes(block),
                      b->now_ns, book_age_us(b, block), false, false);
}

void book_end_realloc(struct book *b, const struct book_birth *n, uint64_t old_size_bytes,
                      bool is_in_place) {
        struct trace_move *m;

        b->latest.items[n->thread].site = BOOK_NO_SITE;
        if (n->size_bytes <= old_size_bytes)
                return;
        m = sites_moves(b->sites, n->site);
        m->n_grown++;
        m->copied_bytes += old_size_bytes;
        m->grown_bytes += n->size_bytes;
        m->in_place_bytes += is_in_place ? old_size_bytes : 0;
}
