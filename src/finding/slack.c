/* SPDX-License-Identifier: MIT */
/* slack: large blocks of which pages were never touched, where looks at their pages show it; by the function that asked. */
#include "finding/rules.h"

enum { SLACK_MIN_BYTES = 1024 * 1024 };
#define SLACK_MIN_SHARE 0.1 /* of the peak */
#define SLACK_MIN_OWN 0.3   /* of the blocks looked at */

struct slack {
        uint64_t slack_bytes, bytes, n_blocks;
};

static struct slack *slack_by_asker(struct facts *f, const struct askers *askers) {
        struct slack *sums = arena_alloc(f->arena, (askers->n + 1) * sizeof(sums[0]));
        struct query_residency *rows = NULL;
        struct err err = {0};
        size_t n = 0;

        if (query_residency(f->q, &f->source->answer->scope, &rows, &n, &err) < 0)
                return sums;
        for (size_t i = 0; i < n; i++) {
                uint32_t row = facts_row_of_stack(f, rows[i].stack);
                struct slack *to;

                if (row == FACTS_NO_ROW || f->is_collected[row])
                        continue;
                to = &sums[askers->of_row[row]];
                to->slack_bytes += query_residency_slack_bytes(&rows[i]);
                to->bytes += rows[i].peak.bytes;
                to->n_blocks += rows[i].peak.n_blocks;
        }
        free(rows);
        return sums;
}

static void tell_slack(struct facts *f, const struct askers *askers, size_t asker,
                       const struct slack *s) {
        uint32_t row = askers_row(askers, f, asker, QUERY_PEAK);
        struct unit_text never, asked, blocks;
        struct name_frame frame;
        struct finding *x;
        bool is_task;

        frame = place_of_row(f, row, &is_task);
        x = found(f, "slack", (double)s->slack_bytes, row, QUERY_PEAK);
        x->function = place_name(f, &frame, is_task);
        x->text = say(
                f,
                "%s: %s of the %s requested in %s block%s (%u %%) were never touched: request less.",
                x->function, unit_bytes(&never, s->slack_bytes), unit_bytes(&asked, s->bytes),
                unit_count(&blocks, s->n_blocks), plural(s->n_blocks),
                share_pct((double)s->slack_bytes, (double)s->bytes));
        x->next = next_callers(f, &frame, QUERY_PEAK);
        found_number(x, "untouched_bytes", (double)s->slack_bytes);
        found_number(x, "asked_bytes", (double)s->bytes);
        found_number(x, "blocks", (double)s->n_blocks);
}

void find_slack(struct facts *f, const struct askers *askers) {
        const struct slack *all = slack_by_asker(f, askers);

        for (size_t i = 0; i < askers->n; i++)
                if (all[i].slack_bytes >= SLACK_MIN_BYTES &&
                    (double)all[i].slack_bytes >= SLACK_MIN_SHARE * (double)f->totals->peak_bytes &&
                    (double)all[i].slack_bytes >= SLACK_MIN_OWN * (double)all[i].bytes)
                        tell_slack(f, askers, i, &all[i]);
}
