/* SPDX-License-Identifier: MIT */
#include "hook/thread.h"

#include <errno.h>
#include <sys/mman.h>

#include "hook/sample.h"

__thread struct thread *thread_self __attribute__((tls_model("initial-exec")));
__thread struct wire_tally *thread_tally __attribute__((tls_model("initial-exec")));
__thread bool thread_is_counted __attribute__((tls_model("initial-exec")));

enum {
        THREAD_PAGE_BYTES = 4096,
        LANE_RESIDENT_BYTES = THREAD_PAGE_BYTES + UNWIND_WALKER_RESIDENT_BYTES,
        THREAD_PROBES_MAX = 64,
        THREAD_REUSE_PROBES_MAX = 32,
        THREAD_REUSE_ASKS_MAX = 4, /* system calls */
        LANE_WALK_MAX = 256
};

_Static_assert(sizeof(struct thread) <= THREAD_PAGE_BYTES,
               "the walker behind it is aligned to a page");

static _Atomic(struct thread *) thread_list;
static struct ring_pages ring_pages;
static _Atomic(struct thread *) thread_reuse_next; /* in that list; NULL: from its head on */

static struct wire_slot *thread_slot_at(uint32_t idx) {
        return (struct wire_slot *)((char *)runtime.header + runtime.header->slot_off) + idx;
}

/* Slots above n_slots_used were never claimed; the recorder looks no further. */
static void thread_raise_used(uint32_t n) {
        _Atomic uint32_t *used = &runtime.header->n_slots_used;
        uint32_t old = atomic_load_explicit(used, memory_order_relaxed);

        while (old < n &&
               !atomic_compare_exchange_weak_explicit(used, &old, n, memory_order_acq_rel,
                                                      memory_order_relaxed))
                ;
}

/* The claimed state, or 0. */
static uint64_t thread_claim_slot_at(uint32_t idx) {
        struct wire_slot *slot = thread_slot_at(idx);
        uint64_t old = atomic_load_explicit(&slot->state, memory_order_acquire), claimed;

        if (wire_slot_phase(old) != WIRE_SLOT_FREE)
                return 0;
        claimed = (old & ~UINT64_C(0xffffffffff)) | (uint64_t)(runtime.process_idx + 1) << 8 |
                  WIRE_SLOT_CLAIMED;
        /* acquire: the recorder's reset of the slot before its state. Pairs with its release. */
        if (!atomic_compare_exchange_strong_explicit(&slot->state, &old, claimed,
                                                     memory_order_acq_rel, memory_order_relaxed))
                return 0;
        thread_raise_used(idx + 1);
        return claimed;
}

/* Looks near the last claim first, then takes a fresh slot, then any. */
static bool thread_claim_slot(struct wire_slot **ret_slot, uint64_t *ret_state) {
        uint32_t n_slots = runtime.header->n_slots;
        uint32_t used = atomic_load_explicit(&runtime.header->n_slots_used, memory_order_acquire);
        uint32_t begin = atomic_load_explicit(&runtime.slot_hint, memory_order_relaxed);
        uint32_t idx = 0;
        uint64_t state = 0;

        if (used > n_slots)
                used = n_slots;
        for (uint32_t i = 0; !state && i < used && i < THREAD_PROBES_MAX; i++) {
                idx = (begin + i) % used;
                state = thread_claim_slot_at(idx);
        }
        for (uint32_t i = used; !state && i < n_slots; i++) {
                idx = i;
                state = thread_claim_slot_at(idx);
        }
        for (uint32_t i = 0; !state && i < used; i++) {
                idx = i;
                state = thread_claim_slot_at(idx);
        }
        if (!state)
                return false;
        atomic_store_explicit(&runtime.slot_hint, idx + 1, memory_order_relaxed);
        *ret_slot = thread_slot_at(idx);
        *ret_state = state;
        return true;
}

/* A new process has written to no chunk. Whoever claims a slot says to whom they count from now on. */
void thread_forget_pages(void) {
        for (unsigned i = 0; i < WIRE_N_CHUNKS / 64; i++) {
                atomic_store_explicit(&ring_pages.entered[i], 0, memory_order_relaxed);
                atomic_store_explicit(&ring_pages.filled[i], 0, memory_order_relaxed);
        }
}

static struct ring_pages *thread_pages(void) {
        atomic_store_explicit(&ring_pages.n_pages, &runtime.process->n_ring_pages,
                              memory_order_relaxed);
        return &ring_pages;
}

/* The lane's walker and `inside` are as they were. */
static bool lane_claim(struct lane *lane, uint32_t tid, bool is_nested) {
        struct wire_slot *slot;
        uint64_t state;

        if (!thread_claim_slot(&slot, &state))
                return false;
        SIGNAL_POINT("slot/claimed");
        slot->tid = tid;
        slot->flags = is_nested ? WIRE_SLOT_NESTED : 0;
        ring_writer_init(&lane->ring, runtime.header, slot, &runtime.clock,
                         &runtime.header->patience, is_nested);
        lane->ring.pages = thread_pages();
        tokens_forget(&lane->tokens);
        lane->prepares = !real._dl_find_object.fn;
        lane->module_was_lost = false;
        lane->is_nested = is_nested;
        lane->slot = slot;
        lane->slot_state = state - WIRE_SLOT_CLAIMED + WIRE_SLOT_LIVE;
        /* release: tid and flags before the state. Pairs with the recorder's acquire. */
        atomic_store_explicit(&slot->state, lane->slot_state, memory_order_release);
        SIGNAL_POINT("slot/live");
        return true;
}

/* walker: zeroed pages. */
static bool lane_start(struct lane *lane, void *walker, bool is_nested) {
        if (!lane_claim(lane, runtime_tid(), is_nested))
                return false;
        SIGNAL_POINT("lane/walker");
        lane->walker = walker;
        if (!lane->tokens.hashes)
                tokens_init(&lane->tokens);
        unwind_walker_init(lane->walker, lane);
        return true;
}

/* The recorder takes a slot back when it has seen its thread gone: then the state beside it is
 * free too. */
static bool lane_is_gone(const struct lane *lane) {
        uint64_t state = atomic_load_explicit(&lane->slot->state, memory_order_acquire);

        return ((state ^ lane->slot_state) & ~UINT64_C(0xff)) ||
               wire_slot_phase(state) == WIRE_SLOT_FREE;
}

static size_t lane_pages_bytes(void) {
        return THREAD_PAGE_BYTES + unwind_walker_size() + TOKENS_BYTES;
}

static void *lane_map(void) {
        return runtime_map(lane_pages_bytes(), LANE_RESIDENT_BYTES);
}

static void lane_unmap(struct lane *lane) {
        size_t tokens_bytes = lane->tokens.is_counted ? TOKENS_PAGE_BYTES : 0;

        runtime_unmap(lane, lane_pages_bytes(), LANE_RESIDENT_BYTES + tokens_bytes);
}

/* Walkers must be zero to be initialised: fresh pages are cheaper than clearing used ones, but memory that the program
 * has locked (mlockall) is not taken back. */
static void lane_clear_walker(struct lane *lane) {
        uint64_t *words = (uint64_t *)lane->walker;
        size_t n_words = unwind_walker_size() / sizeof(words[0]);

        unwind_walker_done(lane->walker);
        if (sys_madvise(lane->walker, unwind_walker_size(), MADV_DONTNEED) == 0)
                return;
        for (size_t i = 0; i < n_words; i++) {
                words[i] = 0;
                __asm__ volatile("" ::: "memory"); /* keep it a loop: no call of memset here */
        }
}

static void thread_push(struct thread *t) {
        struct thread *head = atomic_load_explicit(&thread_list, memory_order_relaxed);

        do
                t->next = head;
        while (!atomic_compare_exchange_weak_explicit(&thread_list, &head, t, memory_order_release,
                                                      memory_order_relaxed));
}

/* The recorder's word is not enough to take a state away as long as the kernel can be asked. */
static bool thread_is_gone(const struct thread *t) {
        if (runtime.is_confined)
                return lane_is_gone(&t->lane);
        return sys_call3(SYS_tgkill, (long)runtime.pid, (long)t->tid, 0) == -ESRCH;
}

/* The state of a thread that is gone, locked. Goes round the list, some steps each time, and asks
 * for those the recorder has seen gone, and for a few others: programs that live on short threads
 * are faster than the recorder looks. */
static struct thread *thread_reuse(void) {
        struct thread *t = atomic_load_explicit(&thread_reuse_next, memory_order_acquire);
        struct thread *found = NULL;
        unsigned n_asked = 0;

        for (unsigned i = 0; !found && i < THREAD_REUSE_PROBES_MAX; i++) {
                uint32_t unlocked = 0;

                if (!t)
                        t = atomic_load_explicit(&thread_list, memory_order_acquire);
                if (!t)
                        return NULL;
                if (atomic_compare_exchange_strong_explicit(&t->is_locked, &unlocked, 1,
                                                            memory_order_acquire,
                                                            memory_order_relaxed)) {
                        if ((lane_is_gone(&t->lane) || n_asked++ < THREAD_REUSE_ASKS_MAX) &&
                            thread_is_gone(t))
                                found = t;
                        else
                                atomic_store_explicit(&t->is_locked, 0, memory_order_release);
                }
                t = t->next;
        }
        /* release: whoever goes on there must see what it is. Pairs with the acquire above. */
        atomic_store_explicit(&thread_reuse_next, t, memory_order_release);
        return found;
}

/* A state of the thread's own, locked; without a slot when it is new. */
static struct thread *thread_new(void) {
        struct thread *t = thread_reuse();

        if (!t) {
                t = lane_map();
                SIGNAL_POINT("thread/mapped");
                if (t)
                        atomic_store_explicit(&t->is_locked, 1, memory_order_relaxed);
                return t;
        }
        if (t->nested) {
                unwind_walker_done(t->nested->walker);
                lane_unmap(t->nested);
        }
        t->nested = NULL;
        t->is_starting_nested = false;
        t->in_real = NULL;
        t->n_open = t->n_inner = 0;
        t->fork_time = 0;
        t->heap = t->arena = 0;
        t->lane.inside = 0;
        lane_clear_walker(&t->lane);
        return t;
}

/* Threads that libc makes inside itself do not pass the pthread_create hook: those that allocate
 * count here. */
static void thread_count(void) {
        if (!thread_is_counted && runtime_tid() != runtime.pid)
                atomic_fetch_add_explicit(&runtime.process->n_threads_started, 1,
                                          memory_order_relaxed);
        thread_is_counted = true;
}

struct thread *thread_start(void) {
        struct thread *t = thread_new(), *none = NULL;
        bool is_new = t && !t->lane.slot;

        if (!t || !lane_start(&t->lane, (char *)t + THREAD_PAGE_BYTES, false)) {
                if (is_new)
                        lane_unmap(&t->lane);
                else if (t)
                        atomic_store_explicit(&t->is_locked, 0, memory_order_release);
                return NULL;
        }
        t->tid = runtime_tid();
        if (runtime.is_sampled)
                sample_start(t);
        SIGNAL_POINT("thread/started");
        if (is_new)
                thread_push(t);
        SIGNAL_POINT("thread/listed");
        atomic_store_explicit(&t->is_locked, 0, memory_order_release);
        SIGNAL_POINT("thread/unknown");
        /* In one step, against a signal handler, which may even have forked: then this slot is the parent's. */
        if (!__atomic_compare_exchange_n(&thread_self, &none, t, false, __ATOMIC_RELAXED,
                                         __ATOMIC_RELAXED))
                return none; /* the handler was here first; this slot stays empty */
        SIGNAL_POINT("thread/known");
        if (runtime.is_sampled)
                sample_enter(t);
        thread_count();
        return t;
}

/* Rings of the present arena for a thread that had some. Its walker's rows stay valid; only the recorder's mirror of the
 * stack is new. */
static bool thread_claim_lanes(struct thread *t) {
        unwind_forget(t->lane.walker); /* first: a handler's walk in between must be whole */
        if (!lane_claim(&t->lane, t->tid, false))
                return false;
        if (t->nested) {
                unwind_forget(t->nested->walker);
                if (!lane_claim(t->nested, t->tid, true))
                        t->nested = NULL;
        }
        if (runtime.is_sampled)
                sample_start(t);
        return true;
}

bool thread_restart(struct thread *t) {
        atomic_store_explicit(&thread_reuse_next, NULL, memory_order_relaxed);
        atomic_store_explicit(&thread_list, t, memory_order_relaxed);
        t->next = NULL;
        t->tid = runtime_tid();
        if (!thread_claim_lanes(t))
                return false;
        if (runtime.is_sampled)
                sample_enter(t);
        return true;
}

/* ---- attached again ------------------------------------------------------------------------ */

static struct wire_slot thread_no_slot; /* free: whoever has it is gone */

bool thread_is_any_inside(void) {
        for (const struct thread *t = atomic_load_explicit(&thread_list, memory_order_acquire); t;
             t = t->next)
                if ((t->lane.inside || t->is_starting_nested || sample_is_counting(t) ||
                     (t->nested && t->nested->inside)) &&
                    !thread_is_gone(t))
                        return true;
        return false;
}

bool thread_keep_own(void) {
        struct thread *t = thread_self;

        if (!t)
                return !atomic_load_explicit(&thread_list, memory_order_relaxed);
        thread_forget_all();
        t->tid = runtime_tid();
        t->next = NULL;
        atomic_store_explicit(&thread_list, t, memory_order_relaxed);
        return true;
}

static void thread_leave(struct thread *t) {
        t->lane.slot = &thread_no_slot;
        t->lane.slot_state = WIRE_SLOT_FREE;
}

void thread_leave_all(void) {
        for (struct thread *t = atomic_load_explicit(&thread_list, memory_order_acquire); t;
             t = t->next)
                thread_leave(t);
}

bool thread_restart_all(void) {
        thread_forget_pages();
        for (struct thread *t = atomic_load_explicit(&thread_list, memory_order_acquire); t;
             t = t->next) {
                if (thread_is_gone(t)) {
                        thread_leave(t);
                        continue;
                }
                if (!thread_claim_lanes(t))
                        return false;
                if (t->tid != runtime.pid)
                        atomic_fetch_add_explicit(&runtime.process->n_threads_started, 1,
                                                  memory_order_relaxed);
        }
        return true;
}

void thread_forget_all(void) {
        atomic_store_explicit(&thread_reuse_next, NULL, memory_order_relaxed);
        atomic_store_explicit(&thread_list, NULL, memory_order_relaxed);
}

void thread_count_unslotted(void) {
        if (runtime.header)
                atomic_fetch_add_explicit(&runtime.header->n_unslotted_events, 1,
                                          memory_order_relaxed);
}

HOOK_COLD struct thread *thread_get_slow(void) {
        static _Atomic uint32_t n_refused;
        struct thread *t;

        if (runtime_phase() == RUNTIME_PASSING)
                return NULL;
        if (runtime_phase() == RUNTIME_CHECKING && sys_getpid() != (int)runtime.pid)
                atomic_store_explicit(&runtime_wiped.phase, RUNTIME_UNKNOWN, memory_order_relaxed);
        if (runtime_phase() == RUNTIME_UNKNOWN && !runtime_begin())
                return NULL;
        if (thread_self)
                return thread_self;
        /* With all slots taken a search is long: only some events make one. */
        if (n_refused &&
            atomic_fetch_add_explicit(&n_refused, 1, memory_order_relaxed) % 256 != 0) {
                thread_count_unslotted();
                return NULL;
        }
        t = thread_start();
        atomic_store_explicit(&n_refused, t ? 0 : 1, memory_order_relaxed);
        if (!t)
                thread_count_unslotted();
        return t;
}

static struct lane *lane_start_nested(struct thread *t) {
        struct lane *nested;

        if (t->is_starting_nested)
                return NULL;
        t->is_starting_nested = true;
        atomic_signal_fence(memory_order_seq_cst);
        nested = lane_map();
        if (nested && !lane_start(nested, (char *)nested + THREAD_PAGE_BYTES, true)) {
                lane_unmap(nested);
                nested = NULL;
        }
        SIGNAL_POINT("nested/started");
        t->nested = nested;
        SIGNAL_POINT("nested/known");
        atomic_signal_fence(memory_order_seq_cst);
        t->is_starting_nested = false;
        return nested;
}

/* The frames of this thread's stack; -1: not all of them can be told. */
static inline __attribute__((always_inline)) int lane_walk(uint64_t pcs[LANE_WALK_MAX]) {
        struct unwind_regs regs;
        uint8_t end;
        uint32_t n;

        UNWIND_HERE(&regs);
        n = unwind_walk_once(&regs, NULL, pcs, LANE_WALK_MAX, &end);
        return end == UNWIND_END_COMPLETE ? (int)n : -1;
}

/* How many activations of the runtime lie under the present one on this thread's stack; -1:
 * cannot be told. */
static int lane_count_interrupted(void) {
        uint64_t pcs[LANE_WALK_MAX];
        int n = lane_walk(pcs), n_interrupted = 0;
        bool was_self = true;

        if (n < 0)
                return -1;
        for (int i = 0; i < n; i++) {
                bool is_self = code_range_has(&runtime.self, pcs[i]);

                n_interrupted += is_self && !was_self;
                was_self = is_self;
        }
        return n_interrupted;
}

HOOK_COLD bool thread_may_be_in(const struct code_range *code) {
        uint64_t pcs[LANE_WALK_MAX];
        int n = lane_walk(pcs);

        for (int i = 0; i < n; i++)
                if (code_range_has(code, pcs[i]))
                        return true;
        return n < 0;
}

/* A handler left by siglongjmp: what it interrupted never ends. The published position is the truth
 * of the ring; of the walker, which may be in any state, only what it mapped is given back. May
 * itself be left the same way, and is then done again. */
static void lane_recover(struct lane *lane) {
        ring_writer_init(&lane->ring, runtime.header, lane->slot, &runtime.clock,
                         &runtime.header->patience, lane->is_nested);
        lane->ring.pages = thread_pages();
        atomic_store_explicit(&lane->slot->busy, 0, memory_order_release);
        atomic_store_explicit(&lane->slot->waiting, 0, memory_order_relaxed);
        lane_clear_walker(lane);
        unwind_walker_init(lane->walker, lane);
        tokens_forget(&lane->tokens);
        lane_leave(lane);
}

HOOK_COLD struct lane *lane_enter_nested(struct thread *t) {
        int n_interrupted = lane_count_interrupted();

        if (n_interrupted == 0) {
                t->is_starting_nested = false;
                lane_recover(&t->lane);
                if (t->nested && t->nested->inside)
                        lane_recover(t->nested);
                if (!t->lane.inside)
                        return lane_enter(t);
                thread_count_unslotted();
                return NULL;
        }
        if (!t->nested && !lane_start_nested(t)) {
                thread_count_unslotted();
                return NULL;
        }
        if (t->nested->inside && n_interrupted == 1)
                lane_recover(t->nested);
        if (t->nested->inside) {
                thread_count_unslotted();
                return NULL;
        }
        SIGNAL_POINT("nested/enter");
        t->nested->inside = 1;
        atomic_signal_fence(memory_order_seq_cst);
        SIGNAL_POINT("nested/entered");
        return t->nested;
}
