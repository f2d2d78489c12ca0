/* SPDX-License-Identifier: MIT */
#include "lab/makers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macros.h"
#include "base/vec.h"

enum { CPU_PERIOD_US = 100000 };

static bool machine_has_swap(void) {
        char text[4096];
        const char *at;

        if (fs_read_text("/proc/meminfo", text, sizeof(text)) <= 0 ||
            !(at = strstr(text, "\nSwapTotal:")))
                return true;
        return strtoull(at + strlen("\nSwapTotal:"), NULL, 10) > 0;
}

static int cannot_write(struct err *reterr, int r, const char *dir, const char *file) {
        return err_set(reterr, r, "cannot write '%s/%s' (%s)", dir, file, strerror(-r));
}

/* A kernel that does not count swap has no file for it, which matters only if there is swap. */
static int write_swap(const struct group *g, const char *file, uint64_t n, struct err *reterr) {
        int r = place_write_number(g->place, g->memory_dir, file, n);

        if (r == -ENOENT && !g->limits.swap_bytes && !machine_has_swap())
                return 0;
        return r < 0 ? cannot_write(reterr, r, g->memory_dir, file) : 0;
}

/* ---- version 2 --------------------------------------------------------------------------------------- */

static int cgroup2_write_cpu(const struct group *g, struct err *reterr) {
        char text[64];
        int r;

        snprintf(text, sizeof(text), "%llu %d",
                 (unsigned long long)(g->limits.n_cpus * CPU_PERIOD_US), CPU_PERIOD_US);
        r = place_write(g->place, g->memory_dir, "cpu.max", text);
        return r < 0 ? cannot_write(reterr, r, g->memory_dir, "cpu.max") : 0;
}

int cgroup2_write_limits(const struct group *g, struct err *reterr) {
        const struct group_limits *l = &g->limits;
        const struct {
                const char *file;
                uint64_t bytes;
        } files[] = {{"memory.max", l->memory_bytes}, {"memory.high", l->high_bytes}};
        int r;

        for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
                if (!files[i].bytes)
                        continue;
                r = place_write_number(g->place, g->memory_dir, files[i].file,
                                       files[i].bytes + l->own_bytes);
                if (r < 0)
                        return cannot_write(reterr, r, g->memory_dir, files[i].file);
        }
        if (l->has_swap && (r = write_swap(g, "memory.swap.max", l->swap_bytes, reterr)) < 0)
                return r;
        return l->n_cpus > 0 ? cgroup2_write_cpu(g, reterr) : 0;
}

/* Groups below dir are to have this controller. */
static int cgroup2_enable(struct group *g, const char *dir, const char *controller,
                          struct err *reterr) {
        char text[32];
        int r;

        if (!place_has_word(dir, "cgroup.controllers", controller))
                return err_set(reterr, -ENOTSUP, "'%s' has no %s controller", dir, controller);
        if (place_has_word(dir, "cgroup.subtree_control", controller))
                return 0;
        snprintf(text, sizeof(text), "+%s", controller);
        r = place_write(g->place, dir, "cgroup.subtree_control", text);
        if (r == -EBUSY)
                return err_set(reterr, r, "'%s' has processes of its own", dir);
        if (r < 0)
                return cannot_write(reterr, r, dir, "cgroup.subtree_control");
        snprintf(g->enabled_dir, sizeof(g->enabled_dir), "%s", dir);
        str_addf(&g->enabled, "%s-%s", g->enabled.n ? " " : "", controller);
        return 0;
}

void cgroup2_restore(struct group *g) {
        if (g->enabled.n)
                (void)place_write(g->place, g->enabled_dir, "cgroup.subtree_control",
                                  str_text(&g->enabled));
        str_done(&g->enabled);
}

static int cgroup2_make_below(struct group *g, const char *parent, struct err *reterr) {
        int r = cgroup2_enable(g, parent, "memory", reterr);

        if (r == 0 && g->limits.n_cpus > 0)
                r = cgroup2_enable(g, parent, "cpu", reterr);
        if (r < 0)
                return r;
        r = group_make_dir(g, parent, g->memory_dir);
        if (r < 0) {
                g->memory_dir[0] = 0;
                return err_set(reterr, r, "cannot create a group in '%s' (%s)", parent,
                               strerror(-r));
        }
        r = cgroup2_write_limits(g, reterr);
        if (r < 0) {
                (void)place_remove_dir(g->place, g->memory_dir);
                g->memory_dir[0] = 0;
        }
        return r;
}

/* A group with processes of its own, such as a session's, cannot have groups with limits below it: then one is made next to it,
 * but never outside of a limit that silt is itself in. */
int cgroup2_make(struct group *g, struct err *reterr) {
        char dir[PLACE_PATH_CAP], *slash;
        struct err first = {0};
        size_t root_len = strlen(g->place->cgroup_root);
        int r = place_own_group(g->place, NULL, dir, sizeof(dir));

        if (r < 0)
                return err_set(reterr, r, "not mounted");
        for (;;) {
                uint64_t max;

                r = cgroup2_make_below(g, dir, first.code ? NULL : &first);
                if (r == 0)
                        return 0;
                cgroup2_restore(g);
                if (place_read_number(dir, "memory.max", &max) == 0 && max != UINT64_MAX)
                        break;
                slash = strrchr(dir, '/');
                if (!slash || (size_t)(slash - dir) < root_len)
                        break;
                *slash = 0;
        }
        *reterr = first;
        return r;
}

/* ---- version 1 --------------------------------------------------------------------------------------- */

static int cgroup1_write_cpu(const struct group *g, struct err *reterr) {
        int r = place_write_number(g->place, g->cpu_dir, "cpu.cfs_period_us", CPU_PERIOD_US);

        if (r == 0 && g->limits.n_cpus > 0)
                r = place_write_number(g->place, g->cpu_dir, "cpu.cfs_quota_us",
                                       (uint64_t)(g->limits.n_cpus * CPU_PERIOD_US));
        return r < 0 ? cannot_write(reterr, r, g->cpu_dir, "cpu.cfs_quota_us") : 0;
}

/* The limit of memory and swap may never be below that of memory: upwards it goes first, and downwards last. */
int cgroup1_write_limits(const struct group *g, struct err *reterr) {
        const struct group_limits *l = &g->limits;
        uint64_t memory_bytes = l->memory_bytes + l->own_bytes;
        int r;

        if (l->memory_bytes) {
                if (l->has_swap)
                        (void)place_write_number(g->place, g->memory_dir,
                                                 "memory.memsw.limit_in_bytes",
                                                 memory_bytes + l->swap_bytes);
                r = place_write_number(g->place, g->memory_dir, "memory.limit_in_bytes",
                                       memory_bytes);
                if (r < 0)
                        return cannot_write(reterr, r, g->memory_dir, "memory.limit_in_bytes");
                if (l->has_swap && (r = write_swap(g, "memory.memsw.limit_in_bytes",
                                                   memory_bytes + l->swap_bytes, reterr)) < 0)
                        return r;
        }
        return g->cpu_dir[0] ? cgroup1_write_cpu(g, reterr) : 0;
}

static int cgroup1_make_dir(struct group *g, const char *controller, char *ret_dir,
                            struct err *reterr) {
        char parent[PLACE_PATH_CAP];
        int r = place_own_group(g->place, controller, parent, sizeof(parent));

        if (r < 0)
                return err_set(reterr, r, "no %s controller", controller);
        r = group_make_dir(g, parent, ret_dir);
        if (r < 0) {
                ret_dir[0] = 0;
                return err_set(reterr, r, "cannot create a group in '%s' (%s)", parent,
                               strerror(-r));
        }
        return 0;
}

/* It cannot throttle by memory: the keeper does that by CPU time. */
int cgroup1_make(struct group *g, struct err *reterr) {
        int r = cgroup1_make_dir(g, "memory", g->memory_dir, reterr);

        if (r == 0 && (g->limits.n_cpus > 0 || g->limits.high_bytes))
                r = cgroup1_make_dir(g, "cpu", g->cpu_dir, reterr);
        return r < 0 ? r : cgroup1_write_limits(g, reterr);
}

/* ---- systemd ------------------------------------------------------------------------------------------ */

static bool is_in_path(const char *program) {
        const char *path = getenv("PATH");
        char copy[4096], file[4400], *dir, *rest = copy;

        snprintf(copy, sizeof(copy), "%s", path ? path : "/usr/bin:/bin");
        while ((dir = strsep(&rest, ":"))) {
                snprintf(file, sizeof(file), "%s/%s", dir, program);
                if (*dir && access(file, X_OK) == 0)
                        return true;
        }
        return false;
}

int systemd_make(struct group *g, struct err *reterr) {
        if (access(g->place->systemd_alive, F_OK) < 0)
                return err_set(reterr, -ENOTSUP, "systemd does not run here");
        if (!is_in_path("systemd-run"))
                return err_set(reterr, -ENOENT, "not installed");
        if (geteuid() != 0 && !getenv("XDG_RUNTIME_DIR"))
                return err_set(reterr, -EPERM, "this user has no session of systemd");
        snprintf(g->unit, sizeof(g->unit), "silt-lab-%d", (int)getpid());
        return 0;
}

/* systemd-run becomes the program, in the same process. */
char **systemd_command(struct group *g, char **argv) {
        const struct group_limits *l = &g->limits;
        VEC(char *) all = {0};
        char text[128];

        vec_push(&all, strdup("systemd-run"));
        if (geteuid() != 0)
                vec_push(&all, strdup("--user"));
        vec_push(&all, strdup("--scope"));
        vec_push(&all, strdup("--quiet"));
        vec_push(&all, strdup("--collect"));
        snprintf(text, sizeof(text), "--unit=%s", g->unit);
        vec_push(&all, strdup(text));
        if (l->memory_bytes) {
                snprintf(text, sizeof(text), "--property=MemoryMax=%" PRIu64,
                         l->memory_bytes + l->own_bytes);
                vec_push(&all, strdup(text));
        }
        if (l->high_bytes) {
                snprintf(text, sizeof(text), "--property=MemoryHigh=%" PRIu64,
                         l->high_bytes + l->own_bytes);
                vec_push(&all, strdup(text));
        }
        if (l->has_swap) {
                snprintf(text, sizeof(text), "--property=MemorySwapMax=%llu",
                         (unsigned long long)l->swap_bytes);
                vec_push(&all, strdup(text));
        }
        if (l->n_cpus > 0) {
                snprintf(text, sizeof(text), "--property=CPUQuota=%.0f%%", l->n_cpus * 100);
                vec_push(&all, strdup(text));
        }
        vec_push(&all, strdup("--"));
        for (char **a = argv; *a; a++)
                vec_push(&all, *a);
        vec_push(&all, NULL);
        return all.items;
}
