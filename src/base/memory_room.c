/* SPDX-License-Identifier: MIT */
#include "base/memory_room.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/macros.h"

/* Version 1 has no word for "no limit": it is what would not fit into an address. */
#define ROOM_NO_LIMIT_BYTES (1ull << 60)

enum { ROOM_TEXT_BYTES = 8192 };

const struct memory_roots *memory_roots(void) {
        static struct memory_roots roots;
        const char *folder;

        if (roots.proc[0])
                return &roots;
        folder = secure_getenv("SILT_TEST_SYSTEM");
        snprintf(roots.log, sizeof(roots.log), "%s%s", folder ? folder : "/dev", "/kmsg");
        snprintf(roots.cgroup, sizeof(roots.cgroup), "%s%s", folder ? folder : "/sys/fs",
                 "/cgroup");
        snprintf(roots.proc, sizeof(roots.proc), "%s%s", folder ? folder : "", "/proc");
        return &roots;
}

/* ---- text --------------------------------------------------------------------------------------- */

static uint64_t number_at(const char *at) {
        uint64_t n;

        at += strspn(at, " \t");
        if (*at < '0' || *at > '9')
                return ROOM_UNKNOWN;
        errno = 0;
        n = strtoull(at, NULL, 10);
        return errno ? ROOM_UNKNOWN : n;
}

uint64_t memory_field(const char *text, const char *name) {
        size_t n = strlen(name);

        for (const char *at = text; at; at = strchr(at, '\n'), at = at ? at + 1 : NULL)
                if (strncmp(at, name, n) == 0 && (at[n] == ' ' || at[n] == '\t' || at[n] == ':'))
                        return number_at(at + n + (at[n] == ':'));
        return ROOM_UNKNOWN;
}

/* "total=" of a line of a pressure file ("some avg10=…"). */
static uint64_t pressure_us(const char *text, const char *line) {
        size_t n = strlen(line);

        for (const char *at = text; at; at = strchr(at, '\n'), at = at ? at + 1 : NULL) {
                const char *end, *total;

                if (strncmp(at, line, n) != 0 || at[n] != ' ')
                        continue;
                end = at + strcspn(at, "\n");
                total = strstr(at, "total=");
                return total && total < end ? number_at(total + strlen("total=")) : ROOM_UNKNOWN;
        }
        return ROOM_UNKNOWN;
}

static bool read_file(const struct memory_group *g, const char *file, char *text, size_t cap) {
        char path[ROOM_PATH_BYTES + 64];

        snprintf(path, sizeof(path), "%s/%s", g->folder, file);
        return fs_read_text(path, text, cap) > 0;
}

static uint64_t read_number(const struct memory_group *g, const char *file) {
        char text[64];
        uint64_t n = read_file(g, file, text, sizeof(text)) ? number_at(text) : ROOM_UNKNOWN;

        return n;
}

static uint64_t read_limit(const struct memory_group *g, const char *file) {
        uint64_t n = read_number(g, file);

        return n >= ROOM_NO_LIMIT_BYTES ? ROOM_UNKNOWN : n;
}

/* ---- where -------------------------------------------------------------------------------------- */

const char *memory_group_counter(const struct memory_group *g) {
        return g->version == 1 ? "memory.oom_control" : "memory.events";
}

static bool has_counter(const struct memory_group *g) {
        char text[ROOM_TEXT_BYTES];

        return read_file(g, memory_group_counter(g), text, sizeof(text)) &&
               memory_field(text, "oom_kill") != ROOM_UNKNOWN;
}

/* A container may see its own group as the root of the mounted tree while /proc still tells the path from the
 * machine's root: then a tail of the path is the one to be found. */
static bool find_in_tree(struct memory_group *g, const char *tree, const char *path) {
        g->n_tree = strlen(tree);
        for (const char *tail = path; tail; tail = strchr(tail + 1, '/'))
                if (snprintf(g->folder, sizeof(g->folder), "%s%s", tree, tail[1] ? tail : "") <
                            (int)sizeof(g->folder) &&
                    has_counter(g))
                        return true;
        snprintf(g->folder, sizeof(g->folder), "%s", tree);
        return has_counter(g);
}

static bool names_memory(const char *controllers) {
        for (const char *at = controllers; (at = strstr(at, "memory")); at++)
                if ((at == controllers || at[-1] == ',') && (at[6] == ',' || !at[6]))
                        return true;
        return false;
}

/* A line of /proc/PID/cgroup: "0::/path" (version 2) or "5:memory:/path" (version 1, maybe among others). */
static bool parse_line(char *line, const char *cgroup_root, struct memory_group *g) {
        char *controllers = strchr(line, ':'), *path, tree[300];

        if (!controllers || !(path = strchr(controllers + 1, ':')))
                return false;
        *path++ = 0;
        controllers++;
        if (*path != '/' || strlen(path) >= sizeof(g->path))
                return false;
        snprintf(g->path, sizeof(g->path), "%s", path);
        if (names_memory(controllers)) {
                g->version = 1;
                snprintf(tree, sizeof(tree), "%s/memory", cgroup_root);
                return find_in_tree(g, tree, path);
        }
        if (*controllers)
                return false;
        g->version = 2;
        snprintf(tree, sizeof(tree), "%s/unified", cgroup_root);
        return find_in_tree(g, cgroup_root, path) || find_in_tree(g, tree, path);
}

bool memory_group_parse(const char *text, const char *cgroup_root, struct memory_group *ret) {
        char copy[ROOM_GROUPS_BYTES], *line, *rest = copy;

        snprintf(copy, sizeof(copy), "%s", text);
        while ((line = strsep(&rest, "\n")))
                if (parse_line(line, cgroup_root, ret))
                        return true;
        return false;
}

bool memory_group_find(pid_t pid, const char *proc_root, const char *cgroup_root,
                       struct memory_group *ret) {
        char path[ROOM_PATH_BYTES], text[ROOM_GROUPS_BYTES];

        snprintf(path, sizeof(path), "%s/%d/cgroup", proc_root, (int)pid);
        return fs_read_text(path, text, sizeof(text)) > 0 &&
               memory_group_parse(text, cgroup_root, ret);
}

bool memory_group_rise(struct memory_group *g) {
        char *slash = strrchr(g->folder, '/'), *name = strrchr(g->path, '/');

        if (!slash || (size_t)(slash - g->folder) < g->n_tree || strlen(g->folder) <= g->n_tree)
                return false;
        *slash = 0;
        if (name)
                name[name == g->path] = 0;
        return true;
}

bool memory_group_is_within(const char *path, const char *above) {
        size_t n = strlen(above);

        while (n && above[n - 1] == '/')
                n--;
        return strncmp(path, above, n) == 0 && (!path[n] || path[n] == '/');
}

/* ---- how much ------------------------------------------------------------------------------------ */

static void forget(struct memory_room *room, uint32_t version) {
        room->version = version;
        for (size_t i = 0; i < ROOM_N_FIGURES; i++)
                room->of[i] = ROOM_UNKNOWN;
}

static void set_known(uint64_t *to, uint64_t n) {
        if (n != ROOM_UNKNOWN)
                *to = n;
}

static uint64_t sum(uint64_t a, uint64_t b) {
        return a == ROOM_UNKNOWN || b == ROOM_UNKNOWN ? ROOM_UNKNOWN : a + b;
}

static uint64_t less(uint64_t a, uint64_t b) {
        return a == ROOM_UNKNOWN || b == ROOM_UNKNOWN ? ROOM_UNKNOWN : a > b ? a - b : 0;
}

bool memory_room_look(const struct memory_group *g, struct memory_room *ret) {
        bool is_old = g->version == 1;

        forget(ret, g->version);
        ret->of[ROOM_LIMIT] = read_limit(g, is_old ? "memory.limit_in_bytes" : "memory.max");
        ret->of[ROOM_USAGE] = read_number(g, is_old ? "memory.usage_in_bytes" : "memory.current");
        return ret->of[ROOM_USAGE] != ROOM_UNKNOWN;
}

/* In version 1 memory and swap are counted together, where swap is counted at all. */
static void read_swap(const struct memory_group *g, struct memory_room *room) {
        if (g->version == 2) {
                room->of[ROOM_SWAP_LIMIT] = read_limit(g, "memory.swap.max");
                room->of[ROOM_SWAP] = read_number(g, "memory.swap.current");
                return;
        }
        room->of[ROOM_SWAP_LIMIT] =
                less(read_limit(g, "memory.memsw.limit_in_bytes"), room->of[ROOM_LIMIT]);
        room->of[ROOM_SWAP] =
                less(read_number(g, "memory.memsw.usage_in_bytes"), room->of[ROOM_USAGE]);
}

/* Before 5.18 version 2 does not add up what the kernel takes. */
static uint64_t kernel_bytes(const char *text) {
        static const char *const parts[] = {"slab", "kernel_stack", "pagetables", "percpu", "sock"};
        uint64_t n = memory_field(text, "kernel"), all = 0;

        for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
                uint64_t part = memory_field(text, parts[i]);

                all += part == ROOM_UNKNOWN ? 0 : part;
        }
        return n != ROOM_UNKNOWN ? n : all;
}

static void read_stat(const struct memory_group *g, struct memory_room *room) {
        char text[ROOM_TEXT_BYTES];
        bool is_old = g->version == 1;

        if (!read_file(g, "memory.stat", text, sizeof(text)))
                return;
        room->of[ROOM_ANON] = memory_field(text, is_old ? "total_rss" : "anon");
        room->of[ROOM_SHMEM] = memory_field(text, is_old ? "total_shmem" : "shmem");
        room->of[ROOM_FILE] =
                less(memory_field(text, is_old ? "total_cache" : "file"), room->of[ROOM_SHMEM]);
        room->of[ROOM_KERNEL] =
                is_old ? read_number(g, "memory.kmem.usage_in_bytes") : kernel_bytes(text);
}

static void read_pressure(const char *path, struct memory_room *room) {
        char text[512];

        if (fs_read_text(path, text, sizeof(text)) <= 0)
                return;
        set_known(&room->of[ROOM_SOME_US], pressure_us(text, "some"));
        set_known(&room->of[ROOM_FULL_US], pressure_us(text, "full"));
}

void memory_room_recount(const struct memory_group *g, const char *proc_root,
                         struct memory_room *room) {
        char text[ROOM_TEXT_BYTES], path[ROOM_PATH_BYTES + 64];
        bool is_old = g->version == 1;

        if (read_file(g, memory_group_counter(g), text, sizeof(text))) {
                set_known(&room->of[ROOM_N_KILLS], memory_field(text, "oom_kill"));
                set_known(&room->of[ROOM_N_MAX],
                          is_old ? read_number(g, "memory.failcnt") : memory_field(text, "max"));
                set_known(&room->of[ROOM_N_HIGH],
                          is_old ? ROOM_UNKNOWN : memory_field(text, "high"));
        }
        set_known(&room->of[ROOM_PEAK],
                  read_number(g, is_old ? "memory.max_usage_in_bytes" : "memory.peak"));
        if (is_old)
                snprintf(path, sizeof(path), "%s/pressure/memory", proc_root);
        else
                snprintf(path, sizeof(path), "%s/memory.pressure", g->folder);
        read_pressure(path, room);
}

bool memory_room_read(const struct memory_group *g, struct memory_room *ret) {
        if (!memory_room_look(g, ret))
                return false;
        read_swap(g, ret);
        read_stat(g, ret);
        if (g->version == 2)
                ret->of[ROOM_HIGH] = read_limit(g, "memory.high");
        return true;
}

static uint64_t kib(const char *text, const char *name) {
        uint64_t n = memory_field(text, name);

        return n >= UINT64_MAX >> 10 ? ROOM_UNKNOWN : n << 10;
}

bool memory_room_read_machine(const char *proc_root, struct memory_room *ret) {
        char path[ROOM_PATH_BYTES], text[ROOM_TEXT_BYTES];

        forget(ret, 0);
        snprintf(path, sizeof(path), "%s/meminfo", proc_root);
        if (fs_read_text(path, text, sizeof(text)) <= 0)
                return false;
        ret->of[ROOM_LIMIT] = kib(text, "MemTotal");
        ret->of[ROOM_USAGE] = less(ret->of[ROOM_LIMIT], kib(text, "MemAvailable"));
        ret->of[ROOM_SWAP_LIMIT] = kib(text, "SwapTotal");
        ret->of[ROOM_SWAP] = less(ret->of[ROOM_SWAP_LIMIT], kib(text, "SwapFree"));
        ret->of[ROOM_ANON] = kib(text, "AnonPages");
        ret->of[ROOM_SHMEM] = kib(text, "Shmem");
        ret->of[ROOM_FILE] =
                less(sum(kib(text, "Cached"), kib(text, "Buffers")), ret->of[ROOM_SHMEM]);
        ret->of[ROOM_KERNEL] = kib(text, "Slab");
        snprintf(path, sizeof(path), "%s/vmstat", proc_root);
        if (fs_read_text(path, text, sizeof(text)) > 0)
                ret->of[ROOM_N_KILLS] = memory_field(text, "oom_kill");
        snprintf(path, sizeof(path), "%s/pressure/memory", proc_root);
        read_pressure(path, ret);
        return ret->of[ROOM_USAGE] != ROOM_UNKNOWN;
}

uint64_t memory_room_left(const struct memory_room *room) {
        return less(room->of[ROOM_LIMIT], room->of[ROOM_USAGE]);
}
