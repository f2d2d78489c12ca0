/* SPDX-License-Identifier: MIT */
/* When a second thread is worth its while for the recorder: a rule over figures of one interval after the other. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Of one interval. */
struct worker_figures {
        uint64_t took_ns;
        uint64_t slept_ns; /* by the first thread, for want of events */
        uint64_t cpu_ns;   /* of the recorder, all its threads */
        uint64_t idle_ns;  /* of all cores together */
        bool has_idle;     /* it is known */
        bool has_cores;    /* the recorder may use more than one */
};

struct worker_rule {
        bool is_on;
        uint32_t n_tight; /* intervals in a row that left nothing idle */
};

/* Whether one thread does not suffice: the interval after it is worth knowing what is idle. */
bool worker_rule_is_behind(const struct worker_rule *x, const struct worker_figures *f);
/* Sets is_on, for the next interval. */
void worker_rule_judge(struct worker_rule *x, const struct worker_figures *f);
