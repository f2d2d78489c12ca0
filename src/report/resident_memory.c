/* SPDX-License-Identifier: MIT */
#include "report/resident_memory.h"

#include "base/units.h"
#include "report/late_start.h"
#include "report/limit_lines.h"

enum {
        RESIDENT_MIN_BYTES = 16 << 20,       /* beside blocks; every program has some of it */
        RESIDENT_MIN_MAPPED_BYTES = 4 << 20, /* that it mapped itself: not every program does */
        RESIDENT_MIN_SHARE = 10, /* of the whole, 1 in so many: parts with less are not told */
};

enum resident_part { RESIDENT_MAPPED, RESIDENT_FILES, RESIDENT_REST, RESIDENT_N_PARTS };

struct resident {
        uint64_t bytes, blocks_bytes; /* at most, each for itself */
        uint64_t parts[RESIDENT_N_PARTS];
};

static uint64_t above(uint64_t a, uint64_t b) {
        return a > b ? a - b : 0;
}

/* Blocks may be untouched, mappings too: no part is more than what was found in memory. What a program reserved and opened up later
 * (mprotect) was mapped all the same. */
static struct resident resident_of(const struct report *r) {
        const struct query_totals *t = &r->answer->totals;
        const struct query_resident *s = &r->resident;
        uint64_t own_bytes = s->anon_bytes + s->shmem_bytes;
        struct resident x = {.bytes = MAX(t->peak_rss_bytes, query_resident_bytes(s)),
                             .blocks_bytes = t->peak_bytes};

        x.parts[RESIDENT_MAPPED] = MIN(above(own_bytes, x.blocks_bytes), r->mapped.peak_bytes);
        x.parts[RESIDENT_FILES] = s->file_bytes;
        x.parts[RESIDENT_REST] =
                above(x.bytes, x.blocks_bytes + x.parts[RESIDENT_MAPPED] + x.parts[RESIDENT_FILES]);
        return x;
}

/* Not where a part of the blocks was not seen: those would be taken for something else. */
static bool is_told(const struct report *r, const struct resident *x) {
        return r->resident.n_samples && !report_is_windowed(r) && !report_is_filtered(r) &&
               !late_start_is_there(r) && !limits_are_material(r) &&
               x->blocks_bytes < x->bytes / 2 &&
               (x->bytes >= x->blocks_bytes + RESIDENT_MIN_BYTES ||
                x->parts[RESIDENT_MAPPED] >= RESIDENT_MIN_MAPPED_BYTES);
}

static void add_part(struct str *to, uint64_t bytes, enum resident_part part, const char *before) {
        static const char *const what[RESIDENT_N_PARTS] = {
                [RESIDENT_MAPPED] = "are its own mappings",
                [RESIDENT_FILES] = "are files (code, libraries, data)",
                [RESIDENT_REST] = "are stacks, variables and memory the allocator keeps",
        };
        struct unit_text t;

        str_addf(to, "%s%s %s", before, unit_bytes(&t, bytes), what[part]);
}

/* The largest first. */
static void add_parts(const struct resident *x, struct str *to) {
        bool is_added[RESIDENT_N_PARTS] = {0};
        unsigned n = 0, n_told = 0;

        for (unsigned i = 0; i < RESIDENT_N_PARTS; i++)
                n += x->parts[i] >= x->bytes / RESIDENT_MIN_SHARE;
        for (; n_told < n; n_told++) {
                unsigned most = RESIDENT_N_PARTS;

                for (unsigned i = 0; i < RESIDENT_N_PARTS; i++)
                        if (!is_added[i] &&
                            (most == RESIDENT_N_PARTS || x->parts[i] > x->parts[most]))
                                most = i;
                is_added[most] = true;
                add_part(to, x->parts[most], (enum resident_part)most,
                         !n_told           ? ": about "
                         : n_told + 1 == n ? " and "
                                           : ", ");
        }
}

bool resident_add(const struct report *r, const char *lead, struct str *to) {
        struct resident x = resident_of(r);
        struct unit_text all, blocks;

        if (!is_told(r, &x))
                return false;
        str_addf(to, "%s up to %s of memory, at most %s of it in blocks", lead,
                 unit_bytes(&all, x.bytes), unit_bytes(&blocks, x.blocks_bytes));
        add_parts(&x, to);
        return true;
}

void resident_put(struct json *j, const struct report *r) {
        struct resident x = resident_of(r);

        json_key(j, "resident");
        if (!r->resident.n_samples) {
                json_null(j);
                return;
        }
        json_object(j);
        json_put_uint(j, "peak_bytes", x.bytes);
        json_put_uint(j, "anon_bytes", r->resident.anon_bytes);
        json_put_uint(j, "file_bytes", r->resident.file_bytes);
        json_put_uint(j, "shmem_bytes", r->resident.shmem_bytes);
        json_put_uint(j, "mapped_bytes", x.parts[RESIDENT_MAPPED]);
        json_key(j, "is_mostly_blocks");
        json_bool(j, !is_told(r, &x));
        json_end(j);
}
