/* SPDX-License-Identifier: MIT */
#ifndef SILT_UNWIND_UNWIND_H
#define SILT_UNWIND_UNWIND_H

/* Stack walks inside the target, for aarch64 and x86_64. docs/unwinding.md has the reasons.
 *  - a walk is a pure function of (pc, sp, fp), the CFI rows and the stack slots it reads; each
 *    thread remembers its last walk and re-validates it, so a walk costs little when little changed
 *  - nothing in the target is written: no return address, no stack slot, no errno
 *  - no malloc, no lock, no system call except what env->map_pages makes
 *  - a walk is bounded: UNWIND_FRESH_MAX steps, UNWIND_DEPTH_MAX frames re-validated
 * Call order: unwind_init once per process, unwind_walker_init once per thread, then unwind_walk.
 * One walker belongs to one thread and is not re-entered; a signal handler that interrupted a walk
 * uses unwind_walk_once or a walker of its own. */

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

#ifdef SILT_TINY /* the debug build that makes rare paths common */
enum { UNWIND_FRESH_MAX = 24, UNWIND_DEPTH_MAX = 48, UNWIND_OUTER_KEPT = 4 };
#else
enum { UNWIND_FRESH_MAX = 512, UNWIND_DEPTH_MAX = 1024, UNWIND_OUTER_KEPT = 64 };
#endif

/* How a walk ended. Only UNWIND_END_COMPLETE is a whole stack that is surely right. */
enum unwind_end {
        UNWIND_END_COMPLETE = 0, /* a known start of a process, a thread or a coroutine */
        UNWIND_END_CUT = 1,   /* the depth limit; the outer frames may be missing, or some inside */
        UNWIND_END_GUESS = 2, /* as complete, but a frame pointer was trusted somewhere */
        UNWIND_END_LOST = 3,  /* no way on from the outermost frame given */
};

/* A pc of this value stands for frames left out of the middle of a very deep stack. */
#define UNWIND_PC_OMITTED UINT64_C(1)

struct unwind_regs {
        uint64_t pc; /* return address into the caller of the hook; may carry a PAC */
        uint64_t sp; /* the hook's CFA: the caller's stack pointer once the hook has returned */
        uint64_t fp; /* the caller's frame pointer register (x29, rbp) */
};

/* A code object: the executable, a shared library or the vdso. */
struct unwind_module {
        uint64_t base;       /* load bias (l_addr): address = base + address in the file */
        uint64_t begin, end; /* what is mapped: [begin, end) */
        const char *name;    /* l_name; "" for the executable; valid during the callback only */
};

/* Given once. The functions are called from within unwind_walk, on the walking thread. */
struct unwind_env {
        /* size_bytes of zeroed pages, or NULL: then the caches stay small */
        void *(*map_pages)(size_t size_bytes);
        /* may be NULL: then what map_pages gave is kept for ever */
        void (*unmap_pages)(void *pages, size_t size_bytes);
        /* m was met for the first time in this generation; comes before any pc of it is reported to
         * anyone. Two threads that meet it at once may both call. ctx is the walk's; walks without
         * one announce nothing. */
        void (*on_module)(void *ctx, const struct unwind_module *m);
        /* the loader's _dl_find_object; NULL where it has none (before glibc 2.35). Not imported by
         * name: even a weak import of a newer version keeps a library from loading */
        void *find_object;
        /* AT_ENTRY and the loader's own entry point, or 0: a walk that gets there has the whole stack */
        uint64_t entries[2];
        /* AT_SYSINFO_EHDR, or 0: where the vdso is */
        uint64_t vdso_begin;
        /* AT_PHDR and AT_PHNUM, or 0: the executable's program headers. The loader tells of it segment
         * by segment where the linker left a hole between them */
        uint64_t main_phdrs, n_main_phdrs;
        /* where the kernel put argc, or 0: the first thread's frames lie below it */
        uint64_t main_stack_begin;
        /* any address above all frames of the first thread's stack (AT_RANDOM, AT_EXECFN), or 0 */
        uint64_t main_stack_end;
};

/* The walk just made, as a difference to the walk before it by the same walker:
 *     stack now = pcs[0 .. n_new) , then the n_kept outermost frames of the stack before
 * A pc is a return address, so pc - 1 lies in the call; for the frame a signal interrupted pc - 1 is
 * the interrupted instruction itself. PACs are stripped. */
struct unwind_delta {
        uint32_t n_kept;     /* outer frames equal to the previous walk's */
        uint32_t n_new;      /* frames inside those */
        uint32_t depth;      /* n_kept + n_new */
        uint8_t end;         /* enum unwind_end */
        const uint64_t *pcs; /* innermost first; owned by the walker, valid until its next walk */
};

struct unwind_walker; /* opaque; unwind_walker_size bytes, of which a shallow thread touches 3 pages */

/* Until it has been called every walk is empty and lost. 0 or -errno. Call when libsilt.so has been
 * relocated; again (say after a re-attach) only while no thread walks. */
int unwind_init(const struct unwind_env *env);

size_t unwind_walker_size(void);                  /* a multiple of 4096 */
enum { UNWIND_WALKER_RESIDENT_BYTES = 3 * 4096 }; /* what stacks of up to 40 frames touch of it */
void unwind_walker_init(struct unwind_walker *w, void *ctx); /* w: zeroed, aligned to 4096 */
void unwind_walker_done(struct unwind_walker *w);            /* gives back what w mapped itself */

void unwind_walk(struct unwind_walker *w, const struct unwind_regs *from, struct unwind_delta *ret);

/* The same in registers all through: n_kept | n_new << 16 | end << 40. The new pcs are at
 * unwind_walker_pcs. */
uint64_t unwind_walk_packed(struct unwind_walker *w, uint64_t pc, uint64_t sp, uint64_t fp);

enum { UNWIND_GENERATION_OFF = 8, UNWIND_PCS_OFF = 64 };

static inline const uint64_t *unwind_walker_pcs(const struct unwind_walker *w) {
        return (const uint64_t *)((const char *)w + UNWIND_PCS_OFF);
}

/* Of the set of loaded objects, as the last walk found it: a walk that finds another keeps no frame (n_kept = 0). */
static inline uint64_t unwind_walker_generation(const struct unwind_walker *w) {
        return *(const uint64_t *)((const char *)w + UNWIND_GENERATION_OFF);
}

/* The pc, as it was reported, of a frame of the last walk: 0 is the outermost. */
uint64_t unwind_walker_outer_pc(const struct unwind_walker *w, uint32_t k);

/* The next walk reports a whole stack (n_kept = 0). For when a delta did not reach its reader. */
void unwind_forget(struct unwind_walker *w);

/* A whole walk without a walker: slower, nothing remembered, re-entrant. Fills at most cap_pcs pcs,
 * innermost first, and returns how many. ctx: for on_module; with NULL the modules of these pcs may
 * be unknown to whoever reads them. */
uint32_t unwind_walk_once(const struct unwind_regs *from, void *ctx, uint64_t *pcs,
                          uint32_t cap_pcs, uint8_t *ret_end);

/* The same with their stack pointers, without marking exact ones. */
struct unwind_frame {
        uint64_t pc, sp;
};
uint32_t unwind_walk_frames(const struct unwind_regs *from, struct unwind_frame *frames,
                            uint32_t cap_frames);

/* Whether the function that has `frame` in its stack frame, and whose code is in [code_begin, code_end), is among the callers of
 * `from`, near and with no signal handler in between. Slower than a remembered walk, re-entrant. */
enum unwind_inside {
        UNWIND_INSIDE,
        UNWIND_OUTSIDE,        /* whoever had it has returned */
        UNWIND_INSIDE_HANDLER, /* a signal handler is in between */
        UNWIND_INSIDE_UNKNOWN, /* the walk does not get there: code without CFI, or very deep */
};

/* The way that was walked, of frames that need sp alone: if the words on it are the same, so is the way. */
enum { UNWIND_WAY_STEPS = 6 };
struct unwind_way {
        uint64_t generation; /* 0: nothing is remembered */
        uint64_t pc, distance_bytes;
        uint64_t n_steps;
        uint64_t slots[UNWIND_WAY_STEPS], words[UNWIND_WAY_STEPS]; /* slots: below the frame */
};

/* memory: of the calling thread, of the last such way; zeroed at first. */
enum unwind_inside unwind_is_inside(const struct unwind_regs *from, uint64_t frame,
                                    uint64_t code_begin, uint64_t code_end,
                                    struct unwind_way *memory);

/* The set of loaded objects changed: nothing cached so far is used again, modules are announced
 * again. Call after an object has been unmapped and before code mapped in its place can run. */
void unwind_modules_changed(void);

/* For a glibc without _dl_find_object (before 2.35): reads the list of objects again. Calls
 * dl_iterate_phdr, so call it at safe moments only: at start, after dlopen or dlclose returned.
 * Does nothing where _dl_find_object exists. */
void unwind_modules_refresh(void);

/* From registers inside a function, pc exact, to those of its caller. For UNWIND_HERE. */
void unwind_regs_leave(struct unwind_regs *regs);

/* For the body of a hook itself (not of a function it calls), compiled with
 * -fno-omit-frame-pointer: where the hook will return to. */
#if defined(__clang__) && defined(__aarch64__)
/* clang's __builtin_dwarf_cfa gives x29 here, which is not the CFA: step out through the CFI. */
#define UNWIND_HERE(regs)                                                                          \
        do {                                                                                       \
                struct unwind_regs *regs_ = (regs);                                                \
                __asm__ volatile("adr %0, .\n\tmov %1, sp\n\tmov %2, x29"                          \
                                 : "=r"(regs_->pc), "=r"(regs_->sp), "=r"(regs_->fp));             \
                unwind_regs_leave(regs_);                                                          \
        } while (0)
#else
#define UNWIND_HERE(regs)                                                                          \
        do {                                                                                       \
                struct unwind_regs *regs_ = (regs);                                                \
                regs_->pc = (uint64_t)__builtin_return_address(0);                                 \
                regs_->sp = (uint64_t)__builtin_dwarf_cfa();                                       \
                regs_->fp = *(const uint64_t *)__builtin_frame_address(0);                         \
        } while (0)
#endif

#pragma GCC visibility pop

#endif
