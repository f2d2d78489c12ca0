/* SPDX-License-Identifier: MIT */
/* Addresses, call paths and threads that no event has, for those who found them in a process otherwise. */
#include "pipeline/intern.h"
#include "pipeline/pipeline_process.h"
#include "pipeline/pipeline_state.h"

struct intern_space *pipeline_ref_space(const struct pipeline *p, uint32_t process_idx) {
        const struct process *process =
                process_idx < p->n_processes ? p->processes[process_idx] : NULL;

        return process && process->is_started && process->space ? intern_space_ref(process->space)
                                                                : NULL;
}

void pipeline_unref_space(struct intern_space *s) {
        intern_space_unref(s);
}

uint32_t pipeline_locate(struct pipeline *p, const struct intern_space *s, uint64_t address) {
        if (!s || address == UINT64_MAX)
                return PIPELINE_NO_LOCATION;
        /* as a return address is: one behind what is meant */
        return intern_locate(&p->intern, s, address + 1);
}

uint32_t pipeline_locate_at(struct pipeline *p, uint32_t module, uint64_t address) {
        return intern_locate_at(&p->intern, module, address + 1);
}

uint32_t pipeline_add_file(struct pipeline *p, const struct trace_module *m) {
        return intern_add_file(&p->intern, m);
}

uint32_t pipeline_push(struct pipeline *p, uint32_t parent, uint32_t module, uint64_t offset) {
        return intern_push_at(&p->intern, parent, module, offset);
}

uint32_t pipeline_get_thread(struct pipeline *p, uint32_t process_idx, uint32_t tid,
                             uint64_t time_ns) {
        struct process *process = process_idx < p->n_processes ? p->processes[process_idx] : NULL;
        uint64_t known;

        if (!process || !process->is_started)
                return TRACE_NO_THREAD;
        if (map_get(&process->threads, tid, &known))
                return (uint32_t)known; /* also one that is over: what is told of it comes late */
        return decode_find_thread(p, process, tid, time_ns);
}
