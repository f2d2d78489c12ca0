/* SPDX-License-Identifier: MIT */
#include "symbol/worker_reply.h"

#include "symbol/worker.h"

enum { WORKER_REPLY_MAX_MESSAGE_BYTES = 2 * WORKER_REPLY_MAX_TEXT_BYTES + 64 };

static const char *keep_text(struct worker_replies *all, const uint8_t *text, size_t n) {
        uint64_t hash = 14695981039346656037ull, *copy;
        bool added;

        for (size_t i = 0; i < n; i++)
                hash = (hash ^ text[i]) * 1099511628211ull;
        copy = map_put(&all->texts, hash, 0, &added);
        if (!added && strlen((const char *)(uintptr_t)*copy) == n &&
            memcmp((const char *)(uintptr_t)*copy, text, n) == 0)
                return (const char *)(uintptr_t)*copy;
        *copy = (uintptr_t)arena_strndup(all->arena, (const char *)text, n);
        return (const char *)(uintptr_t)*copy;
}

/* Not kept before the message is there whole: it is read again when more has come. */
static struct bytes_reader read_text(struct worker_reply *h, struct bytes_reader *r) {
        uint32_t n = bytes_u32(r);
        const uint8_t *text;

        if (n > WORKER_REPLY_MAX_TEXT_BYTES)
                h->is_mad = r->bad = true;
        text = bytes_take(r, n);
        return text ? bytes_reader_of(text, strnlen((const char *)text, n))
                    : bytes_reader_of("", 0);
}

static const char *text_of(struct worker_replies *all, struct bytes_reader text) {
        return keep_text(all, text.pos, bytes_left(&text));
}

static void read_symbol(struct worker_replies *all, struct worker_reply *h,
                        struct bytes_reader *r) {
        struct trace_symbol symbol = {.location = bytes_u32(r), .line = bytes_u32(r)};
        uint8_t flags = bytes_u8(r);
        struct bytes_reader function = read_text(h, r), file = read_text(h, r);

        if (r->bad || symbol.location >= all->n_locations)
                return;
        if (h->symbols.n >=
            WORKER_REPLY_MIN_SYMBOLS + WORKER_REPLY_MAX_SYMBOLS * all->n_locations) {
                h->is_mad = r->bad = true;
                return;
        }
        symbol.inlined = flags & WORKER_INLINED;
        symbol.guess = flags & WORKER_GUESS;
        symbol.function = text_of(all, function);
        symbol.file = text_of(all, file);
        vec_push(&h->symbols, symbol);
}

static void read_result(struct worker_replies *all, struct worker_reply *h,
                        struct bytes_reader *r) {
        uint32_t job = bytes_u32(r);
        struct worker_reply_outcome o = {.is_done = true};
        struct bytes_reader file, text;

        o.naming = bytes_u8(r);
        o.is_cached = bytes_u8(r);
        file = read_text(h, r);
        text = read_text(h, r);
        if (r->bad || job >= all->n_jobs || o.naming >= TRACE_N_NAMINGS)
                return;
        o.file = text_of(all, file);
        o.text = text_of(all, text);
        if (!all->outcomes[job].is_done)
                all->outcomes[job] = o;
        h->n_sure = h->symbols.n;
        all->n_results++;
}

void worker_reply_understand(struct worker_replies *all, struct worker_reply *h) {
        struct bytes_reader r = bytes_reader_of(h->in.items, h->in.n);
        const uint8_t *done = r.pos;

        while (bytes_left(&r) > 0 && !h->has_ended && !h->is_mad) {
                switch (bytes_u8(&r)) {
                case WORKER_SYMBOL: read_symbol(all, h, &r); break;
                case WORKER_RESULT: read_result(all, h, &r); break;
                case WORKER_END: h->has_ended = true; break;
                default: h->is_mad = r.bad = true; break;
                }
                if (r.bad)
                        break;
                done = r.pos;
        }
        if (!h->in.n)
                return;
        h->in.n -= (size_t)(done - h->in.items);
        memmove(h->in.items, done, h->in.n);
        h->is_mad |= h->in.n > WORKER_REPLY_MAX_MESSAGE_BYTES;
}

void worker_reply_restart(struct worker_reply *h) {
        vec_clear(&h->in);
        h->symbols.n = h->n_sure;
        h->has_ended = h->is_mad = false;
}

void worker_reply_done(struct worker_reply *h) {
        vec_free(&h->in);
        vec_free(&h->symbols);
}
