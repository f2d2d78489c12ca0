/* SPDX-License-Identifier: MIT */
/* The functions behind the hooks: what the program would have called without silt. Found by reading
 * the loader's list of objects, as dlsym(RTLD_NEXT) would find them, but without its lock, its
 * allocations and its symbol version. */
#pragma once

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hook/runtime.h"

#pragma GCC visibility push(hidden)

struct real_fn {
        void *fn;    /* NULL: nobody defines it */
        void *enter; /* where to call it: fn, or where its first instructions were moved to */
        uintptr_t begin, end; /* of its code; of all that is its allocator's, where that is known */
        unsigned kinds;       /* enum real_kinds */
};

enum real_kinds {
        REAL_ALLOCATES = 1 << 0,
        REAL_RELEASES = 1 << 1,
        REAL_OPEN = 1 << 2, /* it may call anybody's code, which may call hooks: inner.h */
};

enum { REAL_FN_REACH_BYTES = 512 }; /* where a symbol has no size */

/* lists of names, read line by line */
/* clang-format off */
#define REAL_MALLOC_NAMES(X) \
        X(malloc) X(calloc) X(realloc) X(reallocarray) X(free) X(cfree) X(memalign) \
        X(aligned_alloc) X(posix_memalign) X(valloc) X(pvalloc) X(malloc_usable_size) \
        X(free_sized) X(free_aligned_sized)

#define REAL_NEW_NAMES(X) \
        X(_Znwm) X(_Znam) X(_ZnwmRKSt9nothrow_t) X(_ZnamRKSt9nothrow_t) X(_ZnwmSt11align_val_t) \
        X(_ZnamSt11align_val_t) X(_ZnwmSt11align_val_tRKSt9nothrow_t) \
        X(_ZnamSt11align_val_tRKSt9nothrow_t) X(_ZdlPv) X(_ZdaPv) X(_ZdlPvm) X(_ZdaPvm) \
        X(_ZdlPvRKSt9nothrow_t) X(_ZdaPvRKSt9nothrow_t) X(_ZdlPvSt11align_val_t) \
        X(_ZdaPvSt11align_val_t) X(_ZdlPvSt11align_val_tRKSt9nothrow_t) \
        X(_ZdaPvSt11align_val_tRKSt9nothrow_t) X(_ZdlPvmSt11align_val_t) \
        X(_ZdaPvmSt11align_val_t)

#define REAL_OTHER_NAMES(X) \
        X(mmap) X(mmap64) X(munmap) X(mremap) X(mprotect) X(brk) X(sbrk) X(pthread_create) X(thrd_create) \
        X(pthread_setname_np) X(pthread_self) X(pthread_mutex_lock) X(prctl) X(execve) X(execvpe) X(fexecve) \
        X(execveat) X(_exit) X(_Exit) X(posix_spawn) X(posix_spawnp) X(__register_atfork) X(_dl_find_object) \
        X(dl_iterate_phdr)
/* clang-format on */

#define REAL_NAMES(X) REAL_MALLOC_NAMES(X) REAL_NEW_NAMES(X) REAL_OTHER_NAMES(X)

struct reals {
#define REAL_MEMBER(name) struct real_fn name;
        REAL_NAMES(REAL_MEMBER)
#undef REAL_MEMBER
};

extern struct reals real;

/* The real function of this name, as its type. */
#define REAL(name) ((__typeof__(&name))real.name.enter)

/* Fills `real`, runtime.self, runtime.loader, runtime.self_path, runtime.is_attached and the allocator's ranges. 0;
 * -ENOENT: the loader's list does not show a malloc behind libsilt.so. */
int real_resolve(void);

/* Code at `at` was patched, and what stood there moved: a hook that calls the function has no need to pass by the patch, and what
 * the allocator, all of whose code this is, calls itself is no call of its own. */
void real_is_moved(uintptr_t at, void *moved, const struct code_range *code);

/* All of an object's memory, from its load address; empty where its headers are not mapped there. */
struct code_range real_image_range(uintptr_t base);

/* True when some object wants dlopen or dlmopen of the loader. */
bool real_is_opener(void);

/* True when the C library's malloc is everybody's: another may be made of it, by whatever way. */
bool real_is_plain(void);

/* Where ld.so begins to run; 0: not known. */
uintptr_t real_loader_entry(void);

/* True when addr is code of libc, ld.so, libsilt.so or whoever owns the real malloc. */
bool real_is_allocator(uintptr_t addr);

/* The object that has addr, from the loader's list; for a moment when nobody opens or closes
 * objects. */
struct unwind_module;
bool real_find_module(const void *addr, struct unwind_module *ret_module);

/* True when somebody whom the loader asks before libsilt.so defines the symbol: then that is what
 * other libraries call. */
bool real_is_preceded(const char *name);

/* The definition that comes next behind libsilt.so in the loader's list. False: there is none, or nothing is resolved. */
bool real_find_behind(const char *name, struct real_fn *ret);

/* True when the very next object behind libsilt.so defines the symbol. */
bool real_is_next_to(const char *name);

/* What the loader calls libsilt.so from now on; returns what it was called before. */
const char *real_rename_self(const char *name);

/* True when the real function of this name belongs to the object with this soname. */
bool real_is_in(const char *name, const char *soname);

/* Whether malloc_usable_size knows the blocks that this function releases. */
bool real_can_measure(const void *release);

/* True when the executable defines the symbol itself, so that no hook of that name is ever
 * called. */
bool real_program_defines(const char *name);

/* The same for all of an object's code (or, where the loader cannot say, for code close
 * together). */
uintptr_t real_object_begin(const void *addr);

/* The definition the object at addr would call: for C++ in objects opened with RTLD_LOCAL, which
 * the order of the list does not show. Takes the loader's lock for a moment. */
bool real_for_caller(const void *addr, const char *name, struct real_fn *ret);

#pragma GCC visibility pop
