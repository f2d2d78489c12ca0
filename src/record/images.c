/* SPDX-License-Identifier: MIT */
#include "record/images.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/system_clock.h"
#include "pipeline/pipeline.h"
#include "record/allocator_shares.h"
#include "record/proc.h"
#include "trace/writer.h"

enum { LIFE_MAX_ANCESTORS = 64 };

/* Titles are written soon after the start; later ones change with what a process does, and any of them tells who it is. */
#define TITLE_MIN_NS 20000000ull
#define TITLE_MAX_NS 60000000000ull

double images_began_s(double now_s, double target_started_s) {
        return target_started_s >= 0 ? MIN(now_s, target_started_s) : now_s;
}

bool images_is_stranger(const struct images *l, double started_s) {
        return started_s >= 0 && started_s < l->began_s - IMAGES_TICK_S;
}

void images_init(struct images *l, struct trace_writer *w, const struct known_files *names,
                 pid_t target) {
        memset(l, 0, sizeof(*l));
        l->began_s = images_began_s((double)clock_ns(CLOCK_BOOTTIME) / 1e9, proc_started_s(target));
        l->writer = w;
        l->names = names;
}

/* It is the newest image of its pid. */
static uint32_t images_count_image(struct images *l, const struct image *one) {
        uint64_t *last = map_put(&l->last_by_pid, (uint64_t)one->pid, 0, NULL);

        return (uint32_t)(*last >> 32) + 1;
}

static void images_name_last(struct images *l, const struct image *one) {
        *map_put(&l->last_by_pid, (uint64_t)one->pid, 0, NULL) =
                (uint64_t)one->image_number << 32 | one->trace_process;
        if (one->is_inside)
                map_put(&l->inside, one->trace_process, 1, NULL);
        if (!l->n_added) {
                l->first_pid = one->pid;
                l->first_began_ns = one->began_ns;
        }
        if (one->pid == l->first_pid) {
                l->main_process = one->trace_process;
                l->n_main_lost = 0;
        } else
                l->has_children = true;
        l->n_added++;
}

/* A forked process says its pid itself, and in a pid namespace of its own that is a number of another process, or of
 * none. Whoever has the number and is older than the recording is not it. */
static void images_judge_pid(struct images *l, struct image *one) {
        if (one->is_foreign)
                return;
        one->is_inside = proc_has_other_numbers(one->pid);
        one->started_s = proc_started_s(one->pid);
        if (images_is_stranger(l, one->started_s)) {
                one->is_foreign = true;
                if (one->pidfd >= 0)
                        close(TAKE_FD(one->pidfd));
        } else if (one->pidfd < 0 && one->started_s >= 0)
                one->is_unwatched = true;
        else if (one->pidfd < 0)
                l->n_vanished++;
}

bool image_is_alive(const struct image *one) {
        struct pollfd gone = {.fd = one->pidfd, .events = POLLIN};

        if (one->pidfd >= 0)
                return poll(&gone, 1, 0) != 1;
        return one->is_unwatched && proc_is_running(one->pid) &&
               proc_started_s(one->pid) == one->started_s;
}

/* linux/pidfd.h of 6.15; older systems do not have it. */
struct image_pidfd_info {
        uint64_t mask, cgroup_id;
        uint32_t pid, tgid, ppid, ids[8];
        int32_t exit_code;
};
_Static_assert(sizeof(struct image_pidfd_info) == 64, "the kernel's first version of it");

#define LIFE_PIDFD_GET_INFO _IOWR(0xff, 11, struct image_pidfd_info)
enum { LIFE_PIDFD_INFO_EXIT = 1 << 3 };

static bool image_ask_pidfd(const struct image *one, int *ret_wait_status) {
        struct image_pidfd_info info = {.mask = LIFE_PIDFD_INFO_EXIT};

        if (one->pidfd < 0 || ioctl(one->pidfd, LIFE_PIDFD_GET_INFO, &info) < 0 ||
            !(info.mask & LIFE_PIDFD_INFO_EXIT))
                return false;
        *ret_wait_status = info.exit_code;
        return true;
}

/* The pidfd tells once the parent has asked, /proc until then; it may ask between the two. */
bool image_end_status(const struct image *one, int *ret_wait_status) {
        if (one->is_foreign)
                return false;
        return image_ask_pidfd(one, ret_wait_status) ||
               proc_end_status(one->pid, ret_wait_status) || image_ask_pidfd(one, ret_wait_status);
}

pid_t images_find_number(const struct images *l, pid_t said_pid, uint32_t parent) {
        bool is_inside = said_pid == 1 || /* the first of a namespace */
                         map_get(&l->inside, parent, NULL);

        return is_inside ? proc_find_inside(said_pid, l->began_s - IMAGES_TICK_S) : said_pid;
}

/* Two namespaces may use one number: then a thread lives if either says so. */
bool images_thread_is_alive(const struct images *l, pid_t said_pid, pid_t tid) {
        bool is_known = false;

        for (size_t i = l->list.n; i-- > 0;) {
                const struct image *one = l->list.items[i];

                if (one->said_pid != said_pid || one->is_over)
                        continue;
                is_known = true;
                if (one->is_foreign || (one->is_inside ? proc_thread_is_alive_inside(one->pid, tid)
                                                       : proc_thread_is_alive(one->pid, tid)))
                        return true;
        }
        return !is_known && proc_thread_is_alive(said_pid, tid);
}

struct image *images_next_vanished(struct images *l) {
        for (size_t i = l->list.n; l->n_vanished && i-- > 0;) {
                struct image *one = l->list.items[i];

                if (one->pidfd < 0 && !one->is_foreign && !one->is_unwatched && !one->is_ending) {
                        l->n_vanished--;
                        return one;
                }
        }
        l->n_vanished = 0;
        return NULL;
}

/* exe and args are copied. */
static void image_set_command(struct image *one, const char *exe, const char *const *args,
                              uint32_t n_args) {
        size_t n_bytes = n_args * sizeof(char *) + strlen(exe) + 1;
        const char **copies;
        char *at;

        for (uint32_t i = 0; i < n_args; i++)
                n_bytes += strlen(args[i]) + 1;
        copies = malloc(n_bytes);
        if (!copies) {
                fputs("silt: out of memory\n", stderr);
                abort();
        }
        at = (char *)&copies[n_args];
        for (uint32_t i = 0; i < n_args; i++) {
                copies[i] = at;
                at = stpcpy(at, args[i]) + 1;
        }
        strcpy(at, exe);
        one->command = copies;
        one->args = copies;
        one->n_args = n_args;
        one->exe = at;
}

static const struct image *images_find_process(const struct images *l, uint32_t process) {
        for (size_t i = l->list.n; i-- > 0;)
                if (l->list.items[i]->trace_process == process)
                        return l->list.items[i];
        for (size_t i = 0; i < MIN(l->n_recent, (size_t)IMAGES_N_RECENT); i++)
                if (l->recent[i]->trace_process == process)
                        return l->recent[i];
        return NULL;
}

/* A forked process has its parent's command until it execs; when it cannot be asked, that is what it had. */
static void images_read_command(struct images *l, struct image *one, uint32_t parent) {
        _cleanup_(arena_freep) struct arena *arena = arena_new();
        const char *const *args = NULL;
        const struct image *before;
        const char *exe = "";
        uint32_t n_args = 0;

        if (!one->is_foreign) {
                args = proc_args(arena, one->pid, &n_args);
                exe = proc_exe(arena, one->pid);
        }
        if (!n_args && (before = images_find_process(l, parent))) {
                args = before->args;
                n_args = before->n_args;
                exe = before->exe;
        }
        image_set_command(one, exe, args, n_args);
        before = images_find_process(l, parent);
        if (before && strcmp(before->exe, one->exe) == 0)
                one->program =
                        before->program; /* forked; one that execs is added anew, and asked */
}

struct image *images_add(struct images *l, uint32_t process_idx, pid_t pid, pid_t said_pid,
                         uint32_t parent, uint64_t start_ns) {
        struct image *one = calloc(1, sizeof(*one));
        struct trace_process p = {.parent = parent, .start_ns = start_ns};

        if (!one) {
                fputs("silt: out of memory\n", stderr);
                abort();
        }
        one->process_idx = process_idx;
        one->is_foreign = pid == 0;
        one->said_pid = said_pid;
        one->pid = pid ? pid : said_pid;
        p.pid = (uint32_t)one->pid;
        one->began_ns = start_ns;
        one->end.status = -1;
        one->pidfd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
        images_judge_pid(l, one);
        images_read_command(l, one, parent);
        one->image_number = p.image = images_count_image(l, one);
        p.args = one->args;
        p.n_args = one->n_args;
        p.exe = one->exe;
        one->trace_process = trace_add_process(l->writer, &p);
        vec_push(&l->list, one);
        images_name_last(l, one);
        l->n_alive++;
        return one;
}

struct image *images_find_pid(const struct images *l, pid_t pid) {
        for (size_t i = l->list.n; i-- > 0;)
                if (l->list.items[i]->pid == pid && !l->list.items[i]->is_ending)
                        return l->list.items[i];
        return NULL;
}

struct image *images_find_idx(const struct images *l, uint32_t process_idx) {
        for (size_t i = l->list.n; i-- > 0;)
                if (l->list.items[i]->process_idx == process_idx && !l->list.items[i]->is_over)
                        return l->list.items[i];
        return NULL;
}

uint32_t images_parent_of(const struct images *l, pid_t pid) {
        for (int i = 0; i < LIFE_MAX_ANCESTORS && pid > 1; i++) {
                uint64_t last;

                pid = proc_parent(pid);
                if (map_get(&l->last_by_pid, (uint64_t)pid, &last))
                        return (uint32_t)last;
        }
        return TRACE_NO_PROCESS;
}

static void images_add_past(struct images *l, const struct image *one,
                            const struct pipeline_totals *totals) {
        struct image_cost *x = &l->past.cost;

        l->past.n_lost += totals->counts.n_lost;
        l->past.blocked_ns += one->end.blocked_ns;
        x->cpu_ns += one->cost.cpu_ns;
        x->sample_ns += one->cost.sample_ns;
        x->count_ns += one->cost.count_ns;
        x->n_samples += one->cost.n_samples;
        if (one->trace_process == l->main_process)
                l->n_main_lost = totals->counts.n_lost;
}

/* To those that are over, of which the oldest is forgotten. */
static void images_retire(struct images *l, struct image *one) {
        struct image **place = &l->recent[l->n_recent++ % IMAGES_N_RECENT];
        size_t i = 0;

        while (l->list.items[i] != one)
                i++;
        l->n_grown_up -= i < l->n_grown_up;
        memmove(&l->list.items[i], &l->list.items[i + 1],
                (l->list.n - i - 1) * sizeof(l->list.items[0]));
        l->list.n--;
        if (*place) {
                free((*place)->command);
                free(*place);
        }
        *place = one;
}

void images_end(struct images *l, struct image *one, uint64_t end_ns,
                const struct pipeline_totals *totals) {
        struct trace_process_end *e = &one->end;

        if (one->is_over)
                return;
        one->is_over = true;
        l->n_alive--;
        e->process = one->trace_process;
        e->end_ns = end_ns;
        e->runtime_bytes = MAX(one->runtime_bytes, totals->runtime_bytes);
        e->blocked_ns = totals->blocked_ns;
        e->n_threads = totals->n_threads_started;
        /* The kernel's own high-water mark is exact but holds silt's memory too. */
        if (e->peak_rss_bytes > e->runtime_bytes)
                e->peak_rss_bytes -= e->runtime_bytes;
        e->peak_rss_bytes = MAX(e->peak_rss_bytes, one->peak_rss_bytes);
        trace_end_process(l->writer, e);
        allocator_shares_write(l->writer, l->names, one->trace_process, totals);
        if (one->pidfd >= 0)
                close(TAKE_FD(one->pidfd));
        images_add_past(l, one, totals);
        images_retire(l, one);
}

/* A process that has just become another program is still called by its old one here: its arguments are no title. */
static bool image_is_same_program(const struct image *one) {
        _cleanup_(arena_freep) struct arena *arena = arena_new();

        return strcmp(proc_exe(arena, one->pid), one->exe) == 0;
}

void images_read_title(struct images *l, struct image *one, uint64_t now_ns) {
        char title[PROC_MAX_TITLE_BYTES];
        uint64_t age_ns = now_ns - MIN(one->began_ns, now_ns), hash = 1;

        if (one->is_ending || one->is_foreign || now_ns < one->next_title_ns)
                return;
        one->next_title_ns = now_ns + MIN(MAX(age_ns, TITLE_MIN_NS), TITLE_MAX_NS);
        if (!proc_title(one->pid, one->args, one->n_args, title))
                return;
        for (const char *c = title; *c; c++)
                hash = map_hash(hash ^ (unsigned char)*c);
        if (hash == one->title_hash || !image_is_same_program(one))
                return;
        one->title_hash = hash;
        trace_title_process(l->writer, one->trace_process, title);
}

void images_sample(struct images *l, struct image *one, uint64_t now_ns, uint64_t runtime_bytes,
                   uint64_t arena_bytes) {
        struct trace_sample s = {.process = one->trace_process, .time_ns = now_ns};
        struct proc_memory m;
        uint64_t arena_resident;

        if (one->is_ending || one->is_foreign || !proc_memory(one->pid, &m))
                return;
        /* smaps would tell exactly, but it holds the target's memory lock while it counts pages. */
        arena_resident = MIN(m.shmem_bytes, arena_bytes);
        runtime_bytes = MIN(runtime_bytes, m.anon_bytes);
        s.anon_bytes = m.anon_bytes - runtime_bytes;
        s.file_bytes = m.file_bytes;
        s.shmem_bytes = m.shmem_bytes - arena_resident;
        s.runtime_bytes = runtime_bytes + arena_resident;
        s.minor_faults = m.minor_faults;
        one->n_faults = m.minor_faults + m.major_faults;
        s.major_faults = m.major_faults;
        s.cpu_ns = m.cpu_ns;
        one->runtime_bytes = MAX(one->runtime_bytes, s.runtime_bytes);
        one->rss_bytes = s.anon_bytes + s.file_bytes + s.shmem_bytes;
        one->peak_rss_bytes = MAX(one->peak_rss_bytes, one->rss_bytes);
        /* The kernel's own mark sees what lay between two samples, silt's memory with it. */
        if (m.peak_bytes > s.runtime_bytes)
                one->peak_rss_bytes = MAX(one->peak_rss_bytes, m.peak_bytes - s.runtime_bytes);
        if (!one->has_sample && one->is_older)
                one->first_anon_bytes = s.anon_bytes;
        one->has_sample = true;
        one->anon_bytes = s.anon_bytes;
        one->peak_anon_bytes = MAX(one->peak_anon_bytes, s.anon_bytes);
        trace_put_sample(l->writer, &s);
}
