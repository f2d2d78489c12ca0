/* SPDX-License-Identifier: MIT */
#include "resident/resident_take.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/system_clock.h"
#include "resident/resident_group.h"

static FILE *open_proc(pid_t pid, const char *file) {
        char path[64];

        snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
        return fopen(path, "re");
}

static void read_context(struct smaps_context *c, pid_t pid) {
        char path[64];
        FILE *f = open_proc(pid, "mountinfo");

        if (f) {
                smaps_read_devices(c, f);
                fclose(f);
        }
        thread_stacks_read(&c->stacks, "/proc", pid);
        snprintf(c->root, sizeof(c->root), "/proc/%d/root", (int)pid);
        if (access(c->root, X_OK) < 0)
                c->root[0] = '\0';
        snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
        c->pagemap_fd = fs_open(path, O_RDONLY, 0);
}

static int refuse(pid_t pid, int code, struct err *reterr) {
        if (code == -ENOENT || code == -ESRCH)
                return err_set(reterr, -ESRCH, "process %d: there is no such process", (int)pid);
        if (code == -EACCES || code == -EPERM)
                return err_set(
                        reterr, code,
                        "process %d: its memory may not be looked at: run silt as its user or as root",
                        (int)pid);
        return err_set_errno(reterr, code, "process %d: cannot read its smaps", (int)pid);
}

int resident_look(struct resident *r, struct smaps_context *c, pid_t pid, struct err *reterr) {
        uint64_t begin_ns = clock_now_ns();
        char path[64], text[8192];
        bool is_read;
        FILE *smaps;

        *r = (struct resident){.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE)};
        resident_add_name(r, "");
        read_context(c, pid);
        errno = 0;
        smaps = open_proc(pid, "smaps");
        if (!smaps)
                return refuse(pid, -errno, reterr);
        is_read = resident_smaps(r, smaps, c);
        fclose(smaps);
        if (!is_read)
                return err_set(
                        reterr, -ESRCH,
                        "process %d: it has no memory of its own: it has ended, or is the kernel's",
                        (int)pid);
        snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
        if (fs_read_text(path, text, sizeof(text)) > 0)
                resident_status(r, text);
        resident_group(r, pid, "/proc", "/sys/fs/cgroup");
        r->cost_ns = clock_now_ns() - begin_ns;
        return 0;
}

static bool is_heap(const struct resident *r, const struct resident_area *a) {
        return a->kind == RESIDENT_BRK ||
               (a->kind == RESIDENT_ANON && resident_name(r, a->name)[0] != '/');
}

int resident_take(struct resident *r, pid_t pid, struct err *reterr) {
        struct smaps_context c = {.pagemap_fd = -1};
        int x = resident_look(r, &c, pid, reterr);

        smaps_context_done(&c);
        if (x < 0) {
                resident_done(r);
                return x;
        }
        for (size_t i = 0; i < r->areas.n; i++) {
                struct resident_area *a = &r->areas.items[i];

                if (!is_heap(r, a))
                        continue;
                a->heap_rss_bytes = a->rss_bytes;
                r->heap.rss_bytes += a->rss_bytes;
                r->heap.swap_bytes += a->swap_bytes;
                r->heap.huge_bytes += a->huge_bytes;
        }
        resident_cap_areas(r);
        return 0;
}
