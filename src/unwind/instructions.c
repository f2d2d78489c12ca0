/* SPDX-License-Identifier: MIT */
#include "unwind/instructions.h"

#include "unwind/arch.h"

/* What is looked at may be data, and what lies before it not any variable a sanitizer knows. */
#define CODE_ANY __attribute__((no_sanitize_address))

/* A stretch of readable code: bytes are counted from begin. */
struct code {
        const uint8_t *at;
        uint64_t n_bytes;
};

/* [addr - back, addr + ahead), cut to what is readable around addr. *ret_off is addr in it. */
static bool code_around(const struct cfi_image *image, uint64_t addr, uint64_t back, uint64_t ahead,
                        struct code *ret, uint64_t *ret_off) {
        for (uint32_t i = 0; i < image->n_ranges && i < CFI_RANGES_MAX; i++) {
                const struct cfi_range *r = &image->ranges[i];

                if (!r->is_code || addr < r->begin || addr > r->end)
                        continue;
                back = back < addr - r->begin ? back : addr - r->begin;
                ahead = ahead < r->end - addr ? ahead : r->end - addr;
                *ret = (struct code){(const uint8_t *)(addr - back), back + ahead};
                *ret_off = back;
                return true;
        }
        return false;
}

bool code_can_read(const struct cfi_image *image, uint64_t addr, uint64_t size_bytes) {
        struct code c;
        uint64_t off;

        return code_around(image, addr, 0, size_bytes, &c, &off) && c.n_bytes == size_bytes;
}

#if defined(__aarch64__)

enum {
        INSN_BYTES = 4,
        PROLOGUE_INSNS = 16, /* from saving fp to setting it, and from making room to saving it */
};

CODE_ANY static uint32_t insn_at(const struct code *c, uint64_t off) {
        const uint8_t *p = c->at + off;

        return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static bool insn_is_ret(uint32_t insn) {
        return insn == 0xd65f03c0 || insn == 0xd65f0bff || insn == 0xd65f0fff; /* retaa, retab */
}

static bool insn_is_padding(uint32_t insn) {
        return insn == 0 || insn == 0xd503201f; /* udf #0, nop */
}

/* str or stp of general or of floating point registers to [sp, #-N]!: N, otherwise 0 */
static int64_t insn_pushes(uint32_t insn) {
        if ((insn & 0xbbc003e0) == 0xa98003e0) /* stp x or q */
                return -((int32_t)(insn << 10) >> 25) * (insn & 1u << 26 ? 16 : 8);
        if ((insn & 0xffc003e0) == 0x6d8003e0) /* stp d */
                return -((int32_t)(insn << 10) >> 25) * 8;
        if ((insn & 0xfbe00fe0) == 0xf8000fe0) /* str x or d */
                return -((int32_t)(insn << 11) >> 23);
        if ((insn & 0xff8003ff) == 0xd10003ff) /* sub sp, sp, #N */
                return (int64_t)(insn >> 10 & 0xfff) << (insn & 1u << 22 ? 12 : 0);
        return 0;
}

/* stp x29, x30, [sp, #off], with or without making room */
static bool insn_saves_pair(uint32_t insn) {
        return (insn & 0xffc07fff) == 0xa9807bfd || (insn & 0xffc07fff) == 0xa9007bfd;
}

/* Saves x30 on the stack, and not beside x29. */
static bool insn_saves_lr_alone(uint32_t insn) {
        if ((insn & 0xff4003e0) == 0xa90003e0) /* stp xA, xB, [sp, …], both forms */
                return ((insn & 31) == 30 || (insn >> 10 & 31) == 30) && !insn_saves_pair(insn);
        return (insn & 0xffe00fff) == 0xf8000ffe || (insn & 0xffc003ff) == 0xf90003fe;
}

CODE_ANY bool code_is_after_call(const struct cfi_image *image, uint64_t addr) {
        struct code c;
        uint64_t off;
        uint32_t insn;

        if (addr % INSN_BYTES != 0 || !code_around(image, addr, INSN_BYTES, 0, &c, &off) ||
            off < INSN_BYTES)
                return false;
        insn = insn_at(&c, 0);
        return insn >> 26 == 0x25 ||                /* bl */
               (insn & 0xfffffc1f) == 0xd63f0000 || /* blr */
               (insn & 0xfefff800) == 0xd63f0800;   /* blraa, blrab and those with no modifier */
}

bool code_never_returns(const struct cfi_image *image, uint64_t addr, uint64_t end) {
        struct code c;
        uint64_t off;

        if (addr % INSN_BYTES != 0 || end < addr || end - addr > CODE_SCAN_MAX_BYTES ||
            !code_around(image, addr, 0, end - addr, &c, &off) || c.n_bytes < end - addr)
                return false;
        for (; off + INSN_BYTES <= c.n_bytes; off += INSN_BYTES) {
                uint32_t insn = insn_at(&c, off);

                if (insn_is_ret(insn))
                        return false;
                if (insn == 0xd4000001 || (insn & 0xffe0001f) == 0xd4200000 || insn >> 16 == 0)
                        return true; /* svc #0, brk, udf */
        }
        return true;
}

/* The constant that is in register reg at off: mov, or mov and movk, right before. */
static int64_t constant_before(const struct code *c, uint64_t off, uint32_t reg) {
        uint64_t high = 0;

        for (; off >= INSN_BYTES; off -= INSN_BYTES) {
                uint32_t insn = insn_at(c, off - INSN_BYTES);

                if ((insn & 31) != reg)
                        return 0;
                if ((insn & 0xffe00000) == 0xf2a00000) /* movk xR, #N, lsl #16 */
                        high = (uint64_t)(insn >> 5 & 0xffff) << 16;
                else if ((insn & 0xffe00000) == 0xd2a00000 && high == 0) /* mov xR, #N, lsl #16 */
                        return (int64_t)(insn >> 5 & 0xffff) << 16;
                else if ((insn & 0xffe00000) == 0xd2800000) /* mov xR, #N */
                        return (int64_t)(high | (insn >> 5 & 0xffff));
                else
                        return 0;
        }
        return 0;
}

/* By how much a function lowered sp before save_off, in one step or several. */
static int64_t room_before(const struct code *c, uint64_t save_off) {
        int64_t room = 0;

        for (uint64_t i = 1; i <= PROLOGUE_INSNS && i * INSN_BYTES <= save_off; i++) {
                uint64_t off = save_off - i * INSN_BYTES;
                uint32_t insn = insn_at(c, off);

                if (insn_is_ret(insn) || insn_is_padding(insn) || insn >> 26 == 0x05 ||
                    insn >> 26 == 0x25) /* b, bl: not this function's */
                        break;
                room += insn_pushes(insn);
                if ((insn & 0xffe0ffff) == 0xcb2063ff) /* sub sp, sp, xR */
                        room += constant_before(c, off, insn >> 16 & 31);
        }
        return room;
}

/* fp saved at save_off in c: where the CFA is from fp, or 0. */
static int64_t cfa_from_fp(const struct code *c, uint64_t save_off, uint64_t key_off) {
        uint32_t save = insn_at(c, save_off);
        int64_t pair_off = ((int32_t)(save << 10) >> 25) * 8, room = 0; /* of the pair, from sp */

        if (insn_pushes(save)) {
                room = -pair_off;
                pair_off = 0;
        } else {
                room = room_before(c, save_off);
        }
        if (room == 0)
                return 0;
        for (uint64_t i = 1; i <= PROLOGUE_INSNS && save_off + i * INSN_BYTES < key_off; i++) {
                uint32_t insn = insn_at(c, save_off + i * INSN_BYTES);

                if ((insn & 0xffc003ff) == 0x910003fd) /* add x29, sp, #K, which is mov at 0 */
                        return (int64_t)(insn >> 10 & 0xfff) == pair_off ? room - pair_off : 0;
                if (insn_is_ret(insn) || insn_pushes(insn))
                        return 0;
        }
        return 0;
}

/* Upwards from the call to the nearest place where x29 and x30 are saved. On the way must be neither
 * another way to save x30 nor the end of a function. */
row_t code_row_inside(const struct cfi_image *image, uint64_t key) {
        struct cfi_answer other;
        struct code c;
        uint64_t key_off;

        if (!code_around(image, key & ~(uint64_t)(INSN_BYTES - 1), CODE_SCAN_MAX_BYTES, 0, &c,
                         &key_off))
                return ROW_NO_CFI;
        for (uint64_t off = key_off; off >= INSN_BYTES; off -= INSN_BYTES) {
                uint64_t at = off - INSN_BYTES;
                uint32_t insn = insn_at(&c, at);
                int64_t cfa_off;

                if (insn_saves_lr_alone(insn) ||
                    (insn_is_ret(insn) && off < key_off && insn_is_padding(insn_at(&c, off))))
                        return ROW_NO_CFI;
                if (!insn_saves_pair(insn))
                        continue;
                cfa_off = cfa_from_fp(&c, at, key_off);
                if (cfa_off <= 0 || cfa_off % ARCH_STACK_ALIGN != 0 ||
                    cfi_find(image, (uint64_t)c.at + at, &other) == 0)
                        return ROW_NO_CFI;
                return row_make(ROW_BASE_FP | ROW_FP_SAVED, cfa_off, 8 - cfa_off, -cfa_off);
        }
        return ROW_NO_CFI;
}

#elif defined(__x86_64__)

enum {
        CALL_MAX_BYTES = 7,
        PUSH_TO_MOV_BYTES = 16, /* between push %rbp and mov %rsp, %rbp other instructions may be */
        FUNCTION_ALIGN = 16,
};

/* call *…: opcode ff /2 and what its operand takes. */
CODE_ANY static bool is_indirect_call(const uint8_t *p, uint64_t n_bytes) {
        uint8_t mod = p[1] >> 6, rm = p[1] & 7;
        uint64_t size = 2;

        if (p[0] != 0xff || (p[1] >> 3 & 7) != 2)
                return false;
        if (mod != 3 && rm == 4)
                size++; /* sib */
        if (mod == 1)
                size += 1;
        else if (mod == 2 || (mod == 0 && rm == 5) ||
                 (mod == 0 && rm == 4 && n_bytes > 2 && (p[2] & 7) == 5))
                size += 4;
        return size == n_bytes;
}

CODE_ANY bool code_is_after_call(const struct cfi_image *image, uint64_t addr) {
        struct code c;
        uint64_t off;

        if (!code_around(image, addr, CALL_MAX_BYTES, 0, &c, &off))
                return false;
        if (off >= 5 && c.at[off - 5] == 0xe8)
                return true;
        for (uint64_t n = 2; n <= CALL_MAX_BYTES && n <= off; n++)
                if (is_indirect_call(c.at + off - n, n))
                        return true;
        return false;
}

bool code_never_returns(const struct cfi_image *image, uint64_t addr, uint64_t end) {
        struct code c;
        uint64_t off;

        if (end < addr || end - addr > CODE_SCAN_MAX_BYTES ||
            !code_around(image, addr, 0, end - addr, &c, &off) || c.n_bytes < end - addr)
                return false;
        for (; off < c.n_bytes; off++) {
                uint8_t next = off + 1 < c.n_bytes ? c.at[off + 1] : 0;

                if (c.at[off] == 0xc3 || c.at[off] == 0xc2) /* ret */
                        return false;
                if (c.at[off] == 0xf4 || (c.at[off] == 0x0f && (next == 0x05 || next == 0x0b)))
                        return true; /* hlt; syscall (exit), ud2 */
        }
        return true;
}

/* The no-operation of any length at p: its size, or 0. */
static uint64_t nop_bytes(const uint8_t *p, uint64_t n_bytes) {
        static const uint8_t operand_bytes[4] = {0, 1, 4, 0};
        uint64_t i = 0, size;

        while (i < n_bytes && (p[i] == 0x66 || p[i] == 0x2e))
                i++;
        if (i < n_bytes && p[i] == 0x90)
                return i + 1;
        if (i + 2 >= n_bytes || p[i] != 0x0f || p[i + 1] != 0x1f)
                return 0;
        size = i + 3 + ((p[i + 2] & 7) == 4) + operand_bytes[p[i + 2] >> 6];
        return size <= n_bytes ? size : 0;
}

/* Does a function end before off, and another begin behind some padding? A function that sets up rbp
 * ends with pop %rbp or leave, and ret; behind that, or a jump, linkers put int3 and compilers
 * no-operations up to the next one. (Compilers align places to jump to with no-operations, too:
 * then a function is taken for two.) */
static bool is_end_of_function(const struct code *c, uint64_t off, uint64_t *ret_next) {
        const uint8_t *end = c->at + off;
        bool is_after_ret = off >= 2 && end[-1] == 0xc3 && (end[-2] == 0x5d || end[-2] == 0xc9);
        uint64_t begin = off, n;

        /* not in the middle of 0xcccc…cd, by which compilers divide by 5 and 10 */
        if (!is_after_ret && (end[0] != 0xcc || end[-1] == 0xcc || end[-1] == 0xcd))
                return false;
        for (; off < c->n_bytes && ((uint64_t)c->at + off) % FUNCTION_ALIGN != 0; off += n) {
                n = c->at[off] == 0xcc ? 1
                    : is_after_ret     ? nop_bytes(c->at + off, c->n_bytes - off)
                                       : 0;
                if (n == 0)
                        return false;
        }
        *ret_next = off;
        return off < c->n_bytes && c->at[off] != 0xcc && off - begin >= (is_after_ret ? 1 : 2);
}

/* push %rbp, and mov %rsp, %rbp at once; at the beginning of a function also somewhat later */
static bool is_prologue(const struct code *c, uint64_t off, uint64_t key_off) {
        static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
        uint64_t addr = (uint64_t)c->at + off, n = 1;

        if (c->at[off] != 0x55)
                return false;
        if (addr % FUNCTION_ALIGN == 0 ||
            (addr % FUNCTION_ALIGN == 4 && off >= 4 &&
             arch_bytes_equal(c->at + off - 4, endbr64, sizeof(endbr64))))
                n = PUSH_TO_MOV_BYTES;
        for (uint64_t i = off + 1; i <= off + n && i + 3 <= key_off; i++)
                if (c->at[i] == 0x48 && ((c->at[i + 1] == 0x89 && c->at[i + 2] == 0xe5) ||
                                         (c->at[i + 1] == 0x8b && c->at[i + 2] == 0xec)))
                        return true;
        return false;
}

/* Upwards from the call to the nearest place where rbp is set up. No function may end between. */
row_t code_row_inside(const struct cfi_image *image, uint64_t key) {
        struct cfi_answer other;
        struct code c;
        uint64_t key_off, off, next;

        if (!code_around(image, key, CODE_SCAN_MAX_BYTES, 0, &c, &key_off))
                return ROW_NO_CFI;
        for (off = key_off; off > 0 && !is_prologue(&c, off - 1, key_off); off--)
                if (off < key_off && is_end_of_function(&c, off, &next) && next < key_off)
                        return ROW_NO_CFI;
        if (off == 0 || cfi_find(image, (uint64_t)c.at + off - 1, &other) == 0)
                return ROW_NO_CFI;
        return row_make(ROW_BASE_FP | ROW_FP_SAVED, 16, -8, -16);
}

#endif

row_t code_row(const struct cfi_image *image, uint64_t key) {
        return code_is_after_call(image, key + 1) ? code_row_inside(image, key) : ROW_NO_CFI;
}
