/* SPDX-License-Identifier: MIT */
#include "ledger/slab.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/macros.h"
#include "base/map.h"
#include "base/vec.h"

#if defined(__SANITIZE_ADDRESS__)
#define SLAB_IS_PLAIN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SLAB_IS_PLAIN 1
#endif
#endif
#ifndef SLAB_IS_PLAIN
#define SLAB_IS_PLAIN 0
#endif

static size_t size_bytes;

static void *slab_must(void *p) {
        if (!p) {
                fputs("silt: out of memory\n", stderr);
                abort();
        }
        return p;
}

#if SLAB_IS_PLAIN

/* Sanitizers see each piece's life only when it has one of its own, and who keeps a pointer to it too long only when it
 * moves. */
struct piece {
        void *memory, **place;
        size_t n_units;
};

static VEC(struct piece) pieces;
static size_t n_moves;

static struct piece *piece_find(const void *memory) {
        struct piece *p = pieces.items + pieces.n - 1;

        while (p->memory != memory)
                p--;
        return p;
}

static void *piece_take(size_t n_units, void **place) {
        struct piece p = {slab_must(aligned_alloc(64, n_units * SLAB_UNIT_BYTES)), place, n_units};

        vec_push(&pieces, p);
        size_bytes += n_units * SLAB_UNIT_BYTES;
        return p.memory;
}

static void piece_move(struct piece *p) {
        size_t n_bytes = p->n_units * SLAB_UNIT_BYTES;

        *p->place = memcpy(slab_must(aligned_alloc(64, n_bytes)), p->memory, n_bytes);
        free(p->memory);
        p->memory = *p->place;
}

/* Some others move, each time others. */
static void piece_put(void *memory, size_t n_units) {
        struct piece *p = piece_find(memory);

        *p = pieces.items[--pieces.n];
        free(memory);
        size_bytes -= n_units * SLAB_UNIT_BYTES;
        for (size_t i = 0; i < MIN(pieces.n, (size_t)8); i++)
                piece_move(&pieces.items[n_moves++ % pieces.n]);
}

static void piece_set_place(const void *memory, size_t n_units, void **place) {
        (void)n_units;
        piece_find(memory)->place = place;
}

#else

enum {
        CHUNK_BYTES = 128 << 10, /* at most 6 units of it, 2 %, are too few for a piece */
        CHUNK_UNITS = CHUNK_BYTES / SLAB_UNIT_BYTES,
        REGION_MAX_CHUNKS = 16, /* a large page; a recording of a small program needs none */
};

/* Memory for pieces of one size. */
struct chunk {
        char *memory;   /* aligned to its size */
        void ***places; /* one a piece; NULL while no size needs this chunk */
};

/* All pieces of one size: chunk after chunk, without holes. */
struct shelf {
        VEC(struct chunk *) chunks;
        size_t n_pieces;
};

static struct shelf shelves[SLAB_MAX_UNITS + 1]; /* by units of a piece */
static VEC(struct chunk *) idle;
static struct map chunks; /* address → chunk */
static size_t next_region_chunks = 1;

static void slab_add_region(void) {
        size_t n_bytes = next_region_chunks * CHUNK_BYTES;
        char *memory = slab_must(aligned_alloc(n_bytes, n_bytes));

        if (next_region_chunks == REGION_MAX_CHUNKS)
                madvise(memory, n_bytes, MADV_HUGEPAGE);
        for (size_t i = next_region_chunks; i-- > 0;) {
                struct chunk *c = slab_must(calloc(1, sizeof(*c)));

                c->memory = memory + i * CHUNK_BYTES;
                map_put(&chunks, (uintptr_t)c->memory, (uintptr_t)c, NULL);
                vec_push(&idle, c);
        }
        next_region_chunks = MIN(next_region_chunks * 2, (size_t)REGION_MAX_CHUNKS);
        size_bytes += n_bytes;
}

static void shelf_add_chunk(struct shelf *s, size_t n_units) {
        struct chunk *c;

        if (idle.n == 0)
                slab_add_region();
        c = idle.items[--idle.n];
        c->places = slab_must(malloc(CHUNK_UNITS / n_units * sizeof(c->places[0])));
        vec_push(&s->chunks, c);
}

/* The last one, which is empty. */
static void shelf_drop_chunk(struct shelf *s) {
        struct chunk *c = s->chunks.items[--s->chunks.n];

        free(c->places);
        c->places = NULL;
        vec_push(&idle, c);
}

static struct chunk *chunk_of(const void *memory) {
        uint64_t c = 0;

        map_get(&chunks, (uintptr_t)memory & ~(uintptr_t)(CHUNK_BYTES - 1), &c);
        return (struct chunk *)(uintptr_t)c;
}

static char *chunk_piece(const struct chunk *c, size_t i, size_t n_units) {
        return c->memory + i * n_units * SLAB_UNIT_BYTES;
}

static void piece_set_place(const void *memory, size_t n_units, void **place) {
        const struct chunk *c = chunk_of(memory);
        size_t off_bytes = (size_t)((const char *)memory - c->memory);

        c->places[off_bytes / (n_units * SLAB_UNIT_BYTES)] = place;
}

static void *piece_take(size_t n_units, void **place) {
        struct shelf *s = &shelves[n_units];
        size_t per_chunk = CHUNK_UNITS / n_units, i = s->n_pieces % per_chunk;
        struct chunk *c;

        if (i == 0)
                shelf_add_chunk(s, n_units);
        c = s->chunks.items[s->chunks.n - 1];
        c->places[i] = place;
        s->n_pieces++;
        return chunk_piece(c, i, n_units);
}

/* The last piece takes its place. */
static void piece_put(void *memory, size_t n_units) {
        struct shelf *s = &shelves[n_units];
        size_t last_idx = --s->n_pieces % (CHUNK_UNITS / n_units);
        const struct chunk *c = s->chunks.items[s->chunks.n - 1];
        char *last = chunk_piece(c, last_idx, n_units);

        if (last != memory) {
                *c->places[last_idx] = memcpy(memory, last, n_units * SLAB_UNIT_BYTES);
                piece_set_place(memory, n_units, c->places[last_idx]);
        }
        if (last_idx == 0)
                shelf_drop_chunk(s);
}

#endif

void slab_alloc(size_t n_units, void **place) {
        size_t n_bytes = n_units * SLAB_UNIT_BYTES;

        *place = n_units > SLAB_MAX_UNITS ? slab_must(aligned_alloc(64, n_bytes))
                                          : piece_take(n_units, place);
        memset(*place, 0, n_bytes);
}

void slab_set_place(size_t n_units, void **place) {
        if (n_units <= SLAB_MAX_UNITS)
                piece_set_place(*place, n_units, place);
}

void slab_free(void *piece, size_t n_units) {
        if (n_units > SLAB_MAX_UNITS)
                free(piece);
        else if (piece)
                piece_put(piece, n_units);
}

size_t slab_size_bytes(void) {
        return size_bytes;
}
