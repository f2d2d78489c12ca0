/* SPDX-License-Identifier: MIT */
/* The threads of a process, by where they were spawned and what they run: which are alive, where they wait, how much of their stacks they have touched.
 * Inside task/ only. */
#pragma once

#include "keep/site_texts.h"
#include "query/query.h"

enum { THREAD_NAMES_MAX = 4, THREAD_WAITS_MAX = 8 };

struct thread_name_sum {
        uint32_t text; /* digits are told as # */
        uint64_t n;
};

/* Where living threads wait. */
struct thread_wait {
        uint32_t in, by; /* texts: what was called, and who called it; 0 unknown */
        uint32_t stack;  /* of one of them */
        uint64_t n;
};

struct thread_group {
        uint32_t spawn_stack; /* 0: unknown */
        uint32_t runs;        /* text: the function that one of them began with; 0 unknown */
        uint64_t n, n_alive;  /* all others have ended */
        uint64_t n_waiting, n_running; /* of the living, as they were seen last */
        uint64_t n_stacks,
                stack_bytes; /* living ones whose stacks are known; resident bytes of them */
        uint32_t n_names, n_waits;
        struct thread_name_sum names[THREAD_NAMES_MAX]; /* most first; further ones are not told */
        struct thread_wait waits[THREAD_WAITS_MAX];
};

struct thread_list {
        VEC(struct thread_group) groups; /* most living ones first */
        uint32_t process;
        uint64_t at_ns;       /* at which they were alive */
        uint64_t n, n_alive;  /* without the first */
        uint64_t n_unspawned; /* nobody knows where they were spawned */
        uint64_t n_stacks, stack_bytes;
        bool has_ticks, has_bill; /* where they wait, which stacks they have: is known */
};

/* process: QUERY_ALL: the one with most threads. */
void thread_list_make(struct thread_list *l, struct query *q, const struct frame_names *names,
                      struct site_texts *texts, uint32_t process);
void thread_list_done(struct thread_list *l);
