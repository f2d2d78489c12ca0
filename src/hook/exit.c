/* SPDX-License-Identifier: MIT */
/* When a process ends by its own will: a recorder that finds several of them gone can tell who went first. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hook/real.h"
#include "hook/runtime.h"
#include "unwind/unwind.h"
#include "wire/ring_writer.h"
#include "wire/sys.h"

enum { EXIT_WAITS = 100, EXIT_WAIT_NS = 100 * 1000 * 1000 }; /* ten seconds at most */

/* The recorder wants to see the process as it is at its end; should it not come, the process goes. */
static void exit_await_look(const struct unwind_regs *from) {
        const struct sys_timespec patience = {.nsec = EXIT_WAIT_NS};
        _Atomic uint32_t *word = &runtime.process->last_look;

        struct unwind_frame frames[WIRE_N_EXIT_FRAMES];
        uint32_t n = unwind_walk_frames(from, frames, WIRE_N_EXIT_FRAMES);

        for (uint32_t i = 0; i < WIRE_N_EXIT_FRAMES; i++)
                runtime_own()->exit_frames[i] =
                        i < n ? (struct wire_frame){frames[i].pc, frames[i].sp}
                              : (struct wire_frame){0};
        runtime.process->exit_tid = runtime_tid();
        atomic_store_explicit(word, WIRE_LOOK_AWAITED, memory_order_seq_cst);
        ring_writer_wake_recorder(runtime.header);
        for (int i = 0; i < EXIT_WAITS; i++) {
                if (atomic_load_explicit(word, memory_order_acquire) != WIRE_LOOK_AWAITED ||
                    !atomic_load_explicit(&runtime.header->recording, memory_order_relaxed))
                        return;
                sys_futex_wait((void *)word, WIRE_LOOK_AWAITED, &patience);
        }
}

/* A child that shares its parent's memory (vfork) would speak for it; one that may not ask who it is says nothing. */
static inline __attribute__((always_inline)) void exit_note(void) {
        uint32_t phase = runtime_phase();

        if ((phase == RUNTIME_RECORDING || phase == RUNTIME_SAMPLING) && !runtime.is_confined &&
            (uint32_t)sys_getpid() == runtime.pid) {
                atomic_store_explicit(&runtime.process->exit_ts, runtime_now(),
                                      memory_order_relaxed);
                if (runtime.header->flags & WIRE_LAST_LOOK &&
                    atomic_load_explicit(&runtime.process->last_look, memory_order_relaxed) ==
                            WIRE_LOOK_NONE) {
                        struct unwind_regs regs;

                        UNWIND_HERE(&regs);
                        exit_await_look(&regs);
                }
        }
}

extern int __cxa_atexit(void (*fn)(void *arg), void *arg, void *object);

static void exit_last(void *unused) {
        (void)unused;
        exit_note();
}

/* Libraries that the program brought run their destructors after this one, as they were loaded later. What is asked for now runs when all of them
 * have: exit() begins anew with what its functions add, for which it has a place by now. */
__attribute__((destructor)) static void exit_destruct(void) {
        bool is_looked_at = runtime.header && runtime.header->flags & WIRE_LAST_LOOK;

        if (!is_looked_at || __cxa_atexit(exit_last, NULL, NULL) != 0)
                exit_note();
}

static __attribute__((noreturn)) void exit_at_once(int status) {
        for (;;)
                sys_call3(SYS_exit_group, status, 0, 0);
}

HOOK_EXPORT void _exit(int status) {
        exit_note();
        if (real._exit.fn)
                REAL(_exit)(status);
        exit_at_once(status);
}

HOOK_EXPORT void _Exit(int status) {
        exit_note();
        if (real._Exit.fn)
                REAL(_Exit)(status);
        exit_at_once(status);
}
