/* SPDX-License-Identifier: MIT */
#include "attach/arenas.h"

#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/vec.h"

enum {
        N_FAST = ARENA_FAST_LISTS,
        N_BINS = 127,
        MAX_ARENAS = 16384,
        MIN_KNOWN_BINS = 8, /* of the 127: empty, or chained to their chunks */
        MIN_CHUNK_BYTES = 32,
        ALIGN_BYTES = 16,
        FLAG_BITS = 7, /* of a chunk's size */
        FLAG_MMAPPED = 2,
        SMALL_BINS = 64, /* below: chunks of one size, 16 times the bin's number */
        LARGE_MIN_BYTES = 1024,
        PAGE_BYTES = 4096,
        N_TRIES = 3,       /* of a list that changes while it is read */
        N_STEPS = 4 << 20, /* chunks looked at: what was read once has no time-out */
};

/* struct malloc_state, as it is in memory. */
struct state {
        uint32_t mutex, flags, has_fast_chunks, reserved;
        uint64_t fast[N_FAST];
        uint64_t top, last_remainder;
        struct {
                uint64_t fd, bk;
        } bins[N_BINS]; /* the first is bin 1, of unsorted chunks; an empty one points at itself */
        uint32_t map[4];
        uint64_t next, next_free, n_threads, system_bytes, max_system_bytes;
};

_Static_assert(sizeof(struct state) == 2200, "as the C library has it");

/* A bin's two words stand where a chunk at this address would have them. */
static uint64_t bin_at(uint64_t arena, unsigned bin) {
        return arena + offsetof(struct state, bins) + 16 * (uint64_t)(bin - 1) - 16;
}

struct arena_image {
        uint64_t at;
        struct state s;
};

struct walk {
        struct memory_words words;
        struct arenas_found *found;
        VEC(struct arena_image) arenas; /* the main one first */
        uint64_t all_bytes;
        uint32_t n_steps_left;
};

/* ---- memory ------------------------------------------------------------------------------------------ */

static bool read_word(struct walk *w, uint64_t addr, uint64_t *ret) {
        return memory_word(&w->words, addr, ret);
}

static bool read_bytes(struct walk *w, uint64_t addr, void *ret, size_t n_bytes) {
        return w->words.memory->read(w->words.memory->ctx, addr, ret, n_bytes);
}

/* The size of a chunk that lies whole in memory where chunks may be; 0: it is none. */
static uint64_t chunk_bytes(struct walk *w, uint64_t at) {
        const struct memory_span *span;
        uint64_t size;

        if (!w->n_steps_left || at % ALIGN_BYTES || !read_word(w, at + 8, &size) ||
            size & FLAG_MMAPPED)
                return 0;
        w->n_steps_left--;
        size &= ~(uint64_t)FLAG_BITS;
        span = memory_span_at(&w->words, at + 8);
        if (at < span->begin || size < MIN_CHUNK_BYTES || size % ALIGN_BYTES ||
            size > span->end - at)
                return 0;
        return size;
}

/* ---- free chunks --------------------------------------------------------------------------------------- */

struct tally {
        uint64_t bytes;
        uint32_t n;
};

static bool is_of_bin(unsigned bin, uint64_t size) {
        if (bin == 1)
                return true;
        return bin < SMALL_BINS ? size == (uint64_t)bin * ALIGN_BYTES : size >= LARGE_MIN_BYTES;
}

/* Every chunk points back at the one before, so there is no way round but over the bin. False: it was not walked to its end. */
static bool walk_bin(struct walk *w, const struct arena_image *a, unsigned bin, struct tally *ret) {
        uint64_t head = bin_at(a->at, bin), before = head, at = a->s.bins[bin - 1].fd;

        *ret = (struct tally){0};
        while (at != head) {
                uint64_t size = chunk_bytes(w, at), next, back;

                if (!size || !is_of_bin(bin, size) || !read_word(w, at + 16, &next) ||
                    !read_word(w, at + 24, &back) || back != before ||
                    size > a->s.system_bytes - ret->bytes)
                        return false;
                ret->bytes += size;
                ret->n++;
                before = at;
                at = next;
        }
        return true;
}

/* Of a list that changes: what was seen the last time, its head being read anew. */
static bool count_bin(struct walk *w, struct arena_image *a, unsigned bin, struct tally *ret) {
        struct tally best = {0}, one;
        bool is_whole = false;

        for (unsigned i = 0; i < N_TRIES && !is_whole; i++) {
                if (i) {
                        w->words.round++;
                        if (!read_bytes(w, bin_at(a->at, bin) + 16, &a->s.bins[bin - 1],
                                        sizeof(a->s.bins[0])))
                                break;
                }
                is_whole = walk_bin(w, a, bin, &one);
                if (is_whole || one.bytes > best.bytes)
                        best = one;
        }
        *ret = best;
        return is_whole;
}

/* A fast bin's link: since 2.32 it is mixed with its own address. */
static bool next_fast(struct walk *w, uint64_t at, uint64_t size, uint64_t *ret) {
        uint64_t plain, mixed;

        if (!read_word(w, at + 16, &plain))
                return false;
        mixed = plain ^ ((at + 16) >> 12);
        *ret = mixed;
        if (!mixed || chunk_bytes(w, mixed) == size)
                return true;
        *ret = plain;
        return !plain || chunk_bytes(w, plain) == size;
}

static bool count_fast(struct walk *w, const struct arena_image *a, unsigned fast,
                       struct tally *ret) {
        uint64_t at = a->s.fast[fast], size = (uint64_t)(fast + 2) * ALIGN_BYTES;

        *ret = (struct tally){0};
        if (at && chunk_bytes(w, at) != size)
                return false;
        while (at) {
                if (size > a->s.system_bytes - ret->bytes)
                        return false;
                ret->bytes += size;
                ret->n++;
                if (!next_fast(w, at, size, &at))
                        return false;
        }
        return true;
}

static bool count_top(struct walk *w, const struct arena_image *a, struct tally *ret) {
        *ret = (struct tally){0};
        if (a->s.top == bin_at(a->at, 1)) /* it has none yet */
                return true;
        ret->bytes = chunk_bytes(w, a->s.top);
        if (ret->bytes > a->s.system_bytes)
                ret->bytes = 0;
        ret->n = ret->bytes > 0;
        return ret->bytes > 0;
}

static void add(struct walk *w, struct tally *sums, const struct arena_image *a,
                const struct tally *t, bool is_whole) {
        struct tally *sum = &sums[a - w->arenas.items];

        sum->bytes += MIN(t->bytes, a->s.system_bytes - sum->bytes);
        w->found->n_free += t->n;
        w->found->is_whole &= is_whole;
}

/* What weighs most comes first: there may not be time for all. */
static void count_free(struct walk *w) {
        struct tally *sums = calloc(w->arenas.n, sizeof(*sums)), one;
        bool is_whole;

        if (!sums)
                abort();
        for (size_t i = 0; i < w->arenas.n; i++) {
                is_whole = count_top(w, &w->arenas.items[i], &one);
                add(w, sums, &w->arenas.items[i], &one, is_whole);
        }
        for (unsigned bin = N_BINS; bin > 0; bin--)
                for (size_t i = 0; i < w->arenas.n; i++) {
                        /* the unsorted ones, of any size, after the large */
                        unsigned at = bin >= SMALL_BINS ? bin : bin == SMALL_BINS - 1 ? 1 : bin + 1;

                        is_whole = count_bin(w, &w->arenas.items[i], at, &one);
                        add(w, sums, &w->arenas.items[i], &one, is_whole);
                }
        for (unsigned fast = 0; fast < N_FAST; fast++)
                for (size_t i = 0; i < w->arenas.n; i++) {
                        is_whole = count_fast(w, &w->arenas.items[i], fast, &one);
                        add(w, sums, &w->arenas.items[i], &one, is_whole);
                }
        for (size_t i = 0; i < w->arenas.n; i++)
                w->found->free_bytes += sums[i].bytes;
        free(sums);
}

/* ---- recognising ---------------------------------------------------------------------------------------- */

/* A bin whose first or last chunk points back at it: of a list that changes meanwhile, one of the two may not. */
static bool is_chained(struct walk *w, const struct arena_image *a, unsigned bin) {
        const uint64_t head = bin_at(a->at, bin);
        uint64_t word;

        return (read_word(w, a->s.bins[bin - 1].fd + 24, &word) && word == head) ||
               (read_word(w, a->s.bins[bin - 1].bk + 16, &word) && word == head);
}

/* Every bin is empty, pointing at itself, or has chunks; the last is never used. In a heap of many sizes hardly any is empty. */
static bool is_arena(struct walk *w, const struct arena_image *a) {
        unsigned n_known = 0;

        if (!a->s.next || a->s.next % 8 || a->s.system_bytes > a->s.max_system_bytes ||
            a->s.system_bytes > w->all_bytes)
                return false;
        for (unsigned bin = N_BINS; bin > 0; bin--) {
                uint64_t fd = a->s.bins[bin - 1].fd, bk = a->s.bins[bin - 1].bk;
                bool is_empty = fd == bin_at(a->at, bin) && bk == fd;

                if (!is_empty &&
                    (bin == N_BINS || !fd || !bk || fd % ALIGN_BYTES || bk % ALIGN_BYTES))
                        return false;
                n_known += is_empty;
        }
        for (unsigned bin = 1; bin < N_BINS && n_known < MIN_KNOWN_BINS; bin++)
                n_known += a->s.bins[bin - 1].fd != bin_at(a->at, bin) && is_chained(w, a, bin);
        return n_known >= MIN_KNOWN_BINS;
}

/* One of the others: it stands at the begin of its heap, which names it. */
static bool read_arena(struct walk *w, uint64_t at, struct arena_image *ret) {
        uint64_t owner;

        ret->at = at;
        return read_word(w, at & -(uint64_t)PAGE_BYTES, &owner) && owner == at &&
               memory_span_at(&w->words, at + sizeof(ret->s) - 1) ==
                       memory_span_at(&w->words, at) &&
               read_bytes(w, at, &ret->s, sizeof(ret->s)) && is_arena(w, ret);
}

/* From the main arena, which is read, once around. */
static bool read_ring(struct walk *w, const struct arena_image *main_arena) {
        uint64_t at = main_arena->s.next;
        struct arena_image one;

        w->arenas.n = 0;
        vec_push(&w->arenas, *main_arena);
        while (at != main_arena->at) {
                if (at % 8 || w->arenas.n == MAX_ARENAS || !read_arena(w, at, &one))
                        return false;
                vec_push(&w->arenas, one);
                at = one.s.next;
        }
        return true;
}

static bool find_arenas(struct walk *w, uint64_t addr, const uint64_t *data, size_t n_words) {
        const size_t last = offsetof(struct state, bins) / 8 + 2 * (N_BINS - 1);
        struct arena_image a;

        for (size_t i = 0; i + sizeof(a.s) / 8 <= n_words; i++) {
                a.at = addr + i * 8;
                if (data[i + last] != bin_at(a.at, N_BINS)) /* most end here */
                        continue;
                memcpy(&a.s, data + i, sizeof(a.s));
                if (is_arena(w, &a) && read_ring(w, &a))
                        return true;
        }
        return false;
}

/* ---- blocks that are mappings ------------------------------------------------------------------------------ */

/* struct malloc_par, up to what is wanted; since 2.35 with three words about large pages in it. */
struct params {
        uint64_t trim_bytes, pad_bytes, mmap_bytes, arena_test, arena_max;
};

struct params_mmap {
        uint32_t n_mmaps, n_mmaps_max, max_n_mmaps, is_fixed;
        uint64_t mmapped_bytes, max_mmapped_bytes;
};

enum {
        PARAMS_OLD_OFF = 40,
        PARAMS_NEW_OFF =
                60, /* two words and an int of large pages; then no gap before the next int */
        PARAMS_NEW_BYTES = 96,
        MMAPS_MAX = 65536,
        ARENA_TEST = 8,
};

#define PARAMS_MAX_THRESHOLD ((uint64_t)32 << 20)

/* A threshold that nobody has set follows the sizes that are released, up to a limit. */
static bool is_params(const struct params *p, const struct params_mmap *m, uint64_t all_bytes) {
        return p->arena_test == ARENA_TEST && m->n_mmaps_max == MMAPS_MAX && m->is_fixed <= 1 &&
               p->mmap_bytes && (m->is_fixed || p->mmap_bytes <= PARAMS_MAX_THRESHOLD) &&
               m->n_mmaps <= m->max_n_mmaps && m->max_n_mmaps <= MMAPS_MAX &&
               m->mmapped_bytes <= m->max_mmapped_bytes && m->mmapped_bytes % PAGE_BYTES == 0 &&
               m->max_mmapped_bytes % PAGE_BYTES == 0 && m->mmapped_bytes <= all_bytes;
}

static void find_mmapped(struct walk *w, const uint64_t *data, size_t n_words) {
        static const size_t offs[] = {PARAMS_NEW_OFF, PARAMS_OLD_OFF};
        unsigned n_found = 0;

        for (size_t i = 0; i + PARAMS_NEW_BYTES / 8 <= n_words; i++)
                for (size_t k = 0; k < ARRAY_SIZE(offs); k++) {
                        const uint8_t *at = (const uint8_t *)(data + i);
                        struct params_mmap m;
                        struct params p;

                        memcpy(&p, at, sizeof(p));
                        memcpy(&m, at + offs[k], offsetof(struct params_mmap, mmapped_bytes));
                        memcpy(&m.mmapped_bytes, at + ALIGN_UP(offs[k] + 16, (size_t)8), 16);
                        if (!is_params(&p, &m, w->all_bytes))
                                continue;
                        n_found++;
                        w->found->mmapped_bytes = m.mmapped_bytes;
                        w->found->n_mmapped = m.n_mmaps;
                }
        w->found->has_mmapped = n_found == 1;
        if (n_found != 1)
                w->found->mmapped_bytes = w->found->n_mmapped = 0;
}

/* ---- all of it ---------------------------------------------------------------------------------------------- */

static struct walk *walk_new(const struct memory *m, struct arenas_found *found) {
        struct walk *w = calloc(1, sizeof(*w));

        if (!w)
                abort();
        *w = (struct walk){.words = {.memory = m, .round = 1},
                           .found = found,
                           .all_bytes = memory_all_bytes(m),
                           .n_steps_left = N_STEPS};
        return w;
}

static void walk_free(struct walk *w) {
        memory_words_free(&w->words);
        vec_free(&w->arenas);
        free(w);
}

bool arenas_list(const struct memory *m, uint64_t addr, const uint64_t *data, size_t n_words,
                 arena_places *ret) {
        struct walk *w = walk_new(m, NULL);
        bool is_found = find_arenas(w, addr, data, n_words);

        for (size_t i = 0; is_found && i < w->arenas.n; i++) {
                const struct arena_image *a = &w->arenas.items[i];
                struct arena_place one = {.at = a->at,
                                          .end = a->at + sizeof(a->s),
                                          .top = a->s.top};

                memcpy(one.fast, a->s.fast, sizeof(one.fast));
                vec_push(ret, one);
        }
        walk_free(w);
        return is_found;
}

bool arenas_read(const struct memory *m, uint64_t addr, const uint64_t *data, size_t n_words,
                 struct arenas_found *ret) {
        struct walk *w = walk_new(m, ret);
        bool is_found;

        *ret = (struct arenas_found){.is_whole = true};
        is_found = find_arenas(w, addr, data, n_words);
        if (is_found) {
                ret->n_arenas = (uint32_t)w->arenas.n;
                for (size_t i = 0; i < w->arenas.n; i++)
                        ret->held_bytes += w->arenas.items[i].s.system_bytes;
                count_free(w);
                find_mmapped(w, data, n_words);
        }
        walk_free(w);
        return is_found;
}
