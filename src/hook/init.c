/* SPDX-License-Identifier: MIT */
/* The runtime's start: from the constructor, or from the first hook when another object's
 * constructor ran before. */
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "hook/early.h"
#include "hook/event.h"
#include "hook/fail.h"
#include "hook/fork.h"
#include "hook/join.h"
#include "hook/new.h"
#include "hook/patched.h"
#include "hook/real.h"
#include "hook/runtime.h"
#include "hook/sample.h"
#include "hook/sanitizer.h"
#include "hook/thread.h"
#include "wire/hello.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

struct runtime runtime;
_Alignas(RUNTIME_PAGE_MAX) union runtime_wiped runtime_wiped;

extern void *__libc_stack_end; /* where the kernel put argc */
extern struct r_debug _r_debug;

/* Becomes the address of itself when libsilt.so is relocated. */
static void *volatile init_relocated = (void *)&init_relocated;

/* The address of init_relocated as the code sees it, without relocation. */
static bool init_is_relocated(void) {
        void *here = (void *)&init_relocated;

        __asm__("" : "+r"(here));
        return init_relocated == here;
}

/* libc notes the id in a mutex when it is locked, which nobody else wants here. */
static uint32_t init_tid_of_mutex(void) {
        pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

        if (!real.pthread_mutex_lock.fn ||
            (int)patched_call_libc(real.pthread_mutex_lock.fn, (uint64_t)&mutex, 0) != 0)
                return 0;
        return (uint32_t)mutex.__data.__owner;
}

uint32_t runtime_tid(void) {
        uint32_t tid = runtime.is_confined ? init_tid_of_mutex() : 0;

        return tid ? tid : (uint32_t)sys_gettid();
}

/* Which memory is the runtime's: for whoever looks at the process from outside. Beyond what there is room for nobody is told. */
static struct wire_own own;

void runtime_remember(uint64_t begin, uint64_t size_bytes) {
        for (size_t i = 0; i < WIRE_N_RANGES; i++) {
                uint64_t idle = 0;

                if (atomic_load_explicit(&own.ranges[i].begin, memory_order_relaxed) == 0 &&
                    atomic_compare_exchange_strong(&own.ranges[i].begin, &idle, begin)) {
                        own.ranges[i].size_bytes = size_bytes;
                        return;
                }
        }
}

static void forget_range(uint64_t begin) {
        for (size_t i = 0; i < WIRE_N_RANGES; i++)
                if (atomic_load_explicit(&own.ranges[i].begin, memory_order_relaxed) == begin) {
                        own.ranges[i].size_bytes = 0;
                        atomic_store_explicit(&own.ranges[i].begin, 0, memory_order_relaxed);
                        return;
                }
}

struct wire_own *runtime_own(void) {
        return &own;
}

void runtime_count_bytes(int64_t resident_bytes) {
        if (runtime.process)
                atomic_fetch_add_explicit(&runtime.process->runtime_bytes, (uint64_t)resident_bytes,
                                          memory_order_relaxed);
}

void *runtime_map(size_t size_bytes, size_t resident_bytes) {
        long pages = sys_mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                              -1, 0);

        if (sys_is_error(pages))
                return NULL;
        runtime_count_bytes((int64_t)resident_bytes);
        runtime_remember((uint64_t)pages, size_bytes);
        return (void *)pages;
}

void runtime_unmap(void *pages, size_t size_bytes, size_t resident_bytes) {
        forget_range((uintptr_t)pages);
        sys_munmap(pages, size_bytes);
        runtime_count_bytes(-(int64_t)resident_bytes);
}

void runtime_show_reals(void) {
        atomic_store_explicit(&runtime_wiped.real_usable_size,
                              (uintptr_t)real.malloc_usable_size.enter, memory_order_seq_cst);
        if (early_second.size_bytes)
                atomic_store_explicit(&runtime_wiped.real_usable_size, 0, memory_order_relaxed);
        atomic_store_explicit(&runtime_wiped.real_malloc, (uintptr_t)real.malloc.enter,
                              memory_order_relaxed);
        atomic_store_explicit(&runtime_wiped.real_free, (uintptr_t)real.free.enter,
                              memory_order_relaxed);
}

/* 0: nobody counts there. */
static void runtime_show_tally(uintptr_t off) {
        atomic_store_explicit(&runtime_wiped.tally_off, off, memory_order_release);
        atomic_store_explicit(&runtime_wiped.new_tally_off, new_is_plain_malloc() ? off : 0,
                              memory_order_release);
}

void runtime_pass(void) {
        runtime_show_tally(0);
        runtime_show_reals();
        atomic_store_explicit(&runtime.life, RUNTIME_LIFE_PASSING, memory_order_relaxed);
        atomic_store_explicit(&runtime_wiped.phase, RUNTIME_PASSING, memory_order_relaxed);
}

void runtime_record(void) {
        runtime_show_reals();
        atomic_store_explicit(&runtime.life, RUNTIME_LIFE_RECORDING, memory_order_release);
        atomic_store_explicit(&runtime_wiped.phase,
                              !runtime.is_wiped_on_fork ? RUNTIME_CHECKING
                              : runtime.is_sampled      ? RUNTIME_SAMPLING
                                                        : RUNTIME_RECORDING,
                              memory_order_release);
        if (runtime.counts_quickly)
                runtime_show_tally((uintptr_t)&thread_tally -
                                   (uintptr_t)__builtin_thread_pointer());
}

static const char *init_env_value(const char *entry, const char *name) {
        while (*name && *entry == *name)
                entry++, name++;
        return *name == '\0' && *entry == '=' ? entry + 1 : NULL;
}

/* argc, argv …, NULL, environment …, NULL, auxiliary vector: found by the NULLs, because a
 * program started by naming ld.so has argc changed. */
void runtime_read_stack(void) {
        char **at = (char **)__libc_stack_end + 1;
        const ElfW(auxv_t) * aux;

        runtime.page_bytes = 4096;
        while (*at)
                at++;
        for (at++; *at; at++) {
                const char *value = init_env_value(*at, WIRE_ENV);

                if (value && !runtime.rendezvous)
                        runtime.rendezvous = value;
        }
        for (aux = (const ElfW(auxv_t) *)(at + 1); aux->a_type != AT_NULL; aux++) {
                switch (aux->a_type) {
                case AT_SYSINFO_EHDR: runtime.vdso = aux->a_un.a_val; break;
                case AT_ENTRY: runtime.entry = aux->a_un.a_val; break;
                case AT_PHDR: runtime.phdrs = aux->a_un.a_val; break;
                case AT_PHNUM: runtime.n_phdrs = aux->a_un.a_val; break;
                case AT_RANDOM: runtime.stack_end = aux->a_un.a_val; break;
                case AT_PAGESZ: runtime.page_bytes = aux->a_un.a_val; break;
                case AT_SECURE: runtime.is_secure = aux->a_un.a_val != 0; break;
                case AT_HWCAP: patched_find_vectors(aux->a_un.a_val); break;
                default: break;
                }
        }
}

/* An emulator that knows no advice says yes to all of them. */
static bool init_wipe_on_fork(void) {
        const int no_such_advice = 0x7fffffff;

        return sys_madvise(&runtime_wiped, runtime.page_bytes, MADV_WIPEONFORK) == 0 &&
               sys_madvise(&runtime_wiped, runtime.page_bytes, no_such_advice) < 0;
}

/* What the caches of all threads and the table of rows may grow by: with it a thousand busy threads
 * stay below 64 MiB. A thread that is refused keeps the cache it has. */
enum { INIT_CACHES_MAX_BYTES = 8 << 20 };
static _Atomic uint64_t init_caches_bytes;

void *runtime_map_cache(size_t size_bytes) {
        void *pages = NULL;

        if (atomic_fetch_add_explicit(&init_caches_bytes, size_bytes, memory_order_relaxed) +
                    size_bytes <=
            INIT_CACHES_MAX_BYTES)
                pages = runtime_map(size_bytes, size_bytes);
        if (!pages)
                atomic_fetch_sub_explicit(&init_caches_bytes, size_bytes, memory_order_relaxed);
        return pages;
}

void runtime_unmap_cache(void *pages, size_t size_bytes) {
        runtime_unmap(pages, size_bytes, size_bytes);
        atomic_fetch_sub_explicit(&init_caches_bytes, size_bytes, memory_order_relaxed);
}

static int init_find_object(void *pc, void *ret) {
        return (int)patched_call_libc(real._dl_find_object.fn, (uint64_t)pc, (uint64_t)ret);
}

bool runtime_start_unwinder(void) {
        const struct unwind_env env = {
                .map_pages = runtime_map_cache,
                .unmap_pages = runtime_unmap_cache,
                .on_module = event_module,
                .find_object = real._dl_find_object.fn ? (void *)init_find_object : NULL,
                .entries = {runtime.entry, real_loader_entry()},
                .vdso_begin = runtime.vdso,
                .main_phdrs = runtime.phdrs,
                .n_main_phdrs = runtime.n_phdrs,
                .main_stack_begin = (uint64_t)__libc_stack_end,
                .main_stack_end = runtime.stack_end,
        };

        if (unwind_init(&env) < 0)
                return false;
        unwind_modules_refresh();
        return true;
}

/* The linker's: where variables with a value end, and the others. */
extern char _edata[] __attribute__((visibility("hidden")));
extern char _end[] __attribute__((visibility("hidden")));

/* Its zeroed variables: the kernel shows them as memory without a name, in one piece with whatever lies behind them. */
static void init_remember_variables(void) {
        static bool is_done;
        uintptr_t mask = runtime.page_bytes - 1;
        uintptr_t begin = ((uintptr_t)_edata + mask) & ~mask,
                  end = ((uintptr_t)_end + mask) & ~mask;

        if (!is_done && begin < end)
                runtime_remember(begin, end - begin);
        is_done = true;
}

int runtime_join(void) {
        int r = join_recorder(runtime.rendezvous);

        if (r < 0)
                return r;
        runtime.pid = (uint32_t)sys_getpid();
        runtime.is_sampled = runtime.header->flags & WIRE_SAMPLED;
        runtime.free_stacks = runtime.header->flags & (WIRE_FREE_STACKS | WIRE_SAMPLED);
        runtime.process->start_ts = runtime_now();
        runtime.process->own_addr = (uintptr_t)&own;
        init_remember_variables();
        runtime.is_wiped_on_fork = init_wipe_on_fork();
        runtime.is_confined = sys_call6(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0, 0) == 1;
        if (runtime.is_sampled &&
            !sample_init(atomic_load_explicit(&runtime.header->sample_bytes, memory_order_relaxed)))
                return -ENOMEM;
        runtime.counts_quickly = runtime.is_sampled && sample_can_count_quickly();
        if (runtime.header->flags & WIRE_FAILS)
                fail_wrap();
        return 0;
}

/* Everything up to recording; false: there is nothing to record for. */
static bool init_recording(void) {
        runtime_read_stack();
        return runtime.rendezvous && !runtime.is_secure && runtime_join() == 0 &&
               runtime_start_unwinder();
}

static bool init_start(void) {
        uint32_t early = RUNTIME_LIFE_EARLY;
        struct thread *t;

        if (!atomic_compare_exchange_strong_explicit(&runtime.life, &early, RUNTIME_LIFE_STARTING,
                                                     memory_order_acquire, memory_order_relaxed))
                return false;
        if (real_resolve() < 0)
                return false; /* the early arena is all there is */
        new_init();
        if (runtime.is_attached) { /* opened in a running program: silt_attached is called next */
                runtime_pass();
                return false;
        }
        if (!init_recording() || !(t = thread_start())) {
                runtime_pass();
                return false;
        }
        fork_watch();
        event_replay_early(t);
        runtime_record();
        return true;
}

/* The loader says RT_CONSISTENT when it has relocated all objects and set up the first thread's
 * TLS; before that a TLS variable would be wiped again. */
HOOK_COLD bool runtime_begin(void) {
        if (!init_is_relocated())
                return false;
        switch (atomic_load_explicit(&runtime.life, memory_order_acquire)) {
        case RUNTIME_LIFE_EARLY: return _r_debug.r_state == RT_CONSISTENT && init_start();
        case RUNTIME_LIFE_RECORDING: return fork_enter_child();
        case RUNTIME_LIFE_PASSING: runtime_pass(); return false;
        default: return false;
        }
}

__attribute__((constructor)) static void init_construct(void) {
        if (atomic_load_explicit(&runtime.life, memory_order_acquire) == RUNTIME_LIFE_EARLY)
                init_start();
        sanitizer_start();
}
