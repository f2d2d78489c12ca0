/* SPDX-License-Identifier: MIT */
/* One instruction makes room for a B. It must not be one that an indirect call has to find at the entry: a `bti c`
 * stays, and so does a `paciasp`, which counts as one; the instruction behind it goes then. After a `paciasp` the return
 * address is signed: the thunk takes that back (sp is still the one of the entry), and the moved code signs again.
 *
 * At a function's entry x16 and x17 hold nothing: any veneer on the way may have used them. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "patch/patch_machine.h"

enum {
        A64_PACIASP = 0xd503233f,
        A64_PACIBSP = 0xd503237f,
        A64_AUTIASP = 0xd50323bf,
        A64_AUTIBSP = 0xd50323ff,
        A64_BTI_C = 0xd503245f,
        A64_BTI_JC = 0xd50324df,
        A64_BR_X16 = 0xd61f0200,
        A64_NOP = 0xd503201f,
};

enum { A64_MAX_CODE = 16, A64_MAX_LITERALS = 4, A64_X16 = 16, A64_X17 = 17, A64_LR = 30 };

/* Code, and behind it the numbers that it loads. */
struct room {
        uint64_t addr;
        uint32_t code[A64_MAX_CODE];
        size_t n_code;
        uint64_t literals[A64_MAX_LITERALS];
        struct {
                size_t code_idx, literal_idx;
        } loads[A64_MAX_LITERALS];
        size_t n_literals;
        bool is_out_of_reach;
};

static uint64_t room_here(const struct room *r) {
        return r->addr + r->n_code * 4;
}

static void room_put(struct room *r, uint32_t instruction) {
        r->code[r->n_code++] = instruction;
}

/* ldr x<reg>, =value */
static void room_load(struct room *r, unsigned reg, uint64_t value) {
        r->loads[r->n_literals].code_idx = r->n_code;
        r->loads[r->n_literals].literal_idx = r->n_literals;
        r->literals[r->n_literals++] = value;
        room_put(r, 0x58000000u | reg);
}

static bool branch_reaches(uint64_t from, uint64_t to, uint32_t *ret) {
        int64_t distance = (int64_t)(to - from);

        if (distance < -(INT64_C(1) << 27) || distance >= INT64_C(1) << 27 || (distance & 3))
                return false;
        *ret = 0x14000000u | ((uint32_t)(distance >> 2) & 0x03ffffffu);
        return true;
}

static void room_branch(struct room *r, uint64_t to) {
        uint32_t b = A64_NOP;

        if (!branch_reaches(room_here(r), to, &b))
                r->is_out_of_reach = true;
        room_put(r, b);
}

static int64_t sign_extend(uint64_t value, unsigned n_bits) {
        return (int64_t)(value << (64 - n_bits)) >> (64 - n_bits);
}

/* ---- instructions that mean the place they stand at ------------------------------------------ */

/* Where a direct branch goes; false: it is none. */
static bool a64_branch_target(uint32_t i, uint64_t at, uint64_t *ret) {
        if ((i & 0x7c000000) == 0x14000000) /* b, bl */
                *ret = at + (uint64_t)sign_extend((i & 0x03ffffff) << 2, 28);
        else if ((i & 0xfe000000) == 0x54000000 || /* b.cond, bc.cond */
                 (i & 0x7e000000) == 0x34000000)   /* cbz, cbnz */
                *ret = at + (uint64_t)sign_extend((i >> 5 & 0x7ffff) << 2, 21);
        else if ((i & 0x7e000000) == 0x36000000) /* tbz, tbnz */
                *ret = at + (uint64_t)sign_extend((i >> 5 & 0x3fff) << 2, 16);
        else
                return false;
        return true;
}

/* The conditional branch i, to `distance_bytes` from where it stands. */
static uint32_t a64_set_distance(uint32_t i, uint32_t distance_bytes) {
        uint32_t field = (i & 0x7e000000) == 0x36000000 ? 0x3fffu << 5 : 0x7ffffu << 5;

        return (i & ~field) | (distance_bytes >> 2 << 5 & field);
}

static void move_branch(struct room *r, uint32_t i, uint64_t at, uint64_t to) {
        if ((i & 0xfc000000) == 0x14000000) { /* b */
                room_branch(r, to);
        } else if ((i & 0xfc000000) == 0x94000000) { /* bl: it comes back to where it would have */
                room_load(r, A64_LR, at + 4);
                room_branch(r, to);
        } else {
                room_put(r, a64_set_distance(i, 8));
                room_branch(r, at + 4);
                room_branch(r, to);
        }
}

/* Loads from an address near the instruction; i is an `ldr …, literal`. */
static bool move_literal_load(struct room *r, uint32_t i, uint64_t at) {
        uint64_t from = at + (uint64_t)sign_extend((i >> 5 & 0x7ffff) << 2, 21);
        unsigned reg = i & 31, opc = i >> 30;

        if (i & 0x04000000) { /* SIMD: 4, 8 or 16 bytes */
                static const uint32_t loads[] = {0xbd400000, 0xfd400000, 0x3dc00000};

                if (opc > 2)
                        return false;
                room_load(r, A64_X17, from);
                room_put(r, loads[opc] | A64_X17 << 5 | reg);
                return true;
        }
        if (opc == 3) { /* prfm: a hint */
                room_put(r, A64_NOP);
                return true;
        }
        room_load(r, A64_X17, from);
        room_put(r, (opc == 0   ? 0xb9400000u  /* ldr w */
                     : opc == 1 ? 0xf9400000u  /* ldr x */
                                : 0xb9800000u) /* ldrsw */
                            | A64_X17 << 5 | reg);
        return true;
}

/* True when nothing may follow: the instruction never goes on to the next. */
static bool move_instruction(struct room *r, uint32_t i, uint64_t at, bool *ret_can) {
        uint64_t to;

        *ret_can = true;
        if (a64_branch_target(i, at, &to)) {
                move_branch(r, i, at, to);
                return true;
        }
        if ((i & 0x1f000000) == 0x10000000) { /* adr, adrp */
                int64_t offset = sign_extend((i >> 5 & 0x7ffff) << 2 | (i >> 29 & 3), 21);
                uint64_t value = i >> 31 ? (at & ~UINT64_C(4095)) + ((uint64_t)offset << 12)
                                         : at + (uint64_t)offset;

                room_load(r, i & 31, value);
        } else if ((i & 0x3b000000) == 0x18000000) {
                *ret_can = move_literal_load(r, i, at);
        } else {
                room_put(r, i);
        }
        return false;
}

/* ---- the patch ------------------------------------------------------------------------------- */

static bool is_landing(uint32_t i) {
        return i == A64_BTI_C || i == A64_BTI_JC || i == A64_PACIASP || i == A64_PACIBSP;
}

/* A loop to the entry would be taken for a call. */
static bool is_branched_to(const struct patch_function *f, uint64_t addr) {
        uint64_t to;

        for (size_t off = 0; off + 4 <= f->n_bytes; off += 4) {
                uint32_t i = bytes_le32(f->code + off);

                /* bl: the function calls itself, which is a call */
                if ((i & 0xfc000000) != 0x94000000 && a64_branch_target(i, f->addr + off, &to) &&
                    to == addr)
                        return true;
        }
        return false;
}

static void room_finish(struct room *r, struct patch *ret) {
        if (r->n_code % 2)
                room_put(r, A64_NOP);
        for (size_t i = 0; i < r->n_literals; i++) {
                size_t code_idx = r->loads[i].code_idx;
                size_t literal_off = r->n_code * 4 + r->loads[i].literal_idx * 8;

                r->code[code_idx] |= (uint32_t)(literal_off - code_idx * 4) >> 2 << 5;
        }
        for (size_t i = 0; i < r->n_code; i++)
                buf_put_le32(ret->room + i * 4, r->code[i]);
        for (size_t i = 0; i < r->n_literals; i++)
                buf_put_le64(ret->room + r->n_code * 4 + i * 8, r->literals[i]);
        ret->n_room_bytes = r->n_code * 4 + r->n_literals * 8;
}

int patch_make_aarch64(const struct patch_function *f, const struct patch_target *to,
                       struct patch *ret, struct err *reterr) {
        struct room r = {.addr = to->room_addr};
        uint32_t entry, moved, branch;
        size_t at_off;
        bool can;

        if (f->n_bytes < 4 || f->addr % 4)
                return err_set(reterr, -ENOTSUP, "it has no complete instruction");
        entry = bytes_le32(f->code);
        at_off = is_landing(entry) ? 4 : 0;
        if (f->n_bytes < at_off + 4)
                return err_set(reterr, -ENOTSUP, "it is too short (%zu bytes)", f->n_bytes);
        ret->at = f->addr + at_off;
        if (is_branched_to(f, ret->at) || (at_off && is_branched_to(f, f->addr)))
                return err_set(reterr, -ENOTSUP, "it branches back to its entry");
        moved = bytes_le32(f->code + at_off);

        if (entry == A64_PACIASP || entry == A64_PACIBSP)
                room_put(&r, entry == A64_PACIASP ? A64_AUTIASP : A64_AUTIBSP);
        room_load(&r, A64_X17, to->argument);
        room_load(&r, A64_X16, to->hook_addr);
        room_put(&r, A64_BR_X16);

        ret->moved_addr = room_here(&r);
        if (entry == A64_PACIASP || entry == A64_PACIBSP)
                room_put(&r, entry);
        if (!move_instruction(&r, moved, ret->at, &can))
                room_branch(&r, ret->at + 4);
        if (!can)
                return err_set(reterr, -ENOTSUP, "instruction %08" PRIx32 " cannot be moved",
                               moved);
        if (r.is_out_of_reach || !branch_reaches(ret->at, to->room_addr, &branch))
                return err_set(reterr, -EFAULT,
                               "the trampoline at 0x%" PRIx64 " is out of branch range",
                               to->room_addr);
        room_finish(&r, ret);
        ret->n_bytes = 4;
        buf_put_le32(ret->before, moved);
        buf_put_le32(ret->after, branch);
        return 0;
}
