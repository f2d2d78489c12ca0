/* SPDX-License-Identifier: MIT */
/* The kinds of records that matter for speed: allocations and releases about which nothing is special, in one go from
 * the ring's copy to the figures. Whatever else is met is left to decode.c, untouched.
 *
 * Most of what they need is near: the young block, the stack in the array of the slot's tokens. Where a process has many
 * blocks, two looks ahead fetch the rest. */
#include "pipeline/pipeline_state.h"
#include "trace/writer.h"

enum {
        QUICK_WORDS = 1024, /* then it is asked again whether the slice is full */
        QUICK_FAR = 80,     /* words ahead: some thirty records */
        QUICK_NEAR = 30,
        QUICK_SMALL_TABLE = 4096, /* blocks: fewer are in the cache anyway */
};

_Static_assert(WIRE_FREE == 2 && WIRE_FREE_SIZED == 3, "they have as many words");

/* Words of an ALLOC_KNOWN, FREE, FREE_SIZED or ALLOC that is whole; 0: another kind, or not whole. */
static inline size_t quick_words(const uint64_t *words, size_t n) {
        unsigned kind = words[0] & 0xff;

        if (kind == WIRE_ALLOC_KNOWN)
                return n >= 3 ? 3 : 0;
        if (kind == WIRE_FREE || kind == WIRE_FREE_SIZED)
                return n >= kind ? kind : 0;
        return kind == WIRE_ALLOC ? ring_record_words(words, n) : 0;
}

/* The stack of an allocation that has the frames. Taken twice it is the same: false may follow. */
static __attribute__((noinline)) struct slot_token *quick_stack(struct pipeline *p, struct slot *s,
                                                                const uint64_t *word) {
        struct slot_token *t;

        if (wire_stack_n_new(*word) == WIRE_KNOWN || (*word & 0xffff) > s->path.depth)
                return NULL;
        t = decode_stack(p, s, word);
        decode_site(p, s, t);
        return t;
}

/* What an allocation or a release ahead will need from far memory is fetched: first its token, and its place in the large
 * table... */
static void quick_fetch_block(const struct pipeline *p, struct slot *s, const uint64_t *words) {
        const struct live *live = &s->process->live;
        unsigned kind = words[0] & 0xff;

        (void)p;
        if (kind == WIRE_FREE || kind == WIRE_FREE_SIZED) {
                if (!nursery_find(&live->young, words[1]))
                        live_prefetch(live, words[1]);
                return;
        }
        live_prefetch_new(live, words[1]);
        if (kind == WIRE_ALLOC_KNOWN && wire_token(words[2]) - 1 < s->tokens.n)
                __builtin_prefetch(&s->tokens.items[wire_token(words[2]) - 1]);
}

/* ... then the site that either leads to. */
static void quick_fetch_site(const struct pipeline *p, struct slot *s, const uint64_t *words) {
        const struct live *live = &s->process->live;
        unsigned kind = words[0] & 0xff;
        const struct slot_token *from;
        const struct block *b;

        if (kind == WIRE_ALLOC_KNOWN) {
                from = slot_find_token(s, wire_token(words[2]));
                if (from && from->site != SLOT_NO_SITE)
                        sites_prefetch(&p->sites, from->site, false);
                return;
        }
        if ((kind != WIRE_FREE && kind != WIRE_FREE_SIZED) || nursery_find(&live->young, words[1]))
                return;
        b = table_find(&live->own, words[1]);
        if (b)
                sites_prefetch(&p->sites, b->site, true);
}

typedef void quick_fetch(const struct pipeline *p, struct slot *s, const uint64_t *words);

/* Fetches for the records up to n_ahead words ahead, once for each; end: of the chunk. */
static inline __attribute__((always_inline)) void quick_fetch_ahead(
        const struct pipeline *p, struct slot *s, const uint64_t *end, const uint64_t *until,
        const uint64_t **ahead, quick_fetch *fetch) {
        const uint64_t *at = *ahead;

        while (at < end && at < until) {
                size_t n_words = quick_words(at, (size_t)(end - at));

                if (n_words > 0)
                        fetch(p, s, at);
                else
                        n_words = ring_record_words(at, (size_t)(end - at));
                at = n_words > 0 ? at + n_words : end;
        }
        *ahead = at;
}

static inline const uint64_t *quick_fetched(const struct slot *s, uint64_t pos) {
        return s->words + s->head + (pos > s->head_pos ? (pos - s->head_pos) / 8 : 0);
}

/* What stays the same in a run. */
struct quick {
        struct pipeline *p;
        struct slot *s;
        struct process *process;
        uint32_t thread;
};

static inline __attribute__((always_inline)) bool quick_allocate(const struct quick *q,
                                                                 uint64_t time_ns, uint64_t address,
                                                                 uint64_t size_bytes,
                                                                 const struct slot_token *from) {
        if (unlikely(!from || from->site == SLOT_NO_SITE) ||
            unlikely(!pair_try_plain_alloc(&q->p->pair, q->process, q->thread, time_ns, address,
                                           size_bytes, from->stack, from->site, from->is_complete)))
                return false;
        decode_share(q->process, from->allocator, size_bytes);
        return true;
}

/* Takes one record, of which `n` words are there. Its words; 0: it is not plain, and nothing has happened. */
static inline __attribute__((always_inline)) size_t quick_take(const struct quick *q,
                                                               const uint64_t *words, size_t n,
                                                               uint64_t time) {
        uint64_t time_ns = pipeline_time_ns(q->p, time);
        unsigned kind = words[0] & 0xff;
        size_t n_words;

        if (kind == WIRE_ALLOC_KNOWN)
                return likely(n >= 3) && quick_allocate(q, time_ns, words[1],
                                                        words[2] & WIRE_SIZE_MASK,
                                                        slot_find_token(q->s, wire_token(words[2])))
                               ? 3
                               : 0;
        if (kind == WIRE_FREE)
                return likely(n >= 2) && pair_try_plain_free(&q->p->pair, q->process, q->thread,
                                                             time_ns, words[1], WIRE_NO_SIZE)
                               ? 2
                               : 0;
        if (kind == WIRE_FREE_SIZED)
                return likely(n >= 3) && pair_try_plain_free(&q->p->pair, q->process, q->thread,
                                                             time_ns, words[1], words[2])
                               ? 3
                               : 0;
        n_words = kind == WIRE_ALLOC ? ring_record_words(words, n) : 0;
        return n_words > 0 && quick_allocate(q, time_ns, words[1], words[2],
                                             quick_stack(q->p, q->s, words + 3))
                       ? n_words
                       : 0;
}

void quick_run(struct pipeline *p, struct slot *s, uint64_t end_time) {
        const struct quick q = {p, s, s->process, s->thread};
        const uint64_t *words = s->words + s->head, *begin = words;
        const uint64_t *chunk_end = words + slot_n_words_in_chunk(s), *end = chunk_end;
        const uint64_t *far = quick_fetched(s, s->fetched_pos[0]);
        const uint64_t *near = quick_fetched(s, s->fetched_pos[1]);
        uint64_t time = s->head_time, next,
                 latest = MIN(MIN(end_time, p->leave_time), p->now + p->ticks_per_s);
        bool is_large = s->process->live.own.n >= QUICK_SMALL_TABLE;
        size_t n_words, n_records = 0;

        pipeline_check_slice(p);
        if (end - words > QUICK_WORDS)
                end = words + QUICK_WORDS;
        for (;;) {
                if (unlikely(is_large)) {
                        quick_fetch_ahead(p, s, chunk_end, words + QUICK_FAR, &far,
                                          quick_fetch_block);
                        quick_fetch_ahead(p, s, chunk_end, words + QUICK_NEAR, &near,
                                          quick_fetch_site);
                }
                n_words = quick_take(&q, words, (size_t)(end - words), time);
                if (unlikely(n_words == 0))
                        break;
                n_records++;
                words += n_words;
                s->last_time = time;
                if (unlikely(words == end))
                        break;
                next = words[0] >> 8;
                if (next > latest)
                        break;
                time = MAX(next, time);
        }
        p->n_records += n_records;
        s->fetched_pos[0] = s->head_pos + (uint64_t)(far - begin) * 8;
        s->fetched_pos[1] = s->head_pos + (uint64_t)(near - begin) * 8;
        if (words > begin)
                drain_consume(&p->drain, s, (size_t)(words - begin));
}
