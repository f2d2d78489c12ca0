/* SPDX-License-Identifier: MIT */
#include "hook/fork.h"

#include <sys/mman.h>

#include "hook/event.h"
#include "hook/malloc_enter.h"
#include "hook/real.h"
#include "hook/runtime.h"
#include "hook/sample.h"
#include "hook/thread.h"

static _Atomic uint32_t fork_is_entering;

/* A free entry, claimed; NULL: there is none. */
static struct wire_process *fork_claim_entry(uint32_t pid, uint32_t *ret_idx) {
        struct wire_header *h = runtime.header;
        struct wire_process *processes = (struct wire_process *)((char *)h + h->process_off);
        uint32_t begin = runtime.process_idx + 1; /* near the parent's there is often a free one */
        uint32_t used;

        for (uint32_t i = 0; i < h->n_processes; i++) {
                uint32_t idx = (begin + i) % h->n_processes;
                uint64_t free_state = WIRE_PROCESS_FREE;

                if (!atomic_compare_exchange_strong_explicit(&processes[idx].state, &free_state,
                                                             WIRE_PROCESS_CLAIMED | (uint64_t)pid
                                                                                            << 8,
                                                             memory_order_acq_rel,
                                                             memory_order_relaxed))
                        continue;
                used = atomic_load_explicit(&h->n_processes_used, memory_order_relaxed);
                while (used <= idx &&
                       !atomic_compare_exchange_weak_explicit(&h->n_processes_used, &used, idx + 1,
                                                              memory_order_acq_rel,
                                                              memory_order_relaxed))
                        ;
                *ret_idx = idx;
                return &processes[idx];
        }
        return NULL;
}

/* A signal handler that interrupted the runtime, or its calling a real function, may have forked. malloc_enter.S leaves no
 * mark while it holds the tally's address only. */
static bool fork_may_be_inside(const struct thread *t) {
        const struct code_range enter = {(uintptr_t)malloc_enter_begin,
                                         (uintptr_t)malloc_enter_end};

        return t->lane.inside || sample_is_counting(t) || (t->tally && thread_may_be_in(&enter));
}

/* The fork came from a signal handler inside the runtime: what it interrupted goes on in both
 * processes, and in this one it must not write to the parent's ring. The arena is mapped once more,
 * and where it was is private memory now. The thread gets a new state; the old one belongs to what
 * was interrupted. */
static bool fork_move_arena(void) {
        size_t size_bytes = runtime.header->size_bytes;
        long moved = sys_call6(SYS_mremap, (long)runtime.header, 0, (long)size_bytes,
                               MREMAP_MAYMOVE, 0, 0);
        long r = sys_mmap(runtime.header, size_bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);

        if (sys_is_error(moved) || sys_is_error(r))
                return false;
        runtime.process = (struct wire_process *)(moved + (long)((char *)runtime.process -
                                                                 (char *)runtime.header));
        runtime.header = (struct wire_header *)moved;
        thread_self = NULL;
        thread_forget_all();
        /* what was interrupted would put back the parent's tally */
        runtime.counts_quickly = false;
        return true;
}

static void fork_fill_entry(struct wire_process *p, uint32_t pid, const struct thread *t) {
        p->parent_idx = runtime.process_idx;
        p->flags = t && t->fork_time ? WIRE_PROCESS_FORK_EXACT : 0;
        p->fork_ts = runtime_now();
        if (t)
                p->fork_ts = t->fork_time ? t->fork_time : t->lane.ring.last_time;
        p->start_ts = runtime_now();
        p->own_addr = (uintptr_t)runtime_own();
        atomic_store_explicit(&p->n_threads_started, 0, memory_order_relaxed);
        atomic_store_explicit(&p->n_early_events, 0, memory_order_relaxed);
        atomic_store_explicit(&p->n_ring_pages, 0, memory_order_relaxed);
        atomic_store_explicit(&p->n_unsampled, 0, memory_order_relaxed);
        atomic_store_explicit(&p->unfollowed, 0, memory_order_relaxed);
        atomic_store_explicit(&p->exit_ts, 0, memory_order_relaxed);
        atomic_store_explicit(&p->runtime_bytes,
                              atomic_load_explicit(&runtime.process->runtime_bytes,
                                                   memory_order_relaxed),
                              memory_order_relaxed);
        /* release: the fields before the state. Pairs with the recorder's acquire. */
        atomic_store_explicit(&p->state, WIRE_PROCESS_LIVE | (uint64_t)pid << 8,
                              memory_order_release);
}

static bool fork_become_process(struct thread *t) {
        /* libc's fork has noted the child's id; after a raw clone it still has the parent's */
        bool is_noted = t && t->fork_time && runtime.is_confined;
        uint32_t pid = is_noted ? runtime_tid() : (uint32_t)sys_getpid(), idx;
        struct wire_process *p;

        if (!atomic_load_explicit(&runtime.header->recording, memory_order_acquire))
                return false;
        p = fork_claim_entry(pid, &idx);
        if (!p) {
                thread_count_unslotted();
                return false;
        }
        SIGNAL_POINT("fork/claimed");
        if (!is_noted && runtime.is_confined && runtime_tid() != (uint32_t)sys_gettid())
                runtime.is_confined = false;
        fork_fill_entry(p, pid, t);
        SIGNAL_POINT("fork/filled");
        runtime.process = p;
        runtime.process_idx = idx;
        runtime.pid = pid;
        thread_forget_pages();
        if (thread_self && !thread_restart(thread_self)) {
                thread_self = NULL;
                thread_tally = NULL;
                thread_count_unslotted();
        }
        if (t)
                t->fork_time = 0;
        return true;
}

bool fork_enter_child(void) {
        struct thread *t = thread_self;
        bool ok;

        /* Threads that the child started before its first event may come here together; one does
         * it. */
        if (atomic_exchange_explicit(&fork_is_entering, 1, memory_order_acquire)) {
                thread_count_unslotted(); /* an event of theirs, or of a signal handler in here */
                return false;
        }
        if (runtime_phase() != RUNTIME_UNKNOWN) {
                atomic_store_explicit(&fork_is_entering, 0, memory_order_release);
                return runtime_is_recording();
        }
        ok = (!t || !fork_may_be_inside(t) || fork_move_arena()) && fork_become_process(t);
        if (ok)
                runtime_record();
        else
                runtime_pass();
        atomic_store_explicit(&fork_is_entering, 0, memory_order_release);
        return ok;
}

static void fork_prepare(void) {
        struct thread *t = thread_get();

        if (!t)
                return;
        SIGNAL_POINT("fork/prepare");
        event_words(t, WIRE_FORK, NULL, 0);
        SIGNAL_POINT("fork/logged");
        t->fork_time = t->lane.ring.last_time;
}

static void fork_in_parent(void) {
        struct thread *t = thread_get();

        if (!t)
                return;
        SIGNAL_POINT("fork/parent");
        t->fork_time = 0;
        event_words(t, WIRE_FORK_DONE, NULL, 0);
}

static void fork_in_child(void) {
        /* Where the kernel does not wipe pages this is the only sign of a new process. */
        if (runtime_is_recording())
                atomic_store_explicit(&runtime_wiped.phase, RUNTIME_UNKNOWN, memory_order_relaxed);
        thread_get();
}

extern void *__dso_handle __attribute__((visibility("hidden")));

void fork_watch(void) {
        int (*register_atfork)(void (*)(void), void (*)(void), void (*)(void), void *) =
                real.__register_atfork.fn;

        if (register_atfork)
                register_atfork(fork_prepare, fork_in_parent, fork_in_child, &__dso_handle);
}
