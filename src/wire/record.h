/* SPDX-License-Identifier: MIT */
/* The records in a ring: whole 64-bit words, never across a chunk's end.
 *
 *   word 0   time << 8 | kind       time = counter - clock_base, 56 bits
 *   word 1…  as listed per kind
 *
 * A *stack word* is  n_kept | n_new << 16 | form << 32 | allocator << 35 | end << 40 | token << 48  and is followed by
 * n_new program counters, innermost first. n_kept counts the OUTER frames kept from the last record of this ring
 * that had frames. Example: main→a→b→malloc sent whole, then main→a→c→malloc:
 *   n_kept 2 (main, a), n_new 1, pc in c.
 *
 * A *token* is a number by which this ring names the same stack, form, allocator and end from now on, in place of what it
 * named before; 0: none. A stack word with n_new WIRE_KNOWN has no frames: it is the one its token names. LOST forgets
 * all tokens of its ring. */
#pragma once

#include <stdint.h>

enum wire_kind {
        WIRE_PAD = 0,        /* nothing more in this chunk; the next record starts the next chunk */
        WIRE_ALLOC = 1,      /* address, size, stack */
        WIRE_FREE = 2,       /* address */
        WIRE_FREE_SIZED = 3, /* address, size the caller gave (sized delete) */
        WIRE_FREE_STACK = 4, /* address, size given or WIRE_NO_SIZE, stack (--free-stacks) */
        WIRE_REALLOC_BEGIN = 5, /* old address (not 0) */
        WIRE_REALLOC_END =
                6,       /* new address (0: see result), size, result (enum wire_realloc), stack */
        WIRE_FAILED = 7, /* size asked for; no block was returned */
        WIRE_MODULE = 8, /* load bias, begin, end, name length, name padded to words */
        WIRE_THREAD_NAME = 9, /* 16 bytes of name, NUL-padded */
        WIRE_FORK = 10,       /* this thread is about to fork */
        WIRE_FORK_DONE = 11,  /* (in the parent) */
        WIRE_EXEC = 12,       /* 1: about to exec; 0: the exec failed */
        WIRE_MMAP = 13,       /* address, length, prot | flags << 32, stack */
        WIRE_MUNMAP = 14,     /* address, length */
        WIRE_MREMAP = 15,     /* old address, old length, new address, new length, stack */
        WIRE_BRK = 16,        /* old break, new break, stack */
        WIRE_LOST = 17,       /* number of records this thread could not write before this one */
        WIRE_THREAD_EXIT = 18,
        WIRE_POOL_ALLOC =
                19, /* address with WIRE_POOL, size, stack: a block that a pool handed out */
        WIRE_FREE_RANGE = 20, /* begin, end: every block of pools that begins in it is released */
        WIRE_MARK = 21,       /* text length, text padded to words */
        WIRE_HEAP =
                22, /* heap, enum wire_heap, address: of an allocator's heap that can be released whole */
        WIRE_SAMPLE = 23, /* address, size, mean distance of samples, allocations of the thread so
                                 far (this one included), stack: an allocation that was sampled */
        WIRE_SAMPLE_FREE = 24, /* address, allocations of the thread so far: its release */
        WIRE_UNSEEN =
                25, /* pid | enum wire_unseen << 32, text length, text padded to words: a program that a child, or
                             * this process, runs and the runtime cannot enter */
        WIRE_MPROTECT = 26, /* address, length, prot */
        WIRE_FAIL =
                27, /* its number, size, stack: an allocation that is made to fail (WIRE_FAILS), or number 0: that failed; FAILED follows */
        WIRE_ALLOC_KNOWN = 28, /* address, size | token << 48: an ALLOC whose stack has a token */
        WIRE_N_KINDS,
};

/* Why a program is not seen. */
enum wire_unseen {
        WIRE_UNSEEN_NONE = 0,
        WIRE_UNSEEN_STATIC = 1,     /* it has no loader */
        WIRE_UNSEEN_PRIVILEGED = 2, /* set-user-id or set-group-id */
        WIRE_UNSEEN_LOADER = 3,     /* not glibc's */
        WIRE_UNSEEN_MACHINE = 4,    /* of another machine, or 32-bit */
        WIRE_UNSEEN_ROOT = 5,       /* the runtime's file cannot be read where it is run */
        WIRE_UNSEEN_N,
        WIRE_UNSEEN_NOT = 0x80, /* with one of them: it was not run after all */
};

#define WIRE_NO_SIZE UINT64_MAX

/* In the address of a block that a pool reported (silt.h), so that it is not taken for the pool's own block
 * at the same address. The byte above the address is the program's. */
#define WIRE_POOL ((uint64_t)1 << 63)
#define WIRE_ADDRESS_MASK (((uint64_t)1 << 56) - 1)

enum wire_realloc {
        WIRE_REALLOC_OK = 0,
        WIRE_REALLOC_FAILED = 1,   /* NULL, the old block lives on */
        WIRE_REALLOC_RELEASED = 2, /* realloc(p, 0) that returned NULL */
};

/* What is said of a heap. Its number is any that the process gives it. */
enum wire_heap {
        WIRE_HEAP_NEXT = 0,  /* the block that this thread allocates next, at address, is in it */
        WIRE_HEAP_BEGIN = 1, /* it is about to be released; others may be given its addresses */
        WIRE_HEAP_RELEASED = 2, /* every block in it was released */
        WIRE_HEAP_KEPT =
                3, /* it is new (then address is its own), or gone while its blocks live on */
        WIRE_HEAP_FAILED = 4, /* it was not released after all */
};

/* How the block was asked for. */
enum wire_form {
        WIRE_FORM_MALLOC = 0,
        WIRE_FORM_CALLOC = 1,
        WIRE_FORM_REALLOC = 2,
        WIRE_FORM_ALIGNED = 3,
        WIRE_FORM_NEW = 4,
        WIRE_FORM_NEW_ARRAY = 5,
};

/* Which allocator was called, in the bits above: 0 is that which the loader gives everybody, others are numbered by the
 * recorder, which knows where their functions are. */
enum {
        WIRE_FORM_BITS = 3,
        WIRE_N_ALLOCATORS = 32,
};

static inline unsigned wire_stack_allocator(uint64_t stack) {
        return stack >> (32 + WIRE_FORM_BITS) & (WIRE_N_ALLOCATORS - 1);
}

/* How a walk ended; the same numbers as enum unwind_end. */
enum wire_stack_end {
        WIRE_END_COMPLETE = 0,
        WIRE_END_CUT = 1,
        WIRE_END_GUESS = 2,
        WIRE_END_LOST = 3,
        WIRE_END_NONE = 4, /* no walk was made */
};

enum {
        WIRE_MAX_FRAMES = 1100, /* of one stack word; the unwinder's bound is below it */
        WIRE_MAX_TOKEN = 32768, /* the highest */
        WIRE_KNOWN = 0xffff,    /* in place of n_new */
        WIRE_TOKEN_SHIFT = 48,  /* above a size, and in a stack word */
        WIRE_MAX_NAME = 1024,   /* of a module, longer ones are cut */
        WIRE_MAX_MARK = 200,    /* bytes of a mark's text, longer ones are cut */
};

static inline uint64_t wire_word0(uint64_t time, unsigned kind) {
        return time << 8 | kind;
}

static inline uint64_t wire_stack_word(uint32_t n_kept, uint32_t n_new, unsigned form,
                                       unsigned end) {
        return n_kept | (uint64_t)n_new << 16 | (uint64_t)form << 32 | (uint64_t)end << 40;
}

/* WIRE_KNOWN: the token says which it is. */
static inline uint32_t wire_stack_n_new(uint64_t stack) {
        return stack >> 16 & 0xffff;
}

static inline unsigned wire_stack_end(uint64_t stack) {
        return stack >> 40 & 0xff;
}

/* Of a stack word or of the size of an ALLOC_KNOWN; 0: none. */
static inline uint32_t wire_token(uint64_t word) {
        return (uint32_t)(word >> WIRE_TOKEN_SHIFT);
}

#define WIRE_SIZE_MASK (((uint64_t)1 << WIRE_TOKEN_SHIFT) - 1)

/* Words before the stack word, word 0 included; 0 for kinds that have none. */
static inline unsigned wire_stack_at(unsigned kind) {
        static const uint8_t at[WIRE_N_KINDS] = {
                [WIRE_ALLOC] = 3,      [WIRE_FREE_STACK] = 3, [WIRE_REALLOC_END] = 4,
                [WIRE_MMAP] = 4,       [WIRE_MREMAP] = 5,     [WIRE_BRK] = 3,
                [WIRE_POOL_ALLOC] = 3, [WIRE_SAMPLE] = 5,     [WIRE_FAIL] = 3,
        };

        return kind < WIRE_N_KINDS ? at[kind] : 0;
}
