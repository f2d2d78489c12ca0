/* SPDX-License-Identifier: MIT */
#include "report/resident_memory.h"

#include "base/units.h"
#include "query/meeting.h"
#include "query/resident_peak.h"
#include "query/spent_time.h"
#include "report/late_start.h"
#include "report/limit_lines.h"
#include "show/frame.h"

enum {
        RESIDENT_MIN_BYTES = 8 << 20,        /* beside blocks; every program has some of it */
        RESIDENT_MIN_MAPPED_BYTES = 4 << 20, /* that it mapped itself: not every program does */
        RESIDENT_MIN_SHARE = 10, /* of the whole, 1 in so many: parts with less are not told */
        RESIDENT_MOST_PCT = 50,  /* of what was mapped: a function with so much is named, */
        RESIDENT_ALL_PCT = 90,   /* and with so much it is nearly all */
};

/* Blocks and resident memory agree while neither is less than so much of the other. */
#define RESIDENT_AGREES(a, b) ((a) / 2 * 3 >= (b))

enum resident_part {
        RESIDENT_PART_MAPPED,
        RESIDENT_PART_BLOCKS,
        RESIDENT_PART_FILES,
        RESIDENT_PART_REST,
        RESIDENT_N_PARTS,
};

struct resident {
        struct query_scope scope;
        uint64_t n_samples;
        struct query_resident found; /* in the sample with most */
        uint64_t bytes;              /* at most */
        uint64_t parts[RESIDENT_N_PARTS];
};

static uint64_t above(uint64_t a, uint64_t b) {
        return a > b ? a - b : 0;
}

static const struct query_totals *totals_of(const struct report *r, uint32_t process) {
        return process == r->scope.process || process >= r->answer->n_processes
                       ? &r->answer->totals
                       : &r->answer->processes[process];
}

/* What of the mapped bytes may be in memory of its own: not files, but shared memory that has the form of one. Where nothing tells
 * whether reserved pages were opened up later, they count too. */
static uint64_t mapped_at_most(const struct query_mapped *m, const struct query_resident *s) {
        if (m->reserved_peak_bytes && !m->has_protects)
                return m->peak_bytes;
        return m->anon_peak_bytes +
               MIN(s->shmem_bytes, above(m->usable_peak_bytes, m->anon_peak_bytes));
}

/* Blocks may be untouched, mappings too: no part is more than what was found in memory. */
static struct resident resident_of(const struct report *r, uint32_t process) {
        const struct query_totals *t = totals_of(r, process);
        struct resident x = {.scope = {.process = process, .to_ns = UINT64_MAX}};
        _cleanup_free_ struct query_mapping *rows = NULL;
        struct query_mapped mapped = {0};
        struct err err = {0};
        uint64_t own_bytes, *parts = x.parts;
        size_t n;

        if (query_resident(r->q, &x.scope, &x.found, &err) < 0 ||
            query_mappings(r->q, &x.scope, &rows, &n, &mapped, &err) < 0)
                return (struct resident){.scope = x.scope};
        x.n_samples = x.found.n_samples;
        x.bytes = MAX(t->peak_rss_bytes, query_resident_bytes(&x.found));
        own_bytes = x.found.anon_bytes + x.found.shmem_bytes;
        parts[RESIDENT_PART_BLOCKS] = t->peak_bytes;
        parts[RESIDENT_PART_MAPPED] =
                MIN(above(own_bytes, t->peak_bytes), mapped_at_most(&mapped, &x.found));
        parts[RESIDENT_PART_FILES] = x.found.file_bytes;
        /* of that sample: what came and went between two of them is in no part */
        parts[RESIDENT_PART_REST] =
                above(query_resident_bytes(&x.found), parts[RESIDENT_PART_BLOCKS] +
                                                              parts[RESIDENT_PART_MAPPED] +
                                                              parts[RESIDENT_PART_FILES]);
        return x;
}

/* The highest sample was near the peak that the kernel counted: its parts are those of the peak. */
static bool is_sampled_well(const struct resident *x) {
        return query_resident_bytes(&x->found) >= x->bytes / 5 * 4;
}

static bool is_whole(const struct report *r) {
        return !report_is_windowed(r) && !report_is_filtered(r);
}

/* Blocks are far from all that was resident. */
static bool is_mostly_else(const struct report *r, const struct resident *x) {
        uint64_t blocks_bytes = x->parts[RESIDENT_PART_BLOCKS];

        return x->n_samples && is_whole(r) && !RESIDENT_AGREES(blocks_bytes, x->bytes) &&
               (x->bytes >= blocks_bytes + RESIDENT_MIN_BYTES ||
                x->parts[RESIDENT_PART_MAPPED] >= RESIDENT_MIN_MAPPED_BYTES);
}

/* More was requested than ever was resident; not where frees that silt did not see may be the reason. */
static bool is_mostly_untouched(const struct report *r, const struct resident *x,
                                uint64_t *ret_untouched_bytes) {
        uint64_t blocks_bytes = x->parts[RESIDENT_PART_BLOCKS];
        struct query_resident_peak peak;

        if (!x->n_samples || !is_whole(r) || limits_are_material(r) || query_sample_bytes(r->q) ||
            RESIDENT_AGREES(x->bytes, blocks_bytes) || blocks_bytes < x->bytes + RESIDENT_MIN_BYTES)
                return false;
        query_resident_peak(r->q, &x->scope, totals_of(r, x->scope.process), &peak);
        *ret_untouched_bytes = peak.untouched_bytes;
        if (*ret_untouched_bytes < (blocks_bytes - x->bytes) / 2)
                *ret_untouched_bytes = 0; /* looks saw little of it */
        return *ret_untouched_bytes || peak.is_exact;
}

uint32_t resident_process(const struct report *r) {
        uint32_t most = r->scope.process;

        for (uint32_t p = 0; r->scope.process == QUERY_ALL && p < r->answer->n_processes; p++)
                if (most == QUERY_ALL || r->answer->processes[p].peak_rss_bytes >
                                                 r->answer->processes[most].peak_rss_bytes)
                        most = p;
        return most;
}

/* " (nearly all through ggc_internal_alloc)" */
static void add_mapper(const struct report *r, const struct resident *x, bool utf8,
                       struct str *to) {
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        _cleanup_(query_meetings_freep) struct query_meetings *m = NULL;
        struct query_scope scope = x->scope;
        struct name_frame frame;
        struct err err = {0};
        double pct;

        scope.of_mappings = true;
        if (query_ask(r->q, &scope, &a, &err) < 0 || !a->totals.peak_bytes)
                return;
        m = query_meet(r->q, a, QUERY_MAPPED);
        if (!m->n || !m->items[0].stack)
                return;
        pct = 100.0 * (double)m->items[0].f.peak_bytes / (double)a->totals.peak_bytes;
        if (pct < RESIDENT_MOST_PCT)
                return;
        frame = frame_of(&m->items[0].frame);
        str_addf(to, " (%s through ",
                 pct >= 100                ? "all"
                 : pct >= RESIDENT_ALL_PCT ? "nearly all"
                                           : "most of it");
        frame_add_function(to, &r->frames, &frame, m->items[0].is_task, false, utf8);
        str_add(to, ")");
}

static void add_part(const struct report *r, const struct resident *x, enum resident_part part,
                     bool utf8, struct str *to) {
        struct unit_text t;

        unit_bytes(&t, x->parts[part]);
        switch (part) {
        case RESIDENT_PART_MAPPED:
                str_addf(to, "about %s in its own mappings", t.s);
                add_mapper(r, x, utf8, to);
                break;
        case RESIDENT_PART_BLOCKS:
                str_addf(to,
                         limits_are_material(r) || late_start_is_there(r)
                                 ? "%s in blocks that silt saw"
                                 : "at most %s in blocks",
                         t.s);
                break;
        case RESIDENT_PART_FILES: str_addf(to, "%s in files (code, libraries, data)", t.s); break;
        case RESIDENT_PART_REST:
                str_addf(
                        to,
                        query_is_imported(r->q)
                                ? "about %s in no block (code, libraries, stacks, variables, memory the allocator keeps, the tool's own)"
                        : x->scope.process == QUERY_ALL && query_n_pids(r->q) > 1
                                ? "about %s that they share after a fork, or whose allocation silt did not see (memory the allocator keeps, stacks, variables)"
                        : late_start_is_there(r)
                                ? "about %s from before the recording, or whose allocation silt did not see (memory the allocator keeps, stacks, variables)"
                                : "about %s whose allocation silt did not see (memory the allocator keeps, stacks, variables)",
                        t.s);
                break;
        case RESIDENT_N_PARTS: break;
        }
}

/* The largest first. */
static void add_parts(const struct report *r, const struct resident *x, bool utf8, struct str *to) {
        bool is_added[RESIDENT_N_PARTS] = {0};
        unsigned n = 0;

        for (unsigned i = 0; i < RESIDENT_N_PARTS; i++)
                n += x->parts[i] >= x->bytes / RESIDENT_MIN_SHARE;
        for (unsigned n_told = 0; n_told < n; n_told++) {
                unsigned most = RESIDENT_N_PARTS;

                for (unsigned i = 0; i < RESIDENT_N_PARTS; i++)
                        if (!is_added[i] &&
                            (most == RESIDENT_N_PARTS || x->parts[i] > x->parts[most]))
                                most = i;
                is_added[most] = true;
                str_add(to, !n_told ? ": " : n_told + 1 == n ? " and " : ", ");
                add_part(r, x, (enum resident_part)most, utf8, to);
        }
}

bool resident_add(const struct report *r, uint32_t process, const char *lead, bool utf8,
                  struct str *to) {
        struct resident x = resident_of(r, process);
        uint64_t never_bytes = 0;
        struct unit_text all, never;

        if (!is_mostly_else(r, &x) && !is_mostly_untouched(r, &x, &never_bytes))
                return false;
        str_addf(to, "%s up to %s of memory", lead, unit_bytes(&all, x.bytes));
        if (!is_mostly_else(r, &x)) {
                str_addf(to, ", although its blocks were %s: ",
                         unit_bytes(&all, x.parts[RESIDENT_PART_BLOCKS]));
                if (never_bytes)
                        str_addf(to, "%s of them were never touched",
                                 unit_bytes(&never, never_bytes));
                else
                        str_addf(to, "at least %s of them were not resident",
                                 unit_bytes(&never, x.parts[RESIDENT_PART_BLOCKS] - x.bytes));
        } else if (is_sampled_well(&x))
                add_parts(r, &x, utf8, to);
        else
                str_addf(
                        to,
                        ", at most %s of it in blocks; no sample was taken near that moment, so its other parts are unknown",
                        unit_bytes(&all, x.parts[RESIDENT_PART_BLOCKS]));
        return true;
}

void resident_put(struct json *j, const struct report *r) {
        static const char *const names[RESIDENT_N_PARTS] = {"mapped", "blocks", "files", "unseen"};
        struct resident x = resident_of(r, r->scope.process);
        bool has_kinds = !query_is_imported(r->q); /* else only the sum is known */
        unsigned most = 0;

        json_key(j, "resident");
        if (!x.n_samples) {
                json_null(j);
                return;
        }
        for (unsigned i = 1; i < RESIDENT_N_PARTS; i++)
                if (x.parts[i] > x.parts[most])
                        most = i;
        json_object(j);
        json_put_uint(j, "peak_bytes", x.bytes);
        json_put_known(j, "anon_bytes", x.found.anon_bytes, has_kinds);
        json_put_known(j, "file_bytes", x.found.file_bytes, has_kinds);
        json_put_known(j, "shmem_bytes", x.found.shmem_bytes, has_kinds);
        json_put_uint(j, "mapped_bytes", x.parts[RESIDENT_PART_MAPPED]);
        json_put_uint(j, "blocks_bytes", x.parts[RESIDENT_PART_BLOCKS]);
        json_put_uint(j, "unseen_bytes", x.parts[RESIDENT_PART_REST]);
        json_key(j, "largest_part");
        if (is_sampled_well(&x))
                json_string(j, names[most]);
        else
                json_null(j);
        json_key(j, "is_mostly_blocks");
        json_bool(j, !is_mostly_else(r, &x));
        json_end(j);
}
