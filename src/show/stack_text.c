/* SPDX-License-Identifier: MIT */
#include "show/stack_text.h"

#include <string.h>

#include "base/units.h"
#include "report/site_forest.h"
#include "show/frame.h"
#include "show/view.h"

enum { SITES_MIN_PLACE = 12 }; /* cells of a module's name, at least */

/* ---- a stack ----------------------------------------------------------------------------- */

/* Appends text in colour, cut to what is left of the line; returns what is left then. */
static size_t add_part(const struct style *s, struct str *line, const char *colour,
                       const char *text, size_t left, bool full) {
        size_t width = full ? SIZE_MAX : left, have = str_width(text);

        str_add(line, colour);
        style_add_cut(s, line, text, width);
        str_add(line, colour[0] ? s->plain : "");
        return left - MIN(left, have);
}

/* The cells a frame's place gets of those that are left, with the gap before it; 0: none. A line of
 * source is worth shortening a name for, a module is not. */
static size_t place_cells(const struct name_frame *f, const char *name, const char *place,
                          size_t left) {
        size_t name_width = str_width(name), room = left / 2;

        if (!place[0])
                return 0;
        if (!f->file[0]) {
                if (left < name_width + 2 + SITES_MIN_PLACE)
                        return 0;
                room = left - name_width - 2;
        }
        return MIN(str_width(place), room) + 2;
}

static void print_frame(const struct style *s, const struct report *r, const struct name_frame *f,
                        bool is_task, const char *lead, size_t indent) {
        struct str name = {0}, place = {0}, line = {0};
        bool full = r->options->full;
        size_t left = s->width - indent - str_width(lead), place_width;

        frame_add_function(&name, r, f, is_task, full, s->utf8);
        frame_add_place(&place, f, full);
        place_width = place_cells(f, str_text(&name), str_text(&place), left);
        str_pad(&line, ' ', indent);
        add_part(s, &line, s->dim, lead, SIZE_MAX, true);
        left = add_part(s, &line, "", str_text(&name), left - place_width, full) + place_width;
        if (place_width || (full && place.n)) {
                str_add(&line, "  ");
                add_part(s, &line, s->dim, str_text(&place), left - 2, full);
        }
        fprintf(s->out, "%s\n", str_text(&line));
        str_done(&name);
        str_done(&place);
        str_done(&line);
}

void sites_print_stack(const struct style *s, const struct report *r, uint32_t stack, size_t indent,
                       size_t max_frames) {
        const char *lead = s->utf8 ? "↑ " : "^ ";
        struct frame_stack x = {0};
        size_t n;

        frame_stack_fill(&x, r, stack, r->options->full);
        n = max_frames && x.shown.n > max_frames + 1 ? max_frames : x.shown.n;
        if (x.shown.n == 0)
                fprintf(s->out, "%*s%s(no stack)%s\n", (int)indent, "", s->dim, s->plain);
        for (size_t i = 0; i < n; i++)
                print_frame(s, r, &x.frames.items[x.shown.items[i].frame_idx],
                            x.shown.items[i].is_task, i ? lead : "",
                            indent + (r->options->full ? 0 : MIN(i, 8u)));
        if (n < x.shown.n)
                fprintf(s->out, "%*s%s%s%s %zu more%s\n", (int)(indent + MIN(n, 8u)), "", s->dim,
                        lead, s->utf8 ? "…" : "..", x.shown.n - n, s->plain);
        frame_stack_done(&x);
}

void sites_add_via(const struct style *s, const struct report *r, uint32_t stack, struct str *to) {
        struct frame_stack x = {0};
        uint64_t one;

        frame_stack_fill(&x, r, stack, r->options->full);
        if (x.shown.via_idx != NAME_NO_FRAME && x.frames.items[x.shown.via_idx].function[0]) {
                str_add(to, "via ");
                frame_add_function(to, r, &x.frames.items[x.shown.via_idx], false, false, s->utf8);
                if (map_get(&r->with_parts, stack, &one))
                        str_add(to, " and others");
        }
        frame_stack_done(&x);
}

void sites_add_short(const struct style *s, const struct report *r, uint32_t stack, struct str *to,
                     size_t width) {
        struct str text = {0};
        struct frame_stack x = {0};
        const char *module = NULL;

        frame_stack_fill(&x, r, stack, r->options->full);
        for (size_t i = 0; i < x.shown.n && str_width(str_text(&text)) < width; i++) {
                if (i)
                        str_add(&text, s->utf8 ? " ← " : " < ");
                frame_add_next(&text, r, &x.frames.items[x.shown.items[i].frame_idx],
                               x.shown.items[i].is_task, s->utf8, &module);
        }
        if (x.shown.n == 0)
                str_add(&text, "(no stack)");
        if (str_width(str_text(&text)) > width) { /* callers go first, so cut at the end */
                struct str cut = {0};

                style_add_cut(s, &cut, str_text(&text),
                              2 * width); /* only when one name alone is too long */
                while (cut.n && str_width(str_text(&cut)) > width - (s->utf8 ? 1 : 2)) {
                        do
                                cut.n--;
                        while (cut.n && ((unsigned char)cut.bytes[cut.n] & 0xc0) == 0x80);
                        cut.bytes[cut.n] = '\0';
                }
                str_addf(to, "%s%s", str_text(&cut), s->utf8 ? "…" : "..");
                str_done(&cut);
        } else {
                str_add(to, str_text(&text));
        }
        str_done(&text);
        frame_stack_done(&x);
}

/* ---- whole stacks, a site each ---------------------------------------------------------------- */

/* "in 1,204 blocks, 34,331 allocations": what stands behind the figure. */
static void add_evidence(const struct report *r, const struct query_site *site,
                         const struct query_figure *f, struct str *to) {
        struct unit_text a, b;

        if (metric_is_count(r->metric)) {
                str_addf(to, "%s%s", f->bytes_are_estimated ? "about " : "",
                         unit_bytes(&a, (uint64_t)f->bytes));
                if (r->metric == QUERY_TEMPORARY)
                        str_addf(to, ", of %s allocations", unit_count(&b, site->f.n_allocs));
                return;
        }
        str_addf(to, "%s block%s",
                 unit_count(&a, (uint64_t)(f->blocks < 0 ? -f->blocks : f->blocks)),
                 f->blocks == 1 || f->blocks == -1 ? "" : "s");
        if (r->metric != QUERY_ALLOCATED && f->blocks != (int64_t)site->f.n_allocs)
                str_addf(to, ", %s allocation%s", unit_count(&b, site->f.n_allocs),
                         site->f.n_allocs == 1 ? "" : "s");
}

static void print_site(const struct style *s, const struct report *r,
                       const struct query_site *site) {
        struct query_figure f = query_figure_of(&site->f, r->metric);
        uint64_t whole = query_metric_whole(&r->answer->totals, r->metric);
        struct unit_text t;
        struct str line = {0};

        fprintf(s->out, "\n%s%10s ", s->bold, metric_text(r->metric, f.value, &t));
        if (whole)
                fprintf(s->out, "%5.1f %%", metric_share_pct(f.value, whole));
        add_evidence(r, site, &f, &line);
        fprintf(s->out, "%s  %s%s%s\n", s->plain, s->dim, str_text(&line), s->plain);
        sites_print_stack(s, r, site->stack, 12, 0);
        str_done(&line);
}

static size_t count_sites(const struct report *r) {
        size_t n = 0;

        for (size_t i = 0; i < r->folded.n; i++)
                n += query_figure_of(&r->folded.items[i].f, r->metric).value != 0;
        return n;
}

void sites_print(const struct style *s, struct report *r) {
        size_t n = count_sites(r), n_shown = MIN(n, (size_t)r->options->n_top);
        struct unit_text a, b;

        if (!r->options->full) {
                forest_print(s, r);
                return;
        }
        query_sort_sites(r->folded.items, r->folded.n, r->metric);
        if (n_shown)
                style_heading(s, "%s (%s of %s)", forest_title(r), unit_count(&a, n_shown),
                              unit_count(&b, n));
        for (size_t i = 0; i < n_shown; i++)
                print_site(s, r, &r->folded.items[i]);
}
