/* SPDX-License-Identifier: MIT */
/* The steps of src/unwind/step.c, over a copy. What differs: no word that is read can do harm, so a walk need not know where
 * a stack ends; and the innermost frame was interrupted anywhere, so that its pc is exact and its lr counts. */

#include "remote/remote_walk.h"

#include <errno.h>

#include "remote/remote_code.h"
#include "remote/remote_mappings.h"
#include "remote/remote_memory.h"
#include "unwind/arch.h"
#include "unwind/row.h"

enum {
        STEP_MAX_BYTES = 64 << 20,  /* largest frame believed in without a second look */
        GUESS_MAX_BYTES = 1 << 20,  /* the same where there is no CFI to say so */
        FIND_MAX_BYTES = 16 << 10,  /* a frame whose fp is looked for */
        SWITCH_MAX_BYTES = 4 << 10, /* slots of a frame that changed stacks are near its fp */
        SWITCHES_MAX = 16,          /* in a walk: a stack may lead back into itself */
        MADE_MAX = 128,             /* frames of code made at run time, one after the other */
        ROOT_MAX_BYTES = 512,       /* looked at above what may be the root of a stack */
        CODE_MIN = 64 << 10,        /* no code lies below */
        LAZY_ALIGN = 64,
        LAZY_MIN_BYTES =
                0x240, /* of state that the loader saves: 64 of its own, and what every processor has */
        LAZY_MAX_BYTES = 16 << 10,
        LAZY_NUMBER_MAX = 1 << 20,
        STEPS_MAX = 1 << 16, /* beyond the frames that there is room for */
};
#define WIDE_MAX_BYTES (UINT64_C(4) << 30) /* the largest frame at all */

enum step { STEP_OK, STEP_END, STEP_LOST };

struct walk {
        struct remote_space *space;
        struct remote_memory memory;
        uint64_t pc, sp, fp, lr;
        bool is_exact;       /* interrupted: pc is no return address, lr counts */
        bool is_blind;       /* after a frame pointer step on aarch64: sp is a lower bound */
        bool is_wild;        /* passed a signal frame or a guess: fp is no longer beyond doubt */
        bool has_guessed;    /* trusted a frame pointer without CFI */
        bool is_fp_unknown;  /* until a frame is found that saved it */
        uint32_t n_switches; /* times the walk went to another stack */
        uint64_t made_until; /* frame records up to here lead to code in a known file */
};

static bool word_at(struct walk *w, uint64_t addr, uint64_t *ret) {
        return remote_memory_word(&w->memory, addr, ret);
}

/* In a file whose tables are known. */
static bool is_known_code(struct walk *w, uint64_t addr) {
        const struct remote_mapping *m = remote_space_at(w->space, addr);

        return m && m->module;
}

static void set_caller(struct walk *w, uint64_t ra, uint64_t sp, uint64_t fp) {
        w->pc = arch_strip(ra);
        w->sp = sp;
        w->fp = fp;
        w->is_exact = w->is_blind = false;
}

/* ---- the root ----------------------------------------------------------------------------- */

static bool is_return_address(struct walk *w, uint64_t addr) {
        const struct remote_mapping *m;

        if (addr < CODE_MIN || addr >> ARCH_USER_BITS != 0)
                return false;
        m = remote_space_at(w->space, addr - 1);
        return m && m->module && remote_file_is_after_call(m->known->file, addr - m->module->bias);
}

/* Nothing above the root of a stack was called from anywhere. So it is none if one of the next words is a return address:
 * the row was wrong, and 0 was read from where none is. */
static enum step at_zero(struct walk *w, uint64_t cfa) {
        uint64_t word;

        for (uint64_t slot = cfa; slot < cfa + ROOT_MAX_BYTES && word_at(w, slot, &word); slot += 8)
                if (is_return_address(w, arch_strip(word)))
                        return STEP_LOST;
        w->memory.is_cut = false; /* the stack may end before the words that were looked for */
        return STEP_END;
}

static enum step leave_to(struct walk *w, uint64_t ra, uint64_t cfa, uint64_t fp) {
        if (ra == 0)
                return at_zero(w, cfa);
        set_caller(w, ra, cfa, fp);
        return STEP_OK;
}

/* ---- frames without tables ---------------------------------------------------------------- */

static bool can_be_record(const struct walk *w, uint64_t sp, uint64_t fp) {
        return fp % ARCH_STACK_ALIGN == 0 && fp - sp <= GUESS_MAX_BYTES;
}

/* A return address in no file: code made at run time, or no code at all. Compilers at run time keep frame pointers, and C
 * code called theirs: records that lead, one above the other, to a return address in a known file are believed. */
static bool is_made_code(struct walk *w, uint64_t sp, uint64_t fp) {
        uint64_t stack_begin = sp, ra;

        if (fp <= w->made_until)
                return true;
        for (uint32_t n = 0; n < MADE_MAX; n++) {
                if (!can_be_record(w, sp, fp) || fp - stack_begin > GUESS_MAX_BYTES ||
                    !word_at(w, fp + 8, &ra))
                        return false;
                ra = arch_strip(ra);
                if (n > 0 && is_known_code(w, ra - 1)) {
                        w->made_until = fp - 1;
                        return true;
                }
                if (ra < CODE_MIN || ra >> ARCH_USER_BITS != 0 ||
                    (ra >= stack_begin && ra - stack_begin < STEP_MAX_BYTES))
                        return false;
                sp = fp + 16;
                if (!word_at(w, fp, &fp))
                        return false;
        }
        return false;
}

/* {saved fp, return address} is what fp points to, wherever frame pointers are kept. On x86_64 the caller's sp follows from
 * it; on aarch64 the pair may lie anywhere in its frame. */
static enum step step_frame_pointer(struct walk *w) {
        uint64_t fp = w->fp, ra, caller_fp;

        w->has_guessed = w->is_wild = true;
        if (!can_be_record(w, w->sp, fp) || !word_at(w, fp + 8, &ra) || !word_at(w, fp, &caller_fp))
                return STEP_LOST;
        if (!is_known_code(w, arch_strip(ra) - 1) && !is_made_code(w, w->sp, fp))
                return STEP_LOST;
        set_caller(w, ra, fp + 16, caller_fp);
        w->is_blind = ARCH_HAS_LR;
        return STEP_OK;
}

/* Code made at run time, interrupted at the edge of a function: its frame pointer is still its caller's, or is again. Whether
 * that is so only the process knows, which may have made other code there since: a guess like any other. */
static bool step_made_edge(struct walk *w) {
        uint8_t around[REMOTE_CODE_BEFORE + REMOTE_CODE_AFTER];
        struct remote_code c = {around + REMOTE_CODE_BEFORE, REMOTE_CODE_BEFORE, REMOTE_CODE_AFTER};
        uint64_t ra, fp = w->fp;
        row_t row;

        if (remote_memory_peek(&w->memory, w->pc - REMOTE_CODE_BEFORE, around, sizeof(around)) !=
            sizeof(around))
                return false;
        row = remote_code_edge(&c);
        if (!row || (row & ROW_NOT_PLAIN) ||
            !word_at(w, w->sp + (uint64_t)(row_cfa_off(row) + row_ra_off(row)), &ra) ||
            ((row & ROW_FP_SAVED) &&
             !word_at(w, w->sp + (uint64_t)(row_cfa_off(row) + row_fp_off(row)), &fp)))
                return false;
        if (!is_known_code(w, ra - 1) && !is_made_code(w, w->sp, fp))
                return false;
        w->has_guessed = w->is_wild = true;
        set_caller(w, ra, w->sp + (uint64_t)row_cfa_off(row), fp);
        return true;
}

/* The object that calls, as the loader has it (struct link_map): it begins with how far the file is moved. What is left over on a stack looks like
 * anything else that the stub pushes. */
static bool is_caller(struct walk *w, uint64_t object, uint64_t ra) {
        const struct remote_mapping *m = remote_space_at(w->space, ra - 1);
        uint64_t moved;

        errno = 0;
        if (remote_memory_peek(&w->memory, object, &moved, sizeof(moved)) != sizeof(moved))
                return errno != EFAULT; /* the process is gone */
        return m && m->module && m->module->bias == moved;
}

/* _dl_runtime_resolve of x86_64: above what it saved of the processor's state, whose size the processor tells, lie rbx, the
 * object and the number that the stub pushed, and the return address. */
static bool step_lazy_call(struct walk *w) {
        const struct remote_mapping *m = remote_space_at(w->space, w->pc - 1);
        uint64_t object, number, ra;

        if (w->is_exact || w->sp % LAZY_ALIGN != 0 || !m || !m->module ||
            !remote_file_is_lazy_call(m->known->file, w->pc - m->module->bias))
                return false;
        for (uint64_t at = w->sp + LAZY_MIN_BYTES; at < w->sp + LAZY_MAX_BYTES; at += 8) {
                if (!word_at(w, at + 24, &ra))
                        return false;
                if (!is_return_address(w, ra) || !word_at(w, at + 8, &object) ||
                    !word_at(w, at + 16, &number) || object < CODE_MIN || object % 8 != 0 ||
                    object >> ARCH_USER_BITS != 0 || number > LAZY_NUMBER_MAX ||
                    !is_caller(w, object, ra))
                        continue;
                w->has_guessed = true;
                set_caller(w, ra, at + 32, w->fp);
                return true;
        }
        return false;
}

/* vfork of x86_64 has its return address in a register, as nothing on the stack survives its child. */
static bool step_vfork(struct walk *w) {
        const struct remote_mapping *m = remote_space_at(w->space, w->pc);

        if (ARCH_HAS_LR || !w->is_exact || !w->lr || !m || !m->module ||
            !remote_file_is_in_vfork(m->known->file, w->pc - m->module->bias) ||
            !is_return_address(w, w->lr))
                return false;
        set_caller(w, w->lr, w->sp, w->fp);
        return true;
}

/* Interrupted where there is no CFI, say in a PLT stub: most such code is a leaf. */
static enum step step_no_cfi(struct walk *w) {
        if (step_vfork(w))
                return STEP_OK;
        if (!ARCH_HAS_LR && w->is_exact && !is_known_code(w, w->pc) && step_made_edge(w))
                return STEP_OK;
        if (step_lazy_call(w))
                return STEP_OK;
        if (!ARCH_HAS_LR || !w->is_exact || w->lr == 0 || !is_known_code(w, arch_strip(w->lr) - 1))
                return step_frame_pointer(w);
        w->has_guessed = true;
        set_caller(w, w->lr, w->sp, w->fp);
        return STEP_OK;
}

/* ---- frames with rows --------------------------------------------------------------------- */

/* The kernel's signal frame lies at sp. What was interrupted may be on another stack. */
static enum step step_signal(struct walk *w) {
        uint64_t at = w->sp, pc, sp, fp, lr = 0;

        if (!word_at(w, at + ARCH_SIGFRAME_PC, &pc) || !word_at(w, at + ARCH_SIGFRAME_SP, &sp) ||
            !word_at(w, at + ARCH_SIGFRAME_FP, &fp))
                return STEP_LOST;
#if defined(__aarch64__)
        if (!word_at(w, at + ARCH_SIGFRAME_LR, &lr))
                return STEP_LOST;
#endif
        if (pc == 0 || w->n_switches++ == SWITCHES_MAX)
                return STEP_LOST;
        set_caller(w, pc, sp, fp);
        w->lr = lr;
        w->is_exact = w->is_wild = true;
        w->made_until = 0;
        return STEP_OK;
}

/* The caller's fp, of a row that says where it was saved. An epilogue that took it from there already leaves the rule as it
 * was: what is below sp is no more, and the register has it. */
static bool saved_fp(struct walk *w, uint64_t slot, uint64_t *ret) {
        if (w->is_exact && slot < w->sp) {
                *ret = w->fp;
                return true;
        }
        return word_at(w, slot, ret);
}

/* The return address is in lr: believed only of the frame that was interrupted. In any other a call has overwritten lr since. */
static enum step step_link_register(struct walk *w, row_t row) {
        uint64_t cfa = (row & ROW_BASE_FP ? w->fp : w->sp) + (uint64_t)row_cfa_off(row);
        uint64_t fp = w->fp;

        if (!w->is_exact || cfa - w->sp > STEP_MAX_BYTES || cfa % ARCH_STACK_ALIGN != 0 ||
            ((row & ROW_FP_SAVED) && !saved_fp(w, cfa + (uint64_t)row_fp_off(row), &fp)))
                return STEP_LOST;
        return leave_to(w, w->lr, cfa, fp);
}

/* How far above sp a frame may reach. */
static uint64_t reach(const struct walk *w) {
        return w->is_wild ? STEP_MAX_BYTES : WIDE_MAX_BYTES;
}

/* x86_64, a function that realigned its stack: the CFA is a word it saved near rbp. */
static enum step step_realigned(struct walk *w, row_t row) {
        uint64_t cfa, ra_slot, ra, fp;

        if (!word_at(w, w->fp + (uint64_t)row_cfa_off(row), &cfa) ||
            !word_at(w, w->fp + (uint64_t)row_fp_off(row), &fp))
                return STEP_LOST;
        ra_slot = cfa + (uint64_t)row_ra_off(row);
        if (cfa % 8 != 0 || cfa - w->sp - 1 >= reach(w) || !word_at(w, ra_slot, &ra))
                return STEP_LOST;
        return leave_to(w, ra, cfa, fp);
}

static bool is_near(int64_t off) {
        return off >= -SWITCH_MAX_BYTES && off <= SWITCH_MAX_BYTES;
}

/* A frame that called on another stack (Rust's stacker, assembly that switches stacks) has its CFA from fp, and that is
 * nowhere above sp. fp came here through saved words that CFI named, from frame to frame; only then is it followed. */
static bool can_switch(struct walk *w, row_t row, uint64_t cfa) {
        struct row_offsets o = row_offsets_of(row);

        return (row & ROW_BASE_FP) && !w->is_wild && w->fp >= REMOTE_PAGE_BYTES && cfa % 16 == 0 &&
               cfa >> ARCH_USER_BITS == 0 && is_near(o.cfa) && is_near(o.ra) && is_near(o.fp) &&
               w->n_switches++ < SWITCHES_MAX;
}

/* Is it behind a call of the function that begins there? */
static bool is_behind_call_of(struct walk *w, uint64_t ra, uint64_t function) {
        const struct remote_mapping *m = remote_space_at(w->space, ra - 1);
        bool is_word;
        uint64_t called =
                m && m->module ? remote_file_called(m->known->file, ra - m->module->bias, &is_word)
                               : 0;

        if (!called)
                return false;
        called += m->module->bias;
        return (!is_word || word_at(w, called, &called)) && called == function;
}

/* Whether fp may be the frame pointer of that function: its return address is behind a call of it. Where its first instructions say that it is, any call will
 * do: through a register nobody knows who was called. */
static bool is_frame_of(struct walk *w, uint64_t fp, struct row_offsets o, uint64_t function,
                        bool is_said) {
        uint64_t cfa = fp + (uint64_t)o.cfa, ra;

        return cfa > w->sp && cfa % ARCH_STACK_ALIGN == 0 &&
               word_at(w, cfa + (uint64_t)o.ra, &ra) &&
               (is_said ? is_return_address(w, arch_strip(ra))
                        : is_behind_call_of(w, arch_strip(ra), function));
}

/* Nobody told fp, and the frame has its CFA from it. */
static bool find_fp(struct walk *w, struct row_offsets o) {
        uint64_t key = w->pc - !w->is_exact, function, room, fp = w->sp;
        const struct remote_mapping *m = remote_space_at(w->space, key);

        if (!m || !m->module)
                return false;
        function = remote_file_function(m->known->file, key - m->module->bias);
        if (!function)
                return false;
        room = remote_file_room(m->known->file, function);
        function += m->module->bias;
        while (fp < w->sp + FIND_MAX_BYTES && !is_frame_of(w, fp, o, function, false))
                fp += 8;
        if (fp >= w->sp + FIND_MAX_BYTES) {
                fp = w->sp + room;
                if (!room || !is_frame_of(w, fp, o, function, true))
                        return false;
        }
        w->fp = fp;
        w->is_fp_unknown = false;
        w->has_guessed = w->is_wild = true;
        return true;
}

/* Of plain rows and wide ones. */
static enum step step_plain(struct walk *w, row_t row) {
        struct row_offsets o = row_offsets_of(row);
        bool is_lost = w->is_fp_unknown && (row & ROW_BASE_FP) && !find_fp(w, o);
        uint64_t cfa = (row & ROW_BASE_FP ? w->fp : w->sp) + (uint64_t)o.cfa;
        uint64_t fp = w->fp, ra;

        if (is_lost)
                return STEP_LOST;
        if (w->is_blind && !(row & ROW_BASE_FP))
                return step_frame_pointer(w);
        if ((cfa - w->sp - 1 >= reach(w) || cfa % ARCH_STACK_ALIGN != 0) &&
            !can_switch(w, row, cfa))
                return STEP_LOST;
        if (!word_at(w, cfa + (uint64_t)o.ra, &ra) ||
            ((row & ROW_FP_SAVED) && !saved_fp(w, cfa + (uint64_t)o.fp, &fp)))
                return STEP_LOST;
        w->is_fp_unknown &= !(row & ROW_FP_SAVED) || fp == w->fp;
        return leave_to(w, ra, cfa, fp);
}

static row_t row_of(struct walk *w) {
        uint64_t key = w->pc - !w->is_exact;
        const struct remote_mapping *m = remote_space_at(w->space, key);

        return m && m->module ? remote_file_row(m->known->file, key - m->module->bias, w->is_exact)
                              : ROW_NO_CFI;
}

static enum step step_out(struct walk *w) {
        row_t row = row_of(w);

        if (row & ROW_SIGNAL)
                return step_signal(w);
        if (row & ROW_UNSUPPORTED)
                return step_no_cfi(w);
        if (row_is_wide(row))
                return step_plain(w, row);
        if (row & ROW_RA_UNDEFINED)
                return STEP_END;
        if (row & ROW_RA_LR)
                return step_link_register(w, row);
        return row & ROW_DEREF ? step_realigned(w, row) : step_plain(w, row);
}

/* There is no room for more frames: instead of the last ones found the outermost of all, with a mark before them. */
static void leave_out_middle(struct walk *w, uint64_t *pcs, size_t n) {
        uint64_t outer[REMOTE_OUTER_KEPT];
        size_t n_outer = 0;

        if (n < (size_t)REMOTE_OUTER_KEPT * 2)
                return;
        for (enum step last = STEP_OK; last == STEP_OK && n_outer < STEPS_MAX; n_outer++) {
                outer[n_outer % REMOTE_OUTER_KEPT] = w->pc + w->is_exact;
                last = step_out(w);
        }
        if (n_outer < REMOTE_OUTER_KEPT)
                return;
        pcs[n - REMOTE_OUTER_KEPT - 1] = REMOTE_PC_OMITTED;
        for (size_t i = 0; i < REMOTE_OUTER_KEPT; i++)
                pcs[n - REMOTE_OUTER_KEPT + i] = outer[(n_outer + i) % REMOTE_OUTER_KEPT];
}

size_t remote_walk(struct remote_space *s, const struct remote_regs *regs,
                   const struct remote_stack *stack, uint64_t *ret_pcs, size_t cap,
                   enum remote_end *ret_end) {
        struct walk w;
        enum step last = STEP_OK;
        size_t n = 0;

        w.space = s;
        w.pc = arch_strip(regs->pc);
        w.sp = regs->sp;
        w.fp = regs->fp;
        w.lr = regs->lr;
        w.is_exact = true;
        w.is_blind = w.is_wild = w.has_guessed = false;
        w.is_fp_unknown = regs->is_fp_unknown;
        w.n_switches = 0;
        w.made_until = 0;
        remote_memory_init(&w.memory, remote_space_pid(s), regs->sp, stack->bytes, stack->n_bytes);
        while (n < cap && last == STEP_OK) {
                ret_pcs[n++] = w.pc + w.is_exact;
                last = step_out(&w);
        }
        if (last == STEP_OK) {
                leave_out_middle(&w, ret_pcs, n);
                *ret_end = REMOTE_CUT;
        } else if (last == STEP_LOST)
                *ret_end = w.memory.is_cut ? REMOTE_CUT : REMOTE_LOST;
        else
                *ret_end = w.has_guessed ? REMOTE_GUESSED : REMOTE_COMPLETE;
        return n;
}
