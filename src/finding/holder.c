/* SPDX-License-Identifier: MIT */
/* peak-site: who held most of the peak, where no other finding is about that memory. No alarm: it is what people ask first. */
#include <string.h>

#include "finding/rules.h"

enum { HOLDER_MIN_BYTES = 1000000 };
#define HOLDER_MIN_SHARE 0.1 /* of the peak */
#define HOLDER_TOLD 0.25     /* likewise: when another finding is about so much, it answers that */

static bool is_told_already(const struct facts *f) {
        static const char *const kinds[] = {"growing", "leak", "large-site", "short-peak", "heap"};

        for (size_t i = 0; i < f->found.n; i++)
                for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
                        if (strcmp(f->found.items[i].kind, kinds[k]) == 0 &&
                            (double)f->found.items[i].bytes >=
                                    HOLDER_TOLD * (double)f->totals->peak_bytes)
                                return true;
        return false;
}

void find_holder(struct facts *f, const struct askers *askers) {
        double peak = (double)f->totals->peak_bytes;
        const struct asker *most = NULL;
        struct unit_text own, all;
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
        x->text = say(f, "%s held %s of the %s at the peak (%u %%).", x->function,
                      unit_bytes(&own, x->bytes), unit_bytes(&all, f->totals->peak_bytes),
                      share_pct((double)x->bytes, peak));
        x->next = next_callers(f, &frame, QUERY_PEAK);
        found_number(x, "blocks", (double)most->figures.peak_blocks);
        found_number(x, "share_of_peak_pct", share_pct((double)x->bytes, peak));
}
