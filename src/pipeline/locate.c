/* SPDX-License-Identifier: MIT */
/* Addresses that no call path has, for those who found them in a process otherwise. */
#include "pipeline/intern.h"
#include "pipeline/pipeline_process.h"
#include "pipeline/pipeline_state.h"

uint32_t pipeline_locate(struct pipeline *p, uint32_t process_idx, uint64_t address) {
        const struct process *process =
                process_idx < p->n_processes ? p->processes[process_idx] : NULL;

        if (!process || !process->is_started || !process->space || address == UINT64_MAX)
                return PIPELINE_NO_LOCATION;
        /* as a return address is: one behind what is meant */
        return intern_locate(&p->intern, process->space, address + 1);
}
