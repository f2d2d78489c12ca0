/* SPDX-License-Identifier: MIT */
#include "lab/limit_group.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macros.h"
#include "base/memory_room.h"
#include "base/units.h"
#include "base/vec.h"
#include "lab/makers.h"

enum {
        GROUP_MAX_PROCESSES = 4096, /* looked at in one go */
        GROUP_KILL_MS = 5000,
        GROUP_REMOVE_MS = 1000,
        GROUP_RETRY_MS = 5,
};

static int rlimit_make(struct group *g, struct err *reterr) {
        if (g->limits.high_bytes)
                return err_set(reterr, -ENOTSUP, "it cannot throttle");
        if (g->limits.n_cpus > 0)
                return err_set(reterr, -ENOTSUP, "it cannot limit CPU time to a share");
        return 0;
}

static const struct {
        const char *key, *name;
        int (*make)(struct group *g, struct err *reterr);
} makers[GROUP_N_MAKERS] = {
        [GROUP_CGROUP2] = {"cgroup2", "cgroup v2", cgroup2_make},
        [GROUP_CGROUP1] = {"cgroup1", "cgroup v1", cgroup1_make},
        [GROUP_SYSTEMD] = {"systemd", "systemd-run --scope", systemd_make},
        [GROUP_RLIMIT] = {"rlimit", "RLIMIT_DATA", rlimit_make},
};

const char *group_maker_name(enum group_maker m) {
        return makers[m].name;
}

/* ---- making ---------------------------------------------------------------------------------------- */

/* A silt that was killed with its keeper left its group: one that is alive may be about to use it. */
static bool is_left_behind(const char *name) {
        char proc[64];
        unsigned pid;

        if (sscanf(name, ROOM_LAB_PREFIX "%u", &pid) != 1)
                return false;
        snprintf(proc, sizeof(proc), "/proc/%u", pid);
        return access(proc, F_OK) < 0;
}

static void group_sweep(const struct place *place, const char *parent) {
        char dir[PLACE_PATH_CAP];
        DIR *d = opendir(parent);
        struct dirent *e;

        while (d && (e = readdir(d)))
                if (strncmp(e->d_name, ROOM_LAB_PREFIX, strlen(ROOM_LAB_PREFIX)) == 0 &&
                    is_left_behind(e->d_name) &&
                    (size_t)snprintf(dir, sizeof(dir), "%s/%s", parent, e->d_name) < sizeof(dir))
                        (void)place_remove_dir(place, dir);
        if (d)
                closedir(d);
}

int group_make_dir(struct group *g, const char *parent, char *ret_dir) {
        static unsigned n_made;

        group_sweep(g->place, parent);
        if (snprintf(ret_dir, PLACE_PATH_CAP, "%s/" ROOM_LAB_PREFIX "%d-%u", parent, (int)getpid(),
                     ++n_made) >= PLACE_PATH_CAP)
                return -ENAMETOOLONG;
        return place_make_dir(g->place, ret_dir);
}

static void group_skip(struct group *g, enum group_maker m, const struct err *why) {
        str_addf(&g->skipped, "%s%s: %s", g->skipped.n ? "; " : "", makers[m].name, why->text);
}

int group_make(struct group *g, const struct place *place, const struct group_limits *limits,
               const char *only, struct err *reterr) {
        *g = (struct group){.place = place, .limits = *limits};
        for (int m = 0; m < GROUP_N_MAKERS; m++) {
                struct err why = {0};

                if (only && strcmp(only, makers[m].key) != 0)
                        continue;
                g->maker = (enum group_maker)m;
                if (makers[m].make(g, &why) == 0)
                        return 0;
                (void)group_remove(g);
                group_skip(g, (enum group_maker)m, &why);
        }
        err_set(reterr, -ENOTSUP, "no way to limit a program here: %s",
                g->skipped.n ? str_text(&g->skipped) : "no such way");
        str_done(&g->skipped);
        return -ENOTSUP;
}

/* ---- using ----------------------------------------------------------------------------------------- */

int group_enter(const struct group *g, pid_t pid, struct err *reterr) {
        const char *const dirs[] = {g->memory_dir, g->cpu_dir};

        for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
                int r = *dirs[i] ? place_write_number(g->place, dirs[i], "cgroup.procs",
                                                      (uint64_t)pid)
                                 : 0;

                if (r < 0)
                        return err_set(
                                reterr, r,
                                "cannot move process %d into '%s': %s: check who may write there",
                                (int)pid, dirs[i], strerror(-r));
        }
        return 0;
}

/* Only in the limit's own unit: what the kernel counts as data is private and writable. */
void group_limit_self(const struct group *g) {
        struct rlimit l;

        if (g->maker != GROUP_RLIMIT || !g->limits.memory_bytes)
                return;
        l.rlim_cur = l.rlim_max = g->limits.memory_bytes + g->limits.own_bytes;
        (void)setrlimit(RLIMIT_DATA, &l);
}

char **group_command(struct group *g, char **argv) {
        return g->maker == GROUP_SYSTEMD ? systemd_command(g, argv) : NULL;
}

int group_set_memory(struct group *g, uint64_t memory_bytes, struct err *reterr) {
        g->limits.memory_bytes = memory_bytes;
        if (g->maker == GROUP_CGROUP2)
                return cgroup2_write_limits(g, reterr);
        if (g->maker == GROUP_CGROUP1)
                return cgroup1_write_limits(g, reterr);
        return 0;
}

void group_look(const struct group *g, struct group_usage *ret) {
        bool is_v2 = g->maker == GROUP_CGROUP2;

        *ret = (struct group_usage){0};
        if (!g->memory_dir[0])
                return;
        ret->has_peak = place_read_number(g->memory_dir,
                                          is_v2 ? "memory.peak" : "memory.max_usage_in_bytes",
                                          &ret->peak_bytes) == 0;
        (void)place_read_number(g->memory_dir, is_v2 ? "memory.current" : "memory.usage_in_bytes",
                                &ret->now_bytes);
        ret->has_kills =
                place_read_key(g->memory_dir, is_v2 ? "memory.events" : "memory.oom_control",
                               "oom_kill", &ret->n_kills) == 0;
}

/* ---- who is in it ----------------------------------------------------------------------------------- */

static size_t group_list(const struct group *g, pid_t *ret_pids, size_t cap) {
        const char *dir = g->memory_dir[0] ? g->memory_dir : g->cpu_dir;
        char path[PLACE_PATH_CAP];
        size_t n = 0;
        FILE *f;
        int pid;

        if (!*dir || snprintf(path, sizeof(path), "%s/cgroup.procs", dir) >= (int)sizeof(path) ||
            !(f = fopen(path, "re")))
                return 0;
        while (n < cap && fscanf(f, "%d", &pid) == 1)
                if (pid > 0 && pid != getpid())
                        ret_pids[n++] = pid;
        fclose(f);
        return n;
}

size_t group_signal(const struct group *g, int signo) {
        pid_t pids[GROUP_MAX_PROCESSES];
        size_t n = group_list(g, pids, ARRAY_SIZE(pids));

        for (size_t i = 0; signo && i < n; i++)
                kill(pids[i], signo);
        return n;
}

/* False: somebody is still there. */
static bool group_await_empty(const struct group *g, int wait_ms, int signo) {
        for (int ms = 0; ms < wait_ms; ms += GROUP_RETRY_MS) {
                if (group_signal(g, signo) == 0)
                        return true;
                (void)poll(NULL, 0, GROUP_RETRY_MS);
        }
        return group_signal(g, 0) == 0;
}

size_t group_end(const struct group *g, int grace_ms) {
        size_t n = g->place->is_emulated ? 0 : group_signal(g, 0);

        if (!n)
                return 0;
        if (grace_ms) {
                group_signal(g, SIGTERM);
                group_signal(g, SIGCONT);
        }
        if (!group_await_empty(g, grace_ms, 0))
                group_await_empty(g, GROUP_KILL_MS, SIGKILL);
        return n;
}

int group_remove(struct group *g) {
        char *const dirs[] = {g->memory_dir, g->cpu_dir};
        int worst = 0;

        for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
                int r = 0;

                /* who has just ended is still counted for a moment */
                for (int ms = 0; *dirs[i] && ms < GROUP_REMOVE_MS; ms += GROUP_RETRY_MS) {
                        r = place_remove_dir(g->place, dirs[i]);
                        if (r != -EBUSY)
                                break;
                        (void)poll(NULL, 0, GROUP_RETRY_MS);
                }
                if (r < 0)
                        worst = r;
                *dirs[i] = 0;
        }
        if (g->maker == GROUP_CGROUP2)
                cgroup2_restore(g);
        return worst;
}

/* ---- in words --------------------------------------------------------------------------------------- */

void group_describe(const struct group *g, struct str *ret) {
        const struct group_limits *l = &g->limits;
        struct unit_text a;
        const char *glue = "";

        if (l->memory_bytes) {
                str_addf(ret, "%s of memory", unit_bytes(&a, l->memory_bytes));
                glue = ", ";
        }
        if (l->high_bytes) {
                str_addf(ret, "%sthrottled above %s", glue, unit_bytes(&a, l->high_bytes));
                glue = ", ";
        }
        if (l->has_swap && l->swap_bytes)
                str_addf(ret, "%s%s of swap", glue, unit_bytes(&a, l->swap_bytes));
        else if (l->has_swap)
                str_addf(ret, "%sno swap", glue);
        if (l->n_cpus > 0)
                str_addf(ret, "%s%g CPU%s", *glue || l->has_swap ? ", " : "", l->n_cpus,
                         l->n_cpus == 1 ? "" : "s");
        str_addf(ret, ", by %s", makers[g->maker].name);
        if (g->memory_dir[0])
                str_addf(ret, " ('%s')", g->memory_dir);
        else if (g->maker == GROUP_SYSTEMD)
                str_addf(ret, " ('%s.scope')", g->unit);
        else if (g->maker == GROUP_RLIMIT)
                str_add(ret,
                        ": private address space of each process, not resident memory; allocations fail there, the kernel kills nobody");
}
