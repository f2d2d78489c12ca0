/* SPDX-License-Identifier: MIT */
#include "pipeline/testing/fake_target.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/macros.h"
#include "trace/writer.h"
#include "wire/clock.h"

static uint64_t fake_now(void *ctx) {
        struct fake_target *t = ctx;
        uint64_t now = t->now ? t->now : clock_counter();

        t->now += t->next_jump;
        t->next_jump = 0;
        return now;
}

static bool fake_is_alive(void *ctx, uint32_t pid, uint32_t tid) {
        (void)pid;
        return ((struct fake_target *)ctx)->dead_tid != tid;
}

static void fake_on_broken(void *ctx, uint32_t process_idx, uint32_t tid, const char *what) {
        (void)process_idx;
        (void)tid;
        (void)what;
        ((struct fake_target *)ctx)->n_broken++;
}

static void fake_on_end(void *ctx, uint32_t process_idx, uint32_t process, uint64_t end_ns,
                        const struct pipeline_totals *totals) {
        struct fake_target *t = ctx;

        (void)process_idx;
        (void)process;
        (void)end_ns;
        t->n_ended++;
        t->ended = *totals;
}

static bool fake_on_cut(void *ctx, uint64_t time_ns) {
        struct fake_target *t = ctx;
        uint64_t n_blocks;

        t->n_cuts++;
        t->cut_ns = time_ns;
        pipeline_get_live(t->pipeline, &t->cut_live_bytes, &n_blocks);
        return !t->has_passing_cuts;
}

void fake_target_init(struct fake_target *t, struct trace_writer *w,
                      const struct pipeline_config *extra) {
        struct pipeline_config config = extra ? *extra : (struct pipeline_config){0};
        uint64_t processes = 4096;
        uint64_t slots = processes + FAKE_N_PROCESSES * sizeof(struct wire_process);
        uint64_t chunks = ALIGN_UP(slots + FAKE_N_SLOTS * sizeof(struct wire_slot), 4096ul);
        struct wire_header *h;
        int r;

        memset(t, 0, sizeof(*t));
        t->size_bytes = chunks + (uint64_t)FAKE_N_CHUNKS * WIRE_CHUNK_BYTES;
        h = mmap(NULL, t->size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert(h != MAP_FAILED);
        t->header = h;
        h->magic = WIRE_MAGIC;
        h->version = WIRE_VERSION;
        h->chunk_bytes = WIRE_CHUNK_BYTES;
        h->n_lent = WIRE_N_LENT;
        h->n_processes = FAKE_N_PROCESSES;
        h->n_slots = FAKE_N_SLOTS;
        h->n_chunks = FAKE_N_CHUNKS;
        h->process_off = processes;
        h->slot_off = slots;
        h->chunk_off = chunks;
        h->size_bytes = t->size_bytes;
        atomic_init(&h->recording, 1);

        config.arena = h;
        config.arena_bytes = t->size_bytes;
        config.writer = w;
        config.counter_hz = FAKE_HZ;
        config.calls = (struct pipeline_calls){
                .ctx = t,
                .on_module = config.calls.on_module,
                .on_unseen = config.calls.on_unseen,
                .on_mapping = config.calls.on_mapping,
                .thread_name = config.calls.thread_name,
                .is_thread_alive = fake_is_alive,
                .on_broken = fake_on_broken,
                .on_process_end = fake_on_end,
                .on_cut = fake_on_cut,
                .counter_now = fake_now,
        };
        r = pipeline_new(&config, &t->pipeline, NULL);
        assert(r == 0);
        (void)r;
        t->next_pid = 100;
}

void fake_target_done(struct fake_target *t) {
        t->pipeline = pipeline_free(t->pipeline);
        munmap(t->header, t->size_bytes);
}

struct wire_process *fake_process(struct fake_target *t, uint32_t idx) {
        return (struct wire_process *)((uint8_t *)t->header + t->header->process_off) + idx;
}

struct wire_slot *fake_slot(struct fake_target *t, uint32_t no) {
        return (struct wire_slot *)((uint8_t *)t->header + t->header->slot_off) + no;
}

/* The first free entry, claimed. */
static uint32_t fake_claim_process(struct fake_target *t) {
        uint32_t idx = 0;

        while (atomic_load(&fake_process(t, idx)->state) != 0)
                idx++;
        assert(idx < FAKE_N_PROCESSES);
        atomic_store(&fake_process(t, idx)->state,
                     WIRE_PROCESS_CLAIMED | (uint64_t)++t->next_pid << 8);
        if (idx >= atomic_load(&t->header->n_processes_used))
                atomic_store(&t->header->n_processes_used, idx + 1);
        return idx;
}

uint32_t fake_add_image(struct fake_target *t, struct trace_writer *w) {
        uint32_t idx = fake_claim_process(t);
        struct wire_process *p = fake_process(t, idx);
        struct trace_process defined = {.pid = t->next_pid,
                                        .parent = TRACE_NO_PROCESS,
                                        .image = 1,
                                        .exe = ""};

        p->parent_idx = UINT32_MAX;
        p->flags = 0;
        pipeline_add_image(t->pipeline, idx, t->next_pid, trace_add_process(w, &defined));
        atomic_store(&p->state, WIRE_PROCESS_LIVE | (uint64_t)t->next_pid << 8);
        return idx;
}

uint32_t fake_fork(struct fake_target *t, uint32_t parent_idx, uint64_t fork_time, bool is_exact) {
        uint32_t idx = fake_claim_process(t);
        struct wire_process *p = fake_process(t, idx);

        p->parent_idx = parent_idx;
        p->fork_ts = fork_time;
        p->flags = is_exact ? WIRE_PROCESS_FORK_EXACT : 0;
        atomic_store(&p->state, WIRE_PROCESS_LIVE | (uint64_t)t->next_pid << 8);
        return idx;
}

void fake_add_thread(struct fake_target *t, struct fake_thread *thread, uint32_t process_idx,
                     uint32_t tid) {
        uint32_t no = 0;
        uint64_t state;

        while (wire_slot_phase(atomic_load(&fake_slot(t, no)->state)) != WIRE_SLOT_FREE)
                no++;
        assert(no < FAKE_N_SLOTS);
        memset(thread, 0, sizeof(*thread));
        thread->target = t;
        thread->slot = fake_slot(t, no);
        thread->slot->tid = tid;
        thread->pos = atomic_load(&thread->slot->write_pos);
        state = atomic_load(&thread->slot->state) >> 40 << 40 | (uint64_t)(process_idx + 1) << 8;
        atomic_store(&thread->slot->state, state | WIRE_SLOT_LIVE);
        if (no >= atomic_load(&t->header->n_slots_used))
                atomic_store(&t->header->n_slots_used, no + 1);
}

static uint64_t *fake_words_at(struct fake_thread *t) {
        struct wire_header *h = t->target->header;
        uint32_t chunk = atomic_load(&t->slot->lent[t->pos / WIRE_CHUNK_BYTES % WIRE_N_LENT]);

        return (uint64_t *)((uint8_t *)h + h->chunk_off + (uint64_t)chunk * WIRE_CHUNK_BYTES +
                            t->pos % WIRE_CHUNK_BYTES);
}

static void fake_make_room(struct fake_thread *t, size_t n_words) {
        uint64_t left = WIRE_CHUNK_BYTES - t->pos % WIRE_CHUNK_BYTES;

        assert(n_words * 8 <= WIRE_CHUNK_BYTES);
        if (t->pos % WIRE_CHUNK_BYTES != 0 && left < n_words * 8) {
                *fake_words_at(t) = wire_word0(0, WIRE_PAD);
                t->pos += left;
                atomic_store_explicit(&t->slot->write_pos, t->pos, memory_order_release);
        }
        while (t->pos + n_words * 8 >
               atomic_load_explicit(&t->slot->limit_pos, memory_order_acquire))
                pipeline_pump(t->target->pipeline);
}

void fake_put_words(struct fake_thread *t, uint64_t time, unsigned kind, const uint64_t *words,
                    size_t n) {
        uint64_t *to;

        fake_make_room(t, n + 1);
        to = fake_words_at(t);
        to[0] = wire_word0(time, kind);
        for (size_t i = 0; i < n; i++)
                to[1 + i] = words[i];
        t->pos += (n + 1) * 8;
        atomic_store_explicit(&t->slot->write_pos, t->pos, memory_order_release);
}

void fake_use_tokens(struct fake_thread *t, struct fake_token *tokens, uint32_t n) {
        memset(tokens, 0, n * sizeof(*tokens));
        t->tokens = tokens;
        t->n_tokens = n;
}

void fake_lose(struct fake_thread *t, uint64_t time, uint64_t n) {
        fake_put_words(t, time, WIRE_LOST, &n, 1);
        if (t->tokens)
                memset(t->tokens, 0, t->n_tokens * sizeof(*t->tokens));
}

/* The stack's place, 0: none. Whether it names this stack already; from now on it does. */
static uint32_t fake_token_of(struct fake_thread *t, const uint64_t *pcs, uint32_t depth,
                              unsigned end, bool *ret_is_known) {
        struct fake_token new = {.depth = depth, .end = end};
        uint64_t hash = end;
        uint32_t place;

        *ret_is_known = false;
        if (t->n_tokens == 0 || depth == 0 || depth > 8)
                return 0;
        for (uint32_t i = 0; i < depth; i++)
                hash = (hash ^ (new.pcs[i] = pcs[i])) * 0x9e3779b97f4a7c15u;
        place = (uint32_t)(hash >> 40) % t->n_tokens;
        *ret_is_known = memcmp(&t->tokens[place], &new, sizeof(new)) == 0;
        t->tokens[place] = new;
        return place + 1;
}

/* The stack word in place of frames, or the whole of a record that has a kind for it. */
static void fake_put_known(struct fake_thread *t, uint64_t time, unsigned kind,
                           const uint64_t *words, size_t n, uint32_t token) {
        uint64_t all[8];

        memcpy(all, words, n * 8);
        if (kind == WIRE_ALLOC && words[1] <= WIRE_SIZE_MASK) {
                all[1] |= (uint64_t)token << WIRE_TOKEN_SHIFT;
                fake_put_words(t, time, WIRE_ALLOC_KNOWN, all, 2);
                return;
        }
        all[n] = wire_stack_word(0, WIRE_KNOWN, WIRE_FORM_MALLOC, 0) | (uint64_t)token
                                                                               << WIRE_TOKEN_SHIFT;
        fake_put_words(t, time, kind, all, n + 1);
}

void fake_put_stack(struct fake_thread *t, uint64_t time, unsigned kind, const uint64_t *words,
                    size_t n, const uint64_t *pcs, uint32_t depth, unsigned end) {
        uint64_t all[8 + 64];
        uint32_t n_kept = 0, n_new, token;
        bool is_known;

        assert(depth <= 64 && n < 7);
        token = fake_token_of(t, pcs, depth, end, &is_known);
        if (is_known) {
                fake_put_known(t, time, kind, words, n, token);
                return;
        }
        while (n_kept < depth && n_kept < t->depth && t->pcs[n_kept] == pcs[depth - 1 - n_kept])
                n_kept++;
        n_new = depth - n_kept;
        memcpy(all, words, n * 8);
        all[n] = wire_stack_word(n_kept, n_new, WIRE_FORM_MALLOC, end) |
                 (uint64_t)token << WIRE_TOKEN_SHIFT;
        for (uint32_t i = 0; i < n_new; i++)
                all[n + 1 + i] = pcs[i];
        for (uint32_t i = 0; i < depth; i++)
                t->pcs[i] = pcs[depth - 1 - i];
        t->depth = depth;
        fake_put_words(t, time, kind, all, n + 1 + n_new);
}

void fake_alloc(struct fake_thread *t, uint64_t time, uint64_t address, uint64_t size_bytes,
                uint64_t site) {
        uint64_t pcs[2] = {0x10000 + site, 0x5000};

        fake_put_stack(t, time, WIRE_ALLOC, (uint64_t[]){address, size_bytes}, 2, pcs, 2,
                       WIRE_END_COMPLETE);
}

void fake_free(struct fake_thread *t, uint64_t time, uint64_t address) {
        fake_put_words(t, time, WIRE_FREE, &address, 1);
}

void fake_realloc_begin(struct fake_thread *t, uint64_t time, uint64_t address) {
        fake_put_words(t, time, WIRE_REALLOC_BEGIN, &address, 1);
}

void fake_realloc_end(struct fake_thread *t, uint64_t time, uint64_t address, uint64_t size_bytes,
                      enum wire_realloc result, uint64_t site) {
        uint64_t pcs[2] = {0x10000 + site, 0x5000};

        fake_put_stack(t, time, WIRE_REALLOC_END, (uint64_t[]){address, size_bytes, result}, 3, pcs,
                       2, WIRE_END_COMPLETE);
}

void fake_settle(struct fake_target *t) {
        t->now += FAKE_HZ;
        for (int i = 0; i < 10; i++)
                pipeline_pump(t->pipeline);
}
