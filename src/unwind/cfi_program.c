/* SPDX-License-Identifier: MIT */
/* The call frame virtual machine. Of all registers a walk needs three: the return address, the
 * frame pointer and the stack pointer; rules for others are read and dropped. */

#include "unwind/cfi_program.h"

#include "unwind/arch.h"
#include "unwind/cfi.h"

enum rule_kind {
        RULE_UNSET = 0, /* unspecified or same value: the register still holds it */
        RULE_UNDEFINED,
        RULE_AT_CFA,      /* saved at CFA + off */
        RULE_IS_CFA,      /* its value is CFA + off */
        RULE_AT_FP,       /* saved at fp + off: written as an expression where the CFA is, too */
        RULE_UNSUPPORTED, /* in another register, or an expression */
};

struct rule {
        enum rule_kind kind;
        int64_t off;
};

enum cfa_kind { CFA_UNSET = 0, CFA_REG, CFA_AT_FP, CFA_UNSUPPORTED };

struct columns {
        enum cfa_kind cfa_kind;
        uint64_t cfa_reg;
        int64_t cfa_off;
        struct rule ra, fp, sp;
};

enum { SAVED_MAX = 8 }; /* compilers nest remember_state once */

struct machine {
        const struct cfi_cie *cie;
        uint64_t pc;  /* the pc a row is wanted for */
        uint64_t loc; /* the pc the instructions have reached */
        bool failed;
        struct columns now, initial;
        struct columns saved[SAVED_MAX];
        uint32_t n_saved;
};

/* DW_CFA_*; the first three carry an operand in their low six bits. */
enum {
        OP_ADVANCE_LOC = 0x40,
        OP_OFFSET = 0x80,
        OP_RESTORE = 0xc0,
        OP_NOP = 0x00,
        OP_SET_LOC = 0x01,
        OP_ADVANCE_LOC1 = 0x02,
        OP_ADVANCE_LOC2 = 0x03,
        OP_ADVANCE_LOC4 = 0x04,
        OP_OFFSET_EXTENDED = 0x05,
        OP_RESTORE_EXTENDED = 0x06,
        OP_UNDEFINED = 0x07,
        OP_SAME_VALUE = 0x08,
        OP_REGISTER = 0x09,
        OP_REMEMBER_STATE = 0x0a,
        OP_RESTORE_STATE = 0x0b,
        OP_DEF_CFA = 0x0c,
        OP_DEF_CFA_REGISTER = 0x0d,
        OP_DEF_CFA_OFFSET = 0x0e,
        OP_DEF_CFA_EXPRESSION = 0x0f,
        OP_EXPRESSION = 0x10,
        OP_OFFSET_EXTENDED_SF = 0x11,
        OP_DEF_CFA_SF = 0x12,
        OP_DEF_CFA_OFFSET_SF = 0x13,
        OP_VAL_OFFSET = 0x14,
        OP_VAL_OFFSET_SF = 0x15,
        OP_VAL_EXPRESSION = 0x16,
        OP_ADVANCE_LOC8 = 0x1d,
        OP_NEGATE_RA_STATE_WITH_PC = 0x2c,
        OP_NEGATE_RA_STATE = 0x2d,
        OP_ARGS_SIZE = 0x2e,
        OP_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

/* The DW_OP_* that occur below. */
enum { DWOP_DEREF = 0x06, DWOP_BREG0 = 0x70 };

static struct rule *column_of(struct machine *m, struct columns *c, uint64_t reg) {
        if (reg == m->cie->ra_reg)
                return &c->ra;
        if (reg == ARCH_REG_FP)
                return &c->fp;
        if (reg == ARCH_REG_SP)
                return &c->sp;
        return NULL;
}

static void set_rule(struct machine *m, uint64_t reg, enum rule_kind kind, int64_t off) {
        struct rule *r = column_of(m, &m->now, reg);

        if (r)
                *r = (struct rule){kind, off};
}

static void restore_rule(struct machine *m, uint64_t reg) {
        struct rule *r = column_of(m, &m->now, reg);

        if (r)
                *r = *column_of(m, &m->initial, reg);
}

static int64_t factored(struct machine *m, int64_t n) {
        int64_t off;

        if (__builtin_mul_overflow(n, m->cie->data_align, &off)) {
                m->failed = true;
                return 0;
        }
        return off;
}

static void advance(struct machine *m, uint64_t n) {
        uint64_t step;

        if (__builtin_mul_overflow(n, m->cie->code_align, &step) ||
            __builtin_add_overflow(m->loc, step, &m->loc))
                m->failed = true;
}

static struct cfi_bytes take_block(struct cfi_bytes *b) {
        uint64_t len = cfi_bytes_uleb(b);
        struct cfi_bytes block = {.at = b->at, .end = b->at};

        cfi_bytes_skip(b, len);
        if (b->bad)
                block.bad = true;
        else
                block.end = block.at + len;
        return block;
}

/* DW_OP_breg<fp> off: where a function that realigned its stack saved rbp, and with a deref after
 * it where it saved its CFA (gcc's "dynamic realign argument pointer"). */
static bool is_fp_based(struct cfi_bytes *e, int64_t *ret_off) {
        if (cfi_bytes_u8(e) != DWOP_BREG0 + ARCH_REG_FP)
                return false;
        *ret_off = cfi_bytes_sleb(e);
        return !e->bad;
}

#if defined(__x86_64__)
/* What the linker writes for .plt, where a stub's first instructions push once or not at all:
 *     rsp + 8 + ((rip & 15) >= n) * 8 */
static bool is_plt(struct cfi_bytes *e, uint64_t pc, int64_t *ret_off) {
        static const uint8_t before[] = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a};
        static const uint8_t after[] = {0x2a, 0x33, 0x24, 0x22};
        const uint8_t *p = e->at;

        if (cfi_bytes_left(e) != sizeof(before) + 1 + sizeof(after) ||
            !arch_bytes_equal(p, before, sizeof(before)) ||
            !arch_bytes_equal(p + sizeof(before) + 1, after, sizeof(after)) || p[6] < 0x30 ||
            p[6] > 0x3f)
                return false;
        *ret_off = 8 + ((pc & 15) >= (uint64_t)(p[6] - 0x30) ? 8 : 0);
        return true;
}
#endif

static void def_cfa_expression(struct machine *m, struct cfi_bytes e) {
        struct columns *c = &m->now;
        struct cfi_bytes rest = e;

#if defined(__x86_64__)
        if (is_plt(&e, m->pc, &c->cfa_off)) {
                c->cfa_kind = CFA_REG;
                c->cfa_reg = ARCH_REG_SP;
                return;
        }
#endif
        if (is_fp_based(&rest, &c->cfa_off) && cfi_bytes_u8(&rest) == DWOP_DEREF &&
            cfi_bytes_left(&rest) == 0)
                c->cfa_kind = CFA_AT_FP;
        else
                c->cfa_kind = CFA_UNSUPPORTED;
}

static void rule_expression(struct machine *m, uint64_t reg, struct cfi_bytes e) {
        int64_t off;

        if (is_fp_based(&e, &off) && cfi_bytes_left(&e) == 0)
                set_rule(m, reg, RULE_AT_FP, off);
        else
                set_rule(m, reg, RULE_UNSUPPORTED, 0);
}

static void def_cfa(struct machine *m, uint64_t reg, int64_t off) {
        m->now.cfa_kind = CFA_REG;
        m->now.cfa_reg = reg;
        m->now.cfa_off = off;
}

static void remember_state(struct machine *m) {
        if (m->n_saved == SAVED_MAX)
                m->failed = true;
        else
                m->saved[m->n_saved++] = m->now;
}

static void restore_state(struct machine *m) {
        if (m->n_saved == 0)
                m->failed = true;
        else
                m->now = m->saved[--m->n_saved];
}

/* Instructions about where the CFA is and how far the code has come. False: not one of them. */
static bool run_location(struct machine *m, uint8_t op, struct cfi_bytes *b) {
        uint64_t reg;

        switch (op) {
        case OP_NOP: break;
        case OP_SET_LOC: m->loc = cfi_bytes_pointer(b, m->cie->fde_enc, 0); break;
        case OP_ADVANCE_LOC1: advance(m, cfi_bytes_u8(b)); break;
        case OP_ADVANCE_LOC2: advance(m, cfi_bytes_u16(b)); break;
        case OP_ADVANCE_LOC4: advance(m, cfi_bytes_u32(b)); break;
        case OP_ADVANCE_LOC8: advance(m, cfi_bytes_u64(b)); break;
        case OP_REMEMBER_STATE: remember_state(m); break;
        case OP_RESTORE_STATE: restore_state(m); break;
        case OP_DEF_CFA:
                reg = cfi_bytes_uleb(b);
                def_cfa(m, reg, (int64_t)cfi_bytes_uleb(b));
                break;
        case OP_DEF_CFA_SF:
                reg = cfi_bytes_uleb(b);
                def_cfa(m, reg, factored(m, cfi_bytes_sleb(b)));
                break;
        /* these two keep the other half; after an expression there is none to keep */
        case OP_DEF_CFA_REGISTER:
                m->now.cfa_reg = cfi_bytes_uleb(b);
                m->failed |= m->now.cfa_kind != CFA_REG;
                break;
        case OP_DEF_CFA_OFFSET:
                m->now.cfa_off = (int64_t)cfi_bytes_uleb(b);
                m->failed |= m->now.cfa_kind != CFA_REG;
                break;
        case OP_DEF_CFA_OFFSET_SF:
                m->now.cfa_off = factored(m, cfi_bytes_sleb(b));
                m->failed |= m->now.cfa_kind != CFA_REG;
                break;
        case OP_DEF_CFA_EXPRESSION: def_cfa_expression(m, take_block(b)); break;
        default: return false;
        }
        return true;
}

/* Instructions about one register, whose number comes first. False: not one of them. */
static bool run_rule(struct machine *m, uint8_t op, struct cfi_bytes *b) {
        uint64_t reg = cfi_bytes_uleb(b);

        switch (op) {
        case OP_OFFSET_EXTENDED:
                set_rule(m, reg, RULE_AT_CFA, factored(m, (int64_t)cfi_bytes_uleb(b)));
                break;
        case OP_OFFSET_EXTENDED_SF:
                set_rule(m, reg, RULE_AT_CFA, factored(m, cfi_bytes_sleb(b)));
                break;
        case OP_NEGATIVE_OFFSET_EXTENDED:
                set_rule(m, reg, RULE_AT_CFA,
                         (int64_t)(0 - (uint64_t)factored(m, (int64_t)cfi_bytes_uleb(b))));
                break;
        case OP_VAL_OFFSET:
                set_rule(m, reg, RULE_IS_CFA, factored(m, (int64_t)cfi_bytes_uleb(b)));
                break;
        case OP_VAL_OFFSET_SF: set_rule(m, reg, RULE_IS_CFA, factored(m, cfi_bytes_sleb(b))); break;
        case OP_RESTORE_EXTENDED: restore_rule(m, reg); break;
        case OP_UNDEFINED: set_rule(m, reg, RULE_UNDEFINED, 0); break;
        case OP_SAME_VALUE: set_rule(m, reg, RULE_UNSET, 0); break;
        case OP_REGISTER:
                cfi_bytes_uleb(b);
                set_rule(m, reg, RULE_UNSUPPORTED, 0);
                break;
        case OP_EXPRESSION: rule_expression(m, reg, take_block(b)); break;
        case OP_VAL_EXPRESSION:
                take_block(b);
                set_rule(m, reg, RULE_UNSUPPORTED, 0);
                break;
        case OP_ARGS_SIZE: break; /* its one operand was read as the register */
        default: return false;
        }
        return true;
}

static void run_one(struct machine *m, struct cfi_bytes *b) {
        uint8_t op = cfi_bytes_u8(b);

        switch (op & 0xc0) {
        case OP_ADVANCE_LOC: advance(m, op & 0x3f); return;
        case OP_OFFSET:
                set_rule(m, op & 0x3f, RULE_AT_CFA, factored(m, (int64_t)cfi_bytes_uleb(b)));
                return;
        case OP_RESTORE: restore_rule(m, op & 0x3f); return;
        default: break;
        }
        /* Whether the saved return address is signed does not matter: a walk strips it always. */
        if (ARCH_HAS_LR && (op == OP_NEGATE_RA_STATE || op == OP_NEGATE_RA_STATE_WITH_PC))
                return;
        if (!run_location(m, op, b) && !run_rule(m, op, b))
                m->failed = true;
}

/* Runs until an instruction moves past the wanted pc; those that move change nothing else. */
static void run(struct machine *m, struct cfi_bytes b) {
        while (b.at < b.end && !m->failed && m->loc <= m->pc) {
                run_one(m, &b);
                m->failed |= b.bad;
        }
}

static row_t pack_realigned(const struct columns *c) {
        if (c->ra.kind != RULE_AT_CFA || c->fp.kind != RULE_AT_FP)
                return ROW_NO_CFI;
        return row_make(ROW_DEREF | ROW_BASE_FP | ROW_FP_SAVED, c->cfa_off, c->ra.off, c->fp.off);
}

static row_t pack(const struct machine *m) {
        const struct columns *c = &m->now;
        unsigned flags = 0;
        int64_t ra_off = 0, fp_off = 0;

        if (m->cie->is_signal)
                return ROW_SIGNAL_FRAME;
        if (c->ra.kind == RULE_UNDEFINED)
                return ROW_END;
        /* the caller's sp is the CFA, said or unsaid; any other rule is beyond a row */
        if (c->sp.kind != RULE_UNSET && !(c->sp.kind == RULE_IS_CFA && c->sp.off == 0))
                return ROW_NO_CFI;
        if (c->cfa_kind == CFA_AT_FP)
                return pack_realigned(c);
        if (c->cfa_kind != CFA_REG)
                return ROW_NO_CFI;
        if (c->cfa_reg == ARCH_REG_FP)
                flags |= ROW_BASE_FP;
        else if (c->cfa_reg != ARCH_REG_SP)
                return ROW_NO_CFI;

        if (c->ra.kind == RULE_AT_CFA)
                ra_off = c->ra.off;
        else if (c->ra.kind == RULE_UNSET && ARCH_HAS_LR && m->cie->ra_reg == ARCH_REG_RA)
                flags |= ROW_RA_LR;
        else
                return ROW_NO_CFI;

        if (c->fp.kind == RULE_AT_CFA) {
                flags |= ROW_FP_SAVED;
                fp_off = c->fp.off;
        } else if (c->fp.kind != RULE_UNSET && c->fp.kind != RULE_UNDEFINED) {
                return ROW_NO_CFI;
        }
        return row_make(flags, c->cfa_off, ra_off, fp_off);
}

row_t cfi_program_run(const struct cfi_cie *cie, struct cfi_bytes fde_program, uint64_t fde_begin,
                      uint64_t pc) {
        struct machine m;

        if (cfi_bytes_left(&cie->program) + cfi_bytes_left(&fde_program) > CFI_PROGRAM_MAX_BYTES)
                return ROW_NO_CFI;
        /* saved[] is written before it is read: no need to clear it for every row */
        m.cie = cie;
        m.pc = pc;
        m.loc = fde_begin;
        m.failed = false;
        m.n_saved = 0;
        m.now = (struct columns){0};
        m.initial = m.now;
        run(&m, cie->program);
        m.initial = m.now;
        run(&m, fde_program);
        return m.failed ? ROW_NO_CFI : pack(&m);
}
