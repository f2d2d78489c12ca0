/* SPDX-License-Identifier: MIT */
/* Addresses in memory as addresses in files, by the lines of /proc/PID/maps that profiles carry. Inside import/ only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"

struct import_mapping {
        uint64_t begin, end, offset;
        uint64_t bias; /* address in memory minus address in the file */
        const char *path;
};

struct import_maps {
        VEC(struct import_mapping) list; /* of code alone; in the order of import_maps_sort */
        struct arena *arena;
        bool is_sorted;
};

void import_maps_init(struct import_maps *m);
void import_maps_done(struct import_maps *m);
/* One line of such a file: begin-end perms offset dev inode path. Others, and what is no code, are passed over. */
void import_maps_add_line(struct import_maps *m, const char *line);
void import_maps_add(struct import_maps *m, uint64_t begin, uint64_t end, uint64_t offset,
                     const char *path);
/* The file that has the byte before a return address, and the address in it; NULL: none, and the address as it is. The bias comes from the
 * file's program headers where it is there, else from its first mapping. */
const char *import_maps_find(struct import_maps *m, uint64_t return_address, uint64_t *ret_address);
