/* SPDX-License-Identifier: MIT */
/* The runtime's state in one process, and the phases of its life.
 *
 *   EARLY      libsilt.so may not even be relocated (IFUNC resolvers of other objects run before):
 *              no GOT, no TLS, no calls out. Memory comes from the early arena (early.h).
 *   STARTING   one thread sets the runtime up; all others, and its own recursion, are served as
 *              in EARLY.
 *   RECORDING  (or SAMPLING)
 *   PASSING    every hook is the real function, for ever: recording is over, or never came to be.
 *
 * `runtime_phase` is what every hook looks at first. It lives in a page that fork wipes, so it
 * reads RUNTIME_UNKNOWN in a new process, whichever way that was made; `runtime.life` is not
 * wiped and tells a new process from an early one. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/layout.h"
#include "wire/ring_writer.h"

#pragma GCC visibility push(hidden)

#define HOOK_EXPORT __attribute__((visibility("default")))
#define HOOK_COLD __attribute__((noinline, cold))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* malloc_enter.S knows that RECORDING is odd, and the others even. */
enum runtime_phase {
        RUNTIME_UNKNOWN = 0, /* not started, or wiped by fork */
        RUNTIME_RECORDING = 1,
        RUNTIME_PASSING = 2,
        RUNTIME_SAMPLING = 4, /* recording samples (sample.h) */
        RUNTIME_CHECKING =
                6, /* recording where pages are not wiped: every event asks for the pid first */
};

enum runtime_life {
        RUNTIME_LIFE_EARLY = 0,
        RUNTIME_LIFE_STARTING = 1,
        RUNTIME_LIFE_RECORDING = 2,
        RUNTIME_LIFE_PASSING = 3,
};

/* aarch64 kernels have pages of up to 64 KiB; only the page in use is ever touched. */
#if defined(__aarch64__)
enum { RUNTIME_PAGE_MAX = 65536 };
#else
enum { RUNTIME_PAGE_MAX = 4096 };
#endif

union runtime_wiped {
        struct {
                _Atomic uint32_t phase; /* enum runtime_phase */
                /* For malloc_enter.S, in one cache line. The real functions are there before tally_off and thread_tally are. */
                _Atomic uintptr_t real_malloc;
                /* SAMPLING: where thread_tally is, from the thread pointer; 0: malloc and free go slower ways */
                _Atomic uintptr_t tally_off;
                _Atomic uintptr_t real_free;
                _Atomic uintptr_t real_usable_size; /* 0: a slower way */
                _Atomic uintptr_t new_tally_off;    /* as tally_off, for operator new and delete */
        };
        char page[RUNTIME_PAGE_MAX];
};

extern union runtime_wiped runtime_wiped;
#define runtime_phase() atomic_load_explicit(&runtime_wiped.phase, memory_order_relaxed)

struct code_range {
        uintptr_t begin, end; /* [begin, end) */
};

static inline bool code_range_has(const struct code_range *r, uintptr_t addr) {
        return addr - r->begin < r->end - r->begin;
}

/* Written while STARTING or by a new process's first thread; read by all. */
struct runtime {
        struct code_range self, loader; /* libsilt.so, ld.so */
        _Atomic uint32_t life;          /* enum runtime_life */
        uint32_t pid;                   /* 0: not known */
        uint32_t process_idx;
        bool is_sampled;
        bool free_stacks; /* releases take another way: stacks are wanted, or they are sampled */
        bool is_wiped_on_fork;
        bool is_attached; /* it was brought into a program that ran already: nobody calls its hooks but patched entries */
        bool counts_quickly; /* sampled, and malloc_enter.S may count: see sample_can_count_quickly */
        bool is_confined; /* it gave up rights: a filter may kill it for a system call it does not make itself */
        size_t page_bytes;

        struct wire_header *header; /* the arena; NULL: none */
        struct wire_process *process;
        struct ring_clock clock;
        _Atomic uint32_t slot_hint;

        const char *self_path;    /* of libsilt.so, as the loader names it */
        const char *rendezvous;   /* value of SILT_RENDEZVOUS when the image started */
        uint64_t entry;           /* AT_ENTRY */
        uint64_t phdrs, n_phdrs;  /* AT_PHDR, AT_PHNUM */
        uint64_t vdso, stack_end; /* AT_SYSINFO_EHDR; an address above the first thread's frames */
        bool is_secure;           /* AT_SECURE */
};

extern struct runtime runtime;

static inline bool runtime_is_recording(void) {
        uint32_t phase = runtime_phase();

        return phase == RUNTIME_RECORDING || phase == RUNTIME_CHECKING || phase == RUNTIME_SAMPLING;
}

/* The calling thread's id, without a system call where one may be fatal. */
uint32_t runtime_tid(void);

/* From now on hooks record. */
void runtime_record(void);

/* What the real functions are called by has changed: where malloc_enter.S finds them. */
void runtime_show_reals(void);

/* In the phase UNKNOWN: start, or become the new process. True when the runtime records. */
bool runtime_begin(void);

/* What the kernel told the program at its start. */
void runtime_read_stack(void);

/* Asks the recorder of runtime.rendezvous for the arena and describes this process there. 0 or -errno. */
int runtime_join(void);

bool runtime_start_unwinder(void);

/* Recording is over for this process. */
void runtime_pass(void);

/* Zeroed private memory; NULL when there is none. resident_bytes: how much of it is commonly
 * touched, which is counted as the runtime's own. */
void *runtime_map(size_t size_bytes, size_t resident_bytes);
struct wire_own *runtime_own(void);                         /* where it remembers them, */
void runtime_remember(uint64_t begin, uint64_t size_bytes); /* and what others have mapped */
void runtime_unmap(void *pages, size_t size_bytes, size_t resident_bytes);

/* More of it, or less, is touched than was said. */
void runtime_count_bytes(int64_t resident_bytes);

/* The same for caches that grow; NULL also when all of the process together have grown enough. */
void *runtime_map_cache(size_t size_bytes);
void runtime_unmap_cache(void *pages, size_t size_bytes);

static inline uint64_t runtime_now(void) {
        uint64_t now = runtime.clock.kind == WIRE_CLOCK_COUNTER ? clock_counter()
                                                                : ring_clock_monotonic_ns();

        return now - runtime.clock.base;
}

/* The loader gives each new thread a table of the objects with thread-local memory, by calloc(n, 16), and libsilt.so is one
 * of them. How much smaller that table is without silt. Nothing else of the loader's has items of 16 bytes. */
enum { RUNTIME_TLS_ITEM_BYTES = 16 };

static inline size_t runtime_tls_excess(size_t item_bytes, const void *caller) {
        return unlikely(item_bytes == RUNTIME_TLS_ITEM_BYTES) &&
                               unlikely(code_range_has(&runtime.loader, (uintptr_t)caller))
                       ? RUNTIME_TLS_ITEM_BYTES
                       : 0;
}

/* The process does something that samples do not follow: said once. */
static inline void runtime_mark_unfollowed(uint32_t what) {
        _Atomic uint32_t *said = &runtime.process->unfollowed;

        if (!(atomic_load_explicit(said, memory_order_relaxed) & what))
                atomic_fetch_or_explicit(said, what, memory_order_relaxed);
}

#pragma GCC visibility pop
