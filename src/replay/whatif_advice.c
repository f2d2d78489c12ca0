/* SPDX-License-Identifier: MIT */
/* What to do, in one sentence; and what it rests on. */
#include <ctype.h>
#include <math.h>

#include "query/spent_time.h"
#include "replay/whatif_rows.h"
#include "show/estimate.h"
#include "show/view.h"

/* What is worth a change: of the figure itself, of the peak, and at all. */
#define WORTH 0.05
#define WORTH_OF_PEAK 0.02
enum { WORTH_BYTES = 4 << 20 };

struct saving {
        double peak,
                end; /* shares of the reference's, 0 where they are not worth it; below 0: it takes more */
};

static double worth(uint64_t bytes, uint64_t reference_bytes, uint64_t reference_peak_bytes) {
        double less = whatif_less(bytes, reference_bytes);
        double change_bytes = fabs((double)reference_bytes - (double)bytes);

        if (fabs(less) < WORTH || change_bytes < WORTH_BYTES ||
            change_bytes < WORTH_OF_PEAK * (double)reference_peak_bytes)
                return 0;
        return less;
}

static struct saving saving_of(const struct whatif *w, const struct whatif_row *row) {
        const struct whatif_row *ref = &w->rows.items[w->reference];

        return (struct saving){worth(row->peak_bytes, ref->peak_bytes, ref->peak_bytes),
                               worth(row->end_bytes, ref->end_bytes, ref->peak_bytes)};
}

/* Most saved at the peak and at the end together; SIZE_MAX: nothing is worth it. */
static size_t find_best(const struct whatif *w) {
        size_t best = SIZE_MAX;
        double best_score = 0;

        for (size_t i = 0; i < w->rows.n; i++) {
                struct saving s;
                double score;

                if (!w->rows.items[i].has_result || i == w->reference)
                        continue;
                s = saving_of(w, &w->rows.items[i]);
                score = s.peak + s.end;
                if (fmax(s.peak, s.end) > 0 && score > best_score) {
                        best = i;
                        best_score = score;
                }
        }
        return best;
}

static void add_side(const struct whatif_row *row, const struct whatif_row *ref, bool is_peak,
                     bool is_whole, struct str *to) {
        uint64_t bytes = is_peak ? row->peak_bytes : row->end_bytes;
        uint64_t was = is_peak ? ref->peak_bytes : ref->end_bytes;
        double less = whatif_less(bytes, was);
        struct unit_text a, b;

        str_addf(to, "%.0f %% %s at the %s", fabs(less) * 100, less > 0 ? "less" : "more",
                 is_peak ? "peak" : "end");
        if (!is_whole)
                return;
        str_addf(to, " (%s instead of %s with ", unit_bytes(&a, bytes), unit_bytes(&b, was));
        contender_add_name(ref->contender, to);
        str_add(to, ")");
}

static void add_best(const struct whatif *w, size_t best, struct str *to) {
        const struct whatif_row *row = &w->rows.items[best], *ref = &w->rows.items[w->reference];
        struct saving s = saving_of(w, row);
        bool is_peak = s.peak >= s.end;
        double other = is_peak ? s.end : s.peak;

        contender_add_name(row->contender, to);
        str_add(to, " would need ");
        add_side(row, ref, is_peak, true, to);
        if (other == 0) {
                str_addf(to, " and about the same at the %s", is_peak ? "end" : "peak");
        } else {
                str_add(to, other > 0 ? ", and " : ", but ");
                add_side(row, ref, !is_peak, false, to);
        }
        str_add(to, ".");
}

static void add_keep(const struct whatif *w, struct str *to) {
        const struct whatif_row *ref = &w->rows.items[w->reference];
        const char *name = ref->contender->allocator;
        struct unit_text live, peak;
        double most = 0;
        size_t n = 0;

        for (size_t i = 0; i < w->rows.n; i++) {
                const struct whatif_row *row = &w->rows.items[i];

                if (!row->has_result)
                        continue;
                n++;
                most = fmax(most, whatif_less(row->peak_bytes, ref->peak_bytes));
                most = fmax(most, whatif_less(row->end_bytes, ref->end_bytes));
        }
        if (n < 2 && w->rows.n > 1)
                str_addf(to, "No other allocator could be replayed: nothing to compare %s with",
                         name);
        else if (n < 2)
                str_addf(to, "Nothing to compare %s with", name);
        else if (!w->is_recorded)
                str_addf(to, "None saves enough to matter against %s", name);
        else if (most <= WORTH)
                str_addf(to, "No allocator saves more than %.0f %%: keep %s", WORTH * 100, name);
        else /* of a small heap, or of what is left of a large one */
                str_addf(to, "No allocator saves enough to matter: keep %s", name);
        str_addf(to, ", which needs %s for %s live at the peak.",
                 unit_bytes(&peak, ref->peak_bytes), unit_bytes(&live, w->ops.peak_live_bytes));
}

void whatif_add_peak(const struct site_estimates *e, bool utf8, struct str *to) {
        struct unit_text t;

        str_addf(to, "%s%s", e->peak_error > 0 ? "about " : "", unit_weight(&t, e->peak_bytes));
        estimate_add_error(to, e->peak_error, (double)e->peak_bytes, utf8);
}

static void add_first_function(const struct whatif *w, struct str *to) {
        struct frame_stack frames = {0};

        frame_stack_fill(&frames, &w->names, w->estimates.rows[0].stack, false);
        if (frames.shown.n)
                frame_add_function(to, &w->names,
                                   &frames.frames.items[frames.shown.items[0].frame_idx],
                                   frames.shown.items[0].is_task, false, true);
        else
                str_add(to, "code without a name");
        frame_stack_done(&frames);
}

/* Without a replay: the code whose blocks make the most of the peak. */
static void add_estimate(const struct whatif *w, bool utf8, struct str *to) {
        const struct site_estimates *e = &w->estimates;
        bool is_bound = !e->is_exact && !e->has_no_peak;
        struct unit_text saved;
        double share;

        if (!e->n) {
                str_add(to, "Nothing was live, so nothing can be saved.");
                return;
        }
        if (!e->is_exact && !e->rows[0].gone_peak_bytes) {
                str_addf(to, "All of the %s", e->has_no_peak ? "" : "peak of ");
                whatif_add_peak(e, utf8, to);
                str_addf(to, "%s was allocated by ", e->has_no_peak ? " live" : "");
                add_first_function(w, to);
                str_add(to, ".");
                return;
        }
        share = whatif_less(e->rows[0].gone_peak_bytes, e->peak_bytes) * 100;
        str_add(to, "Without the blocks of ");
        add_first_function(w, to);
        str_addf(to,
                 e->has_no_peak ? " %s%.*f %% less would be live: %s%s instead of "
                                : " the peak would be %s%.*f %% lower: %s%s instead of ",
                 is_bound ? "at most " : "", share > 99 && share < 100,
                 share < 100 ? fmin(share, 99.9) : share, is_bound ? "at least " : "",
                 unit_weight(&saved, e->rows[0].gone_peak_bytes));
        whatif_add_peak(e, utf8, to);
        str_add(to, e->has_no_peak ? ". The peak is unknown." : ".");
}

/* "Nothing to replay: the recording is of samples: record without --sample. " */
static void add_refusal(const struct whatif *w, struct str *to) {
        if (!w->no_replay[0])
                return;
        str_addf(to, "%c%s. ", toupper((unsigned char)w->no_replay[0]), w->no_replay + 1);
}

/* What the comparison rests on, where it is not with what the program had. */
static void add_unrecorded(const struct whatif *w, struct str *to) {
        if (w->recorded_name)
                str_addf(
                        to,
                        "The program used an allocator that silt cannot replay here (%s), so the others are compared with glibc. ",
                        w->recorded_name);
        else
                str_add(to,
                        "Which allocator the program used is unknown, so the others are compared with glibc. ");
}

/* What is not replayed may be what matters. */
static void add_far(const struct whatif *w, struct str *to) {
        struct unit_text replayed, recorded, at;

        str_addf(
                to,
                "Doubtful: the replay under %s had %s at %s, where the recording had %s, so other figures may be as far off. ",
                w->recorded_name, unit_bytes(&replayed, w->far_bytes),
                unit_duration(&at, w->recorded_heap.time_ns),
                unit_bytes(&recorded, w->recorded_heap.rss_bytes));
}

static void add_comparison(const struct whatif *w, struct str *to) {
        size_t best = find_best(w);
        struct unit_text lost;

        view_add_missing_end(query_view(w->q), w->options->view.path, to);
        if (w->estimates.n_lost)
                str_addf(to, "%s event%s could not be recorded, and the replay lacks %s. ",
                         unit_count(&lost, w->estimates.n_lost), unit_s(w->estimates.n_lost),
                         w->estimates.n_lost == 1 ? "it" : "them");
        if (!w->is_recorded)
                add_unrecorded(w, to);
        if (w->far_bytes)
                add_far(w, to);
        if (best != SIZE_MAX)
                add_best(w, best, to);
        else
                add_keep(w, to);
}

void whatif_add_advice(const struct whatif *w, bool utf8, struct str *to) {
        if (!w->has_replay) {
                add_refusal(w, to);
                add_estimate(w, utf8, to);
        } else if (w->reference == SIZE_MAX) {
                str_add(to,
                        "The replay under the recorded allocator failed, so there is nothing to compare with.");
        } else if (!w->ops.n_allocs) {
                str_add(to,
                        query_is_blank(w->q)
                                ? "Nothing of what the program did is in the trace, so there is nothing to replay."
                                : "The process allocated nothing: there is nothing to replay.");
        } else {
                add_comparison(w, to);
        }
}

/* ---- doubts ------------------------------------------------------------------------------------- */

static void add_touching(const struct recorded_ops *o, struct str *to) {
        struct unit_text a, b;

        /* what makes no difference is not worth a line */
        if (o->looked_bytes + o->unlooked_bytes < o->peak_live_bytes / 20)
                return;
        if (o->looked_bytes)
                str_addf(
                        to,
                        "Of %s allocated in blocks of 64 KiB and more, %s are written, as the recorder's looks at their pages found.\n",
                        unit_bytes(&a, o->looked_bytes), unit_bytes(&b, o->touched_bytes));
        if (o->unlooked_bytes)
                str_addf(
                        to,
                        "%s in %sblocks of 64 KiB and more are written wholly, because the trace does not know their pages: the figures may be too high.\n",
                        unit_bytes(&a, o->unlooked_bytes), o->looked_bytes ? "other " : "");
}

static void add_left_out(const struct whatif *w, struct str *to) {
        const struct trace_view *v = query_view(w->q);
        struct unit_text a, b;

        if (w->ops.n_inherited)
                str_addf(to, "%s blocks (%s) that the process inherited are allocated first.\n",
                         unit_count(&a, w->ops.n_inherited),
                         unit_bytes(&b, w->ops.inherited_bytes));
        if (w->ops.n_skipped_frees)
                str_addf(to, "%s frees of blocks that were not recorded are left out.\n",
                         unit_count(&a, w->ops.n_skipped_frees));
        for (size_t i = 0; i < v->n_priors; i++)
                if (v->priors[i].process == w->process) {
                        str_add(to, "Blocks from before the recording began are not replayed.\n");
                        break;
                }
        if (w->has_other_allocators)
                str_add(to,
                        "The program has several allocators: the blocks of all are replayed under one.\n");
        if (query_n_pids(w->q) > 1)
                str_addf(
                        to,
                        "Other processes of the recording are not replayed: choose one with --process.\n");
}

void whatif_add_doubts(const struct whatif *w, struct str *to) {
        if (!w->has_replay)
                return;
        add_touching(&w->ops, to);
        add_left_out(w, to);
        if (w->far_bytes)
                str_add(to,
                        "The replay differs from the recording: alignment is not replayed, and each block is written when it is allocated, also memory of calloc that the program never touched.\n");
        if (!w->ops.is_exact)
                str_add(to, "Some events could not be read: the replay lacks them.\n");
        if (w->ops.n_threads > 1)
                str_add(to,
                        "Threads take turns in the recorded order: waiting for locks is not replayed.\n");
}
