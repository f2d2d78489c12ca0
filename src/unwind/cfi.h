/* SPDX-License-Identifier: MIT */
#ifndef SILT_UNWIND_CFI_H
#define SILT_UNWIND_CFI_H

/* Reads .eh_frame_hdr and .eh_frame: a pure function of the image's bytes and the pc.
 *  - reads only inside the image's ranges, whatever the bytes say
 *  - ends: every loop consumes bytes of one FDE, of which CFI_PROGRAM_MAX_BYTES are run at most
 * Addresses are those of this process: the bytes are read where the loader mapped them. */

#include <stdbool.h>
#include <stdint.h>

#include "unwind/row.h"

#pragma GCC visibility push(hidden)

enum { CFI_RANGES_MAX = 8, CFI_PROGRAM_MAX_BYTES = 1 << 16 };

struct cfi_range {
        uint64_t begin, end; /* readable: [begin, end) */
        bool is_code;        /* and executable */
};

struct cfi_image {
        uint64_t eh_frame_hdr; /* 0: none */
        uint32_t n_ranges;
        struct cfi_range ranges[CFI_RANGES_MAX];
};

struct cfi_answer {
        row_t row;                   /* ROW_SIGNAL means the CIE says so ('S') */
        uint64_t fde_begin, fde_end; /* the code the FDE covers */
};

/* pc: an address inside the instruction (of a call, the return address - 1).
 * 0; -ENOENT: no FDE covers pc; -EBADMSG: the tables are broken there. */
int cfi_find(const struct cfi_image *image, uint64_t pc, struct cfi_answer *ret);

/* The code that the FDE at addr covers. For whoever makes the search table that a file lacks. 0 or -EBADMSG. */
int cfi_fde_range(const struct cfi_image *image, uint64_t addr, uint64_t *ret_begin,
                  uint64_t *ret_end);

#pragma GCC visibility pop

#endif
