/* SPDX-License-Identifier: MIT */
/* Addresses that no call path has, for those who found them in a process otherwise. */
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
