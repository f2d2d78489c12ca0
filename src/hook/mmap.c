/* SPDX-License-Identifier: MIT */
/* Mappings the program makes itself. What libc, ld.so and the allocator map on their own account
 * is not its own: it is told by the caller's address. An allocator that is linked into the program
 * has no file of its own, but its code is known while it is being called. */
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hook/call.h"
#include "hook/event.h"

/* For memory of its own, inside a call. What an open function does is the program's. */
static inline bool mapping_is_allocators(const struct thread *t, const void *caller) {
        return t->in_real && !(t->in_real->kinds & REAL_OPEN) && real_fn_has(t->in_real, caller);
}

/* The thread, when the program itself calls. */
static inline struct thread *mapping_thread(const void *caller) {
        struct thread *t = thread_get();

        if (!t || real_is_allocator((uintptr_t)caller) || mapping_is_allocators(t, caller))
                return NULL;
        return t;
}

/* Before the real functions are known, which is before libc can be called. */
static void *mapping_raw_mmap(void *addr, size_t size_bytes, int prot, int flags, int fd,
                              off_t off) {
        long r = sys_mmap(addr, size_bytes, prot, flags, fd, off);

        return sys_is_error(r) ? MAP_FAILED : (void *)r;
}

/* kind WIRE_MMAP */
static void mapping_log_mmap(struct thread *t, void *addr, size_t size_bytes, int prot, int flags,
                             const struct unwind_regs *from) {
        const uint64_t words[] = {(uint64_t)addr, size_bytes,
                                  (uint32_t)prot | (uint64_t)(uint32_t)flags << 32};

        event_stack(t, WIRE_MMAP, words, 3, 0, from);
}

#define MAPPING_MMAP_HOOK(name)                                                                    \
        HOOK_EXPORT void *name(void *addr, size_t size_bytes, int prot, int flags, int fd,         \
                               off_t off) {                                                        \
                struct thread *t = mapping_thread(CALL_SITE);                                      \
                struct unwind_regs from;                                                           \
                void *got;                                                                         \
                                                                                                   \
                if (unlikely(!real.name.fn))                                                       \
                        return mapping_raw_mmap(addr, size_bytes, prot, flags, fd, off);           \
                got = REAL(name)(addr, size_bytes, prot, flags, fd, off);                          \
                if (!t || got == MAP_FAILED)                                                       \
                        return got;                                                                \
                UNWIND_HERE(&from);                                                                \
                mapping_log_mmap(t, got, size_bytes, prot, flags, &from);                          \
                return got;                                                                        \
        }

MAPPING_MMAP_HOOK(mmap)
MAPPING_MMAP_HOOK(mmap64)

/* Logged before, as every release: another thread may get the addresses at once. A call that
 * must fail is not. */
HOOK_EXPORT int munmap(void *addr, size_t size_bytes) {
        struct thread *t = mapping_thread(CALL_SITE);
        const uint64_t words[] = {(uint64_t)addr, size_bytes};

        if (unlikely(!real.munmap.fn))
                return sys_munmap(addr, size_bytes) == 0 ? 0 : -1;
        if (t && size_bytes && (uintptr_t)addr % runtime.page_bytes == 0)
                event_words(t, WIRE_MUNMAP, words, 2);
        return REAL(munmap)(addr, size_bytes);
}

HOOK_EXPORT void *mremap(void *old, size_t old_bytes, size_t new_bytes, int flags, ...) {
        struct thread *t = mapping_thread(CALL_SITE);
        struct unwind_regs from;
        void *wanted = NULL, *got;

        if (flags & MREMAP_FIXED) {
                va_list args;

                va_start(args, flags);
                wanted = va_arg(args, void *);
                va_end(args);
        }
        if (unlikely(!real.mremap.fn)) {
                long r = sys_call6(SYS_mremap, (long)old, (long)old_bytes, (long)new_bytes, flags,
                                   (long)wanted, 0);

                return sys_is_error(r) ? MAP_FAILED : (void *)r;
        }
        got = REAL(mremap)(old, old_bytes, new_bytes, flags, wanted);
        if (t && got != MAP_FAILED) {
                const uint64_t words[] = {(uint64_t)old, old_bytes, (uint64_t)got, new_bytes};

                UNWIND_HERE(&from);
                event_stack(t, WIRE_MREMAP, words, 4, 0, &from);
        }
        return got;
}

/* What was reserved becomes memory, or the other way. Logged when it is done: the pages stay whose they are, whatever others do to
 * them meanwhile. */
HOOK_EXPORT int mprotect(void *addr, size_t size_bytes, int prot) {
        struct thread *t = mapping_thread(CALL_SITE);
        const uint64_t words[] = {(uint64_t)addr, size_bytes, (uint32_t)prot};
        int r;

        if (unlikely(!real.mprotect.fn))
                return sys_call3(SYS_mprotect, (long)addr, (long)size_bytes, prot) == 0 ? 0 : -1;
        r = REAL(mprotect)(addr, size_bytes, prot);
        if (t && r == 0 && size_bytes)
                event_words(t, WIRE_MPROTECT, words, 3);
        return r;
}

static void mapping_log_brk(struct thread *t, void *old, void *new,
                            const struct unwind_regs *from) {
        const uint64_t words[] = {(uint64_t)old, (uint64_t) new};

        if (old != new)
                event_stack(t, WIRE_BRK, words, 2, 0, from);
}

HOOK_EXPORT int brk(void *addr) {
        struct thread *t = mapping_thread(CALL_SITE);
        struct unwind_regs from;
        void *old = NULL;
        int r;

        if (unlikely(!real.brk.fn))
                return sys_call3(SYS_brk, (long)addr, 0, 0) == (long)addr ? 0 : -1;
        if (t && real.sbrk.fn)
                old = REAL(sbrk)(0);
        r = REAL(brk)(addr);
        if (old && r == 0) {
                UNWIND_HERE(&from);
                mapping_log_brk(t, old, addr, &from);
        }
        return r;
}

HOOK_EXPORT void *sbrk(intptr_t increment_bytes) {
        struct thread *t = mapping_thread(CALL_SITE);
        struct unwind_regs from;
        void *old;

        if (unlikely(!real.sbrk.fn))
                return (void *)-1;
        old = REAL(sbrk)(increment_bytes);
        if (t && old != (void *)-1) {
                UNWIND_HERE(&from);
                mapping_log_brk(t, old, (char *)old + increment_bytes, &from);
        }
        return old;
}
