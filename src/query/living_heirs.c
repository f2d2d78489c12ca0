/* SPDX-License-Identifier: MIT */
#include "query/living_heirs.h"

#include "query/query_internal.h"

static int start_compare(const void *a, const void *b, void *ctx) {
        const struct trace_process_info *p = ctx;
        uint64_t x = p[*(const uint32_t *)a].start.start_ns,
                 y = p[*(const uint32_t *)b].start.start_ns;

        return x < y ? -1 : x > y;
}

static uint64_t end_ns(const struct trace_process_info *p) {
        return p->has_end ? p->end.end_ns : UINT64_MAX;
}

static int end_compare(const void *a, const void *b, void *ctx) {
        const struct trace_process_info *p = ctx;
        uint64_t x = end_ns(&p[*(const uint32_t *)a]), y = end_ns(&p[*(const uint32_t *)b]);

        return x < y ? -1 : x > y;
}

void living_heirs_init(struct living_heirs *h, const struct query *q) {
        size_t n = q->view->n_processes;

        *h = (struct living_heirs){.q = q};
        h->families = calloc(n + 1, sizeof(h->families[0]));
        h->by_start = calloc(n + 1, sizeof(h->by_start[0]));
        h->by_end = calloc(n + 1, sizeof(h->by_end[0]));
        if (!h->families || !h->by_start || !h->by_end)
                abort();
        for (uint32_t p = 0; p < n; p++)
                h->by_start[p] = h->by_end[p] = p;
        qsort_r(h->by_start, n, sizeof(h->by_start[0]), start_compare, (void *)q->view->processes);
        qsort_r(h->by_end, n, sizeof(h->by_end[0]), end_compare, (void *)q->view->processes);
}

void living_heirs_done(struct living_heirs *h) {
        for (size_t p = 0; h->families && p < h->q->view->n_processes; p++)
                vec_free(&h->families[p].heirs);
        free(h->families);
        free(h->by_start);
        free(h->by_end);
        *h = (struct living_heirs){0};
}

static void begin(struct living_heirs *h, uint32_t process, uint64_t next_seq) {
        uint32_t parent = inherited_parent(h->q, process);

        if (h->families[process].has_begun)
                return;
        h->families[process].has_begun = true;
        if (parent == TRACE_NO_PROCESS)
                return;
        vec_push(&h->families[parent].heirs, (struct heir){process, next_seq});
        h->families[parent].below_seq = MAX(h->families[parent].below_seq, next_seq);
}

/* The process, and those of its ancestors that ended before, no longer have anyone. */
static void close_line(struct living_heirs *h, uint32_t process) {
        uint32_t parent;

        while (h->families[process].has_ended && h->families[process].heirs.n == 0 &&
               (parent = inherited_parent(h->q, process)) != TRACE_NO_PROCESS) {
                struct heir_family *f = &h->families[parent];

                f->below_seq = 0;
                for (size_t i = 0; i < f->heirs.n; i++)
                        if (f->heirs.items[i].process == process)
                                f->heirs.items[i--] = f->heirs.items[--f->heirs.n];
                        else
                                f->below_seq = MAX(f->below_seq, f->heirs.items[i].fork_seq);
                process = parent;
        }
}

bool living_heirs_advance(struct living_heirs *h, uint64_t time_ns, uint32_t also,
                          uint64_t next_seq) {
        const struct trace_process_info *p = h->q->view->processes;
        size_t n = h->q->view->n_processes;
        bool ended = false;

        while (h->n_begun < n && p[h->by_start[h->n_begun]].start.start_ns <= time_ns)
                begin(h, h->by_start[h->n_begun++], next_seq);
        begin(h, also, next_seq);
        while (h->n_ended < n && end_ns(&p[h->by_end[h->n_ended]]) < time_ns) {
                uint32_t process = h->by_end[h->n_ended++];

                h->families[process].has_ended = true;
                close_line(h, process);
                ended = true;
        }
        return ended;
}
