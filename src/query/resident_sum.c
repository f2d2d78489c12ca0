/* SPDX-License-Identifier: MIT */
#include "query/resident_sum.h"

#include "query/query_internal.h"

void resident_sum_init(struct resident_sum *s, const struct query *q, uint32_t process) {
        *s = (struct resident_sum){.q = q,
                                   .process = process,
                                   .now = calloc(q->view->n_processes + 1, sizeof(s->now[0])),
                                   .late = TRACE_NO_PROCESS};
        if (!s->now)
                abort();
        process_ends_init(&s->ends, q);
}

void resident_sum_done(struct resident_sum *s) {
        free(s->now);
        process_ends_done(&s->ends);
        *s = (struct resident_sum){0};
}

static void resident_sum_set(struct resident_sum *s, uint32_t process, struct query_resident to) {
        struct query_resident *now = &s->now[process];

        s->all.anon_bytes += to.anon_bytes - now->anon_bytes;
        s->all.file_bytes += to.file_bytes - now->file_bytes;
        s->all.shmem_bytes += to.shmem_bytes - now->shmem_bytes;
        *now = to;
}

bool resident_sum_end(struct resident_sum *s, uint64_t time_ns, uint64_t *ret_end_ns) {
        uint64_t end_ns = process_ends_next_ns(&s->ends);
        uint32_t process = process_ends_take(&s->ends, time_ns);

        if (process == TRACE_NO_PROCESS)
                return false;
        resident_sum_set(s, process, (struct query_resident){0});
        *ret_end_ns = end_ns;
        return true;
}

void resident_sum_settle(struct resident_sum *s) {
        if (s->late != TRACE_NO_PROCESS)
                resident_sum_set(s, s->late, (struct query_resident){0});
        s->late = TRACE_NO_PROCESS;
}

bool resident_sum_take(struct resident_sum *s, const struct trace_sample *sample) {
        uint64_t end_ns;

        if (sample->process >= s->q->view->n_processes ||
            (s->process != QUERY_ALL && sample->process != s->process))
                return false;
        while (resident_sum_end(s, sample->time_ns, &end_ns))
                ;
        resident_sum_settle(s);
        if (query_process_gone_ns(s->q, sample->process) < sample->time_ns)
                s->late = sample->process;
        resident_sum_set(s, sample->process,
                         (struct query_resident){.anon_bytes = sample->anon_bytes,
                                                 .file_bytes = sample->file_bytes,
                                                 .shmem_bytes = sample->shmem_bytes});
        return true;
}
