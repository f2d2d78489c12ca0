/* SPDX-License-Identifier: MIT */
/* Puts the records in order of time and counts what they say, by the rules of counting. */
#include <stdlib.h>
#include <string.h>

#include "hook/testing/fake_recorder.h"

struct fake_block {
        uint64_t addr, size_bytes;
        bool is_live;
};

struct fake_blocks {
        struct fake_block *slots;
        size_t cap;
};

static struct fake_block *fake_blocks_at(struct fake_blocks *b, uint64_t addr) {
        size_t i = (addr * UINT64_C(0x9e3779b97f4a7c15)) >> 20;

        while (b->slots[i % b->cap].addr && b->slots[i % b->cap].addr != addr)
                i++;
        return &b->slots[i % b->cap];
}

static int fake_compare_time(const void *a, const void *b) {
        const struct fake_event *x = a, *y = b;

        if (x->time != y->time)
                return x->time < y->time ? -1 : 1;
        return 0;
}

static void fake_allocate(struct fake_tally *t, struct fake_blocks *b, uint64_t addr,
                          uint64_t size_bytes) {
        struct fake_block *block = fake_blocks_at(b, addr);

        if (block->addr && block->is_live) {
                t->double_allocations++;
                t->live_bytes -= block->size_bytes;
                t->live_blocks--;
        }
        *block = (struct fake_block){addr, size_bytes, true};
        t->allocations++;
        t->bytes += size_bytes;
        t->live_blocks++;
        t->live_bytes += size_bytes;
        if (t->live_bytes > t->peak_bytes)
                t->peak_bytes = t->live_bytes;
}

static void fake_release(struct fake_tally *t, struct fake_blocks *b, uint64_t addr,
                         uint64_t given_bytes) {
        struct fake_block *block = fake_blocks_at(b, addr);

        if (!block->addr || !block->is_live) {
                t->unknown_frees++;
                return;
        }
        if (given_bytes != WIRE_NO_SIZE && given_bytes != block->size_bytes)
                t->size_mismatches++;
        block->is_live = false;
        t->frees++;
        t->live_blocks--;
        t->live_bytes -= block->size_bytes;
}

static void fake_count(struct fake_tally *t, struct fake_blocks *b, const struct fake_event *e) {
        t->n_kind[e->kind]++;
        t->nested += e->is_nested;
        if (wire_stack_at(e->kind)) {
                t->n_stacks++;
                t->complete += e->end == WIRE_END_COMPLETE;
                t->n_form[e->form & 7]++;
        }
        switch (e->kind) {
        case WIRE_ALLOC: fake_allocate(t, b, e->word[0], e->word[1]); break;
        case WIRE_FREE: fake_release(t, b, e->word[0], WIRE_NO_SIZE); break;
        case WIRE_FREE_SIZED:
        case WIRE_FREE_STACK: fake_release(t, b, e->word[0], e->word[1]); break;
        case WIRE_REALLOC_END:
                if (e->word[2] == WIRE_REALLOC_FAILED)
                        t->failed++;
                if (e->word[2] == WIRE_REALLOC_OK) {
                        t->reallocations++;
                        fake_allocate(t, b, e->word[0], e->word[1]);
                }
                break;
        case WIRE_FAILED: t->failed++; break;
        case WIRE_LOST: t->lost_told += e->word[0]; break;
        case WIRE_MODULE: t->modules++; break;
        default: break;
        }
}

/* A begin says what is released, the thread's next end says whether it was. */
static const struct fake_event *fake_find_end(const struct fake_recorder *r,
                                              const struct fake_event *begin) {
        for (const struct fake_event *e = begin + 1; e < r->events + r->n_events; e++)
                if (e->slot == begin->slot && e->kind == WIRE_REALLOC_END)
                        return e;
        return NULL;
}

/* A child starts with its parent's live blocks at the time of the fork. */
static void fake_count_until(struct fake_recorder *r, uint32_t process, uint64_t end_time,
                             struct fake_blocks *b, struct fake_tally *t) {
        const struct wire_process *p = fake_recorder_process(r, process);

        if (p->parent_idx != UINT32_MAX) {
                struct fake_tally inherited = {0};

                fake_count_until(r, p->parent_idx, p->fork_ts, b, &inherited);
                t->live_blocks = inherited.live_blocks;
                t->live_bytes = t->peak_bytes = inherited.live_bytes;
        }
        for (const struct fake_event *e = r->events;
             e < r->events + r->n_events && e->time <= end_time; e++) {
                if (e->process != process)
                        continue;
                if (e->kind == WIRE_REALLOC_BEGIN) {
                        const struct fake_event *end = fake_find_end(r, e);

                        if (!end || end->word[2] != WIRE_REALLOC_FAILED)
                                fake_release(t, b, e->word[0], WIRE_NO_SIZE);
                }
                fake_count(t, b, e);
        }
}

void fake_recorder_tally(struct fake_recorder *r, uint32_t process, struct fake_tally *ret_tally) {
        struct fake_blocks blocks = {.cap = 2 * r->n_events + 16};
        struct fake_tally t = {0};

        qsort(r->events, r->n_events, sizeof(*r->events), fake_compare_time);
        blocks.slots = calloc(blocks.cap, sizeof(*blocks.slots));
        fake_count_until(r, process, UINT64_MAX, &blocks, &t);
        free(blocks.slots);
        *ret_tally = t;
}

uint32_t fake_recorder_n_processes(const struct fake_recorder *r) {
        return atomic_load(&r->header->n_processes_used);
}

uint64_t fake_recorder_n_lost(const struct fake_recorder *r) {
        uint64_t n = atomic_load(&r->header->n_unslotted_events);

        for (uint32_t i = 0; i < WIRE_N_SLOTS; i++)
                n += atomic_load(
                        &((struct wire_slot *)((char *)r->header + r->header->slot_off) + i)
                                 ->n_lost_events);
        return n;
}
