/* SPDX-License-Identifier: MIT */
/* Looks after all slots: finds claimed ones, lends to them, copies what they publish, learns how far in
 * time each is, notices ends, frees slots for the next thread. */
#pragma once

#include "base/vec.h"
#include "pipeline/lender.h"
#include "pipeline/slot.h"
#include "wire/layout.h"

struct drain {
        const struct pipeline_calls *calls;
        struct wire_header *header; /* shared; constants were copied: */
        struct wire_slot *shared;
        uint8_t *chunks;
        uint32_t n_slots, n_chunks;
        struct lender lender;
        struct slot **slots;                            /* by number; NULL until used */
        uint32_t n_slots_used;                          /* as last seen, checked */
        VEC(struct slot *) active;                      /* is_used */
        uint64_t margin, check_interval, idle_interval; /* ticks */
        uint64_t scan_time;                             /* of the latest scan */
        uint64_t queue_bytes;                           /* allocated for words */
        uint64_t pending_bytes;                         /* of them waiting */
        uint64_t n_broken;
};

struct drain_config {
        const struct pipeline_calls *calls;
        struct wire_header *header;
        uint32_t n_slots, n_chunks, max_chunks;
        uint64_t slot_off, chunk_off;
        uint64_t ticks_per_ms, margin;
};

void drain_init(struct drain *d, const struct drain_config *config);
void drain_done(struct drain *d);

/* Finds new slots and gives free ones their first chunk. */
void drain_scan(struct drain *d, uint64_t now);

/* Copies up to max_words (at least the rest of a chunk) out of the slot; sets its mark. False: nothing new. */
bool drain_slot(struct drain *d, struct slot *s, uint64_t now, size_t max_words);

/* The queue's memory goes when it is empty and was large. */
void drain_trim(struct drain *d, struct slot *s);

/* The head moves on by n words. */
static inline void drain_consume(struct drain *d, struct slot *s, size_t n_words) {
        s->head += n_words;
        s->head_pos += n_words * 8;
        d->pending_bytes -= n_words * 8;
        if (unlikely(s->head == s->tail))
                s->head = s->tail = 0;
}

/* Asks, when it is time, whether the slot's thread still exists. */
void drain_check_thread(struct drain *d, struct slot *s, uint64_t now, uint32_t pid);

/* Throws away what is queued and everything to come; estimates the records lost in n_lost. */
void drain_break(struct drain *d, struct slot *s, const char *what);

/* What a broken slot published since: thrown away, estimated. */
void drain_discard(struct drain *d, struct slot *s);

/* The slot's thread is gone and everything of it is through: the next one may claim it. */
void drain_free_slot(struct drain *d, struct slot *s);
