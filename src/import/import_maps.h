/* SPDX-License-Identifier: MIT */
/* Addresses in memory as addresses in files, by the lines of /proc/PID/maps that profiles carry. Inside import/ only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"
#include "import/import_trace.h"

struct import_mapping {
        uint64_t begin, end, offset;
        uint64_t bias; /* address in memory minus address in the file */
        const char *path;
        uint8_t build_id[32]; /* of the copy of the file, if there is one */
        size_t n_build_id;
};

struct import_maps {
        VEC(struct import_mapping) list; /* of code alone; in the order of import_maps_sort */
        struct arena *arena;
        const char *root; /* where copies of the files are looked for first; NULL none. Borrowed */
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
/* The same as a place: its file, the address in it, and the build-id of the file's copy. */
void import_maps_place(struct import_maps *m, uint64_t return_address, struct import_place *ret);
/* Opens the file at a path that some profile names, if it is one: to open a device does something. fd or -errno. */
int import_maps_open(const char *path);
/* Where the file at a path says its code at this offset is to be. False: it is not there, or is no such file. */
bool import_maps_address_in_file(const char *path, uint64_t offset, uint64_t *ret);
