/* SPDX-License-Identifier: MIT */
/* peak-site: who held most of the peak, where no other finding is about that memory. No alarm: it is what people ask first. What was far
 * from resident was requested, not held. */
#include <string.h>

#include "finding/rules.h"
#include "query/resident_peak.h"

enum { HOLDER_MIN_BYTES = 1000000 };
#define HOLDER_MIN_SHARE 0.1 /* of the peak */
#define HOLDER_TOLD 0.25     /* likewise: when another finding is about so much, it answers that */
#define HOLDER_UNTOUCHED 0.5 /* likewise: never touched, which says who requested it */

static bool is_told_already(const struct facts *f) {
        static const char *const kinds[] = {"growing", "leak", "large-site", "short-peak", "heap"};

        for (size_t i = 0; i < f->found.n; i++)
                for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
                        if (strcmp(f->found.items[i].kind, kinds[k]) == 0 &&
                            (double)f->found.items[i].bytes >=
                                    HOLDER_TOLD * (double)f->totals->peak_bytes)
                                return true;
        for (size_t i = 0; i < f->found.n; i++)
                if (strcmp(f->found.items[i].kind, "slack") == 0 &&
                    (double)f->found.items[i].bytes >=
                            HOLDER_UNTOUCHED * (double)f->totals->peak_bytes)
                        return true;
        return false;
}

/* "nearly all of the 1.2 GiB that were live at the peak", "2.6 MiB of the 9.7 MiB at the peak (27 %)". */
static const char *say_part(struct facts *f, uint64_t bytes, const char *behind, unsigned pct) {
        uint64_t whole_bytes = f->totals->peak_bytes;
        struct unit_text own, all;

        if (strcmp(unit_bytes(&own, bytes), unit_bytes(&all, whole_bytes)) == 0)
                return say(f, "%sall of the %s %s", bytes < whole_bytes ? "nearly " : "", all.s,
                           behind);
        return say(f, "%s of the %s %s (%u %%)", own.s, all.s, behind, pct);
}

static const char *say_held(struct facts *f, const struct finding *x, unsigned pct) {
        struct query_resident_peak peak;
        struct unit_text resident;

        query_resident_peak(f->q, &f->source->answer->scope, f->totals, &peak);
        if (!peak.is_less && !peak.is_unknown)
                return say(f, "%s held %s.", x->function,
                           say_part(f, x->bytes, "at the peak", pct));
        return say(
                f,
                peak.is_exact ? "%s requested %s, but at most %s of the process was resident."
                : peak.is_unknown
                        ? "%s requested %s, but no sample found more than %s of the process resident, and none was taken after the peak."
                        : "%s requested %s, but no sample found more than %s of the process resident.",
                x->function, say_part(f, x->bytes, "that were live at the peak", pct),
                unit_bytes(&resident, peak.bytes));
}

void find_holder(struct facts *f, const struct askers *askers) {
        double peak = (double)f->totals->peak_bytes;
        const struct asker *most = NULL;
        struct name_frame frame;
        struct finding *x;
        uint32_t row;
        bool is_task;

        if (peak < HOLDER_MIN_BYTES || is_told_already(f))
                return;
        for (size_t i = 0; i < askers->n; i++)
                if (!most || askers->items[i].figures.peak_bytes > most->figures.peak_bytes)
                        most = &askers->items[i];
        if (!most || (double)most->figures.peak_bytes < HOLDER_MIN_SHARE * peak)
                return;
        row = askers_row(askers, f, (size_t)(most - askers->items), QUERY_PEAK);
        frame = place_of_row(f, row, &is_task);
        x = found(f, "peak-site", (double)most->figures.peak_bytes, row, QUERY_PEAK);
        x->function = place_name(f, &frame, is_task);
        x->text = say_held(f, x, share_pct((double)x->bytes, peak));
        x->next = next_callers(f, &frame, QUERY_PEAK);
        found_number(x, "blocks", (double)most->figures.peak_blocks);
        found_number(x, "share_of_peak_pct", share_pct((double)x->bytes, peak));
}
