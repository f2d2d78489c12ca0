/* SPDX-License-Identifier: MIT */
/* Any bytes as an object's unwind tables. Input: u8 mode, u8 hdr offset / 4, u16 pc offset, bytes.
 *     mode 0   bytes are the image: .eh_frame_hdr at the offset, pc inside
 *     mode 1   bytes are the program of an FDE whose CIE and table are right
 *     mode 2   bytes are changes to a good image: u8 offset, u8 value, and so on
 * The image is allocated to size, so that the address sanitizer sees a read outside it.
 *
 * covers: src/unwind/cfi.c src/unwind/cfi_program.c */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/cfi.h"
#include "unwind/cfi_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int r, const struct cfi_answer *a) {
        if (r != 0)
                return;
        if (!(a->row & ROW_VALID) || a->fde_begin >= a->fde_end)
                abort();
        if ((a->row & ROW_UNSUPPORTED) && a->row != ROW_NO_CFI)
                abort();
}

static void fuzz_image(const uint8_t *bytes, size_t size, uint32_t hdr_off, uint64_t pc_off) {
        uint8_t *copy = malloc(size);
        struct cfi_image image;
        struct cfi_answer a;

        memcpy(copy, bytes, size);
        image = (struct cfi_image){
                .eh_frame_hdr = (uint64_t)copy + hdr_off,
                .n_ranges = 1,
                .ranges = {{(uint64_t)copy, (uint64_t)copy + size, false}},
        };
        check(cfi_find(&image, (uint64_t)copy + pc_off, &a), &a);
        free(copy);
}

static void fuzz_program(const uint8_t *bytes, size_t size, uint64_t pc_off) {
        uint8_t *memory = calloc(1, CFI_IMAGE_MAX_BYTES);
        uint32_t n_program = size < 1024 ? (uint32_t)size : 1024;
        struct cfi_image_builder b;
        struct cfi_image image;
        struct cfi_answer a;

        image_begin(&b, memory);
        image_usual_cie(&b);
        image_fde(&b, 0, CFI_IMAGE_CODE_BYTES, bytes, n_program, true);
        image = image_end(&b);
        if (cfi_find(&image, (uint64_t)memory + pc_off % CFI_IMAGE_CODE_BYTES, &a) != 0)
                abort(); /* only the program is in doubt: there is always a row */
        check(0, &a);
        free(memory);
}

static void fuzz_changes(const uint8_t *bytes, size_t size, uint64_t pc_off) {
        static const uint8_t program[] = {0x44, 0x0e, 32,   0x80 | ARCH_REG_FP,
                                          4,    0x44, 0x0d, ARCH_REG_FP,
                                          0x0a, 0x44, 0x0e, 0,
                                          0x0b};
        static uint8_t memory[CFI_IMAGE_MAX_BYTES];
        struct cfi_image_builder b;
        struct cfi_image image;
        uint64_t hdr_off;
        uint8_t *tables;

        image_begin(&b, memory);
        image_cie(&b, "zPLR", "\x9b\1\2\3\4\x1b\x1b", 7, 0x1b);
        image_fde(&b, 0, 64, program, sizeof(program), true);
        image_fde(&b, 64, 64, program, sizeof(program), true);
        image = image_end(&b);
        hdr_off = image.eh_frame_hdr - (uint64_t)memory;
        tables = memory + CFI_IMAGE_CODE_BYTES;
        for (size_t i = 0; i + 1 < size; i += 2)
                tables[bytes[i] % (b.size - CFI_IMAGE_CODE_BYTES)] = bytes[i + 1];
        fuzz_image(memory, b.size, (uint32_t)hdr_off, pc_off % 160);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        uint16_t pc_off;

        if (size < 5)
                return 0;
        memcpy(&pc_off, data + 2, sizeof(pc_off));
        switch (data[0] % 3) {
        case 0: fuzz_image(data + 4, size - 4, data[1] * 4u, pc_off); break;
        case 1: fuzz_program(data + 4, size - 4, pc_off); break;
        default: fuzz_changes(data + 4, size - 4, pc_off); break;
        }
        return 0;
}
