/* SPDX-License-Identifier: MIT */
/* Unwind tables of files that have no .eh_frame_hdr to search them by: programs that were linked statically, and Go's, which
 * have .debug_frame alone. Both are brought into the one form that src/unwind reads. Inside remote/ only. */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "remote/remote_bytes.h"
#include "unwind/cfi.h"

#define REMOTE_TABLE_MAX_BYTES (UINT64_C(64) << 20)

struct remote_section {
        uint64_t vaddr, file_off;
        uint64_t file_bytes;
        uint64_t n_bytes; /* when inflated */
        bool is_deflated;
};

/* Those that have bytes in the file. False: none of that name, or larger than is believed. */
bool remote_tables_section(const struct remote_bytes *file, const Elf64_Ehdr *eh, const char *name,
                           struct remote_section *ret);
/* n_bytes of it into p. */
bool remote_tables_read(const struct remote_bytes *file, const struct remote_section *s, void *p);

/* The code of an FDE, and where that is. */
struct remote_fde {
        uint64_t begin, at;
};
typedef VEC(struct remote_fde) remote_fdes;

/* Brings .debug_frame at p into the form of .eh_frame. delta: what its addresses are to be moved by. */
void remote_tables_convert(uint8_t *p, size_t n_bytes, uint64_t delta);

/* Adds the FDEs of .eh_frame at p, which lies in the image, for code in [begin, end). */
void remote_tables_list(const struct cfi_image *image, const uint8_t *p, size_t n_bytes,
                        uint64_t begin, uint64_t end, remote_fdes *fdes);

/* Writes an .eh_frame_hdr of at most cap bytes to p, near all of them. Its size; 0: there is none. */
size_t remote_tables_write(remote_fdes *fdes, uint8_t *p, size_t cap);

/* Enough for all FDEs of so many bytes. */
static inline uint64_t remote_tables_bound(uint64_t n_bytes) {
        return 64 + n_bytes;
}
