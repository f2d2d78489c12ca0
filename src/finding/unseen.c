/* SPDX-License-Identifier: MIT */
/* unseen: anonymous memory grew far beyond all that blocks explain, and an allocator's functions mapped it: one that silt does not
 * stand before is at work, and the figures tell only a part. What nobody saw being mapped the recorder tells (record/limit_notes.h). */
#include <string.h>

#include "finding/rules.h"

enum {
        UNSEEN_MIN_BYTES = 32 << 20,
        UNSEEN_BLOCK_BYTES = 32,         /* what a small block takes beside its size */
        UNSEEN_STACK_BYTES = 256 * 1024, /* of a thread, with its share of an allocator's caches */
        UNSEEN_FRAMES = 8,               /* of a mapping's call path */
};
#define UNSEEN_MIN_SHARE 0.5 /* of the growth */
#define UNSEEN_ROUND_UP 1.5  /* size classes, fragments, what was released and kept */

struct frames_look {
        bool is_allocators;
        unsigned n;
};

/* Frames of allocators that are not hooked: what they map is no answer to who holds it. */
static bool look_at_frame(void *ctx, const struct query_frame *frame) {
        static const char *const begins[] = {
                "je_",        "_rjem_",   "os_pages_map",
                "mi_",        "_mi_",     "tc_",
                "tcmalloc::", "TCMalloc", "(anonymous namespace)::MmapSysAllocator",
                "snmalloc::", "sn_"};
        struct frames_look *look = ctx;

        for (size_t i = 0; i < ARRAY_SIZE(begins); i++)
                look->is_allocators |= !strncmp(frame->function, begins[i], strlen(begins[i]));
        return !look->is_allocators && ++look->n < UNSEEN_FRAMES;
}

static uint64_t mapped_by_allocators(struct facts *f, const struct query_scope *scope) {
        struct query_mapping *rows = NULL;
        struct query_mapped all;
        uint64_t sum_bytes = 0;
        struct err err = {0};
        size_t n = 0;

        if (query_mappings(f->q, scope, &rows, &n, &all, &err) < 0)
                return 0;
        for (size_t i = 0; i < n; i++) {
                struct frames_look look = {0};

                query_each_frame(f->q, rows[i].stack, look_at_frame, &look);
                if (look.is_allocators)
                        sum_bytes += rows[i].peak_bytes;
        }
        free(rows);
        return sum_bytes;
}

static void tell_unseen(struct facts *f, uint32_t process, uint64_t growth_bytes,
                        uint64_t unseen_bytes) {
        const char *exe = query_view(f->q)->processes[process].start.exe;
        const struct query_totals *t = f->source->whole;
        struct unit_text grown, seen, unseen;
        struct finding *x = found_about_none(f, "unseen", "");

        x->is_note = true;
        x->bytes = unseen_bytes;
        x->text = say(
                f,
                "Memory grew by %s, but silt saw blocks of at most %s: %s or more are held by an allocator that is not hooked. Run silt doctor %s to see which, and what to do.",
                unit_bytes(&grown, growth_bytes), unit_bytes(&seen, t->peak_bytes),
                unit_bytes(&unseen, unseen_bytes), exe && exe[0] ? exe : "PROG");
        found_number(x, "growth_bytes", (double)growth_bytes);
        found_number(x, "peak_live_bytes", (double)t->peak_bytes);
        found_number(x, "unseen_bytes", (double)unseen_bytes);
}

void find_unseen(struct facts *f) {
        const struct query_totals *t = f->source->whole;
        struct query_scope scope = query_whole(f->q);
        uint32_t process = f->source->answer->scope.process;
        uint64_t growth_bytes;
        struct query_anon anon;
        double rest;

        if (process == QUERY_ALL || f->source->is_windowed ||
            query_anon(f->q, process, &anon, NULL) < 0 ||
            anon.peak_bytes < anon.first_bytes + UNSEEN_MIN_BYTES)
                return;
        growth_bytes = anon.peak_bytes - anon.first_bytes;
        rest = (double)growth_bytes - UNSEEN_ROUND_UP * (double)t->peak_bytes -
               (double)t->peak_blocks * UNSEEN_BLOCK_BYTES -
               (double)t->n_threads * UNSEEN_STACK_BYTES;
        if (rest < UNSEEN_MIN_BYTES || rest < UNSEEN_MIN_SHARE * (double)growth_bytes)
                return;
        scope.process = process;
        rest = MIN(rest, (double)mapped_by_allocators(f, &scope));
        if (rest >= UNSEEN_MIN_BYTES && rest >= UNSEEN_MIN_SHARE * (double)growth_bytes)
                tell_unseen(f, process, growth_bytes, (uint64_t)rest);
}
