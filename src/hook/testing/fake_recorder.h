/* SPDX-License-Identifier: MIT */
/* A recorder for tests of the runtime alone: it makes the arena, answers hellos, lends chunks,
 * drains the rings, and keeps every record, checked for form. What it finds is turned into a
 * tally per process. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/layout.h"
#include "wire/record.h"

struct fake_event {
        uint64_t time;
        uint64_t word[5]; /* behind word 0 */
        uint32_t process; /* entry */
        uint32_t slot;    /* index, with the generation above 16 bits */
        uint32_t n_pcs;   /* depth of the whole stack */
        uint64_t path;    /* a hash of all its frames */
        uint64_t pc[3];   /* its innermost frames */
        uint8_t kind, form, end;
        bool is_nested;
};

struct fake_options {
        uint32_t flags;      /* enum wire_flags */
        uint32_t clock;      /* enum wire_clock */
        uint32_t n_lent_max; /* chunks lent to a slot at a time; 0: 8 */
        bool discards;       /* count records, keep none */
        bool is_stuck;       /* lends the first chunks and never drains */
        bool recovers;       /* is stuck only until something is lost */
        bool frees_slots;    /* when their thread is gone */
        bool lends_late;     /* nothing before a slot is claimed */
        bool checks_modules; /* an object that is announced ends the tokens of what is there */
};

struct fake_recorder {
        struct fake_options options;
        int arena_fd, listen_fd;
        char env[160]; /* value of SILT_RENDEZVOUS */
        struct wire_header *header;
        uint32_t n_chunks_free;
        uint32_t *free_chunks;
        struct fake_ring *rings; /* per slot */
        struct fake_event *events;
        size_t n_events, cap_events;
        uint64_t n_records, n_broken, n_words, n_known; /* n_known: ALLOC_KNOWN, kept as ALLOC */
        uint32_t n_hellos;
        pthread_t thread;
        _Atomic bool is_stopping;
};

/* What a process's records add up to, by the rules of counting. */
struct fake_tally {
        uint64_t allocations, frees, reallocations, failed, unknown_frees, bytes, live_blocks,
                live_bytes;
        uint64_t peak_bytes, size_mismatches, double_allocations;
        uint64_t complete, n_stacks, nested, lost_told, modules, n_kind[WIRE_N_KINDS], n_form[8];
};

void fake_recorder_open(struct fake_recorder *r, const struct fake_options *options);
void fake_recorder_close(struct fake_recorder *r); /* stops and drains what is left; events stay */
void fake_recorder_done(struct fake_recorder *r);

/* Runs argv with the runtime preloaded and waits; the wait status. runtime_path may be NULL. */
int fake_recorder_run(struct fake_recorder *r, const char *runtime_path, char *const argv[]);

/* Process entries in the order in which they came. */
uint32_t fake_recorder_n_processes(const struct fake_recorder *r);
void fake_recorder_tally(struct fake_recorder *r, uint32_t process, struct fake_tally *ret_tally);
struct wire_process *fake_recorder_process(const struct fake_recorder *r, uint32_t idx);
void fake_recorder_stop(struct fake_recorder *r); /* recording is over, for all processes at once */
void fake_recorder_await_waiter(
        struct fake_recorder *r); /* returns when some thread waits for room */
uint64_t fake_recorder_n_lost(const struct fake_recorder *r);
