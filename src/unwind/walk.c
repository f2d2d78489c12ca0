/* SPDX-License-Identifier: MIT */
/* The remembered walk. docs/unwinding.md tells it at length; in short, with R the frames of the walk
 * before, outermost first:
 *
 *     step fresh frames until one equals some R[m] in (pc, sp, fp)
 *     for k = m, m - 1, …: re-read the words R[k] was left by
 *         all as remembered, to the end      → R[0 .. m] is kept
 *         R[k] is a barrier                  → step it afresh; on if that gives R[k - 1]
 *         else                               → R[m .. k] are frames of this walk; step on from R[k]
 *
 * Very deep stacks: R is at most UNWIND_DEPTH_MAX long. What does not fit is left out of the middle,
 *     R = OUTER frames, marker, inner frames
 * and what lies outside the marker is re-validated on its own as long as the inner frames are
 * connected, walk by walk, to those that were there when the middle was left out. */

#include "unwind/walk.h"

#include "unwind/rowtab.h"
#include "wire/point.h"

enum {
        OUTER = UNWIND_OUTER_KEPT, /* the marker, if any, is R[OUTER] */
        INNER = UNWIND_FRESH_MAX,
        REFILL = UNWIND_FRESH_MAX /
                 2, /* with fewer inner frames than this the gap is stepped into */
        /* each fresh step and each remembered frame goes there at most once; the rest puts the
         * border to the remembered frames in the middle of a page */
        FRESH_CAP = UNWIND_FRESH_MAX + UNWIND_DEPTH_MAX + 64,
        PAGE_BYTES = 4096,
};

_Static_assert(OUTER + 1 + INNER < UNWIND_DEPTH_MAX, "leaving out the middle makes room");

struct unwind_walker {
        void *ctx;
        uint64_t generation; /* of everything below; 0: nothing yet */
        uint32_t n_frames;   /* remembered; 0 while they are being written */
        bool has_gap;        /* R[OUTER] is the marker */
        struct lookup_cache cache;
        uint64_t pcs[FRESH_CAP];

        _Alignas(PAGE_BYTES) struct lookup_entry first_entries[LOOKUP_FIRST_ENTRIES];

        /* Fresh frames grow down from FRESH_CAP, remembered ones up from it: both have the outermost
         * frame at the lowest address, and of a shallow stack both touch the same page. */
        _Alignas(PAGE_BYTES) struct frame frames[FRESH_CAP + UNWIND_DEPTH_MAX];
};

#ifndef SILT_TINY
_Static_assert(FRESH_CAP * sizeof(struct frame) % PAGE_BYTES == PAGE_BYTES / 2, "the shared page");
#endif

struct walk {
        struct unwind_walker *w;
        struct stepper p;
        struct state s;   /* the frame reached; not yet pushed */
        uint32_t n_fresh; /* pushed: fresh frames and remembered ones taken over */
        int32_t top;      /* innermost remembered frame that may still match */
        enum step last;   /* how the walk ended */
        bool is_cut;
};

enum verdict { SAME, DIFFERENT, AT_GAP, AT_CUT };
enum fresh { FRESH_MATCH, FRESH_ENDED, FRESH_CUT, FRESH_HARD };

static inline struct frame *remembered(struct unwind_walker *w) {
        return w->frames + FRESH_CAP;
}

static inline struct frame *outermost_fresh(struct walk *c) {
        return remembered(c->w) - c->n_fresh;
}

static inline void state_of(const struct frame *f, struct state *ret) {
        *ret = (struct state){.pc_raw = f->pc_raw,
                              .pc = arch_strip(f->pc_raw),
                              .sp = f->sp,
                              .fp = f->fp};
}

static inline void copy_frames(struct frame *to, const struct frame *from, uint32_t n) {
        for (uint32_t i = 0; i < n; i++) {
                to[i] = from[i];
                __asm__ volatile("" ::: "memory"); /* keep it a loop: no call of memcpy here */
        }
}

/* ---- fresh frames --------------------------------------------------------------------------- */

/* Remembered frames below sp have returned. s has no flags. */
static inline bool find_match(const struct frame *r, const struct state *s, int32_t *top) {
        for (; *top >= 0 && r[*top].sp <= s->sp; --*top) {
                const struct frame *f = &r[*top];

                if (f->sp == s->sp && f->pc_raw == s->pc_raw && f->fp == s->fp &&
                    !(f->ra_word & FRAME_UNLIKE))
                        return true;
        }
        return false;
}

/* Pushes and steps plain frames for as long as there are any and none of them is remembered. What
 * changes from frame to frame stays in registers: s is local, and nothing takes its address. */
static __attribute__((noinline)) enum fresh step_plain_frames(struct walk *c, uint32_t n_max) {
        const struct frame *r = remembered(c->w);
        struct frame *f_begin = outermost_fresh(c), *f = f_begin;
        uint64_t *pc_out = c->w->pcs + c->n_fresh;
        enum fresh how = FRESH_MATCH;
        struct state s;

        s.pc_raw = c->s.pc_raw;
        s.pc = c->s.pc;
        s.sp = c->s.sp;
        s.fp = c->s.fp;
        s.flags = 0;
        while (!find_match(r, &s, &c->top)) {
                uint64_t pc = s.pc;
                row_t row;

                if (__builtin_expect(f_begin - f >= n_max, 0)) {
                        how = FRESH_CUT;
                        break;
                }
                row = lookup_row(c->p.cache, c->p.generation, pc - 1, c->p.ctx);
                step_fill_frame(&s, f - 1);
                if (__builtin_expect(!step_is_plain(&s, row), 0) ||
                    __builtin_expect(!step_plain(&c->p, &s, row, f - 1), 0)) {
                        how = FRESH_HARD;
                        break;
                }
                f--;
                *pc_out++ = pc;
                if (__builtin_expect(s.pc_raw == 0, 0)) {
                        f->ra_word |= FRAME_BARRIER; /* a 0 from memory: not the CFI's word */
                        c->last = STEP_END;
                        how = FRESH_ENDED;
                        break;
                }
        }
        c->s.pc_raw = s.pc_raw;
        c->s.pc = s.pc;
        c->s.sp = s.sp;
        c->s.fp = s.fp;
        c->n_fresh += (uint32_t)(f_begin - f);
        return how;
}

/* Steps until a remembered frame is met, the stack ends, or n_max frames have been pushed. */
static enum fresh step_fresh(struct walk *c, uint32_t n_max) {
        uint32_t n_end = c->n_fresh + n_max;

        for (;;) {
                row_t row;

                if (c->s.flags == 0) {
                        enum fresh how = step_plain_frames(c, n_end - c->n_fresh);

                        if (how != FRESH_HARD)
                                return how;
                }
                if (c->n_fresh == n_end)
                        return FRESH_CUT;
                row = step_row(&c->p, &c->s);
                c->w->pcs[c->n_fresh++] = walk_pc_shown(c->s.pc, c->s.flags);
                c->last = step_out(&c->p, &c->s, row, outermost_fresh(c));
                if (c->last != STEP_OK)
                        return FRESH_ENDED;
        }
}

/* Remembered frames from .. to, inner to outer, become frames of this walk. */
static void take_over(struct walk *c, int32_t from, int32_t to) {
        const struct frame *r = remembered(c->w);

        for (int32_t k = from; k >= to; k--) {
                c->w->pcs[c->n_fresh++] = walk_pc_shown(arch_strip(r[k].pc_raw), r[k].ra_word);
                *outermost_fresh(c) = r[k];
        }
}

/* ---- remembered frames ---------------------------------------------------------------------- */

/* Re-reads the words behind plain frames, inner to outer. Returns the first frame that is not plain
 * or whose words differ. Ends: R[0] is never plain. */
static inline const struct frame *first_doubtful(const struct frame *f) {
        for (;; f--) {
                uint64_t sp = f->sp;
                uint32_t ra_word = f->ra_word, fp_word = f->fp_word;
                uint64_t fp_slot = sp + (uint64_t)fp_word * 8;

                if (ra_word & FRAME_STOP)
                        return f;
                if (arch_load(sp + (uint64_t)(ra_word & FRAME_OFF_MASK) * 8) != f[-1].pc_raw)
                        return f;
                /* an fp that was not saved is as remembered: compare it to itself, without a branch */
                if (arch_load(fp_word & FRAME_FP_KEPT ? (uint64_t)&f[-1].fp : fp_slot) != f[-1].fp)
                        return f;
        }
}

static bool is_frame(const struct frame *f, const struct state *s) {
        return f->pc_raw == s->pc_raw && f->sp == s->sp && f->fp == s->fp &&
               (f->ra_word & FRAME_UNLIKE) == s->flags;
}

/* Steps the barrier R[k], in state c->s. True: that leads to R[k - 1] again, or to the end if k is 0.
 * False: c is as before. */
static bool barrier_holds(struct walk *c, int32_t k) {
        const struct frame *r = remembered(c->w);
        struct stepper before = c->p;
        struct state next = c->s;
        struct frame unused;
        enum step how = step_out(&c->p, &next, step_row(&c->p, &next), &unused);

        if (k == 0 ? how != STEP_OK : how == STEP_OK && is_frame(&r[k - 1], &next)) {
                c->last = how;
                c->s = next;
                return true;
        }
        before.cache = c->p.cache;
        c->p = before;
        return false;
}

/* c->s is R[k]. *ret_k: the outermost frame that is surely R's; c->s becomes that frame. */
static enum verdict verify(struct walk *c, int32_t k, int32_t *ret_k) {
        const struct frame *r = remembered(c->w);

        for (;;) {
                const struct frame *f = first_doubtful(&r[k]);

                if (f != &r[k])
                        state_of(f, &c->s);
                *ret_k = k = (int32_t)(f - r);
                if (f->ra_word & FRAME_END) {
                        c->last = STEP_END;
                        return SAME;
                }
                if (f->ra_word & FRAME_AT_GAP)
                        return AT_GAP;
                if (f->ra_word & FRAME_AT_CUT) {
                        c->is_cut = true;
                        return AT_CUT;
                }
                if (!(f->ra_word & FRAME_BARRIER) || !barrier_holds(c, k))
                        return DIFFERENT;
                if (k-- == 0)
                        return SAME;
        }
}

/* Are the frames outside the marker as they were? Their words lie above those of frames that are
 * connected to them, on the same stack. */
static bool outer_holds(struct walk *c) {
        const struct frame *f = &remembered(c->w)[OUTER - 1];
        int32_t k;

        state_of(f, &c->s);
        c->p.limit = step_limit(f->sp);
        c->is_cut = true; /* a stack with a gap is not complete, whatever its end */
        if (f->ra_word & FRAME_UNLIKE)
                return false;
        return verify(c, OUTER - 1, &k) != DIFFERENT;
}

/* ---- the walk ------------------------------------------------------------------------------- */

/* The walk stops here with frames left unseen. */
static uint32_t cut_here(struct walk *c) {
        struct frame *f = outermost_fresh(c);

        f->ra_word = (f->ra_word & ~(uint32_t)FRAME_AT_GAP) | FRAME_AT_CUT;
        c->is_cut = true;
        return 0;
}

/* Reached the marker from inside, having matched R[m]. Returns false if the walk goes on. */
static bool stop_at_gap(struct walk *c, int32_t m, uint32_t *ret_n_kept) {
        uint32_t n_inner = c->n_fresh + (uint32_t)(m - OUTER);

        if (n_inner < REFILL)
                return false;
        if (outer_holds(c)) {
                *ret_n_kept = (uint32_t)m + 1;
                return true;
        }
        take_over(c, m, OUTER + 1);
        *ret_n_kept = cut_here(c);
        return true;
}

static uint32_t stop_after_cut(struct walk *c, bool is_connected) {
        if (!is_connected || !outer_holds(c))
                return cut_here(c);
        outermost_fresh(c)->ra_word |= FRAME_AT_GAP;
        return OUTER + 1;
}

/* Returns how many remembered frames stay. */
static uint32_t walk_stack(struct walk *c) {
        uint32_t n_steps_left = UNWIND_FRESH_MAX, n_max = UNWIND_FRESH_MAX, n_kept;
        bool is_connected = false; /* to the frames outside the gap, by frames of the walk before */

        for (;;) {
                uint32_t n_before = c->n_fresh;
                enum fresh how = step_fresh(c, n_max);
                int32_t m = c->top, k;
                enum verdict verdict;

                if (how == FRESH_ENDED)
                        return 0;
                if (how == FRESH_CUT)
                        return stop_after_cut(c, is_connected);

                verdict = verify(c, m, &k);
                if (verdict == SAME)
                        return (uint32_t)m + 1;
                if (verdict == AT_CUT && c->n_fresh + (uint32_t)m + 1 >= REFILL)
                        return (uint32_t)m + 1;
                if (verdict == AT_GAP && stop_at_gap(c, m, &n_kept))
                        return n_kept;

                /* R[k] is right, what lies outside it is not known: step on from there */
                n_steps_left -= c->n_fresh - n_before;
                take_over(c, m, k + 1);
                c->is_cut = false;
                is_connected = verdict == AT_GAP;
                c->top = verdict == AT_GAP ? OUTER - 1 : k - 1;
                n_max = n_steps_left;
                if (verdict != DIFFERENT && n_max > INNER - c->n_fresh)
                        n_max = INNER - c->n_fresh;
        }
}

/* The outermost frames of a walk that was cut are nowhere near the root: only the inner ones stay. */
static void leave_out_outer(struct walk *c) {
        struct frame *r = remembered(c->w);

        copy_frames(r, r - INNER, INNER);
        r[0].ra_word |= FRAME_AT_CUT;
        c->n_fresh = INNER;
}

/* OUTER frames, a marker and the inner ones stay. */
static void leave_out_middle(struct walk *c) {
        struct frame *r = remembered(c->w);
        uint64_t *pcs = c->w->pcs;

        copy_frames(r, outermost_fresh(c), OUTER);
        copy_frames(r + OUTER + 1, r - INNER, INNER);
        r[OUTER + 1].ra_word |= FRAME_AT_GAP;
        r[OUTER] = (struct frame){.pc_raw = UNWIND_PC_OMITTED,
                                  .sp = r[OUTER + 1].sp,
                                  .ra_word = FRAME_MARKER};

        pcs[INNER] = UNWIND_PC_OMITTED;
        for (uint32_t i = 0; i < OUTER; i++)
                pcs[INNER + 1 + i] = pcs[c->n_fresh - OUTER + i];
        c->n_fresh = INNER + 1 + OUTER;
        c->w->has_gap = true;
}

/* More frames than fit. Everything is reported anew; that happens once in some hundred frames. */
static void leave_out_some(struct walk *c, uint32_t n_kept) {
        take_over(c, (int32_t)n_kept - 1, 0);
        if (outermost_fresh(c)->ra_word & FRAME_AT_CUT)
                leave_out_outer(c);
        else
                leave_out_middle(c);
        c->is_cut = true;
}

/* Makes this walk the remembered one. A signal handler that jumps out of here leaves nothing
 * remembered rather than something wrong. */
static uint32_t remember(struct walk *c, uint32_t n_kept) {
        struct unwind_walker *w = c->w;
        uint32_t n_frames = n_kept + c->n_fresh;

        __atomic_store_n(&w->n_frames, 0, __ATOMIC_RELAXED);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        SIGNAL_POINT("walk/remember");
        w->has_gap = w->has_gap && n_kept > OUTER;
        if (__builtin_expect(n_frames > UNWIND_DEPTH_MAX, 0)) {
                leave_out_some(c, n_kept);
                n_kept = 0;
                n_frames = c->n_fresh;
        } else {
                copy_frames(remembered(w) + n_kept, outermost_fresh(c), c->n_fresh);
        }
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        SIGNAL_POINT("walk/copied");
        __atomic_store_n(&w->n_frames, n_frames, __ATOMIC_RELAXED);
        SIGNAL_POINT("walk/remembered");
        return n_kept;
}

static void start_generation(struct unwind_walker *w, uint64_t generation) {
        lookup_cache_clear(&w->cache);
        w->n_frames = 0;
        w->generation = generation;
}

static void walk_begin(struct walk *c, struct unwind_walker *w, int32_t top) {
        c->w = w;
        c->p = (struct stepper){
                .cache = &w->cache,
                .ctx = w->ctx,
                .generation = w->generation,
                .limit = step_limit(c->s.sp),
        };
        c->n_fresh = 0;
        c->top = top;
        c->last = STEP_OK;
        c->is_cut = false;
}

/* Nothing new, and everything kept ends by CFI: the most common walk of all. */
static inline bool is_all_kept(const struct frame *r, const struct state *s, int32_t *top) {
        return find_match(r, s, top) && (first_doubtful(&r[*top])->ra_word & FRAME_END);
}

void unwind_walk(struct unwind_walker *w, const struct unwind_regs *from,
                 struct unwind_delta *ret) {
        uint64_t generation = rowtab_generation();
        int32_t top = (int32_t)w->n_frames - 1;
        struct walk c;
        uint32_t n_kept;

        *ret = (struct unwind_delta){.end = UNWIND_END_LOST, .pcs = w->pcs};
        if (__builtin_expect(!walk_state_from(from, &c.s) || generation == 0, 0)) {
                w->n_frames = 0;
                return;
        }
        if (__builtin_expect(generation != w->generation, 0)) {
                start_generation(w, generation);
                top = -1;
        }
        if (is_all_kept(remembered(w), &c.s, &top)) {
                n_kept = (uint32_t)top + 1;
                w->n_frames = ret->n_kept = ret->depth = n_kept;
                w->has_gap = w->has_gap && n_kept > OUTER;
                ret->end = UNWIND_END_COMPLETE;
                return;
        }
        SIGNAL_POINT("walk/fresh");
        walk_begin(&c, w, top);
        n_kept = remember(&c, walk_stack(&c));
        ret->n_kept = n_kept;
        ret->n_new = c.n_fresh;
        ret->depth = n_kept + c.n_fresh;
        ret->end = c.is_cut ? UNWIND_END_CUT : walk_end_of(&c.p, c.last);
}

void unwind_forget(struct unwind_walker *w) {
        w->n_frames = 0;
}

size_t unwind_walker_size(void) {
        return sizeof(struct unwind_walker);
}

void unwind_walker_init(struct unwind_walker *w, void *ctx) {
        w->ctx = ctx;
        w->generation = 0;
        w->n_frames = 0;
        w->has_gap = false;
        lookup_cache_init(&w->cache, w->first_entries);
}

void unwind_walker_done(struct unwind_walker *w) {
        lookup_cache_done(&w->cache);
        w->generation = 0;
        w->n_frames = 0;
}
