/* SPDX-License-Identifier: MIT */
#include "record/own_pages.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/macros.h"
#include "record/ranges.h"

enum {
        RESIDENT_MIN_BYTES = 1 << 20,
        RESIDENT_MAX_AREAS = 1 << 16,
        RESIDENT_MAX_LINES = 1 << 22,
        RESIDENT_GUARD_BYTES = 1 << 20, /* of a thread's stack, at most */
        RESIDENT_MAX_PHDRS = 64,
};

/* One mapping while its lines are read. */
struct area {
        uint64_t begin, end, anon_bytes;
        char perms[5];
        char path[512];
        bool is_file;
};

/* Zeroed bytes that the file's segments have behind what is in the file. */
static uint64_t file_zeroed_bytes(const char *path) {
        Elf64_Phdr ph[RESIDENT_MAX_PHDRS];
        _cleanup_close_ int fd = -1;
        uint64_t sum = 0;
        Elf64_Ehdr eh;
        struct stat st;
        size_t n;

        if (stat(path, &st) < 0 || !S_ISREG(st.st_mode)) /* the target chose what lies there */
                return 0;
        fd = fs_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
        if (fd < 0 || fs_read_at(fd, &eh, sizeof(eh), 0) != sizeof(eh) ||
            memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 || eh.e_phentsize != sizeof(ph[0]))
                return 0;
        n = MIN(eh.e_phnum, (uint16_t)RESIDENT_MAX_PHDRS);
        if (fs_read_at(fd, ph, n * sizeof(ph[0]), eh.e_phoff) != (ssize_t)(n * sizeof(ph[0])))
                return 0;
        for (size_t i = 0; i < n; i++)
                if (ph[i].p_type == PT_LOAD && ph[i].p_memsz > ph[i].p_filesz &&
                    ph[i].p_memsz - ph[i].p_filesz < UINT64_MAX / RESIDENT_MAX_PHDRS)
                        sum += ph[i].p_memsz - ph[i].p_filesz;
        return sum;
}

static bool area_is_stack(const struct area *a, const struct area *before, uint32_t *n_stacks) {
        if (!strncmp(a->path, "[stack", 6))
                return true;
        if (a->is_file || before->end != a->begin || strncmp(before->perms, "---", 3) != 0 ||
            before->end - before->begin > RESIDENT_GUARD_BYTES || !*n_stacks)
                return false;
        --*n_stacks;
        return true;
}

/* file: the last mapping of a file before it. */
static void own_pages_take(struct own_pages *r, const struct area *a, const struct area *before,
                           const struct area *file, uint32_t *n_stacks) {
        uint64_t bytes = a->anon_bytes;

        r->anon_bytes += bytes;
        if (a->is_file || area_is_stack(a, before, n_stacks))
                return;
        if (bytes >= RESIDENT_MIN_BYTES && file->end == a->begin && !strcmp(a->path, ""))
                bytes -= MIN(bytes, file_zeroed_bytes(file->path));
        if (bytes < RESIDENT_MIN_BYTES)
                r->small_bytes += bytes;
        else if (r->areas.n < RESIDENT_MAX_AREAS)
                vec_push(&r->areas, ((struct own_pages_area){a->begin, a->end, bytes}));
}

/* "7f12-7f34 rw-p 00000000 08:01 1234   /path" */
static bool area_begin(struct area *a, const char *line) {
        unsigned long long inode;
        int at = 0;

        *a = (struct area){0};
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %llu %n", &a->begin, &a->end,
                   a->perms, &inode, &at) != 4 ||
            !at || a->begin >= a->end)
                return false;
        snprintf(a->path, sizeof(a->path), "%s", line + at);
        a->path[strcspn(a->path, "\n")] = '\0';
        a->is_file = inode != 0;
        return true;
}

void own_pages_parse(struct own_pages *r, FILE *smaps, uint32_t n_stacks) {
        struct area a = {0}, before = {0}, file = {0}, next;
        char line[1024];

        for (size_t n = 0; n < RESIDENT_MAX_LINES && fgets(line, sizeof(line), smaps); n++) {
                unsigned long long kb;

                if (sscanf(line, "Anonymous: %llu kB", &kb) == 1) {
                        a.anon_bytes = MIN(kb, UINT64_MAX >> 20) * 1024;
                } else if (line[0] < 'A' || line[0] > 'Z') {
                        if (!area_begin(&next, line))
                                continue;
                        own_pages_take(r, &a, &before, &file, &n_stacks);
                        file = a.is_file ? a : file;
                        before = a;
                        a = next;
                }
        }
        own_pages_take(r, &a, &before, &file, &n_stacks);
}

static uint32_t count_threads(pid_t pid) {
        char path[64];
        struct stat st;

        snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
        return stat(path, &st) == 0 && st.st_nlink > 2 ? (uint32_t)st.st_nlink - 2 : 1;
}

bool own_pages_look(struct own_pages *r, pid_t pid) {
        char path[64];
        FILE *smaps;

        snprintf(path, sizeof(path), "/proc/%d/smaps", (int)pid);
        smaps = fopen(path, "re");
        if (!smaps)
                return false;
        own_pages_parse(r, smaps, count_threads(pid));
        fclose(smaps);
        return true;
}

void own_pages_done(struct own_pages *r) {
        vec_free(&r->areas);
        *r = (struct own_pages){0};
}

uint64_t own_pages_unmapped_bytes(const struct own_pages *r, const struct ranges *mapped) {
        uint64_t sum = 0;

        for (size_t i = 0; i < r->areas.n; i++) {
                const struct own_pages_area *a = &r->areas.items[i];
                uint64_t seen_bytes = ranges_overlap_bytes(mapped, a->begin, a->end);

                sum += a->anon_bytes - MIN(a->anon_bytes, seen_bytes);
        }
        return sum;
}
