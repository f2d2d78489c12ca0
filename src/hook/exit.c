/* SPDX-License-Identifier: MIT */
/* When a process ends by its own will: a recorder that finds several of them gone can tell who went first. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hook/real.h"
#include "hook/runtime.h"
#include "wire/sys.h"

/* A child that shares its parent's memory (vfork) would speak for it; one that may not ask who it is says nothing. */
static void exit_note(void) {
        uint32_t phase = runtime_phase();

        if ((phase == RUNTIME_RECORDING || phase == RUNTIME_SAMPLING) && !runtime.is_confined &&
            (uint32_t)sys_getpid() == runtime.pid)
                atomic_store_explicit(&runtime.process->exit_ts, runtime_now(),
                                      memory_order_relaxed);
}

__attribute__((destructor)) static void exit_destruct(void) {
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
