/* SPDX-License-Identifier: MIT */
#include "replay/replayer_own.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void *own_map(size_t size_bytes) {
        void *p = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        return p == MAP_FAILED ? NULL : p;
}

void own_unmap(void *p, size_t size_bytes) {
        munmap(p, size_bytes);
}

struct own_block *own_block_at(struct own_blocks *b, uint32_t slot) {
        struct own_block **chunk = &b->chunks[slot / OWN_CHUNK_SLOTS];

        if (!*chunk)
                *chunk = own_map(sizeof(struct own_block) * OWN_CHUNK_SLOTS);
        return *chunk ? &(*chunk)[slot % OWN_CHUNK_SLOTS] : NULL;
}

/* ---- clock ------------------------------------------------------------------------------------ */

static _Atomic uint64_t clock_ns = UINT64_MAX; /* that the allocator is told */
static uint64_t clock_began_ns;

static int real_clock(clockid_t id, struct timespec *ret) {
        return (int)syscall(SYS_clock_gettime, id, ret);
}

uint64_t own_now_ns(void) {
        struct timespec t = {0};

        real_clock(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void own_set_clock(uint64_t since_start_ns) {
        if (!clock_began_ns)
                clock_began_ns = own_now_ns();
        atomic_store_explicit(&clock_ns, since_start_ns, memory_order_relaxed);
}

static uint64_t told_ns(void) {
        return clock_began_ns + atomic_load_explicit(&clock_ns, memory_order_relaxed);
}

static bool is_told(clockid_t id) {
        return atomic_load_explicit(&clock_ns, memory_order_relaxed) != UINT64_MAX &&
               (id == CLOCK_MONOTONIC || id == CLOCK_MONOTONIC_COARSE ||
                id == CLOCK_MONOTONIC_RAW || id == CLOCK_BOOTTIME);
}

/* The libraries of allocators bind to this one, since the executable is searched first: their delays run in recorded time. */
__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *ret) {
        if (!is_told(id))
                return real_clock(id, ret);
        *ret = (struct timespec){.tv_sec = (time_t)(told_ns() / 1000000000),
                                 .tv_nsec = (long)(told_ns() % 1000000000)};
        return 0;
}
