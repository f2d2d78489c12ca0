/* SPDX-License-Identifier: MIT */
/* Preloaded: writes its process's maps to THUNK_MAPS and ends, or puts the plan THUNK_PLAN (wire/patch_plan.h) into it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct plan {
        uint64_t magic;
        uint32_t n_sections, n_writes, n_entries, reserved;
        uint64_t size_bytes;
};

struct section {
        uint64_t addr, off, n_bytes;
};

struct write {
        uint64_t at;
        uint16_t n_bytes, section;
        uint32_t entry;
        uint8_t before[24], after[24];
};

static void give_up(const char *why) {
        dprintf(2, "thunks: %s\n", why);
        _exit(99);
}

static void copy_maps(const char *to) {
        char buf[65536];
        int in = open("/proc/self/maps", O_RDONLY),
            out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        ssize_t n;

        while ((n = read(in, buf, sizeof(buf))) > 0)
                if (write(out, buf, (size_t)n) != n)
                        give_up("maps");
        _exit(0);
}

static void put_section(const struct section *s, const uint8_t *plan) {
        void *p = mmap((void *)s->addr, s->n_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

        if (p != (void *)s->addr)
                give_up("no room");
        memcpy(p, plan + s->off, s->n_bytes);
        mprotect(p, s->n_bytes, PROT_READ | PROT_EXEC);
        __builtin___clear_cache((char *)p, (char *)p + s->n_bytes);
}

static void put_write(const struct write *w) {
        uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = w->at & -page;
        uintptr_t end = (w->at + w->n_bytes + page - 1) & -page;

        if (memcmp((void *)w->at, w->before, w->n_bytes))
                give_up("other code than planned");
        mprotect((void *)begin, end - begin, PROT_READ | PROT_WRITE | PROT_EXEC);
        memcpy((void *)w->at, w->after, w->n_bytes);
        __builtin___clear_cache((char *)w->at, (char *)w->at + w->n_bytes);
        mprotect((void *)begin, end - begin, PROT_READ | PROT_EXEC);
}

__attribute__((constructor)) static void apply(void) {
        const char *maps = getenv("THUNK_MAPS"), *path = getenv("THUNK_PLAN");
        const struct section *sections;
        const struct write *writes;
        const struct plan *plan;
        int fd;

        if (maps)
                copy_maps(maps);
        if (!path)
                return;
        fd = open(path, O_RDONLY);
        plan = mmap((void *)0x100000000000, (size_t)lseek(fd, 0, SEEK_END), PROT_READ, MAP_PRIVATE,
                    fd, 0);
        close(fd);
        if (plan == MAP_FAILED)
                give_up("no plan");
        sections = (const void *)(plan + 1);
        writes = (const void *)(sections + plan->n_sections);
        for (uint32_t i = 0; i < plan->n_sections; i++)
                put_section(&sections[i], (const uint8_t *)plan);
        for (uint32_t i = 0; i < plan->n_writes; i++)
                put_write(&writes[i]);
        unsetenv("THUNK_PLAN");
        unsetenv("LD_PRELOAD");
}
