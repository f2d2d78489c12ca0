/* SPDX-License-Identifier: MIT */
/* Any bytes as code without tables. Input: u16 key offset, then the code, which is allocated to size, so
 * that the address sanitizer sees a read outside it.
 *
 * covers: src/unwind/instructions.c */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/arch.h"
#include "unwind/instructions.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_row(row_t row) {
        struct row_offsets o = row_offsets_of(row);

        if (row == ROW_NO_CFI)
                return;
        /* always plain, from fp, with both words where fp points to */
        if ((row & ROW_UNSUPPORTED) || !(row & ROW_BASE_FP) || !(row & ROW_FP_SAVED) ||
            o.cfa < 16 || o.cfa % ARCH_STACK_ALIGN != 0 || o.cfa + o.fp != 0 || o.cfa + o.ra != 8)
                abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        struct cfi_image image = {.n_ranges = 1};
        uint16_t key_off;
        uint8_t *code;
        uint64_t begin;

        if (size < 3)
                return 0;
        memcpy(&key_off, data, sizeof(key_off));
        size -= sizeof(key_off);
        code = malloc(size);
        if (!code)
                return 0;
        memcpy(code, data + sizeof(key_off), size);
        begin = (uint64_t)code;
        image.ranges[0] = (struct cfi_range){begin, begin + size, true};
        check_row(code_row(&image, begin + key_off));
        check_row(code_row(&image, begin + size - 1));
        check_row(code_row_inside(&image, begin + key_off));
        if (code_is_after_call(&image, begin) || code_is_after_call(&image, begin + size + 1))
                abort();
        code_is_after_call(&image, begin + key_off);
        code_never_returns(&image, begin + key_off, begin + size);
        code_never_returns(&image, begin, begin + key_off);
        free(code);
        return 0;
}
