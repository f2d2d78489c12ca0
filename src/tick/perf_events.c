/* SPDX-License-Identifier: MIT */
#include "tick/perf_events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macros.h"
#include "tick/perf_record.h"

enum {
        RINGS_BYTES = 128 << 20, /* of all CPUs together */
        RING_MAX_BYTES = 16 << 20,
        RING_MIN_BYTES = 64 << 10,
        WAIT_RING_SHARE = 2, /* of a ring: another one beside it, for samples of waits */
        RING_SAMPLES = 256, /* at least: a quarter of a second in which the recorder may not come */
        STACK_MAX_BYTES = 60 << 10, /* a record has less than 64 KiB */
        STACK_MIN_BYTES = 8 << 10,
        SWITCH_PERIOD =
                101, /* prime, so that it does not go in step with what programs do in turn */
        ROOT_SHIFT = 8,
        WIDE_MAX_CPUS = 32, /* a clock of a CPU wakes it though it has nothing to do */
};

static int perf_open(const struct perf_event_attr *attr, pid_t pid, int cpu) {
        int fd = (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

        return fd < 0 ? -errno : fd;
}

static void attr_init(const struct perf_events *e, struct perf_event_attr *a) {
        memset(a, 0, sizeof(*a));
        a->size = sizeof(*a);
        a->type = PERF_TYPE_SOFTWARE;
        a->use_clockid = 1;
        a->clockid = CLOCK_MONOTONIC;
        a->exclude_kernel = !e->sees_kernel;
        a->exclude_hv = 1;
}

/* What every sample has, and every other record behind it: perf_record.c reads it in this order. Without PERF_SAMPLE_PERIOD: with it
 * the kernel samples each single switch, whatever the period is (perf_swevent_event). */
static void attr_init_samples(const struct perf_events *e, struct perf_event_attr *a) {
        attr_init(e, a);
        a->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                         PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
        a->exclude_callchain_user = 1;
        a->sample_regs_user = PERF_REGS_MASK;
        a->sample_id_all = 1;
        a->inherit = 1;
        a->inherit_thread = !e->wish.children;
        a->disabled = e->wish.on_exec;
        a->enable_on_exec = e->wish.on_exec;
}

static void attr_init_clock(const struct perf_events *e, struct perf_event_attr *a) {
        attr_init_samples(e, a);
        a->config = PERF_COUNT_SW_CPU_CLOCK;
        a->sample_period = e->wish.period_ns;
        a->sample_stack_user = e->stack_bytes;
}

/* Of a CPU, whoever is on it. */
static void attr_init_wide(const struct perf_events *e, struct perf_event_attr *a) {
        attr_init_clock(e, a);
        a->inherit = a->inherit_thread = 0;
        a->disabled = 1;
        a->enable_on_exec = 0;
        a->exclude_idle = 1;
}

/* Who comes and goes, what code is mapped, who is on a CPU. */
static void attr_add_tasks(const struct perf_events *e, struct perf_event_attr *a) {
        a->mmap = a->mmap2 = a->comm = a->comm_exec = a->task = 1;
        a->context_switch = e->wish.off_cpu;
}

/* One of so many times. */
static void attr_init_switch(const struct perf_events *e, struct perf_event_attr *a,
                             uint64_t period) {
        attr_init_samples(e, a);
        a->config = PERF_COUNT_SW_CONTEXT_SWITCHES;
        a->sample_period = period;
        a->sample_stack_user = e->stack_bytes;
}

/* ---- why not --------------------------------------------------------------------------------------- */

/* May silt use perf events whatever kernel.perf_event_paranoid is? */
static bool has_right(void) {
        const uint64_t wanted = 1ull << 38 | 1ull << 21; /* CAP_PERFMON, CAP_SYS_ADMIN */
        char text[4096];
        const char *at;

        if (fs_read_text("/proc/self/status", text, sizeof(text)) <= 0)
                return false;
        at = strstr(text, "\nCapEff:");
        return at && (strtoull(at + strlen("\nCapEff:"), NULL, 16) & wanted);
}

static int refuse(int r, const char *what, struct err *reterr) {
        char level[32] = "";

        if (r == -ENOSYS)
                return err_set(reterr, r, "%s: this kernel has no perf events (CONFIG_PERF_EVENTS)",
                               what);
        if (r == -EMFILE || r == -ENFILE)
                return err_set(
                        reterr, r,
                        "%s: too few descriptors for an event of each thread on each CPU: raise ulimit -n",
                        what);
        if (r != -EACCES && r != -EPERM)
                return err_set_errno(reterr, r, "%s: cannot open a perf event", what);
        if (has_right())
                return err_set(
                        reterr, r,
                        "%s: perf_event_open is denied though silt has the right to it, by seccomp most likely: in a container allow it",
                        what);
        if (fs_read_text("/proc/sys/kernel/perf_event_paranoid", level, sizeof(level)) <= 0)
                return err_set(
                        reterr, r,
                        "%s: not permitted: run silt with CAP_PERFMON; in a container allow perf_event_open (seccomp)",
                        what);
        level[strcspn(level, "\n")] = 0;
        return err_set(
                reterr, r,
                "%s: not permitted: kernel.perf_event_paranoid is %s: run silt with CAP_PERFMON, or 'sysctl kernel.perf_event_paranoid=1'; in a container allow perf_event_open (seccomp)",
                what, level);
}

/* The rings are there, so perf events are allowed, but not of this thread. */
static int refuse_thread(int r, pid_t tid, struct err *reterr) {
        if ((r != -EACCES && r != -EPERM) || has_right())
                return refuse(r, "perf events", reterr);
        return err_set(
                reterr, r,
                "process %d: not permitted: it belongs to another user, or has more rights than silt: run silt as root",
                (int)tid);
}

/* ---- rings ----------------------------------------------------------------------------------------- */

static size_t ring_bytes(size_t n_cpus) {
        size_t n = RING_MAX_BYTES;

        while (n > RING_MIN_BYTES && n * n_cpus > RINGS_BYTES)
                n /= 2;
        return n;
}

/* An event of silt's own that never happens has the ring: it is there as long as silt is, whatever becomes of threads. */
static int open_ring(struct perf_events *e, size_t cpu, size_t ring, size_t *bytes) {
        struct perf_event_attr a;
        int fd, r;

        attr_init(e, &a);
        a.exclude_kernel = 1;
        a.config = PERF_COUNT_SW_DUMMY;
        a.watermark = 1;
        a.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
        a.sample_id_all = 1;
        for (;;) {
                a.wakeup_watermark = (uint32_t)*bytes / 4;
                fd = perf_open(&a, 0, (int)cpu);
                if (fd < 0)
                        return fd;
                r = perf_ring_init(&e->rings[ring], fd, *bytes);
                if (r == 0)
                        break;
                close(fd);
                if (*bytes <= RING_MIN_BYTES)
                        return r;
                *bytes /= 2; /* kernel.perf_event_mlock_kb, for who may not lock memory */
        }
        e->ring_fds[ring] = fd;
        return epoll_ctl(e->poll_fd, EPOLL_CTL_ADD, fd,
                         &(struct epoll_event){.events = EPOLLIN, .data.u64 = ring}) < 0
                       ? -errno
                       : 0;
}

static int open_rings(struct perf_events *e, struct err *reterr) {
        long n_cpus = sysconf(_SC_NPROCESSORS_CONF);
        size_t bytes, wait_bytes, n_open = 0;
        int r = -ENODEV;

        e->n_cpus = n_cpus > 0 ? (size_t)n_cpus : 1;
        e->n_rings = e->n_cpus * 2;
        e->rings = calloc(e->n_rings, sizeof(*e->rings));
        e->ring_fds = calloc(e->n_rings, sizeof(*e->ring_fds));
        e->poll_fd = epoll_create1(EPOLL_CLOEXEC);
        if (!e->rings || !e->ring_fds || e->poll_fd < 0)
                return err_set(reterr, -ENOMEM, "perf events: no memory or descriptors for rings");
        for (size_t i = 0; i < e->n_rings; i++)
                e->ring_fds[i] = -1;
        bytes = ring_bytes(e->n_cpus);
        for (size_t i = 0; i < e->n_cpus; i++) {
                r = open_ring(e, i, i, &bytes);
                if (r < 0 && r != -ENODEV)
                        return refuse(r, "perf events", reterr);
                n_open += r == 0;
        }
        if (!n_open)
                return refuse(r, "perf events", reterr);
        wait_bytes = bytes / WAIT_RING_SHARE;
        for (size_t i = 0; i < e->n_cpus && e->wish.off_cpu; i++)
                if (e->ring_fds[i] >= 0 && open_ring(e, i, e->n_cpus + i, &wait_bytes) < 0)
                        break; /* then those share the ring of all */
        e->stack_bytes = (uint32_t)MAX(MIN(bytes / RING_SAMPLES, (size_t)STACK_MAX_BYTES),
                                       (size_t)STACK_MIN_BYTES);
        e->is_short = e->stack_bytes < STACK_MAX_BYTES;
        return 0;
}

/* ---- events ---------------------------------------------------------------------------------------- */

static int add_event(struct perf_events *e, const struct perf_event_attr *a, pid_t tid, size_t cpu,
                     enum perf_event_kind kind) {
        int fd = perf_open(a, tid, (int)cpu), ring = e->ring_fds[cpu];
        uint64_t id;

        if (fd < 0)
                return fd;
        if (kind == PERF_EVENT_SWITCH && e->ring_fds[e->n_cpus + cpu] >= 0)
                ring = e->ring_fds[e->n_cpus + cpu];
        if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring) < 0 ||
            ioctl(fd, PERF_EVENT_IOC_ID, &id) < 0) {
                int r = -errno;

                close(fd);
                return r;
        }
        *map_put(&e->kinds, id, 0, NULL) = (uint64_t)MAX(tid, 0) << ROOT_SHIFT | (uint64_t)kind;
        if (kind == PERF_EVENT_WIDE)
                vec_push(&e->wide_fds, fd);
        else
                vec_push(&e->fds, fd);
        if (kind == PERF_EVENT_CLOCK)
                vec_push(&e->clock_fds, fd);
        if (kind == PERF_EVENT_SWITCH)
                vec_push(&e->switch_fds, fd);
        return 0;
}

static int add_on_cpu(struct perf_events *e, pid_t tid, size_t cpu) {
        struct perf_event_attr a;
        int r;

        attr_init_clock(e, &a);
        if (!e->sees_switches)
                attr_add_tasks(e, &a);
        r = add_event(e, &a, tid, cpu, PERF_EVENT_CLOCK);
        if (r < 0 || !e->sees_switches)
                return r;
        attr_init_switch(e, &a, 1);
        r = add_event(e, &a, tid, cpu, PERF_EVENT_SWITCH);
        if (r < 0)
                return r;
        attr_init_switch(e, &a, SWITCH_PERIOD); /* the only one that is never turned off */
        attr_add_tasks(e, &a);
        return add_event(e, &a, tid, cpu, PERF_EVENT_SOME);
}

bool perf_events_widen(struct perf_events *e) {
        bool is_fine = e->sees_switches && e->n_cpus <= WIDE_MAX_CPUS;
        struct perf_event_attr a;

        attr_init_wide(e, &a);
        for (size_t cpu = 0; cpu < e->n_cpus && is_fine; cpu++)
                is_fine = e->ring_fds[cpu] < 0 || add_event(e, &a, -1, cpu, PERF_EVENT_WIDE) == 0;
        if (!is_fine) {
                while (e->wide_fds.n)
                        close(e->wide_fds.items[--e->wide_fds.n]);
                return false;
        }
        for (size_t i = 0; i < e->clock_fds.n; i++) /* with all that came from them */
                ioctl(e->clock_fds.items[i], PERF_EVENT_IOC_DISABLE, 0);
        for (size_t i = 0; i < e->wide_fds.n; i++)
                ioctl(e->wide_fds.items[i], PERF_EVENT_IOC_ENABLE, 0);
        e->is_wide = true;
        return true;
}

int perf_events_add(struct perf_events *e, pid_t tid, struct err *reterr) {
        int r;

        for (size_t cpu = 0; cpu < e->n_cpus; cpu++) {
                if (e->ring_fds[cpu] < 0)
                        continue;
                r = add_on_cpu(e, tid, cpu);
                if ((r == -EACCES || r == -EPERM) && e->sees_kernel && e->fds.n == 0) {
                        e->sees_kernel = e->sees_switches = false;
                        r = add_on_cpu(e, tid, cpu);
                }
                if (r == -ESRCH)
                        return r;
                if (r < 0)
                        return refuse_thread(r, tid, reterr);
        }
        return 0;
}

void perf_events_sample_switches(struct perf_events *e, bool is_on) {
        for (size_t i = 0; i < e->switch_fds.n; i++) /* with all that came from them */
                ioctl(e->switch_fds.items[i],
                      is_on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

enum perf_event_kind perf_events_kind(const struct perf_events *e, uint64_t id, pid_t *ret_root) {
        uint64_t found;

        if (!map_get(&e->kinds, id, &found))
                return PERF_EVENT_OTHER;
        *ret_root = (pid_t)(found >> ROOT_SHIFT);
        return (enum perf_event_kind)(found & ((1u << ROOT_SHIFT) - 1));
}

bool perf_events_are_over(const struct perf_events *e) {
        for (size_t i = 0; i < e->fds.n; i++) {
                struct pollfd p = {.fd = e->fds.items[i], .events = POLLIN};

                if (poll(&p, 1, 0) < 0 || !(p.revents & POLLHUP))
                        return false;
        }
        return true;
}

int perf_events_open(struct perf_events *e, const struct perf_events_wish *wish,
                     struct err *reterr) {
        int r;

        *e = (struct perf_events){.wish = *wish,
                                  .sees_kernel = true,
                                  .sees_switches = wish->off_cpu,
                                  .poll_fd = -1};
        r = open_rings(e, reterr);
        if (r < 0)
                perf_events_close(e);
        return r;
}

void perf_events_close(struct perf_events *e) {
        for (size_t i = 0; i < e->fds.n; i++)
                close(e->fds.items[i]);
        for (size_t i = 0; i < e->wide_fds.n; i++)
                close(e->wide_fds.items[i]);
        vec_free(&e->fds);
        vec_free(&e->wide_fds);
        vec_free(&e->clock_fds);
        vec_free(&e->switch_fds);
        for (size_t i = 0; i < e->n_rings && e->rings && e->ring_fds; i++) {
                perf_ring_done(&e->rings[i]);
                if (e->ring_fds[i] >= 0)
                        close(e->ring_fds[i]);
        }
        free(e->rings);
        free(e->ring_fds);
        map_done(&e->kinds);
        if (e->poll_fd >= 0)
                close(e->poll_fd);
        *e = (struct perf_events){.poll_fd = -1};
}
