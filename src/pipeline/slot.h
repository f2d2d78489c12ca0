/* SPDX-License-Identifier: MIT */
/* The recorder's private side of one slot: what was copied out of its ring and waits for its turn, and the
 * state that its records refer to. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "pipeline/callpath.h"
#include "wire/ring_reader.h"

struct process;

#define SLOT_NO_SITE UINT32_MAX

/* What the thread names by a token: a stack, and how it was asked for. */
struct slot_token {
        uint32_t stack;
        uint32_t site; /* SLOT_NO_SITE: nobody asked */
        uint8_t allocator;
        bool is_complete;
        bool is_given;
};

struct slot {
        struct wire_slot *shared;
        struct ring_reader ring;
        uint32_t no;
        bool is_used;        /* claimed by a thread, as far as the recorder knows */
        bool is_live;        /* its fields are filled */
        bool is_broken;      /* broke the rules: what it publishes is thrown away and counted */
        bool is_dead;        /* its thread is gone */
        bool is_drained;     /* dead, and everything was copied after that was known */
        bool is_passed_over; /* stopped in mid-record for too long: others no longer wait for it */
        uint64_t claim;      /* state without its phase */
        uint32_t process_idx, tid;

        /* words copied and not yet decoded: [head, tail) */
        uint64_t *words;
        size_t head, tail, cap;
        uint64_t head_pos;  /* position of words[head] in the ring */
        uint64_t head_time; /* of the record there; never before last_time */
        uint32_t heap_idx;  /* in order's heap; UINT32_MAX: not there */

        uint64_t fetched_pos[2]; /* what records before it need is on its way: first, next */

        /* time */
        uint64_t last_time;   /* of the last record decoded */
        uint64_t mark;        /* no record still to be copied is earlier */
        uint64_t stuck_since; /* when others began to wait for it; 0: they do not */
        uint64_t progress_time,
                check_time; /* when it last wrote; when to ask for its thread next */
        uint64_t idle_wait; /* how long it may write nothing before that */

        /* lending */
        uint32_t n_want; /* chunks */

        /* decoding */
        struct process *process;       /* NULL until its first record */
        uint32_t thread;               /* of the trace */
        struct callpath path;          /* its last stack that came with frames */
        VEC(struct slot_token) tokens; /* [i]: of token i + 1 */
        struct slot_token untold;      /* the last stack that has no token */
        bool has_realloc;              /* between begin and end */
        uint64_t realloc_address;
        bool is_left;  /* all that follows came while silt was leaving */
        bool has_heap; /* its next allocation was said to be in one */
        uint8_t n_heap_tries;
        uint64_t heap_id, heap_address;
        uint64_t
                exec_end_pos; /* behind a record that says it is about to exec; 0: none, or it failed */
        uint64_t n_lost_told; /* by LOST records */
        uint64_t n_lost;      /* thrown away by the recorder, not yet counted */
};

/* NULL: it was not given. */
static inline struct slot_token *slot_find_token(struct slot *s, uint32_t token) {
        return token - 1 < s->tokens.n && s->tokens.items[token - 1].is_given
                       ? &s->tokens.items[token - 1]
                       : NULL;
}

static inline size_t slot_n_words(const struct slot *s) {
        return s->tail - s->head;
}

/* The last that was heard of its thread is that it execs. */
static inline bool slot_ends_in_exec(const struct slot *s) {
        return s->exec_end_pos != 0 && s->exec_end_pos == s->head_pos;
}

/* Words from the head on that lie in the same chunk. */
static inline size_t slot_n_words_in_chunk(const struct slot *s) {
        size_t in_chunk = (WIRE_CHUNK_BYTES - s->head_pos % WIRE_CHUNK_BYTES) / 8;
        size_t n = slot_n_words(s);

        return n < in_chunk ? n : in_chunk;
}
