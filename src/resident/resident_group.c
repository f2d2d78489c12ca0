/* SPDX-License-Identifier: MIT */
#include "resident/resident_group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/macros.h"

enum { PATH_BYTES = 4096 + 512, STAT_BYTES = 16384, MAX_PROCESSES = 1 << 20 };

/* Version 1 says 2^63 less a page where there is no limit. */
#define NO_LIMIT ((uint64_t)1 << 62)

/* One version's files. */
struct group_files {
        uint32_t version;
        const char *usage, *limit, *swap, *kernel;
};

static const struct group_files files_v1 = {1, "memory.usage_in_bytes", "memory.limit_in_bytes",
                                            NULL, "memory.kmem.usage_in_bytes"};
static const struct group_files files_v2 = {2, "memory.current", "memory.max",
                                            "memory.swap.current", NULL};

static bool read_number(const char *folder, const char *file, uint64_t *ret) {
        char path[PATH_BYTES + 64], text[64], *end;

        snprintf(path, sizeof(path), "%s/%s", folder, file);
        if (fs_read_text(path, text, sizeof(text)) <= 0)
                return false;
        if (strncmp(text, "max", 3) == 0) {
                *ret = UINT64_MAX;
                return true;
        }
        *ret = strtoull(text, &end, 10);
        return end != text;
}

/* "anon 123\nfile 456\n…" */
static uint64_t stat_value(const char *text, const char *key) {
        size_t n = strlen(key);

        for (const char *at = text; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
                if (strncmp(at, key, n) == 0 && at[n] == ' ')
                        return strtoull(at + n + 1, NULL, 10);
        return 0;
}

static uint64_t less(uint64_t a, uint64_t b) {
        return a - MIN(a, b);
}

/* Groups below count too, as they do in usage. */
static void split_v1(struct resident_cgroup *g, const char *stat) {
        g->anon_bytes = stat_value(stat, "total_rss");
        g->shmem_bytes = stat_value(stat, "total_shmem");
        g->file_bytes = less(stat_value(stat, "total_cache"), g->shmem_bytes);
        g->swap_bytes = stat_value(stat, "total_swap");
}

static void split_v2(struct resident_cgroup *g, const char *stat) {
        g->anon_bytes = stat_value(stat, "anon");
        g->shmem_bytes = stat_value(stat, "shmem");
        g->file_bytes = less(stat_value(stat, "file"), g->shmem_bytes);
        g->kernel_bytes = stat_value(stat, "kernel");
        if (!g->kernel_bytes) /* before 5.18 */
                g->kernel_bytes = stat_value(stat, "kernel_stack") +
                                  stat_value(stat, "pagetables") + stat_value(stat, "slab") +
                                  stat_value(stat, "percpu") + stat_value(stat, "sock");
}

static uint64_t count_lines(const char *folder, const char *file) {
        char path[PATH_BYTES + 64];
        uint64_t n = 0;
        FILE *f;

        snprintf(path, sizeof(path), "%s/%s", folder, file);
        f = fopen(path, "re");
        for (int c; f && n < MAX_PROCESSES && (c = fgetc(f)) != EOF;)
                n += c == '\n';
        if (f)
                fclose(f);
        return n;
}

/* The lowest limit of the group and those above it. */
static uint64_t lowest_limit(const char *tree, const char *folder, const struct group_files *f) {
        uint64_t lowest = UINT64_MAX, limit;
        char at[PATH_BYTES], *slash;

        snprintf(at, sizeof(at), "%s", folder);
        while (strlen(at) >= strlen(tree)) {
                if (read_number(at, f->limit, &limit) && limit < NO_LIMIT)
                        lowest = MIN(lowest, limit);
                slash = strrchr(at, '/');
                if (!slash)
                        break;
                *slash = '\0';
        }
        return lowest;
}

/* folder: of the group, in tree; the root of all groups is the machine, no group. */
static bool read_group(struct resident *r, const char *tree, const char *folder,
                       const struct group_files *f) {
        struct resident_cgroup g = {.version = f->version};
        char path[PATH_BYTES + 64], stat[STAT_BYTES] = "";

        if (!read_number(folder, f->usage, &g.usage_bytes))
                return false;
        g.limit_bytes = lowest_limit(tree, folder, f);
        if (strcmp(tree, folder) == 0 && f->version == 1 && g.limit_bytes == UINT64_MAX)
                return false;
        snprintf(path, sizeof(path), "%s/memory.stat", folder);
        if (fs_read_text(path, stat, sizeof(stat)) > 0)
                f->version == 1 ? split_v1(&g, stat) : split_v2(&g, stat);
        if (f->kernel)
                read_number(folder, f->kernel, &g.kernel_bytes);
        if (f->swap)
                read_number(folder, f->swap, &g.swap_bytes);
        g.n_processes = count_lines(folder, "cgroup.procs");
        g.path = resident_add_name(r, folder);
        r->cgroup = g;
        return true;
}

/* From the group upwards; then tails of its path: a container may see its own group as the root of the mounted tree while /proc tells the path from the machine's
 * root. */
static bool try_group(struct resident *r, const char *tree, const char *group,
                      const struct group_files *f) {
        char folder[PATH_BYTES], *slash;

        snprintf(folder, sizeof(folder), "%s%s", tree, group[1] ? group : "");
        while (strlen(folder) > strlen(tree)) {
                if (read_group(r, tree, folder, f))
                        return true;
                slash = strrchr(folder, '/');
                if (!slash)
                        break;
                *slash = '\0';
        }
        for (const char *tail = strchr(group + 1, '/'); tail; tail = strchr(tail + 1, '/')) {
                snprintf(folder, sizeof(folder), "%s%s", tree, tail);
                if (read_group(r, tree, folder, f))
                        return true;
        }
        return read_group(r, tree, tree, f);
}

/* "0::/path" (version 2) or "5:memory:/path" (version 1, maybe among others). */
static bool try_line(struct resident *r, char *line, const char *cgroup_root) {
        char *controllers = strchr(line, ':'), *group, tree[512];

        if (!controllers || !(group = strchr(controllers + 1, ':')) || group[1] != '/')
                return false;
        *group++ = '\0';
        controllers++;
        if (*controllers && !strstr(controllers, "memory"))
                return false;
        if (*controllers) {
                snprintf(tree, sizeof(tree), "%s/memory", cgroup_root);
                return try_group(r, tree, group, &files_v1);
        }
        snprintf(tree, sizeof(tree), "%s/unified", cgroup_root);
        return try_group(r, cgroup_root, group, &files_v2) || try_group(r, tree, group, &files_v2);
}

void resident_group(struct resident *r, pid_t pid, const char *proc_root, const char *cgroup_root) {
        char path[512], text[PATH_BYTES * 2], *line, *rest = text;

        snprintf(path, sizeof(path), "%s/%d/cgroup", proc_root, (int)pid);
        if (fs_read_text(path, text, sizeof(text)) <= 0)
                return;
        while ((line = strsep(&rest, "\n")))
                if (try_line(r, line, cgroup_root))
                        return;
}
