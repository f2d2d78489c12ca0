/* SPDX-License-Identifier: MIT */
#include "record/stall.h"

#include "record/proc.h"

enum { STALL_LOOKS_PER_S = 1000 / STALL_LOOK_MS };

void stall_begin(struct stall_watch *p, pid_t pid) {
        *p = (struct stall_watch){.pid = pid};
}

enum stall_verdict stall_judge(struct stall_watch *p, char state, uint64_t cpu_ns) {
        bool has_moved = cpu_ns != p->cpu_ns, is_stopped = state == 'T' || state == 't';

        p->cpu_ns = cpu_ns;
        p->n_silent = has_moved ? 0 : p->n_silent + 1;
        p->n_stopped = has_moved || !is_stopped ? 0 : p->n_stopped + 1;
        if (p->n_stopped >= STALL_STOPPED_S * STALL_LOOKS_PER_S)
                return STALL_STOPPED;
        return p->n_silent >= STALL_SILENT_S * STALL_LOOKS_PER_S ? STALL_SILENT : STALL_NONE;
}

enum stall_verdict stall_look(struct stall_watch *p) {
        return stall_judge(p, proc_state(p->pid), proc_cpu_ns(p->pid));
}
