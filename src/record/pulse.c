/* SPDX-License-Identifier: MIT */
#include "record/pulse.h"

#include "record/proc.h"

enum { PULSE_LOOKS_PER_S = 1000 / PULSE_LOOK_MS };

void pulse_begin(struct pulse *p, pid_t pid) {
        *p = (struct pulse){.pid = pid};
}

enum pulse_verdict pulse_judge(struct pulse *p, char state, uint64_t cpu_ns) {
        bool has_moved = cpu_ns != p->cpu_ns, is_stopped = state == 'T' || state == 't';

        p->cpu_ns = cpu_ns;
        p->n_silent = has_moved ? 0 : p->n_silent + 1;
        p->n_stopped = has_moved || !is_stopped ? 0 : p->n_stopped + 1;
        if (p->n_stopped >= PULSE_STOPPED_S * PULSE_LOOKS_PER_S)
                return PULSE_STOPPED;
        return p->n_silent >= PULSE_SILENT_S * PULSE_LOOKS_PER_S ? PULSE_SILENT : PULSE_BEATS;
}

enum pulse_verdict pulse_look(struct pulse *p) {
        return pulse_judge(p, proc_state(p->pid), proc_cpu_ns(p->pid));
}
