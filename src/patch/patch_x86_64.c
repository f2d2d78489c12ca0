/* SPDX-License-Identifier: MIT */
/* At least five bytes of whole instructions make room for a jmp. An `endbr64` at the entry stays. At a function's entry no
 * register is free, and none is needed: what is relative to the place stays so, with another distance. */
#include <Zydis/Zydis.h>

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "patch/patch_machine.h"

enum { X64_JMP_BYTES = 5, X64_ENDBR_BYTES = 4, X64_MAX_LITERALS = 1 };

static const uint8_t endbr64[X64_ENDBR_BYTES] = {0xf3, 0x0f, 0x1e, 0xfa};

struct decoded {
        ZydisDecodedInstruction instruction;
        ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

static bool x64_decode(const uint8_t *code, size_t n_bytes, struct decoded *ret) {
        ZydisDecoder decoder;

        return ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64,
                                             ZYDIS_STACK_WIDTH_64)) &&
               ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, n_bytes, &ret->instruction,
                                                   ret->operands));
}

size_t patch_count_padding_x86_64(const uint8_t *code, size_t n_bytes) {
        size_t off = 0;
        struct decoded d;

        while (off < n_bytes && x64_decode(code + off, n_bytes - off, &d) &&
               (d.instruction.mnemonic == ZYDIS_MNEMONIC_NOP ||
                d.instruction.mnemonic == ZYDIS_MNEMONIC_INT3))
                off += d.instruction.length;
        return off;
}

/* Where a direct branch or call at `at` goes; false: it is none. */
static bool x64_branch_target(const struct decoded *d, uint64_t at, uint64_t *ret) {
        const ZydisDecodedInstruction *i = &d->instruction;

        if (!i->raw.imm[0].is_relative)
                return false;
        *ret = at + i->length + (uint64_t)i->raw.imm[0].value.s;
        return true;
}

/* ---- writing into the room ------------------------------------------------------------------- */

struct room {
        uint64_t addr;
        uint8_t *bytes;
        size_t n;
        size_t literal_at; /* of a distance that leads to the literal; 0: none */
        uint64_t literal;
        bool is_out_of_reach;
};

static uint64_t room_here(const struct room *r) {
        return r->addr + r->n;
}

static void room_put(struct room *r, const void *bytes, size_t n) {
        memcpy(r->bytes + r->n, bytes, n);
        r->n += n;
}

static void room_byte(struct room *r, uint8_t byte) {
        r->bytes[r->n++] = byte;
}

/* Four bytes at the end of an instruction: how far it is from behind them to `to`. */
static void room_distance(struct room *r, uint64_t to) {
        int64_t distance = (int64_t)(to - (room_here(r) + 4));

        if (distance != (int32_t)distance)
                r->is_out_of_reach = true;
        buf_put_le32(r->bytes + r->n, (uint32_t)distance);
        r->n += 4;
}

static void room_jump(struct room *r, uint64_t to) {
        room_byte(r, 0xe9);
        room_distance(r, to);
}

/* ---- moving ---------------------------------------------------------------------------------- */

/* False: an instruction that cannot be moved. */
static bool move_branch(struct room *r, const struct decoded *d, uint64_t at, uint64_t to) {
        const ZydisDecodedInstruction *i = &d->instruction;

        if (i->mnemonic == ZYDIS_MNEMONIC_CALL) {
                /* it comes back to where it would have, so that a walk of the stack sees the function */
                room_byte(r, 0xff); /* push [rip + …] */
                room_byte(r, 0x35);
                r->literal_at = r->n;
                r->literal = at + i->length;
                r->n += 4;
                room_jump(r, to);
        } else if (i->mnemonic == ZYDIS_MNEMONIC_JMP) {
                room_jump(r, to);
        } else if (i->meta.category == ZYDIS_CATEGORY_COND_BR &&
                   ((i->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && (i->opcode & 0xf0) == 0x70) ||
                    (i->opcode_map == ZYDIS_OPCODE_MAP_0F && (i->opcode & 0xf0) == 0x80))) {
                room_byte(r, 0x0f);
                room_byte(r, 0x80 | (i->opcode & 0x0f));
                room_distance(r, to);
        } else {
                return false; /* loop, jrcxz, xbegin: only ever a byte's distance, or something odd */
        }
        return true;
}

/* An operand relative to the instruction: the same place, seen from the room. */
static void move_relative(struct room *r, const struct decoded *d, const uint8_t *code,
                          uint64_t at) {
        const ZydisDecodedInstruction *i = &d->instruction;
        size_t begin = r->n;
        int64_t distance = i->raw.disp.value + (int64_t)(at - (r->addr + begin));

        room_put(r, code, i->length);
        if (distance != (int32_t)distance)
                r->is_out_of_reach = true;
        buf_put_le32(r->bytes + begin + i->raw.disp.offset, (uint32_t)distance);
}

static bool move_instruction(struct room *r, const struct decoded *d, const uint8_t *code,
                             uint64_t at) {
        uint64_t to;

        if (x64_branch_target(d, at, &to))
                return move_branch(r, d, at, to);
        if (d->instruction.attributes & ZYDIS_ATTRIB_IS_RELATIVE) {
                if (d->instruction.raw.disp.size != 32)
                        return false;
                move_relative(r, d, code, at);
        } else {
                room_put(r, code, d->instruction.length);
        }
        return true;
}

/* ---- the patch ------------------------------------------------------------------------------- */

/* Does the function branch to where the jmp and what it covers will be? Calls of itself are calls. */
static int x64_check_branches(const struct patch_function *f, uint64_t at, size_t n_bytes,
                              struct err *reterr) {
        for (size_t off = 0; off < f->n_bytes;) {
                struct decoded d;
                uint64_t to;

                if (!x64_decode(f->code + off, f->n_bytes - off, &d))
                        return err_set(reterr, -ENOTSUP, "it cannot be decoded at +0x%zx", off);
                if (x64_branch_target(&d, f->addr + off, &to) &&
                    ((to >= at && to < at + n_bytes) || to == f->addr) &&
                    !(to == f->addr && d.instruction.mnemonic == ZYDIS_MNEMONIC_CALL))
                        return err_set(reterr, -ENOTSUP, "it branches back to its entry");
                off += d.instruction.length;
        }
        return 0;
}

/* push [rip + …]; jmp [rip + …]: no register is free. */
static void put_thunk(struct room *r, const struct patch_target *to) {
        static const uint8_t code[] = {0xff, 0x35, 10, 0, 0,    0,    0xff, 0x25,
                                       12,   0,    0,  0, 0xcc, 0xcc, 0xcc, 0xcc};

        room_put(r, code, sizeof(code));
        buf_put_le64(r->bytes + r->n, to->argument);
        buf_put_le64(r->bytes + r->n + 8, to->hook_addr);
        r->n += 16;
}

/* Moves whole instructions until a jmp has room; returns how many bytes they are, or a negative errno. */
static int move_entry(const struct patch_function *f, size_t at_off, struct room *r,
                      struct err *reterr) {
        size_t code_bytes = f->n_bytes + f->padding_bytes, off = at_off;

        while (off - at_off < X64_JMP_BYTES) {
                struct decoded d;

                if (off >= code_bytes)
                        return err_set(reterr, -ENOTSUP, "it is too short (%zu bytes)", f->n_bytes);
                if (!x64_decode(f->code + off, code_bytes - off, &d))
                        return err_set(reterr, -ENOTSUP, "it cannot be decoded at +0x%zx", off);
                if (!move_instruction(r, &d, f->code + off, f->addr + off))
                        return err_set(reterr, -ENOTSUP, "%s at +0x%zx cannot be moved",
                                       ZydisMnemonicGetString(d.instruction.mnemonic), off);
                off += d.instruction.length;
                if (d.instruction.mnemonic == ZYDIS_MNEMONIC_CALL && r->literal_at &&
                    off - at_off < X64_JMP_BYTES)
                        return err_set(reterr, -ENOTSUP, "its first bytes contain a call");
        }
        room_jump(r, f->addr + off);
        return (int)(off - at_off);
}

int patch_make_x86_64(const struct patch_function *f, const struct patch_target *to,
                      struct patch *ret, struct err *reterr) {
        struct room r = {.addr = to->room_addr, .bytes = ret->room};
        size_t at_off = f->n_bytes >= X64_ENDBR_BYTES && !memcmp(f->code, endbr64, X64_ENDBR_BYTES)
                                ? X64_ENDBR_BYTES
                                : 0;
        int n_bytes, x;

        ret->at = f->addr + at_off;
        put_thunk(&r, to);
        ret->moved_addr = room_here(&r);
        n_bytes = move_entry(f, at_off, &r, reterr);
        if (n_bytes < 0)
                return n_bytes;
        x = x64_check_branches(f, ret->at, (size_t)n_bytes, reterr);
        if (x < 0)
                return x;
        if (r.literal_at) {
                while (r.n % 8)
                        room_byte(&r, 0xcc);
                buf_put_le32(r.bytes + r.literal_at, (uint32_t)(r.n - (r.literal_at + 4)));
                buf_put_le64(r.bytes + r.n, r.literal);
                r.n += 8;
        }
        ret->n_room_bytes = r.n;
        ret->n_bytes = (uint8_t)n_bytes;
        memcpy(ret->before, f->code + at_off, (size_t)n_bytes);
        ret->after[0] = 0xe9;
        buf_put_le32(ret->after + 1, (uint32_t)(to->room_addr - (ret->at + X64_JMP_BYTES)));
        memset(ret->after + X64_JMP_BYTES, 0x90, (size_t)n_bytes - X64_JMP_BYTES);
        if (r.is_out_of_reach)
                return err_set(reterr, -EFAULT,
                               "the trampoline at 0x%" PRIx64 " is out of branch range",
                               to->room_addr);
        return 0;
}
