/* SPDX-License-Identifier: MIT */
#include "record/recorder_worker.h"

#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/system_clock.h"
#include "trace/writer.h"

/* Of all cores, since the machine started; false: unknown. */
static bool worker_idle_ns(uint64_t *ret) {
        unsigned long long idle;
        long ticks = sysconf(_SC_CLK_TCK);
        char text[256];

        if (ticks <= 0 || fs_read_text("/proc/stat", text, sizeof(text)) <= 0 ||
            sscanf(text, "cpu %*u %*u %*u %llu", &idle) != 1)
                return false;
        *ret = idle * (1000000000ull / (uint64_t)ticks);
        return true;
}

static bool worker_may_run_beside(void) {
        cpu_set_t set;

        return sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 1;
}

static unsigned long long worker_pct(uint64_t part_ns, uint64_t took_ns) {
        return took_ns ? (unsigned long long)(part_ns * 100 / took_ns) : 0;
}

void recorder_judge_worker(struct recorder *r, uint64_t now_ns) {
        struct worker_judgement *j = &r->worker, before = *j;
        struct worker_figures f = {.took_ns = now_ns - before.since_ns,
                                   .slept_ns = before.slept_ns};

        j->since_ns = now_ns;
        j->slept_ns = 0;
        j->cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
        f.cpu_ns = j->cpu_ns - before.cpu_ns;
        /* where it sleeps, nothing is read */
        j->has_idle = worker_rule_is_behind(&j->rule, &f) && worker_idle_ns(&j->idle_ns);
        f.has_idle = j->has_idle && before.has_idle;
        f.has_cores = f.has_idle && worker_may_run_beside();
        /* the kernel's count may go back */
        f.idle_ns = j->idle_ns > before.idle_ns ? j->idle_ns - before.idle_ns : 0;
        worker_rule_judge(&j->rule, &f);
        if (j->rule.is_on == before.rule.is_on)
                return;
        j->rule.is_on = trace_writer_set_worker(r->writer, j->rule.is_on);
        if (j->rule.is_on != before.rule.is_on)
                recorder_log(
                        r,
                        "%s second thread for columns and compression: in %llu ms asleep %llu %%, CPU %llu %%, of a core idle %llu %%",
                        j->rule.is_on ? "a" : "no more", (unsigned long long)(f.took_ns / 1000000),
                        worker_pct(f.slept_ns, f.took_ns), worker_pct(f.cpu_ns, f.took_ns),
                        worker_pct(f.idle_ns, f.took_ns));
}
