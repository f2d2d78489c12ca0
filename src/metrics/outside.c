/* SPDX-License-Identifier: MIT */
#include "metrics/outside.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attach/prior_scan.h"
#include "base/macros.h"
#include "base/memory_room.h"
#include "base/system_clock.h"

enum {
        BOOKS_SHARE =
                100, /* of the time: one part in so many goes into reading allocators' books */
        PATH_BYTES = 4096,
};
#define BOOKS_MIN_NS 5000000000ull

const char *const outside_allocator_names[OUTSIDE_N_ALLOCATORS] = {
        [OUTSIDE_GLIBC] = "glibc",
        [OUTSIDE_JEMALLOC] = "jemalloc",
        [OUTSIDE_MIMALLOC] = "mimalloc",
};

static const char *file_name(const char *path) {
        const char *slash = strrchr(path, '/');

        return slash ? slash + 1 : path;
}

bool outside_is_there(pid_t pid, const char *exe) {
        static const char deleted[] = " (deleted)";
        char link[64], path[PATH_BYTES];
        ssize_t n;

        snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
        n = readlink(link, path, sizeof(path) - 1);
        if (n <= 0)
                return false;
        path[n] = '\0';
        if ((size_t)n >= sizeof(deleted) && strcmp(path + n - (sizeof(deleted) - 1), deleted) == 0)
                path[(size_t)n - (sizeof(deleted) - 1)] = '\0';
        return strcmp(file_name(path), file_name(exe)) == 0;
}

/* ---- the kernel ---------------------------------------------------------------------------------- */

static uint64_t read_swap(pid_t pid) {
        char path[64], line[256];
        unsigned long long kib;
        uint64_t found = OUTSIDE_UNKNOWN;
        FILE *in;

        snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
        in = fopen(path, "re");
        while (in && fgets(line, sizeof(line), in))
                if (sscanf(line, "VmSwap: %llu kB", &kib) == 1)
                        found = (uint64_t)kib * 1024;
        if (in)
                fclose(in);
        return found;
}

/* The limit that is next: of its group or of one above it. Pressure is of the group it is in, or, where groups do not say, of the machine. */
static void look_at_room(struct outside *o, pid_t pid) {
        const struct memory_roots *roots = memory_roots();
        struct memory_group g;
        struct memory_room room;

        if (memory_group_find(pid, roots->proc, roots->cgroup, &g)) {
                if (memory_room_read(&g, &room))
                        o->stall_us = room.of[ROOM_SOME_US];
                while (!memory_room_look(&g, &room) || room.of[ROOM_LIMIT] == ROOM_UNKNOWN)
                        if (!memory_group_rise(&g))
                                break;
                if (memory_room_look(&g, &room) && room.of[ROOM_LIMIT] != ROOM_UNKNOWN) {
                        o->limit_bytes = room.of[ROOM_LIMIT];
                        o->usage_bytes = room.of[ROOM_USAGE];
                        if (memory_room_read(&g, &room))
                                o->file_bytes = room.of[ROOM_FILE];
                }
        }
        if (o->stall_us == ROOM_UNKNOWN && memory_room_read_machine(roots->proc, &room))
                o->stall_us = room.of[ROOM_SOME_US];
}

/* ---- allocators ---------------------------------------------------------------------------------- */

static struct outside_books known_books(uint64_t allocated_bytes, uint64_t active_bytes) {
        return (struct outside_books){.is_known = true,
                                      .allocated_bytes = allocated_bytes,
                                      .active_bytes = active_bytes,
                                      .metadata_bytes = OUTSIDE_UNKNOWN,
                                      .resident_bytes = OUTSIDE_UNKNOWN,
                                      .retained_bytes = OUTSIDE_UNKNOWN};
}

static void take_books(struct outside *o, const struct prior *p) {
        const struct arenas_found *a = &p->arenas;
        const struct jemalloc_found *je = &p->jemalloc;

        memset(o->books, 0, sizeof(o->books));
        /* The C library is everywhere: where it has nothing, the program allocates otherwise. */
        if (p->has_arenas && a->is_whole && a->has_mmapped && a->held_bytes + a->mmapped_bytes)
                o->books[OUTSIDE_GLIBC] =
                        known_books(a->held_bytes - a->free_bytes + a->mmapped_bytes,
                                    a->held_bytes + a->mmapped_bytes);
        if (p->has_jemalloc) {
                o->books[OUTSIDE_JEMALLOC] = known_books(je->used_bytes, je->held_bytes);
                if (je->has_pages) {
                        o->books[OUTSIDE_JEMALLOC].metadata_bytes = je->own_bytes;
                        o->books[OUTSIDE_JEMALLOC].resident_bytes = je->resident_bytes;
                        o->books[OUTSIDE_JEMALLOC].retained_bytes = je->retained_bytes;
                }
        }
        if (p->has_mimalloc)
                o->books[OUTSIDE_MIMALLOC] =
                        known_books(p->mimalloc.used_bytes, p->mimalloc.held_bytes);
}

static void look_at_books(struct outside *o, pid_t pid) {
        uint64_t now_ns = clock_now_ns();
        struct target t;
        struct prior p;

        if (now_ns < o->next_books_ns)
                return;
        o->next_books_ns = now_ns + BOOKS_MIN_NS;
        if (target_open(&t, pid, NULL) < 0)
                return;
        prior_look(&t, &p);
        target_close(&t);
        take_books(o, &p);
        o->next_books_ns = now_ns + MAX(p.took_ns * BOOKS_SHARE, BOOKS_MIN_NS);
}

void outside_look(struct outside *o, pid_t pid) {
        o->swap_bytes = read_swap(pid);
        o->limit_bytes = o->usage_bytes = o->file_bytes = o->stall_us = OUTSIDE_UNKNOWN;
        look_at_room(o, pid);
        look_at_books(o, pid);
}
