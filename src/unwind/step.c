/* SPDX-License-Identifier: MIT */
/* The rare ways out of a frame: signal frames, interrupted leaf functions, realigned and switched
 * stacks, frame pointers where there is no CFI. All of them are barriers: a remembered walk steps
 * through them afresh. */

#include "unwind/step.h"

#include "unwind/object.h"

enum { STEP_CODE_MIN = 64 << 10 }; /* no code lies below */

uint64_t step_main_stack_begin, step_main_stack_end;

void step_init(uint64_t main_begin, uint64_t main_end) {
        step_main_stack_begin = main_begin;
        step_main_stack_end = main_end;
}

/* The loader's start on x86_64 (_dl_start_user) has no CFI. A frame that begins where the kernel put argc
 * has no caller, whoever it is. */
static bool is_first_frame(const struct state *s) {
        return step_main_stack_begin && s->sp >= step_main_stack_begin &&
               s->sp < step_main_stack_end;
}

static enum step end_of_stack(struct frame *f, enum step how) {
        f->flags |= FRAME_BARRIER;
        return how;
}

static bool set_return(struct state *s, uint64_t ra, uint64_t sp, uint64_t fp) {
        *s = (struct state){.pc_raw = ra, .pc = arch_strip(ra), .sp = sp, .fp = fp};
        return ra != 0;
}

/* How far words above one that was read are there to be read: to the end of its page. The kernel keeps other mappings far away from
 * the first thread's stack, so what is a little below argc belongs to it, and all between them. */
static uint64_t readable_end(uint64_t at) {
        uint64_t argc = step_main_stack_begin;

        if (at < argc && argc - at <= STEP_MAIN_NEAR_BYTES)
                return argc;
        return (at + 4095) & ~UINT64_C(4095);
}

/* Nothing above the root of a stack was called from anywhere. So it is none if one of the next words
 * is a return address: the row was wrong, and 0 was read from where none is. */
enum step step_at_zero(const struct stepper *p, const struct frame *f, uint64_t cfa) {
        uint64_t end = cfa + STEP_ROOT_MAX_BYTES, readable = readable_end(cfa);
        struct state s = {.sp = cfa};

        if (cfa % 8 != 0 || is_first_frame(&s))
                return STEP_END;
        end = end < readable ? end : readable;
        for (uint64_t slot = cfa; slot < end && slot < p->limit; slot += 8) {
                uint64_t word = arch_strip(arch_load(slot));

                if (word >= STEP_CODE_MIN && word >> ARCH_USER_BITS == 0 &&
                    lookup_is_return_address(word, arch_strip(f->pc_raw)))
                        return STEP_LOST;
        }
        return STEP_END;
}

/* The kernel's signal frame lies at sp. What was interrupted may be on another stack. */
static enum step step_signal(struct stepper *p, struct state *s, struct frame *f) {
        uint64_t at = s->sp;

        if (at % 8 != 0 || !step_can_read(p, at, at + ARCH_SIGFRAME_PC) ||
            !step_can_read(p, at, at + ARCH_SIGFRAME_SP))
                return end_of_stack(f, STEP_LOST);
        f->flags = FRAME_BARRIER;
        s->flags = FRAME_EXACT;
        s->fp = arch_load(at + ARCH_SIGFRAME_FP);
        s->sp = arch_load(at + ARCH_SIGFRAME_SP);
        s->pc = s->pc_raw = arch_load(at + ARCH_SIGFRAME_PC);
#if defined(__aarch64__)
        s->lr = arch_load(at + ARCH_SIGFRAME_LR);
#endif
        p->limit = step_limit(s->sp);
        p->is_wild = true;
        p->made_until = 0;
        return s->pc_raw != 0 ? STEP_OK : STEP_LOST;
}

static bool can_be_record(const struct stepper *p, uint64_t sp, uint64_t fp) {
        return fp % ARCH_STACK_ALIGN == 0 && fp - sp <= STEP_GUESS_MAX_BYTES &&
               step_can_read(p, sp, fp + 8);
}

/* A return address in no object: code made at run time, or no code at all. Nothing tells here which
 * memory is code, and memory that may be none is not read. But compilers at run time keep frame
 * pointers, and C code called theirs: records that lead, one above the other, to a return address in
 * a known object are believed. None of them lies further away than a guess may reach. */
static bool is_made_code(struct stepper *p, uint64_t sp, uint64_t fp) {
        uint64_t stack_begin = sp;

        if (fp <= p->made_until)
                return true;
        for (uint32_t n = 0; n < STEP_MADE_MAX; n++) {
                uint64_t ra;

                if (!can_be_record(p, sp, fp) || fp - stack_begin > STEP_GUESS_MAX_BYTES)
                        return false;
                ra = arch_strip(arch_load(fp + 8));
                if (n > 0 && object_known(ra - 1)) {
                        p->made_until = fp - 1;
                        return true;
                }
                if (ra < STEP_CODE_MIN || ra >> ARCH_USER_BITS != 0 ||
                    (ra >= stack_begin && ra - stack_begin < STEP_MAX_BYTES && ra < p->limit))
                        return false;
                sp = fp + 16;
                fp = arch_load(fp);
        }
        return false;
}

/* {saved fp, return address} is what fp points to, wherever frame pointers are kept. On x86_64 the
 * caller's sp follows from it; on aarch64 the pair may lie anywhere in its frame. */
static enum step step_frame_pointer(struct stepper *p, struct state *s, struct frame *f) {
        uint64_t fp = s->fp, ra;

        p->has_guessed = p->is_wild = true;
        if (!can_be_record(p, s->sp, fp))
                return end_of_stack(f, STEP_LOST);
        ra = arch_load(fp + 8);
        if (ra == 0)
                return end_of_stack(f, STEP_END);
        if (!object_known(arch_strip(ra) - 1) && !is_made_code(p, s->sp, fp))
                return end_of_stack(f, STEP_LOST);
        f->flags |= FRAME_BARRIER;
        set_return(s, ra, fp + 16, arch_load(fp));
        s->flags = ARCH_HAS_LR ? FRAME_BLIND : 0;
        return STEP_OK;
}

/* Interrupted where there is no CFI, say in a PLT stub: most such code is a leaf. */
static enum step step_no_cfi(struct stepper *p, struct state *s, struct frame *f) {
        if (is_first_frame(s))
                return end_of_stack(f, STEP_END);
        if (!ARCH_HAS_LR || !(s->flags & FRAME_EXACT) || s->lr == 0 ||
            !object_known(arch_strip(s->lr) - 1))
                return step_frame_pointer(p, s, f);
        p->has_guessed = true;
        f->flags |= FRAME_BARRIER;
        set_return(s, s->lr, s->sp, s->fp);
        return STEP_OK;
}

/* The return address is in lr: believed only of the frame a signal interrupted. In any other frame
 * a call has overwritten lr since. */
static enum step step_link_register(struct stepper *p, struct state *s, row_t row,
                                    struct frame *f) {
        uint64_t cfa = (row & ROW_BASE_FP ? s->fp : s->sp) + (uint64_t)row_cfa_off(row);
        uint64_t fp = s->fp;

        if (!(s->flags & FRAME_EXACT) || cfa - s->sp > STEP_MAX_BYTES ||
            cfa % ARCH_STACK_ALIGN != 0)
                return end_of_stack(f, STEP_LOST);
        if (row & ROW_FP_SAVED) {
                uint64_t fp_slot = cfa + (uint64_t)row_fp_off(row);

                if (!step_can_read(p, s->sp, fp_slot))
                        return end_of_stack(f, STEP_LOST);
                fp = arch_load(fp_slot);
        }
        f->flags |= FRAME_BARRIER;
        return set_return(s, s->lr, cfa, fp) ? STEP_OK : step_at_zero(p, f, cfa);
}

/* How far above sp a frame may reach. Where every frame so far was left by CFI alone, as far as the
 * CFI says: the limit bounds it, as it bounds all reading. */
static uint64_t step_reach(const struct stepper *p) {
        return p->is_wild ? STEP_MAX_BYTES : STEP_WIDE_MAX_BYTES;
}

static bool step_reads(const struct stepper *p, uint64_t sp, uint64_t slot) {
        return slot - sp <= step_reach(p) && slot < p->limit;
}

/* A large frame, in all else a plain one: it is remembered and re-validated like those. */
static enum step step_wide(struct stepper *p, struct state *s, row_t row, struct frame *f) {
        struct row_offsets o = row_offsets_of(row);
        uint64_t cfa = (row & ROW_BASE_FP ? s->fp : s->sp) + (uint64_t)o.cfa;
        uint64_t ra_slot = cfa + (uint64_t)o.ra;
        uint64_t fp_slot = row & ROW_FP_SAVED ? cfa + (uint64_t)o.fp : ra_slot;
        uint64_t fp = s->fp;

        if ((s->flags & FRAME_BLIND) || cfa - s->sp - 1 >= step_reach(p) ||
            cfa % ARCH_STACK_ALIGN != 0 || !step_reads(p, s->sp, ra_slot) ||
            !step_reads(p, s->sp, fp_slot))
                return end_of_stack(f, STEP_LOST);
        f->flags = s->flags ? FRAME_BARRIER : 0;
        f->ra_slot = ra_slot;
        f->fp_slot = fp_slot;
        if (row & ROW_FP_SAVED)
                fp = arch_load(fp_slot);
        else
                f->flags |= FRAME_FP_KEPT;
        if (!set_return(s, arch_load(ra_slot), cfa, fp))
                return end_of_stack(f, step_at_zero(p, f, cfa));
        return STEP_OK;
}

/* x86_64, a function that realigned its stack: the CFA is a word it saved near rbp. */
static enum step step_realigned(struct stepper *p, struct state *s, row_t row, struct frame *f) {
        uint64_t cfa_slot = s->fp + (uint64_t)row_cfa_off(row);
        uint64_t fp_slot = s->fp + (uint64_t)row_fp_off(row);
        uint64_t cfa, ra_slot;

        if (s->fp % 8 != 0 || !step_reads(p, s->sp, cfa_slot) || !step_reads(p, s->sp, fp_slot))
                return end_of_stack(f, STEP_LOST);
        cfa = arch_load(cfa_slot);
        ra_slot = cfa + (uint64_t)row_ra_off(row);
        if (cfa % 8 != 0 || cfa - s->sp - 1 >= step_reach(p) || !step_reads(p, s->sp, ra_slot))
                return end_of_stack(f, STEP_LOST);
        f->flags |= FRAME_BARRIER;
        return set_return(s, arch_load(ra_slot), cfa, arch_load(fp_slot)) ? STEP_OK
                                                                          : step_at_zero(p, f, cfa);
}

static bool is_near(int64_t off) {
        return off >= -STEP_SWITCH_MAX_BYTES && off <= STEP_SWITCH_MAX_BYTES;
}

/* A frame that called on another stack (Rust's stacker, assembly that switches stacks) has its CFA
 * from fp, and that is nowhere above sp; one with a very large array of variable length has it far
 * above. fp came here through saved words that CFI named, from frame
 * to frame; only then is it followed. */
static enum step step_switched(struct stepper *p, struct state *s, row_t row, struct frame *f) {
        uint64_t cfa = s->fp + (uint64_t)row_cfa_off(row);
        uint64_t ra, fp = s->fp;

        if (!(row & ROW_BASE_FP) || p->is_wild || s->flags != 0 || s->fp < 4096 ||
            (cfa <= s->sp && p->n_switches++ == STEP_SWITCHES_MAX) || cfa % 16 != 0 ||
            cfa >> ARCH_USER_BITS != 0 || !is_near(row_cfa_off(row)) || !is_near(row_ra_off(row)) ||
            !is_near(row_fp_off(row)))
                return end_of_stack(f, STEP_LOST);
        f->flags |= FRAME_BARRIER;
        ra = arch_load(cfa + (uint64_t)row_ra_off(row));
        if (row & ROW_FP_SAVED)
                fp = arch_load(cfa + (uint64_t)row_fp_off(row));
        p->limit = step_limit(cfa);
        p->made_until = 0;
        return set_return(s, ra, cfa, fp) ? STEP_OK : step_at_zero(p, f, cfa);
}

/* A plain row in a frame that has a flag, or whose words are not where they should be. */
static enum step step_flagged(struct stepper *p, struct state *s, row_t row, struct frame *f) {
        if ((s->flags & FRAME_BLIND) && !(row & ROW_BASE_FP))
                return step_frame_pointer(p, s, f);
        if (!step_plain(p, s, row, f))
                return step_switched(p, s, row, f);
        s->flags = 0;
        f->flags |= FRAME_BARRIER;
        return s->pc_raw != 0 ? STEP_OK : step_at_zero(p, f, s->sp);
}

enum step step_slow(struct stepper *p, struct state *s, row_t row, struct frame *f) {
        uint32_t flags = s->flags;
        enum step r;

        f->flags = 0;
        f->ra_slot = f->fp_slot = 0;
        if (row & ROW_SIGNAL)
                r = step_signal(p, s, f);
        else if (row == 0 || (row & ROW_UNSUPPORTED))
                r = step_no_cfi(p, s, f);
        else if (row_is_wide(row))
                r = step_wide(p, s, row, f);
        else if ((row & ROW_RA_UNDEFINED) && flags == 0) {
                f->flags = FRAME_END;
                r = STEP_END;
        } else if (row & ROW_RA_UNDEFINED)
                r = end_of_stack(f, STEP_END);
        else if (row & ROW_RA_LR)
                r = step_link_register(p, s, row, f);
        else if (row & ROW_DEREF)
                r = step_realigned(p, s, row, f);
        else
                r = step_flagged(p, s, row, f);
        f->flags |= flags;
        return r;
}
