/* SPDX-License-Identifier: MIT */
/* mapped: most memory is what the program mapped itself, and which function mapped most of that. A collector or a pool hands it out:
 * what is told of blocks is told of the smaller part. */
#include <string.h>

#include "finding/rules.h"
#include "query/meeting.h"

enum { MAPPED_MIN_BYTES = 4 << 20 };
#define MAPPED_MIN_SHARE                                                                           \
        0.2 /* of all that was mapped: a function with less is told of no more than others */

static struct name_frame frame_of(const struct query_frame *f) {
        return (struct name_frame){f->function, f->file,    f->module, f->offset,
                                   f->line,     f->inlined, f->guess};
}

static const char *say_paths(struct facts *f, const struct query_meeting *m) {
        struct name_frame caller = frame_of(&m->caller);
        struct unit_text n, bytes;
        const char *by = m->caller_bytes > 0 && !m->is_alone
                                 ? say(f, ", the largest part, %s, for %s",
                                       unit_bytes(&bytes, (uint64_t)m->caller_bytes),
                                       place_name(f, &caller, m->caller_is_task))
                                 : "";

        return m->n_paths > 1 ? say(f, ", on %s call paths%s", unit_count(&n, m->n_paths), by) : "";
}

static void tell(struct facts *f, const struct query_meeting *m, const struct query_totals *all,
                 uint64_t in_memory_bytes) {
        struct name_frame frame = frame_of(&m->frame);
        uint64_t bytes = (uint64_t)query_figure_of(&m->f, QUERY_MAPPED).value;
        unsigned pct = share_pct((double)bytes, (double)all->peak_bytes);
        struct finding *x = found_about_none(f, "mapped", "");
        struct unit_text own, whole, blocks, resident;

        x->bytes = bytes;
        x->has_site = true;
        x->site = (struct query_site){m->stack, QUERY_ALL, m->f};
        x->metric = QUERY_MAPPED;
        x->leads = true; /* what is told of blocks comes behind */
        x->function = place_name(f, &frame, m->is_task);
        unit_bytes(&own, bytes);
        unit_bytes(&whole, all->peak_bytes);
        x->text = say(
                f,
                "%s mapped %s%s that the program mapped itself%s%s. %sBlocks peaked at only %s: findings about them are about the smaller part.",
                x->function,
                bytes == all->peak_bytes      ? "all of the "
                : strcmp(own.s, whole.s) == 0 ? "nearly all of the "
                                              : say(f, "%s of the ", own.s),
                whole.s, strcmp(own.s, whole.s) == 0 ? "" : say(f, " (%u %%)", pct),
                say_paths(f, m),
                in_memory_bytes < all->peak_bytes / 10 * 9
                        ? say(f, "At most %s of that was resident. ",
                              unit_bytes(&resident, in_memory_bytes))
                        : "",
                unit_bytes(&blocks, f->totals->peak_bytes));
        x->next = next_callers(f, &frame, QUERY_MAPPED);
        found_number(x, "mapped_bytes", (double)all->peak_bytes);
        found_number(x, "share_of_mapped_pct", pct);
        found_number(x, "call_paths", (double)m->n_paths);
        found_number(x, "peak_live_bytes", (double)f->totals->peak_bytes);
}

/* Memory of its own, or shared, that was resident and is in no block: so much of what was mapped may have been touched. Files are not
 * its own. */
static uint64_t beside_blocks(struct facts *f) {
        struct query_scope scope = f->source->answer->scope;
        struct query_resident s = {0};
        uint64_t own_bytes;

        if (query_resident(f->q, &scope, &s, NULL) < 0)
                return 0;
        own_bytes = s.anon_bytes + s.shmem_bytes;
        return own_bytes > f->totals->peak_bytes ? own_bytes - f->totals->peak_bytes : 0;
}

void find_mapped(struct facts *f) {
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        _cleanup_(query_meetings_freep) struct query_meetings *m = NULL;
        struct query_scope scope = f->source->answer->scope;
        struct err err = {0};
        uint64_t in_memory_bytes;

        if (!query_filter_is_empty(scope.filter))
                return;
        scope.of_mappings = true;
        if (query_ask(f->q, &scope, &a, &err) < 0)
                return;
        in_memory_bytes = MIN(a->totals.peak_bytes, beside_blocks(f));
        if (in_memory_bytes >= MAPPED_MIN_BYTES)
                f->mapped_bytes = (double)in_memory_bytes;
        if (in_memory_bytes < MAPPED_MIN_BYTES || in_memory_bytes <= f->totals->peak_bytes)
                return;
        m = query_meet(f->q, a, QUERY_MAPPED);
        if (m->n && m->items[0].stack &&
            (double)query_figure_of(&m->items[0].f, QUERY_MAPPED).value >=
                    MAPPED_MIN_SHARE * (double)a->totals.peak_bytes)
                tell(f, &m->items[0], &a->totals, in_memory_bytes);
}
