/* SPDX-License-Identifier: MIT */
#include "hook/testing/fake_recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "wire/clock.h"
#include "wire/hello.h"
#include "wire/ring_reader.h"
#include "wire/sys.h"

#define MUST(x)                                                                                    \
        do {                                                                                       \
                if (!(x)) {                                                                        \
                        fprintf(stderr, "fake_recorder.c:%d: %s: %s\n", __LINE__, #x,              \
                                strerror(errno));                                                  \
                        abort();                                                                   \
                }                                                                                  \
        } while (0)

enum { FAKE_LENT_AHEAD = 64, FAKE_N_LENT = 8, FAKE_SLEEP_NS = 2000000 };

struct fake_stack {
        uint32_t depth;
        uint8_t form, end;
        uint64_t *pcs; /* outermost first */
};

struct fake_ring {
        struct ring_reader reader;
        bool is_open;
        uint64_t generation;
        uint32_t depth;                  /* of the mirrored stack */
        uint64_t stack[WIRE_MAX_FRAMES]; /* outermost first */
        struct fake_stack *known;        /* by token; NULL pcs: nobody's */
};

static struct wire_slot *fake_slot(const struct fake_recorder *r, uint32_t idx) {
        return (struct wire_slot *)((char *)r->header + r->header->slot_off) + idx;
}

struct wire_process *fake_recorder_process(const struct fake_recorder *r, uint32_t idx) {
        return (struct wire_process *)((char *)r->header + r->header->process_off) + idx;
}

/* ---- the arena --------------------------------------------------------------------------- */

static uint64_t fake_now(uint32_t clock) {
        struct timespec ts;

        if (clock == WIRE_CLOCK_COUNTER)
                return clock_counter();
        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void fake_make_arena(struct fake_recorder *r) {
        uint64_t processes = 4096, slots, chunks, size;
        struct wire_header *h;

        slots = processes + WIRE_N_PROCESSES * sizeof(struct wire_process);
        chunks = (slots + WIRE_N_SLOTS * sizeof(struct wire_slot) + 4095) & ~4095ul;
        size = chunks + (uint64_t)WIRE_N_CHUNKS * WIRE_CHUNK_BYTES;
        r->arena_fd = memfd_create("silt", MFD_CLOEXEC);
        MUST(r->arena_fd >= 0 && ftruncate(r->arena_fd, (off_t)size) == 0);
        h = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, r->arena_fd, 0);
        MUST(h != MAP_FAILED);
        h->version = WIRE_VERSION;
        h->chunk_bytes = WIRE_CHUNK_BYTES;
        h->n_lent = WIRE_N_LENT;
        h->n_processes = WIRE_N_PROCESSES;
        h->n_slots = WIRE_N_SLOTS;
        h->n_chunks = WIRE_N_CHUNKS;
        h->process_off = processes;
        h->slot_off = slots;
        h->chunk_off = chunks;
        h->size_bytes = size;
        h->clock = r->options.clock;
        h->clock_base = fake_now(h->clock);
        h->flags = r->options.flags;
        atomic_store(&h->recording, 1);
        atomic_store(&h->patience.left_ns, WIRE_PATIENCE_MAX_MS * UINT64_C(1000000));
        h->magic = WIRE_MAGIC;
        r->header = h;
        r->rings = calloc(WIRE_N_SLOTS, sizeof(*r->rings));
        r->free_chunks = calloc(WIRE_N_CHUNKS, sizeof(uint32_t));
        for (uint32_t i = 0; i < WIRE_N_CHUNKS; i++)
                r->free_chunks[r->n_chunks_free++] = WIRE_N_CHUNKS - 1 - i;
}

static void fake_forget_tokens(struct fake_ring *ring) {
        for (uint32_t i = 0; ring->known && i <= WIRE_MAX_TOKEN; i++)
                free(ring->known[i].pcs);
        free(ring->known);
        ring->known = NULL;
}

static void fake_open_ring(struct fake_recorder *r, uint32_t idx) {
        struct fake_ring *ring = &r->rings[idx];

        fake_forget_tokens(ring);
        ring->is_open = true;
        ring->depth = 0;
        memset(&ring->reader, 0, sizeof(ring->reader));
        ring->reader.slot = fake_slot(r, idx);
        ring->reader.chunks = (uint8_t *)r->header + r->header->chunk_off;
        ring->reader.n_chunks = WIRE_N_CHUNKS;
}

static void fake_lend(struct fake_recorder *r, uint32_t idx, uint32_t n_lent) {
        struct ring_reader *reader = &r->rings[idx].reader;
        struct wire_slot *slot = fake_slot(r, idx);
        uint64_t floor = reader->read_pos / WIRE_CHUNK_BYTES * WIRE_CHUNK_BYTES;
        bool lent = false;

        if (n_lent > WIRE_N_LENT)
                n_lent = WIRE_N_LENT;
        while (reader->limit_pos < floor + (uint64_t)n_lent * WIRE_CHUNK_BYTES &&
               r->n_chunks_free) {
                uint32_t at = (uint32_t)(reader->limit_pos / WIRE_CHUNK_BYTES % WIRE_N_LENT);

                reader->lent[at] = r->free_chunks[--r->n_chunks_free];
                atomic_store_explicit(&slot->lent[at], reader->lent[at], memory_order_relaxed);
                reader->limit_pos += WIRE_CHUNK_BYTES;
                lent = true;
        }
        if (lent) {
                atomic_store_explicit(&slot->limit_pos, reader->limit_pos, memory_order_release);
                atomic_fetch_add(&slot->lent_seq, 1);
                if (atomic_load(&slot->waiting))
                        sys_futex_wake((void *)&slot->lent_seq, 1);
        }
}

/* ---- draining ---------------------------------------------------------------------------- */

static struct fake_event *fake_new_event(struct fake_recorder *r) {
        if (r->n_events == r->cap_events) {
                r->cap_events = r->cap_events ? 2 * r->cap_events : 4096;
                r->events = realloc(r->events, r->cap_events * sizeof(*r->events));
                MUST(r->events);
        }
        memset(&r->events[r->n_events], 0, sizeof(*r->events));
        return &r->events[r->n_events++];
}

static void fake_give_token(struct fake_ring *ring, uint64_t stack_word) {
        struct fake_stack *s;

        if (!ring->known)
                MUST(ring->known = calloc(WIRE_MAX_TOKEN + 1, sizeof(*ring->known)));
        s = &ring->known[wire_token(stack_word)];
        free(s->pcs);
        *s = (struct fake_stack){.depth = ring->depth,
                                 .form = stack_word >> 32 & 0xff,
                                 .end = stack_word >> 40 & 0xff,
                                 .pcs = malloc((ring->depth + 1) * sizeof(uint64_t))};
        MUST(s->pcs);
        memcpy(s->pcs, ring->stack, ring->depth * sizeof(uint64_t));
}

/* Mirrors the ring's stack; false when the delta cannot be. */
static bool fake_apply_frames(struct fake_ring *ring, uint64_t stack_word, const uint64_t *pcs) {
        uint32_t n_kept = stack_word & 0xffff, n_new = stack_word >> 16 & 0xffff;

        if (n_kept > ring->depth || n_kept + n_new > WIRE_MAX_FRAMES)
                return false;
        for (uint32_t i = 0; i < n_new; i++)
                ring->stack[n_kept + i] = pcs[n_new - 1 - i];
        ring->depth = n_kept + n_new;
        if (wire_token(stack_word))
                fake_give_token(ring, stack_word);
        return true;
}

/* False: the record means nothing. */
static bool fake_find_stack(struct fake_ring *ring, const uint64_t *words, struct fake_stack *ret) {
        unsigned kind = words[0] & 0xff, at = wire_stack_at(kind);
        uint32_t token = kind == WIRE_ALLOC_KNOWN ? wire_token(words[2]) : 0;

        if (at && wire_stack_n_new(words[at]) == WIRE_KNOWN)
                token = wire_token(words[at]);
        if (token) {
                if (token > WIRE_MAX_TOKEN || !ring->known || !ring->known[token].pcs)
                        return false;
                *ret = ring->known[token];
                return true;
        }
        if (!fake_apply_frames(ring, words[at], words + at + 1))
                return false;
        *ret = (struct fake_stack){ring->depth, words[at] >> 32 & 0xff, words[at] >> 40 & 0xff,
                                   ring->stack};
        return true;
}

/* Other code is there now. */
static void fake_end_tokens_in(struct fake_ring *ring, uint64_t begin, uint64_t end) {
        for (uint32_t i = 0; ring->known && i <= WIRE_MAX_TOKEN; i++) {
                struct fake_stack *s = &ring->known[i];

                for (uint32_t k = 0; s->pcs && k < s->depth; k++)
                        if (s->pcs[k] > begin && s->pcs[k] <= end) {
                                free(s->pcs);
                                s->pcs = NULL;
                        }
        }
}

static uint64_t fake_hash(const struct fake_stack *s) {
        uint64_t h = 0xcbf29ce484222325;

        for (size_t i = 0; i < s->depth * sizeof(uint64_t); i++)
                h = (h ^ ((const uint8_t *)s->pcs)[i]) * 0x100000001b3;
        return h;
}

static void fake_take_record(struct fake_recorder *r, uint32_t idx, const uint64_t *words,
                             uint32_t n) {
        struct fake_ring *ring = &r->rings[idx];
        struct wire_slot *slot = fake_slot(r, idx);
        unsigned kind = words[0] & 0xff;
        bool has_stack = wire_stack_at(kind) || kind == WIRE_ALLOC_KNOWN;
        struct fake_stack stack = {0};
        struct fake_event *e;

        r->n_records++;
        r->n_words += n;
        if (kind == WIRE_LOST)
                fake_forget_tokens(ring);
        if (kind == WIRE_MODULE && r->options.checks_modules)
                fake_end_tokens_in(ring, words[2], words[3]);
        if (has_stack && !fake_find_stack(ring, words, &stack)) {
                r->n_broken++;
                return;
        }
        r->n_known += kind == WIRE_ALLOC_KNOWN;
        if (r->options.discards)
                return;
        e = fake_new_event(r);
        e->time = words[0] >> 8;
        e->kind = (uint8_t)kind;
        e->process = wire_slot_process(atomic_load(&slot->state));
        e->slot = idx | (uint32_t)(ring->generation << 16);
        e->is_nested = slot->flags & WIRE_SLOT_NESTED;
        for (uint32_t i = 1; i < n && i <= 5; i++)
                e->word[i - 1] = words[i];
        if (kind == WIRE_ALLOC_KNOWN) { /* for whoever looks at it the same as any other */
                e->kind = WIRE_ALLOC;
                e->word[1] &= WIRE_SIZE_MASK;
        }
        if (has_stack) {
                e->form = stack.form;
                e->end = stack.end;
                e->n_pcs = stack.depth;
                e->path = fake_hash(&stack);
                for (uint32_t i = 0; i < 3 && i < stack.depth; i++)
                        e->pc[i] = stack.pcs[stack.depth - 1 - i];
        }
}

static void fake_return_chunks(struct fake_recorder *r, struct ring_reader *reader,
                               uint64_t old_pos) {
        for (uint64_t c = old_pos / WIRE_CHUNK_BYTES; c < reader->read_pos / WIRE_CHUNK_BYTES; c++)
                r->free_chunks[r->n_chunks_free++] = reader->lent[c % WIRE_N_LENT];
}

static bool fake_drain_slot(struct fake_recorder *r, uint32_t idx) {
        static uint64_t words[RING_CHUNK_WORDS];
        struct fake_ring *ring = &r->rings[idx];
        bool any = false;

        for (;;) {
                int64_t available = ring_reader_available(&ring->reader);
                uint64_t old_pos = ring->reader.read_pos;
                size_t n, at = 0;

                if (available < 0)
                        r->n_broken++;
                if (available <= 0)
                        break;
                n = ring_reader_copy(&ring->reader, words, RING_CHUNK_WORDS, (uint64_t)available);
                while (at < n) {
                        size_t in_chunk = RING_CHUNK_WORDS - (old_pos / 8 + at) % RING_CHUNK_WORDS;
                        uint32_t n_words = ring_record_words(words + at,
                                                             n - at < in_chunk ? n - at : in_chunk);

                        if (n_words == 0) {
                                r->n_broken++;
                                break;
                        }
                        if ((words[at] & 0xff) != WIRE_PAD)
                                fake_take_record(r, idx, words + at, n_words);
                        at += n_words;
                }
                fake_return_chunks(r, &ring->reader, old_pos);
                any = true;
        }
        return any;
}

/* The slot of a thread that is gone starts over: positions at 0, no chunk but the first. */
static void fake_free_slot(struct fake_recorder *r, uint32_t idx) {
        struct fake_ring *ring = &r->rings[idx];
        struct wire_slot *slot = fake_slot(r, idx);
        uint64_t state = atomic_load(&slot->state);

        for (uint64_t p = ring->reader.read_pos / WIRE_CHUNK_BYTES;
             p < ring->reader.limit_pos / WIRE_CHUNK_BYTES; p++)
                r->free_chunks[r->n_chunks_free++] = ring->reader.lent[p % WIRE_N_LENT];
        atomic_store(&slot->write_pos, 0);
        atomic_store(&slot->limit_pos, 0);
        atomic_store(&slot->busy, 0);
        ring->generation++;
        fake_open_ring(r, idx);
        fake_lend(r, idx, 1);
        atomic_store(&slot->state, ((state >> 40) + 1) << 40);
}

static bool fake_thread_is_gone(const struct fake_recorder *r, uint32_t idx) {
        struct wire_slot *slot = fake_slot(r, idx);
        uint64_t state = atomic_load(&slot->state);
        uint64_t process;

        if (wire_slot_phase(state) < WIRE_SLOT_LIVE)
                return false;
        process = atomic_load(&fake_recorder_process(r, wire_slot_process(state))->state);
        return syscall(SYS_tgkill, process >> 8, slot->tid, 0) < 0 && errno == ESRCH;
}

static bool fake_drain(struct fake_recorder *r) {
        uint32_t used = atomic_load(&r->header->n_slots_used);
        uint32_t n_lent = r->options.n_lent_max ? r->options.n_lent_max : FAKE_N_LENT;
        bool any = false;

        if (r->options.recovers && fake_recorder_n_lost(r) > 0)
                r->options.is_stuck = r->options.recovers = false;
        for (uint32_t i = 0; i < used + FAKE_LENT_AHEAD && i < WIRE_N_SLOTS; i++) {
                bool is_claimed = i < used && wire_slot_phase(atomic_load(&fake_slot(r, i)->state));

                if (!r->rings[i].is_open)
                        fake_open_ring(r, i);
                if (!is_claimed && r->options.lends_late)
                        continue;
                if (is_claimed && !r->options.is_stuck) {
                        bool is_gone = r->options.frees_slots && fake_thread_is_gone(r, i);

                        any |= fake_drain_slot(r, i);
                        if (is_gone)
                                fake_free_slot(r, i);
                }
                if (!r->options.is_stuck || r->rings[i].reader.limit_pos == 0)
                        fake_lend(r, i, is_claimed ? n_lent : 1);
        }
        return any;
}

/* ---- the rendezvous ---------------------------------------------------------------------- */

static void fake_listen(struct fake_recorder *r) {
        struct sockaddr_un addr = {.sun_family = AF_UNIX};
        int n = snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1, "silt-fake-%d-%p",
                         (int)getpid(), (void *)r);

        r->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        MUST(r->listen_fd >= 0);
        MUST(bind(r->listen_fd, (void *)&addr,
                  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) == 0);
        MUST(listen(r->listen_fd, 128) == 0);
        snprintf(r->env, sizeof(r->env), "/nonexistent/silt;%s:000102030405060708090a0b0c0d0e0f",
                 addr.sun_path + 1);
}

static uint32_t fake_add_process(struct fake_recorder *r, uint32_t pid) {
        for (uint32_t i = 0; i < WIRE_N_PROCESSES; i++) {
                struct wire_process *p = fake_recorder_process(r, i);
                uint64_t state = 0;

                if (!atomic_compare_exchange_strong(&p->state, &state, WIRE_PROCESS_CLAIMED))
                        continue;
                p->parent_idx = UINT32_MAX;
                atomic_store(&p->state, WIRE_PROCESS_LIVE | (uint64_t)pid << 8);
                if (atomic_load(&r->header->n_processes_used) <= i)
                        atomic_store(&r->header->n_processes_used, i + 1);
                return i;
        }
        abort();
}

static void fake_answer(struct fake_recorder *r, int fd) {
        struct wire_welcome welcome = {.magic = WIRE_MAGIC,
                                       .accepted = 1,
                                       .size_bytes = r->header->size_bytes};
        struct timeval patience = {.tv_sec = 2};
        union {
                char bytes[CMSG_SPACE(sizeof(int))];
                struct cmsghdr align;
        } control = {0};
        struct iovec iov = {&welcome, sizeof(welcome)};
        struct msghdr msg = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
        struct wire_hello hello;

        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        if (recv(fd, &hello, sizeof(hello), 0) != (ssize_t)sizeof(hello) ||
            hello.magic != WIRE_MAGIC || hello.token[15] != 0x0f)
                return;
        welcome.process_idx = fake_add_process(r, hello.pid);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(c), &r->arena_fd, sizeof(int));
        r->n_hellos++;
        (void)!sendmsg(fd, &msg, MSG_NOSIGNAL);
}

static void fake_accept(struct fake_recorder *r) {
        int fd;

        while ((fd = accept4(r->listen_fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
                fake_answer(r, fd);
                close(fd);
        }
}

/* Sleeps on `wake` for two milliseconds at most: hellos are looked for in between. */
static void *fake_main(void *ctx) {
        struct fake_recorder *r = ctx;

        while (!atomic_load(&r->is_stopping)) {
                uint32_t wake = atomic_load(&r->header->wake);
                struct sys_timespec timeout = {0, FAKE_SLEEP_NS};

                fake_accept(r);
                if (fake_drain(r))
                        continue;
                atomic_store(&r->header->asleep, 1);
                if (!fake_drain(r))
                        sys_futex_wait((void *)&r->header->wake, wake, &timeout);
                atomic_store(&r->header->asleep, 0);
        }
        return NULL;
}

void fake_recorder_open(struct fake_recorder *r, const struct fake_options *options) {
        memset(r, 0, sizeof(*r));
        r->options = *options;
        fake_make_arena(r);
        fake_listen(r);
        fake_drain(r);
        MUST(pthread_create(&r->thread, NULL, fake_main, r) == 0);
}

void fake_recorder_close(struct fake_recorder *r) {
        atomic_store(&r->is_stopping, true);
        pthread_join(r->thread, NULL);
        r->options.is_stuck = false;
        fake_drain(r);
        close(r->listen_fd);
}

void fake_recorder_done(struct fake_recorder *r) {
        for (uint32_t i = 0; i < WIRE_N_SLOTS; i++)
                fake_forget_tokens(&r->rings[i]);
        munmap(r->header, r->header->size_bytes);
        close(r->arena_fd);
        free(r->rings);
        free(r->free_chunks);
        free(r->events);
        memset(r, 0, sizeof(*r));
}

int fake_recorder_run(struct fake_recorder *r, const char *runtime_path, char *const argv[]) {
        int status = -1;
        pid_t pid = fork();

        MUST(pid >= 0);
        if (pid == 0) {
                if (runtime_path)
                        setenv("LD_PRELOAD", runtime_path, 1);
                setenv(WIRE_ENV, r->env, 1);
                execvp(argv[0], argv);
                _exit(127);
        }
        MUST(waitpid(pid, &status, 0) == pid);
        return status;
}

void fake_recorder_stop(struct fake_recorder *r) {
        atomic_store(&r->header->recording, 0);
        for (uint32_t i = 0; i < atomic_load(&r->header->n_slots_used); i++) {
                atomic_fetch_add(&fake_slot(r, i)->lent_seq, 1);
                sys_futex_wake((void *)&fake_slot(r, i)->lent_seq, 1);
        }
}

/* A thread that begins to wait bumps `wake`. */
void fake_recorder_await_waiter(struct fake_recorder *r) {
        struct sys_timespec timeout = {1, 0};

        for (;;) {
                uint32_t wake = atomic_load(&r->header->wake);

                for (uint32_t i = 0; i < atomic_load(&r->header->n_slots_used); i++)
                        if (atomic_load(&fake_slot(r, i)->waiting))
                                return;
                sys_futex_wait((void *)&r->header->wake, wake, &timeout);
        }
}
