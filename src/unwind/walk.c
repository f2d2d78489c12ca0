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
#include "wire/signal_point.h"

enum {
        OUTER = UNWIND_OUTER_KEPT, /* the marker, if any, is R[OUTER] */
        INNER = UNWIND_FRESH_MAX,
        REFILL = UNWIND_FRESH_MAX /
                 2, /* with fewer inner frames than this the gap is stepped into */
        /* each fresh step and each remembered frame goes there at most once; the rest puts the
         * border to the remembered frames in the middle of a page */
        FRESH_CAP = UNWIND_FRESH_MAX + UNWIND_DEPTH_MAX + 128,
        PAGE_BYTES = 4096,
};

_Static_assert(OUTER + 1 + INNER < UNWIND_DEPTH_MAX, "leaving out the middle makes room");

#define GENERATION_NONE UINT64_MAX

struct unwind_walker {
        void *ctx;
        uint64_t generation; /* of everything below; GENERATION_NONE: nothing yet */
        uint32_t n_frames;   /* remembered; 0 while they are being written */
        bool has_gap;        /* R[OUTER] is the marker */
        struct lookup_cache cache;
        uint64_t pcs[FRESH_CAP];

        _Alignas(PAGE_BYTES) struct lookup_entry first_entries[LOOKUP_FIRST_ENTRIES];

        /* Fresh frames grow down from FRESH_CAP, remembered ones up from behind it: both have the
         * outermost frame at the lowest address, and of a shallow stack both touch the same page.
         * Between them lies R[-1], where every search ends: its sp is above all others. */
        _Alignas(PAGE_BYTES) struct frame frames[FRESH_CAP + 1 + UNWIND_DEPTH_MAX];
};

#ifndef SILT_TINY
_Static_assert(FRESH_CAP * sizeof(struct frame) % PAGE_BYTES == PAGE_BYTES / 2, "the shared page");
#endif

_Static_assert(__builtin_offsetof(struct unwind_walker, pcs) == UNWIND_PCS_OFF,
               "unwind_walker_pcs knows where they are");
_Static_assert(__builtin_offsetof(struct unwind_walker, generation) == UNWIND_GENERATION_OFF,
               "unwind_walker_generation knows where it is");

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
        return w->frames + FRESH_CAP + 1;
}

static inline struct frame *fresh_end(struct unwind_walker *w) {
        return w->frames + FRESH_CAP;
}

static inline struct frame *outermost_fresh(struct walk *c) {
        return fresh_end(c->w) - c->n_fresh;
}

static inline void state_of(const struct frame *f, struct state *ret) {
        *ret = (struct state){.pc_raw = f->pc_raw,
                              .pc = arch_strip(f->pc_raw),
                              .sp = f->sp,
                              .fp = f->fp};
}

/* Makes R[k], given its final R[k - 1], tell re-validation what it must. Of a plain frame both slots
 * are compared with R[k - 1]: an fp that was not saved is compared with itself. At any other frame
 * re-validation must stop: its flags stand for a return address, and are never the right one. */
static inline void frame_seal(struct frame *f) {
        if (__builtin_expect((f->flags & FRAME_STOP) != 0, 0)) {
                f->flags &= ~FRAME_ODD;
                if (f->flags == f[-1].pc_raw)
                        f->flags |= FRAME_ODD;
                f->ra_slot = (uint64_t)&f->flags;
                f->fp_slot = (uint64_t)&f[-1].fp;
        } else if (f->flags & FRAME_FP_KEPT) {
                f->fp_slot = (uint64_t)&f[-1].fp;
        }
}

/* Outermost first; `to` is in R, and what lies outside it is final. */
static inline void remember_frames(struct frame *to, const struct frame *from, uint32_t n) {
        for (uint32_t i = 0; i < n; i++) {
                to[i] = from[i];
                frame_seal(&to[i]);
                __asm__ volatile("" ::: "memory"); /* keep it a loop: no call of memcpy here */
        }
}

/* ---- fresh frames --------------------------------------------------------------------------- */

/* Remembered frames below sp have returned. s has no flags. */
static inline bool find_match(const struct frame *r, const struct state *s, int32_t *top) {
        for (; *top >= 0 && r[*top].sp <= s->sp; --*top) {
                const struct frame *f = &r[*top];

                if (f->sp == s->sp && f->pc_raw == s->pc_raw && f->fp == s->fp &&
                    !(f->flags & FRAME_UNLIKE))
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
                        f->flags |= FRAME_BARRIER; /* a 0 from memory: not the CFI's word */
                        c->last = step_at_zero(&c->p, f, s.sp);
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
                c->w->pcs[c->n_fresh++] = walk_pc_shown(arch_strip(r[k].pc_raw), r[k].flags);
                *outermost_fresh(c) = r[k];
        }
}

/* ---- remembered frames ---------------------------------------------------------------------- */

/* Does R[k] lead to another frame than R[k - 1]? Not if it is plain and its words are as they were. */
static inline bool frame_is_doubtful(const struct frame *f) {
        uint64_t ra = arch_load(f->ra_slot), fp = arch_load(f->fp_slot);

        return (ra != f[-1].pc_raw) | (fp != f[-1].fp);
}

/* Re-reads the words behind plain frames, inner to outer. Returns the first frame that is not plain
 * or whose words differ. Ends: R[0] is never plain. */
static inline const struct frame *first_doubtful(const struct frame *f) {
        for (;; f -= 2) { /* two at a time: fewer jumps */
                if (frame_is_doubtful(f))
                        return f;
                if (frame_is_doubtful(f - 1))
                        return f - 1;
        }
}

static bool is_frame(const struct frame *f, const struct state *s) {
        return f->pc_raw == s->pc_raw && f->sp == s->sp && f->fp == s->fp &&
               (f->flags & FRAME_UNLIKE) == s->flags;
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
                if (f->flags & FRAME_END) {
                        c->last = STEP_END;
                        return SAME;
                }
                if (f->flags & FRAME_AT_GAP)
                        return AT_GAP;
                if (f->flags & FRAME_AT_CUT) {
                        c->is_cut = true;
                        return AT_CUT;
                }
                if (!(f->flags & FRAME_BARRIER) || !barrier_holds(c, k))
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
        if (f->flags & FRAME_UNLIKE)
                return false;
        return verify(c, OUTER - 1, &k) != DIFFERENT;
}

/* ---- the walk ------------------------------------------------------------------------------- */

/* The walk stops here with frames left unseen. */
static uint32_t cut_here(struct walk *c) {
        struct frame *f = outermost_fresh(c);

        f->flags = (f->flags & ~(uint64_t)FRAME_AT_GAP) | FRAME_AT_CUT;
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
        outermost_fresh(c)->flags |= FRAME_AT_GAP;
        return OUTER + 1;
}

/* Goes on where quick steps ended, n_fresh frames in. Returns how many remembered frames stay. */
static uint32_t walk_stack(struct walk *c) {
        uint32_t n_steps_left = UNWIND_FRESH_MAX, n_max = UNWIND_FRESH_MAX - c->n_fresh;
        uint32_t n_before = 0, n_kept;
        bool is_connected = false; /* to the frames outside the gap, by frames of the walk before */

        for (;; n_before = c->n_fresh) {
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

        (fresh_end(c->w) - INNER)->flags |= FRAME_AT_CUT;
        remember_frames(r, fresh_end(c->w) - INNER, INNER);
        c->n_fresh = INNER;
}

/* OUTER frames, a marker and the inner ones stay. */
static void leave_out_middle(struct walk *c) {
        struct frame *r = remembered(c->w);
        uint64_t *pcs = c->w->pcs;

        struct frame *inner = fresh_end(c->w) - INNER;

        remember_frames(r, outermost_fresh(c), OUTER);
        r[OUTER] =
                (struct frame){.pc_raw = UNWIND_PC_OMITTED, .sp = inner->sp, .flags = FRAME_MARKER};
        frame_seal(&r[OUTER]);
        inner->flags |= FRAME_AT_GAP;
        remember_frames(r + OUTER + 1, inner, INNER);

        pcs[INNER] = UNWIND_PC_OMITTED;
        for (uint32_t i = 0; i < OUTER; i++)
                pcs[INNER + 1 + i] = pcs[c->n_fresh - OUTER + i];
        c->n_fresh = INNER + 1 + OUTER;
        c->w->has_gap = true;
}

/* More frames than fit. Everything is reported anew; that happens once in some hundred frames. */
static void leave_out_some(struct walk *c, uint32_t n_kept) {
        take_over(c, (int32_t)n_kept - 1, 0);
        if (outermost_fresh(c)->flags & FRAME_AT_CUT)
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
                remember_frames(remembered(w) + n_kept, outermost_fresh(c), c->n_fresh);
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

static inline uint64_t walk_pack(uint32_t n_kept, uint32_t n_new, uint64_t end) {
        return n_kept | (uint64_t)n_new << 16 | end << 40;
}

/* The walk from the state given, with the frames from `fresh` on stepped already and `top` the next of
 * R that may match. */
static __attribute__((noinline)) uint64_t walk_on(struct unwind_walker *w,
                                                  const struct frame *fresh,
                                                  const struct frame *top, uint64_t pc_raw,
                                                  uint64_t sp, uint64_t fp) {
        struct walk c = {
                .w = w,
                .p = {.cache = &w->cache,
                      .ctx = w->ctx,
                      .generation = w->generation,
                      .limit = step_limit(sp)},
                .s = {.pc_raw = pc_raw, .pc = arch_strip(pc_raw), .sp = sp, .fp = fp},
                .n_fresh = (uint32_t)(fresh_end(w) - fresh),
                .top = (int32_t)(top - remembered(w)),
                .last = STEP_OK,
        };
        uint32_t n_kept;

        SIGNAL_POINT("walk/fresh");
        n_kept = remember(&c, walk_stack(&c));
        return walk_pack(n_kept, c.n_fresh, c.is_cut ? UNWIND_END_CUT : walk_end_of(&c.p, c.last));
}

/* The first walk of a generation, or one that cannot be. */
static __attribute__((noinline)) uint64_t walk_first(struct unwind_walker *w, uint64_t pc_raw,
                                                     uint64_t sp, uint64_t fp) {
        uint64_t generation = rowtab_generation();

        if (!walk_can_start(pc_raw, sp) || generation == 0) {
                w->n_frames = 0;
                return walk_pack(0, 0, UNWIND_END_LOST);
        }
        if (generation != w->generation)
                start_generation(w, generation);
        return walk_on(w, fresh_end(w), remembered(w) + w->n_frames - 1, pc_raw, sp, fp);
}

/* The n_new frames from `fresh` on go on top of R[0 .. n_kept), which end the stack by CFI. */
static inline uint64_t walk_done(struct unwind_walker *w, const struct frame *fresh,
                                 uint32_t n_kept, uint32_t n_new) {
        __atomic_store_n(&w->n_frames, 0, __ATOMIC_RELAXED);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        remember_frames(remembered(w) + n_kept, fresh, n_new);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        SIGNAL_POINT("walk/quick-copied");
        __atomic_store_n(&w->n_frames, n_kept + n_new, __ATOMIC_RELAXED);
        w->has_gap = false; /* from inside a gap nothing comes to the end but through it */
        return walk_pack(n_kept, n_new, UNWIND_END_COMPLETE);
}

/* Nearly all walks are plain all through: those are made here, without a call. Whatever is not
 * plain, not cached or not as remembered is left to walk_on, which takes up where this one is. */
uint64_t unwind_walk_packed(struct unwind_walker *w, uint64_t pc_raw, uint64_t sp, uint64_t fp) {
        const struct frame *r = remembered(w);
        const struct frame *top = r + w->n_frames - 1;
        struct frame *f = fresh_end(w);
        uint64_t *pc_out = w->pcs;
        uint64_t limit = step_limit(sp);
        uint32_t n_kept, n_new;

        if (__builtin_expect(rowtab_generation_glance() != w->generation, 0) ||
            __builtin_expect(!walk_can_start(pc_raw, sp), 0))
                return walk_first(w, pc_raw, sp, fp);
        for (;;) {
                uint64_t pc, base = sp, cfa, ra, ra_slot, fp_slot;
                const struct lookup_entry *e;
                quick_t q;

                for (; top->sp <= sp; top--) /* those below have returned */
                        if (top->sp == sp && top->pc_raw == pc_raw && top->fp == fp &&
                            !(top->flags & FRAME_UNLIKE))
                                goto matched;
                pc = arch_strip(pc_raw);
                e = lookup_entry_of(&w->cache, pc - 1);
                q = e->word;
                if (__builtin_expect(e->key != pc - 1 || !quick_is(q), 0) ||
                    __builtin_expect(pc_out == w->pcs + UNWIND_FRESH_MAX, 0))
                        break;
                if (q & ROW_BASE_FP) {
                        base = fp;
                        if (base - sp > STEP_MAX_BYTES / 2 || base % ARCH_STACK_ALIGN != 0)
                                break;
                }
                cfa = base + quick_cfa_off(q);
                ra_slot = base + quick_ra_off(q);
                fp_slot = base + quick_fp_off(q);
                if (__builtin_expect(cfa - 8 >= limit, 0)) /* slots are below the CFA */
                        break;
                ra = arch_load(ra_slot);
                if (__builtin_expect(ra == 0, 0))
                        break;
                f--;
                f->pc_raw = pc_raw;
                f->fp = fp;
                f->ra_slot = ra_slot;
                f->fp_slot = fp_slot;
                f->sp = sp;
                f->flags = FRAME_FP_KEPT;
                if (q & ROW_FP_SAVED) {
                        f->flags = 0;
                        fp = arch_load(fp_slot);
                }
                pc_raw = ra;
                sp = cfa;
                *pc_out++ = pc;
        }
        return walk_on(w, f, top, pc_raw, sp, fp);

matched:
        n_kept = (uint32_t)(top - r) + 1;
        n_new = (uint32_t)(pc_out - w->pcs);
        if (__builtin_expect(n_kept + n_new <= UNWIND_DEPTH_MAX, 1) &&
            __builtin_expect((first_doubtful(top)->flags & FRAME_END) != 0, 1))
                return walk_done(w, f, n_kept, n_new);
        return walk_on(w, f, top, pc_raw, sp, fp);
}

void unwind_walk(struct unwind_walker *w, const struct unwind_regs *from,
                 struct unwind_delta *ret) {
        uint64_t packed = unwind_walk_packed(w, from->pc, from->sp, from->fp);

        *ret = (struct unwind_delta){.n_kept = packed & 0xffff,
                                     .n_new = packed >> 16 & 0xffff,
                                     .depth = (packed & 0xffff) + (packed >> 16 & 0xffff),
                                     .end = (uint8_t)(packed >> 40),
                                     .pcs = w->pcs};
}

uint64_t unwind_walker_outer_pc(const struct unwind_walker *w, uint32_t k) {
        const struct frame *f = &w->frames[FRESH_CAP + 1 + k];

        return walk_pc_shown(arch_strip(f->pc_raw), (uint32_t)f->flags);
}

void unwind_forget(struct unwind_walker *w) {
        w->n_frames = 0;
}

size_t unwind_walker_size(void) {
        return sizeof(struct unwind_walker);
}

void unwind_walker_init(struct unwind_walker *w, void *ctx) {
        w->ctx = ctx;
        w->generation = GENERATION_NONE;
        w->n_frames = 0;
        w->has_gap = false;
        remembered(w)[-1] = (struct frame){.sp = UINT64_MAX};
        lookup_cache_init(&w->cache, w->first_entries);
}

void unwind_walker_done(struct unwind_walker *w) {
        lookup_cache_done(&w->cache);
        w->generation = GENERATION_NONE;
        w->n_frames = 0;
}
