/* SPDX-License-Identifier: MIT */
/* csv: a row for each call path with all its figures, quoted as RFC 4180 says. The header is what scripts rely on: columns are added at
 * the end. */
#include <errno.h>
#include <string.h>

#include "export/export_job.h"
#include "export/frame_table.h"
#include "export/site_frame.h"

static void put_quoted(FILE *out, const char *text) {
        for (; *text; text++) {
                if (*text == '"')
                        putc('"', out);
                putc(*text, out);
        }
}

/* A frame is what stands between two semicolons, as of folded stacks. */
static void put_frame(FILE *out, const char *name) {
        for (; *name; name++)
                put_quoted(out, (char[2]){*name == ';' ? ':' : *name});
}

static void put_text(FILE *out, const char *text) {
        fputs(",\"", out);
        put_quoted(out, text);
        putc('"', out);
}

/* What the source of an imported trace did not know stays empty. */
static void put_number(FILE *out, bool is_known, int64_t v) {
        if (is_known)
                fprintf(out, "%lld", (long long)v);
        putc(',', out);
}

static void put_figures(const struct export_job *job, const struct query_figures *f) {
        bool has_blocks = !(job->view->meta.flags & TRACE_LACKS_BLOCKS);
        bool has_traffic = !(job->view->meta.flags & TRACE_LACKS_TRAFFIC);
        bool has_live = !(job->view->meta.flags & TRACE_LACKS_LIVE);
        bool has_peak = !(job->view->meta.flags & TRACE_LACKS_PEAK);
        FILE *out = job->out;

        put_number(out, has_blocks && has_traffic, (int64_t)f->n_allocs);
        put_number(out, has_traffic, (int64_t)f->alloc_bytes);
        put_number(out, has_blocks && has_traffic && has_live, (int64_t)f->n_frees);
        put_number(out, has_traffic && has_live, (int64_t)f->free_bytes);
        put_number(out, has_blocks && has_peak, f->peak_blocks);
        put_number(out, has_peak, f->peak_bytes);
        put_number(out, has_blocks && has_live, f->begin_blocks);
        put_number(out, has_live, f->begin_bytes);
        put_number(out, has_blocks && has_live, f->end_blocks);
        put_number(out, has_live, f->end_bytes);
        put_number(out, !f->lacks_events, (int64_t)f->n_temporary);
        if (!f->lacks_events)
                fprintf(out, "%llu", (unsigned long long)f->n_reallocs);
}

static void put_site(const struct export_job *job, struct frame_table *frames,
                     const struct query_site *s) {
        struct query_frame asked = site_frame(job->q, s->stack);
        const uint32_t *path;
        size_t n;

        put_figures(job, &s->f);
        put_text(job->out, asked.function);
        put_text(job->out, asked.file);
        if (asked.line)
                fprintf(job->out, ",%u", asked.line);
        else
                putc(',', job->out);
        put_text(job->out, asked.module);
        path = frame_table_path(frames, s->stack, &n);
        fputs(",\"", job->out);
        while (n-- > 0) {
                put_frame(job->out, frames->frames.items[path[n]].name);
                if (n)
                        putc(';', job->out);
        }
        fputs("\"\r\n", job->out);
}

int export_csv(struct export_job *job, struct err *reterr) {
        struct query_answer *a = NULL;
        struct frame_table frames;
        int r;

        if (job->view->meta.unit != TRACE_UNIT_BYTES)
                return err_set(reterr, -EINVAL,
                               "'%s' counts no bytes, which columns are named after: choose json",
                               job->path);
        r = query_ask(job->q, &job->scope, &a, reterr);
        if (r < 0)
                return r;
        frame_table_init(&frames, job->q);
        query_sort_sites(a->sites, a->n_sites, job->metric);
        fputs("allocations,allocated_bytes,frees,freed_bytes,peak_blocks,peak_bytes,start_blocks,start_bytes,"
              "end_blocks,end_bytes,temporary,reallocations,function,file,line,module,stack\r\n",
              job->out);
        for (size_t i = 0; i < a->n_sites; i++)
                put_site(job, &frames, &a->sites[i]);
        job->told->n_rows = a->n_sites;
        job->told->rows = "call paths";
        frame_table_done(&frames);
        query_answer_free(a);
        return 0;
}
