/* SPDX-License-Identifier: MIT */
/* Entry patches: the first instructions of a function make room for a branch to a hook, and run elsewhere.
 *
 *     function                    room (near the function)
 *     [bti c | endbr64]           thunk:  gets hold of the argument, jumps to the hook
 *     branch to thunk ─────────▶
 *     rest ◀────────────────────  moved:  what the branch took the place of, changed so that it does
 *                                         there what it did here; branch to the rest
 *
 * The hook is entered as the function was: same registers, same stack, same return address, and the argument beside them. It
 * calls the function itself at `moved`. Nothing here touches a process: bytes in, bytes out. Decoding happens outside the target;
 * the target, or whoever stops it, only copies. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum patch_machine { PATCH_AARCH64, PATCH_X86_64 };
enum patch_machine patch_machine_of(uint32_t e_machine);

enum {
        PATCH_MAX_BYTES = 24,   /* of a function that can be overwritten */
        PATCH_ROOM_BYTES = 192, /* at most, thunk and moved code; a multiple of 16 */
};

struct patch_function {
        enum patch_machine machine;
        uint64_t addr;
        const uint8_t *code; /* n_bytes from addr on: all of the function, as it is in memory */
        size_t n_bytes;
        size_t padding_bytes; /* behind it that belong to nobody (no-ops up to the next function) */
};

struct patch_target {
        uint64_t room_addr; /* where PATCH_ROOM_BYTES will be; a multiple of 16 */
        uint64_t hook_addr;
        uint64_t argument; /* for the hook: in x17 (aarch64), pushed on the stack (x86_64) */
};

struct patch {
        uint64_t at; /* what to write, and what must stand there until then */
        uint8_t n_bytes;
        uint8_t before[PATCH_MAX_BYTES], after[PATCH_MAX_BYTES];

        uint64_t room_addr;
        uint8_t room[PATCH_ROOM_BYTES];
        size_t n_room_bytes;
        uint64_t moved_addr; /* calling this is calling the function as it was */
};

/* 0, or a negative errno with the reason: -EFAULT the room is out of reach, -ENOTSUP the function cannot be
 * patched (too short, branched into, an instruction that cannot be moved). */
int patch_make(const struct patch_function *f, const struct patch_target *to, struct patch *ret,
               struct err *reterr);

/* How far from a function its room may be, in both directions. */
uint64_t patch_reach_bytes(enum patch_machine machine);

/* How many of the bytes behind a function are fillers that nothing runs. */
size_t patch_count_padding(enum patch_machine machine, const uint8_t *code, size_t n_bytes);
