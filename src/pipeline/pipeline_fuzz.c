/* SPDX-License-Identifier: MIT */
/* The whole pipeline on an arena a hostile family of processes writes into: rings, positions, states, process entries,
 * lent tables. The input is a program of such writes, pumps and ends. Nothing may crash, hang or leak.
 *
 * seeds: src/pipeline/pipeline_seeds
 * covers: src/pipeline/bulk.c src/pipeline/decode.c src/pipeline/drain.c src/pipeline/forks.c src/pipeline/heaps.c
 * covers: src/pipeline/intern.c src/pipeline/lender.c
 * covers: src/pipeline/order.c src/pipeline/pairing.c src/pipeline/paths.c src/pipeline/pipeline.c src/pipeline/pools.c
 * covers: src/pipeline/quick.c
 * covers: src/pipeline/block_residency.c src/ledger/site_rows.c src/ledger/site_figures.c */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/block_residency.h"
#include "pipeline/pipeline_state.h"
#include "pipeline/testing/fake_target.h"
#include "pipeline/testing/fake_writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { N_SLOTS = 6, N_PROCESSES = 6, MAX_OPS = 600, MAX_MANY = 6000 };
enum {
        MAX_MANY_FREES = 1500
};                            /* of blocks that nobody knows each is compared with all that wait */
enum { N_LIKELY_KINDS = 23 }; /* as the corpus has them */

struct input {
        const uint8_t *data;
        size_t size;
        unsigned n_left, n_frees_left; /* records put_many may still write */
};

static uint8_t take(struct input *in) {
        if (in->size == 0)
                return 0;
        in->size--;
        return *in->data++;
}

static uint64_t take_word(struct input *in) {
        uint64_t w = 0;

        for (int i = 0; i < 8; i++)
                w = w << 8 | take(in);
        return w;
}

/* Publishes words at the slot's position, where the recorder says the chunk is; nothing when there is no room. */
static void put(struct fake_target *t, struct wire_slot *slot, const uint64_t *words, size_t n) {
        uint64_t pos = atomic_load(&slot->write_pos);
        uint64_t left = WIRE_CHUNK_BYTES - pos % WIRE_CHUNK_BYTES;
        uint32_t chunk = atomic_load(&slot->lent[pos / WIRE_CHUNK_BYTES % WIRE_N_LENT]);
        uint8_t *to;

        if (pos % 8 != 0 || chunk >= FAKE_N_CHUNKS || pos >= atomic_load(&slot->limit_pos))
                return;
        to = (uint8_t *)t->header + t->header->chunk_off + (uint64_t)chunk * WIRE_CHUNK_BYTES +
             pos % WIRE_CHUNK_BYTES;
        if (left < n * 8) {
                memset(to, 0, left);
                atomic_store(&slot->write_pos, pos + left);
                return;
        }
        memcpy(to, words, n * 8);
        atomic_store(&slot->write_pos, pos + n * 8);
}

/* A record that is likely to be accepted: few addresses, small sizes. */
static void put_likely(struct fake_target *t, struct wire_slot *slot, struct input *in) {
        unsigned kind = take(in) % N_LIKELY_KINDS;
        uint64_t words[32] = {wire_word0(t->now - (uint64_t)take(in) * 64, kind)};
        unsigned at = wire_stack_at(kind), n = at ? at + 1 : 1 + (unsigned)(take(in) % 4),
                 n_new = 0;

        for (unsigned i = 1; i < n; i++)
                words[i] = (uint64_t)(take(in) % 16) * 16;
        if (kind == WIRE_REALLOC_END)
                words[3] = take(in) % 4;
        if (at) {
                n_new = take(in) % 6;
                words[at] = wire_stack_word(take(in) % 4, n_new, 0, take(in) % 6);
        }
        for (unsigned i = 0; i < n_new; i++)
                words[n + i] = 0x1000 + take(in);
        put(t, slot, words, n + n_new);
}

/* One of the kinds that few programs have, with values that make sense or nearly; or silt leaves. */
static void put_rare(struct fake_target *t, struct wire_slot *slot, struct input *in) {
        static const uint8_t kinds[] = {
                WIRE_FREE_STACK, WIRE_HEAP,      WIRE_UNSEEN,      WIRE_MPROTECT, WIRE_FAIL,
                WIRE_SAMPLE,     WIRE_MARK,      WIRE_BRK,         WIRE_LOST,     WIRE_SAMPLE_FREE,
                WIRE_MREMAP,     WIRE_FORK_DONE, WIRE_THREAD_NAME, WIRE_FAILED,   WIRE_MMAP,
                WIRE_MUNMAP,     WIRE_EXEC,      WIRE_FORK,
        };
        uint8_t which = take(in);
        unsigned kind = kinds[which % sizeof(kinds)], at = wire_stack_at(kind);
        uint64_t words[16] = {wire_word0(t->now - (uint64_t)take(in) * 64, kind)};
        unsigned text_at = kind == WIRE_MARK ? 2 : kind == WIRE_UNSEEN ? 3 : 0;
        uint32_t n;

        for (unsigned i = 1; i < 6; i++)
                words[i] = (uint64_t)(take(in) % 16) * 16;
        if (kind == WIRE_HEAP || kind == WIRE_EXEC)
                words[kind == WIRE_HEAP ? 2 : 1] = take(in) % 6;
        if (kind == WIRE_UNSEEN)
                words[1] |= (uint64_t)take(in) << 32;
        if (text_at) {
                words[text_at - 1] = take(in) % 16;
                words[text_at] = take_word(in);
                words[text_at + 1] = take_word(in);
        }
        if (at) {
                words[at] = wire_stack_word(0, take(in) % 3, take(in) % 32, take(in) % 5);
                words[at + 1] = 0x1000 + take(in);
                words[at + 2] = 0x1000 + take(in);
        }
        n = ring_record_words(words, sizeof(words) / 8);
        put(t, slot, words, n ? n : 1);
        if (which == 255)
                atomic_store(&t->header->leave_ts, t->now);
}

/* Many blocks at once, so that tables grow and split; or all of them away again, those of pools by one range, those of heaps by
 * what becomes of the heap. Each may have a stack of its own. */
static void put_many(struct fake_target *t, struct wire_slot *slot, struct input *in) {
        uint64_t base = (uint64_t)take(in) << 16, n = (uint64_t)take(in) * 4;
        uint8_t how = take(in);
        bool is_alloc = how & 1, is_pool = how & 8, is_heap = how & 16;
        unsigned n_new = how & 2 ? 2 : 0, *left = is_alloc ? &in->n_left : &in->n_frees_left;

        if (is_pool && !is_alloc) {
                put(t, slot,
                    (uint64_t[3]){wire_word0(t->now, WIRE_FREE_RANGE), base, base + n * 16}, 3);
                return;
        }
        if (is_heap && !is_alloc) {
                put(t, slot, (uint64_t[4]){wire_word0(t->now, WIRE_HEAP), how >> 5, base >> 16 & 7},
                    4);
                return;
        }
        for (uint64_t i = 1; i <= n && *left > 0; i++, --*left) {
                uint64_t heap[4] = {wire_word0(t->now, WIRE_HEAP), how >> 5, WIRE_HEAP_NEXT,
                                    base + i * 16};
                unsigned kind = is_pool ? WIRE_POOL_ALLOC : is_alloc ? WIRE_ALLOC : WIRE_FREE;
                uint64_t words[6] = {wire_word0(t->now, kind),
                                     (base + i * 16) | (is_pool ? WIRE_POOL : 0),
                                     how & 4 ? i * TRACE_LARGE_BLOCK_BYTES : i,
                                     wire_stack_word(0, n_new, 0, 0),
                                     0x1000 + base + i * 4,
                                     0x1000 + (uint64_t)how};

                if (is_heap)
                        put(t, slot, heap, 4);
                put(t, slot, words, is_alloc ? 4 + n_new : 2);
        }
}

/* A realloc from one of few addresses to another, perhaps of a block that is there, perhaps released in between or after. */
static void put_realloc(struct fake_target *t, struct wire_slot *slot, struct input *in) {
        uint64_t old = (1 + (uint64_t)take(in) % 8) * 16,
                 address = (1 + (uint64_t)take(in) % 8) * 16;
        uint8_t how = take(in);
        uint64_t alloc[4] = {wire_word0(t->now, WIRE_ALLOC), old, 10};
        uint64_t begin[2] = {wire_word0(t->now + 1, WIRE_REALLOC_BEGIN), old};
        uint64_t between[2] = {wire_word0(t->now + 1, WIRE_FREE), address};
        uint64_t end[5] = {wire_word0(t->now + 2, WIRE_REALLOC_END), address, 20, how >> 6};
        uint64_t after[3] = {wire_word0(t->now + 3, WIRE_FREE_SIZED), address, how & 32 ? 20 : 21};

        if (how & 1)
                put(t, slot, alloc, 4);
        if (how & 2)
                put(t, slot, begin, 2);
        if (how & 4)
                put(t, fake_slot(t, 1), between, 2);
        if (how & 8)
                put(t, slot, end, 5);
        if (how & 16)
                put(t, slot, after, 3);
}

/* A stack that is given a token, one of few or any; a record that names it by that, and one that says all of them are void. */
static void put_token(struct fake_target *t, struct wire_slot *slot, struct input *in) {
        static const uint8_t kinds[] = {WIRE_ALLOC,  WIRE_FREE_STACK, WIRE_REALLOC_END,
                                        WIRE_MMAP,   WIRE_MREMAP,     WIRE_POOL_ALLOC,
                                        WIRE_SAMPLE, WIRE_BRK,        WIRE_FAIL};
        uint8_t how = take(in);
        uint64_t token = how & 64 ? take_word(in) & 0xffff : 1 + take(in) % 4;
        uint64_t address = (1 + (uint64_t)take(in) % 16) * 16;
        unsigned kind = kinds[how & 2 ? (how >> 2 & 15) % sizeof(kinds) : 0], at,
                 n_new = how & 1 ? 1 + take(in) % 3u : 0;
        uint64_t words[16] = {wire_word0(t->now, kind), address, 10 + take(in)};

        if (how & 128) {
                put(t, slot, (uint64_t[2]){wire_word0(t->now, WIRE_LOST), 1}, 2);
                return;
        }
        if (!(how & 3)) {
                words[0] = wire_word0(t->now, WIRE_ALLOC_KNOWN);
                words[2] |= token << WIRE_TOKEN_SHIFT;
                put(t, slot, words, 3);
                return;
        }
        at = wire_stack_at(kind);
        words[at] = wire_stack_word(0, n_new ? n_new : WIRE_KNOWN, 0, n_new ? take(in) % 5 : 0) |
                    token << WIRE_TOKEN_SHIFT;
        for (unsigned i = 0; i < n_new; i++)
                words[at + 1 + i] = 0x1000 + take(in);
        put(t, slot, words, at + 1 + n_new);
}

/* A module over some of the pcs of the other records; sometimes a name or a place that is known. */
static void put_module(struct fake_target *t, struct wire_slot *slot, struct input *in) {
        uint64_t begin = 0x1000 + (uint64_t)(take(in) % 64) * 16, name_bytes = take(in) % 12;
        uint64_t words[7] = {wire_word0(t->now, WIRE_MODULE), begin, begin,
                             begin + (uint64_t)take(in) * 16, name_bytes};

        for (uint64_t i = 0; i < name_bytes; i++)
                ((char *)(words + 5))[i] = (char)('a' + take(in) % 3);
        put(t, slot, words, 5 + (name_bytes + 7) / 8);
}

/* Modules whose name begins with "a" are silt's own. */
static bool on_module(void *ctx, const struct pipeline_module *m, struct trace_module *fill) {
        fill->path = m->name;
        fill->size_bytes = m->end - m->begin;
        return m->name[0] != 'a';
}

static void on_unseen(void *ctx, uint32_t process_idx, uint32_t pid, unsigned why,
                      const char *path) {
        for (const char *c = path; *c; c++)
                if ((unsigned char)*c < ' ' || *c == '\'')
                        abort(); /* it would be taken for more than a name */
}

static void on_mapping(void *ctx, uint32_t process_idx, uint64_t begin, uint64_t end) {}

static const char *thread_name(void *ctx, uint32_t pid, uint32_t tid) {
        return tid % 2 ? "odd" : "";
}

static void put_raw(struct fake_target *t, struct wire_slot *slot, struct input *in) {
        uint64_t words[16];
        size_t n = 1 + take(in) % 16;

        for (size_t i = 0; i < n; i++)
                words[i] = take_word(in);
        words[0] = wire_word0(t->now, (unsigned)words[0] & 0xff);
        put(t, slot, words, n);
}

static void claim_slot(struct wire_slot *slot, struct input *in) {
        uint64_t state = atomic_load(&slot->state);
        uint64_t process = take(in) % (N_PROCESSES + 1);

        if (wire_slot_phase(state) == WIRE_SLOT_FREE) {
                slot->tid = take(in) % 8;
                slot->flags = take(in) % 2;
                atomic_store(&slot->state, state | WIRE_SLOT_LIVE | (process + 1) << 8);
        } else {
                atomic_store(&slot->state, (state & ~0xffull) | take(in) % 5);
        }
}

static void claim_process(struct fake_target *t, uint32_t idx, struct input *in) {
        struct wire_process *p = fake_process(t, idx);

        if (atomic_load(&p->state) != 0)
                return;
        p->parent_idx = take(in) % (N_PROCESSES + 2);
        p->fork_ts = t->now - (uint64_t)take(in) * 64;
        p->flags = take(in) % 2;
        atomic_store(&p->state, (uint64_t)take(in) << 8 | take(in) % 3);
}

static void vandalise(struct fake_target *t, struct wire_slot *slot, struct input *in) {
        switch (take(in) % 8) {
        case 0: atomic_store(&slot->write_pos, take_word(in)); break;
        case 1: atomic_store(&slot->lent[take(in) % WIRE_N_LENT], (uint32_t)take_word(in)); break;
        case 2: atomic_store(&slot->limit_pos, take_word(in)); break;
        case 3: atomic_store(&slot->state, take_word(in)); break;
        case 4: atomic_store(&t->header->n_slots_used, (uint32_t)take_word(in)); break;
        case 5: atomic_store(&t->header->n_processes_used, (uint32_t)take_word(in)); break;
        case 6: atomic_store(&slot->n_lost_events, take_word(in)); break;
        default:
                atomic_store(&fake_process(t, take(in) % N_PROCESSES)->state, take_word(in));
                break;
        }
}

/* Two looks at the pages of large blocks, of which all or none were touched. */
static void look(struct fake_target *t, uint32_t idx, bool is_touched) {
        static int fds[2] = {-1, -1};

        if (fds[is_touched] < 0)
                fds[is_touched] =
                        open(is_touched ? "/proc/self/exe" : "/dev/zero", O_RDONLY | O_CLOEXEC);
        for (int i = 0; i < 2; i++) {
                struct residency_budget budget = {20, 4000};

                if (pipeline_wants_look(t->pipeline, idx, true))
                        pipeline_look(t->pipeline, idx, fds[is_touched], t->now, &budget);
                t->now += 10000000;
                pipeline_pump(t->pipeline);
        }
}

static void step(struct fake_target *t, struct input *in) {
        uint8_t op = take(in);
        struct wire_slot *slot = fake_slot(t, take(in) % N_SLOTS);

        switch (op % 16) {
        case 0: put_raw(t, slot, in); break;
        case 1: t->now += (uint64_t)take(in) * 5000000; break;
        case 2: claim_slot(slot, in); break;
        case 3: claim_process(t, take(in) % N_PROCESSES, in); break;
        case 4: pipeline_end_process(t->pipeline, take(in) % (N_PROCESSES + 1), t->now); break;
        case 5: pipeline_end_slice(t->pipeline, t->now, take(in) % 2); break;
        case 6: atomic_store(&slot->busy, take(in) % 2); break;
        case 7: atomic_store(&slot->waiting, take(in) % 2); break;
        case 8: vandalise(t, slot, in); break;
        case 9: t->dead_tid = take(in) % 8; break;
        case 10: pipeline_pump(t->pipeline); break;
        case 11: put_many(t, slot, in); break;
        case 12: put_module(t, slot, in); break;
        case 13: put_realloc(t, slot, in); break;
        case 14: look(t, take(in) % N_PROCESSES, take(in) % 2); break;
        default: (op & 128 ? put_token : op & 64 ? put_rare : put_likely)(t, slot, in); break;
        }
        t->now += 100;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        struct input in = {data, size, MAX_MANY, MAX_MANY_FREES};
        struct trace_writer *w = fake_writer_new(true);
        struct pipeline_stats stats;
        struct pipeline_config config = {.calls = {.on_module = on_module,
                                                   .on_unseen = on_unseen,
                                                   .on_mapping = on_mapping,
                                                   .thread_name = thread_name}};
        struct fake_target t;

        fake_target_init(&t, w, &config);
        t.pipeline->pair.is_sampled = t.pipeline->sites.is_sampled =
                size > 0 && data[size - 1] == 's';
        t.now = 10000000;
        fake_add_image(&t, w);
        atomic_store(&t.header->n_slots_used, N_SLOTS);
        atomic_store(&t.header->n_processes_used, N_PROCESSES);
        for (int i = 0; i < MAX_OPS && in.size > 0; i++)
                step(&t, &in);
        pipeline_finish(t.pipeline, t.now);
        pipeline_get_stats(t.pipeline, &stats);
        if (pipeline_has_work(t.pipeline))
                pipeline_pump(t.pipeline);
        fake_target_done(&t);
        fake_writer_free(w);
        return 0;
}
