/* SPDX-License-Identifier: MIT */
#ifndef SILT_UNWIND_CFI_PROGRAM_H
#define SILT_UNWIND_CFI_PROGRAM_H

/* Runs the call frame instructions of a CIE and an FDE up to one pc and packs the result. */

#include <stdbool.h>
#include <stdint.h>

#include "unwind/cfi_bytes.h"
#include "unwind/row.h"

#pragma GCC visibility push(hidden)

struct cfi_cie {
        uint64_t code_align;
        int64_t data_align;
        uint64_t ra_reg;
        uint8_t fde_enc;
        bool has_augmentation; /* 'z': FDEs carry augmentation data */
        bool is_signal;        /* 'S' */
        struct cfi_bytes program;
};

/* Always gives a row; one that cannot be expressed is ROW_NO_CFI. */
row_t cfi_program_run(const struct cfi_cie *cie, struct cfi_bytes fde_program, uint64_t fde_begin,
                      uint64_t pc);

#pragma GCC visibility pop

#endif
