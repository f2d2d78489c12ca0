/* SPDX-License-Identifier: MIT */
/* large-site: large blocks of one size, many alive at once, from one place. What one call brings is the unit: several blocks
 * under one function that are as many belong to it together. */
#include "finding/rules.h"

enum {
        LARGE_MIN_BYTES = 4096, /* of a unit */
        LARGE_MIN_BLOCKS = 4,
        LARGE_MAX_CANDIDATES = 512,
};
#define LARGE_MIN_SHARE 0.2        /* of the peak */
#define LARGE_CANDIDATE_SHARE 0.01 /* likewise, of a site that may be part of a unit */
#define LARGE_ADDS 0.1             /* of the unit: a caller with less more is not looked at */

struct large {
        struct facts *f;
        struct places p;
        uint32_t rows[LARGE_MAX_CANDIDATES];
        size_t n_rows;
};

/* The size of all its blocks; 0: they differ. Known from every figure there is. */
static uint64_t size_of(struct facts *f, uint32_t row) {
        const struct query_figures *x = &f->rows[row].self;
        uint64_t n = x->n_allocs ? x->n_allocs : (uint64_t)x->begin_blocks;
        uint64_t bytes = x->n_allocs ? x->alloc_bytes : (uint64_t)x->begin_bytes, size;
        struct course c;

        if (n == 0 || bytes % n || x->peak_blocks <= 0)
                return 0;
        size = bytes / n;
        if ((__int128)x->peak_blocks * size != x->peak_bytes ||
            (__int128)x->end_blocks * size != x->end_bytes ||
            (__int128)x->begin_blocks * size != x->begin_bytes)
                return 0;
        if (row >= f->n_told)
                return size;
        c = facts_course(f, row);
        for (size_t i = 0; i < f->n_columns; i++)
                if ((__int128)c.blocks[i] * size != c.bytes[i])
                        return 0;
        return size;
}

static void choose_rows(struct large *l) {
        struct facts *f = l->f;

        for (size_t row = 0; row < f->n_told && l->n_rows < LARGE_MAX_CANDIDATES; row++) {
                const struct query_figures *x = &f->rows[row].self;

                if (!f->is_claimed[row] && x->peak_blocks > 0 &&
                    (double)x->peak_bytes >=
                            LARGE_CANDIDATE_SHARE * (double)f->totals->peak_bytes &&
                    size_of(f, (uint32_t)row))
                        l->rows[l->n_rows++] = (uint32_t)row;
        }
}

/* What a function brings per call, when it is called n times. */
struct unit {
        double n, bytes; /* all of its bytes at the peak */
        double others;   /* bytes of sites with another number of blocks */
};

static struct unit unit_of(struct large *l, uint32_t place, double n) {
        struct unit u = {.n = n};

        for (size_t i = 0; i < l->n_rows; i++) {
                const struct query_figures *x = &l->f->rows[l->rows[i]].self;

                if (l->f->is_claimed[l->rows[i]] || !places_has(&l->p, place, l->rows[i]))
                        continue;
                if ((double)x->peak_blocks == n)
                        u.bytes += (double)x->peak_bytes;
                else
                        u.others += (double)x->peak_bytes;
        }
        return u;
}

/* Several paths of one function to blocks of one size: they are one unit more often, not a larger one. */
static double blocks_like(struct large *l, uint32_t place, uint64_t size) {
        double n = 0;

        for (size_t i = 0; i < l->n_rows; i++)
                if (!l->f->is_claimed[l->rows[i]] && l->p.of_row[l->rows[i]] == place &&
                    size_of(l->f, l->rows[i]) == size)
                        n += (double)l->f->rows[l->rows[i]].self.peak_blocks;
        return n;
}

static void tell(struct large *l, uint32_t place, uint32_t row, double n, double bytes) {
        struct facts *f = l->f;
        const struct place *p = &l->p.items.items[place];
        unsigned pct = share_pct(bytes, (double)f->totals->peak_bytes);
        struct name_frame frame = p->frame;
        bool is_task = p->is_task;
        struct unit_text each, alive, all;
        struct finding *x;

        if (l->p.of_row[row] == place)
                frame = place_of_row(f, row, &is_task);
        x = found(f, "large-site", bytes, row, QUERY_PEAK);
        x->function = place_name(f, &frame, is_task);
        x->text = say(f, "%s: %s per call, %s live at the peak: %s, %u %% of it.",
                      place_name(f, &frame, is_task), unit_bytes(&each, unit_nearest(bytes / n)),
                      unit_count(&alive, unit_nearest(n)), unit_bytes(&all, x->bytes), pct);
        x->next = next_callers(f, &frame, QUERY_PEAK);
        found_number(x, "unit_bytes", bytes / n);
        found_number(x, "peak_blocks", n);
        found_number(x, "share_of_peak_pct", pct);
        for (size_t i = 0; i < l->n_rows; i++)
                if (places_has(&l->p, place, l->rows[i]))
                        f->is_claimed[l->rows[i]] = true;
}

/* From the site outwards as long as a caller brings more of the same number. */
static void look_at(struct large *l, uint32_t row) {
        uint32_t place = l->p.of_row[row], up;
        double n = (double)l->f->rows[row].self.peak_blocks;
        struct unit u = unit_of(l, place, n);

        for (up = l->p.items.items[place].parent;
             up != PLACE_NONE && l->p.items.items[up].depth > 1; up = l->p.items.items[up].parent) {
                struct unit more = unit_of(l, up, n);

                if (more.others > LARGE_ADDS * more.bytes)
                        break;
                if (more.bytes >= u.bytes * (1 + LARGE_ADDS)) {
                        place = up;
                        u = more;
                }
        }
        if (place == l->p.of_row[row] &&
            blocks_like(l, place, size_of(l->f, row)) > n) { /* by several paths */
                n = blocks_like(l, place, size_of(l->f, row));
                u.bytes = n * (double)size_of(l->f, row);
        }
        if (n >= LARGE_MIN_BLOCKS && u.bytes / n >= LARGE_MIN_BYTES &&
            u.bytes >= LARGE_MIN_SHARE * (double)l->f->totals->peak_bytes)
                tell(l, place, row, n, u.bytes);
}

void find_large(struct facts *f) {
        struct large l = {.f = f};

        choose_rows(&l);
        places_build(&l.p, f, l.rows, l.n_rows);
        for (size_t i = 0; i < l.n_rows; i++)
                if (!f->is_claimed[l.rows[i]])
                        look_at(&l, l.rows[i]);
        places_done(&l.p);
}
