/* SPDX-License-Identifier: MIT */
#include "bill/heap_picture.h"

#include <errno.h>

#include "base/units.h"
#include "bill/heap_write.h"
#include "query/spent_time.h"
#include "show/opened.h"

static int refuse(struct query *q, struct err *reterr) {
        const char *mend = "record with this silt, for some seconds";

        if (query_is_imported(q))
                return err_set(
                        reterr, -ENOENT,
                        "the file was made by another tool, and does not know the pages of the heap: record the program with 'silt run'");
        if (query_view(q)->meta.flags & TRACE_IS_SAMPLED)
                mend = "the recording is of samples: record without --sample";
        return err_set(reterr, -ENOENT, "the trace does not know the pages of the heap: %s", mend);
}

/* The process whose memory was largest, where several are asked about: addresses of two mean different things. */
static uint32_t choose_process(const struct bill_series *s) {
        const struct bill_point *best = &s->points.items[0];

        for (size_t i = 1; i < s->points.n; i++)
                if (s->points.items[i].rss_bytes > best->rss_bytes)
                        best = &s->points.items[i];
        return best->process;
}

/* Without --at the moment at which the allocator kept most free memory, or most was resident. */
static size_t choose_point(const struct bill_series *s, const size_t *points, size_t n,
                           const struct request_resolved *asked, bool is_asked) {
        size_t best = points[0];

        for (size_t i = 1; i < n; i++) {
                const struct bill_point *p = &s->points.items[points[i]],
                                        *b = &s->points.items[best];
                uint64_t to_p = p->time_ns > asked->scope.to_ns ? p->time_ns - asked->scope.to_ns
                                                                : asked->scope.to_ns - p->time_ns;
                uint64_t to_b = b->time_ns > asked->scope.to_ns ? b->time_ns - asked->scope.to_ns
                                                                : asked->scope.to_ns - b->time_ns;

                if (is_asked ? to_p < to_b
                             : p->rss_bytes > b->rss_bytes || (p->rss_bytes == b->rss_bytes &&
                                                               p->kept_bytes > b->kept_bytes))
                        best = points[i];
        }
        return best;
}

static void add_title(const struct query *q, const struct heap_cells *h, struct str *to) {
        str_add(to, "Heap of ");
        query_add_process_name(q, h->process, to);
}

static void add_subtitle(const struct heap_frame *f, struct str *to) {
        struct unit_text at, rss, heap, live, kept, each;

        str_addf(to, "At %s: %s resident, the heap %s, of these %s live and %s free but kept.",
                 unit_duration(&at, f->time_ns), unit_bytes(&rss, f->rss_bytes),
                 unit_bytes(&heap, f->heap_bytes), unit_bytes(&live, f->live_bytes),
                 unit_bytes(&kept, f->free_bytes));
        if (f->cells.n)
                str_addf(to, " A box is %s of addresses.",
                         unit_bytes(&each, f->cells.items[0].size_bytes));
}

/* The moments that are drawn. */
static int read_cells(struct heap_cells *h, struct query *q, struct bill_keys *keys,
                      const struct heap_options *o, struct err *reterr) {
        struct bill_series s;
        VEC(size_t) points = {0};
        int r = bill_series_read(&s, q, o->view.resolved->scope.process, reterr);

        if (r >= 0 && !s.points.n)
                r = refuse(q, reterr);
        for (size_t i = 0; r >= 0 && i < s.points.n; i++)
                if (s.points.items[i].process == choose_process(&s))
                        vec_push(&points, i);
        if (r >= 0 && !o->is_film) {
                points.items[0] = choose_point(&s, points.items, points.n, o->view.resolved,
                                               o->view.request->at.is_set);
                points.n = 1;
        }
        if (r >= 0)
                r = heap_cells_read(h, q, keys, &s, points.items, points.n, reterr);
        bill_series_done(&s);
        vec_free(&points);
        return r;
}

static bool has_cells(const struct heap_cells *h, bool is_film) {
        for (size_t i = 0; i < h->frames.n; i++)
                if ((i == 0 || is_film) && h->frames.items[i].cells.n)
                        return true;
        return false;
}

static int draw(FILE *out, struct query *q, struct bill_keys *keys, const struct heap_options *o,
                struct heap_result *ret, struct err *reterr) {
        struct heap_cells h = {0};
        struct str title = {0}, subtitle = {0}, svg = {0};
        int r = read_cells(&h, q, keys, o, reterr);

        if (r >= 0 && !has_cells(&h, o->is_film))
                r = refuse(q, reterr);
        if (r >= 0) {
                *ret = (struct heap_result){h.frames.n, h.frames.items[0].cells.n};
                add_title(q, &h, &title);
                if (o->is_film) {
                        heap_write_film(out, &h, str_text(&title));
                } else {
                        add_subtitle(&h.frames.items[0], &subtitle);
                        heap_write_svg(&svg, &h, str_text(&title), str_text(&subtitle));
                        fwrite(str_text(&svg), 1, svg.n, out);
                }
        }
        heap_cells_done(&h);
        str_done(&title);
        str_done(&subtitle);
        str_done(&svg);
        return r;
}

int heap_tell(FILE *out, struct query *q, struct names *names, const struct show_options *view,
              struct err *reterr) {
        const struct heap_options o = {.view = *view};
        struct bill_keys keys = {.frames = {.q = q, .names = names}};
        struct heap_cells h = {0};
        int r = query_tell_progress(q, 0, 1, reterr);

        if (r >= 0)
                r = read_cells(&h, q, &keys, &o, reterr);
        if (r >= 0)
                heap_write_json(out, q, &h);
        heap_cells_done(&h);
        bill_keys_done(&keys);
        return r;
}

int heap_draw(FILE *out, const struct heap_options *options, struct heap_result *ret,
              struct err *reterr) {
        struct heap_options o = *options;
        struct request_resolved resolved = {0};
        struct bill_keys keys = {0};
        struct opened t;
        int r = opened_init(&t, o.view.path, &o.view.request->rules, reterr);

        if (r >= 0)
                r = show_resolve(&o.view, t.q, REQUEST_ALL, &resolved, reterr);
        keys.frames = (struct frame_names){.q = t.q, .names = t.names};
        if (r >= 0)
                r = draw(out, t.q, &keys, &o, ret, reterr);
        opened_end_progress(&t);
        bill_keys_done(&keys);
        request_resolved_done(&resolved);
        opened_done(&t);
        return r;
}
