/* SPDX-License-Identifier: MIT */
/* folded stacks: "main;serve;read_request 4096", a line for each call path, outermost function first. */
#include "export/export_job.h"
#include "export/frame_table.h"

/* A frame is what stands between two semicolons: names have none of their own, nor ends of lines. */
static void put_name(FILE *out, const char *name) {
        for (; *name; name++)
                putc(*name == ';' ? ':' : (unsigned char)*name < ' ' ? ' ' : *name, out);
}

int export_folded(struct export_job *job, struct err *reterr) {
        struct query_answer *a = NULL;
        struct frame_table frames;
        int r = query_ask(job->q, &job->scope, &a, reterr);

        if (r < 0)
                return r;
        frame_table_init(&frames, job->q);
        query_sort_sites(a->sites, a->n_sites, job->metric);
        for (size_t i = 0; i < a->n_sites; i++) {
                int64_t value = query_figure_of(&a->sites[i].f, job->metric).value;
                size_t n;
                const uint32_t *path = frame_table_path(&frames, a->sites[i].stack, &n);

                if (value == 0)
                        continue;
                if (n == 0)
                        put_name(job->out, "unknown");
                for (size_t k = n; k-- > 0;) {
                        put_name(job->out, frames.frames.items[path[k]].name);
                        if (k)
                                putc(';', job->out);
                }
                fprintf(job->out, " %lld\n", (long long)value);
                job->told->n_rows++;
        }
        job->told->rows = "call paths";
        frame_table_done(&frames);
        query_answer_free(a);
        return 0;
}
