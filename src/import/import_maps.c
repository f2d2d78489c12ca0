/* SPDX-License-Identifier: MIT */
#include "import/import_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "import/build_id.h"

void import_maps_init(struct import_maps *m) {
        *m = (struct import_maps){.arena = arena_new()};
}

void import_maps_done(struct import_maps *m) {
        vec_free(&m->list);
        m->arena = arena_free(m->arena);
}

void import_maps_add(struct import_maps *m, uint64_t begin, uint64_t end, uint64_t offset,
                     const char *path) {
        if (end > begin)
                vec_push(&m->list, (struct import_mapping){begin, end, offset, 0,
                                                           arena_strdup(m->arena, path)});
        m->is_sorted = false;
}

void import_maps_add_line(struct import_maps *m, const char *line) {
        unsigned long long begin, end, offset;
        char perms[8] = "";
        int path_at = 0;

        if (sscanf(line, " %llx-%llx %7s %llx %*s %*s %n", &begin, &end, perms, &offset, &path_at) <
                    4 ||
            !path_at || strlen(perms) < 4 || perms[2] != 'x' || line[path_at] != '/')
                return;
        import_maps_add(m, begin, end, offset, line + path_at);
}

int import_maps_open(const char *path) {
        struct stat st;
        int fd;

        if (stat(path, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return -EINVAL;
        fd = fs_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
        if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
                close(fd);
                return -EINVAL;
        }
        return fd;
}

bool import_maps_address_in_file(const char *path, uint64_t offset, uint64_t *ret) {
        int fd = import_maps_open(path);
        bool is_found = false;
        Elf *elf;
        size_t n = 0;

        if (fd < 0)
                return false;
        elf_version(EV_CURRENT);
        elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
        if (elf && elf_getphdrnum(elf, &n) == 0)
                for (size_t i = 0; i < n && !is_found; i++) {
                        GElf_Phdr p;

                        if (!gelf_getphdr(elf, (int)i, &p) || p.p_type != PT_LOAD ||
                            !(p.p_flags & PF_X))
                                continue;
                        /* mappings begin at whole pages, of whatever size */
                        if (offset <= p.p_offset ? p.p_offset - offset < 65536
                                                 : offset - p.p_offset < p.p_filesz) {
                                *ret = p.p_vaddr - p.p_offset + offset;
                                is_found = true;
                        }
                }
        elf_end(elf);
        close(fd);
        return is_found;
}

/* As the file at this path says, which may be a copy. */
static bool address_in_file(const char *path, struct import_mapping *x, uint64_t *ret) {
        int fd;

        if (!import_maps_address_in_file(path, x->offset, ret))
                return false;
        fd = path == x->path ? -1 : import_maps_open(path);
        if (fd >= 0) {
                x->n_build_id = build_id_of_file(fd, x->build_id, sizeof(x->build_id));
                close(fd);
        }
        return true;
}

static int compare(const void *a, const void *b) {
        const struct import_mapping *x = a, *y = b;

        return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static void sort(struct import_maps *m) {
        qsort(m->list.items, m->list.n, sizeof(m->list.items[0]), compare);
        for (size_t i = 0; i < m->list.n; i++) {
                struct import_mapping *x = &m->list.items[i];
                uint64_t address = x->offset;
                char copy[PATH_MAX];

                if (!m->root ||
                    snprintf(copy, sizeof(copy), "%s%s", m->root, x->path) >= (int)sizeof(copy) ||
                    !address_in_file(copy, x, &address))
                        (void)address_in_file(x->path, x, &address);
                x->bias = x->begin - address;
        }
        m->is_sorted = true;
}

static const struct import_mapping *mapping_at(struct import_maps *m, uint64_t return_address) {
        uint64_t at = return_address ? return_address - 1 : 0;
        size_t low = 0, high = m->list.n;

        if (!m->is_sorted && m->list.n)
                sort(m);
        while (low < high) {
                size_t mid = low + (high - low) / 2;

                if (m->list.items[mid].begin <= at)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low > 0 && at < m->list.items[low - 1].end ? &m->list.items[low - 1] : NULL;
}

const char *import_maps_find(struct import_maps *m, uint64_t return_address,
                             uint64_t *ret_address) {
        const struct import_mapping *x = mapping_at(m, return_address);

        *ret_address = return_address - (x ? x->bias : 0);
        return x ? x->path : NULL;
}

void import_maps_place(struct import_maps *m, uint64_t return_address, struct import_place *ret) {
        const struct import_mapping *x = mapping_at(m, return_address);

        ret->module = x ? x->path : NULL;
        ret->address = return_address - (x ? x->bias : 0);
        ret->build_id = x && x->n_build_id ? x->build_id : NULL;
        ret->n_build_id = x ? x->n_build_id : 0;
}
