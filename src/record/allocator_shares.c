/* SPDX-License-Identifier: MIT */
#include "record/allocator_shares.h"

#include "patch/known_files.h"
#include "pipeline/pipeline.h"
#include "pipeline/pipeline_process.h"
#include "trace/writer.h"
#include "wire/record.h"

static void write_one(struct trace_writer *w, const struct known_files *names, uint32_t number,
                      uint32_t trace_process, const struct process_share *share) {
        const struct known_allocator *a = known_allocator(names, number);

        if (!a || !share->n_allocs)
                return;
        trace_put_allocator(w, &(struct trace_allocator){.process = trace_process,
                                                         .n_allocs = share->n_allocs,
                                                         .alloc_bytes = share->alloc_bytes,
                                                         .name = a->name,
                                                         .version = a->version,
                                                         .module = a->module});
}

void allocator_shares_write(struct trace_writer *w, const struct known_files *names,
                            uint32_t trace_process, const struct pipeline_totals *totals) {
        struct process_share rest = {totals->counts.n_allocs, totals->counts.alloc_bytes};

        if (!names)
                return;
        for (uint32_t i = 1; totals->shares && i < WIRE_N_ALLOCATORS; i++) {
                const struct process_share *share = &totals->shares[i];

                write_one(w, names, i, trace_process, share);
                /* events that were thrown away are in neither */
                rest.n_allocs -= MIN(rest.n_allocs, share->n_allocs);
                rest.alloc_bytes -= MIN(rest.alloc_bytes, share->alloc_bytes);
        }
        write_one(w, names, totals->loader_number, trace_process, &rest);
}
