/* SPDX-License-Identifier: MIT */
#ifndef SILT_UNWIND_CFI_IMAGE_H
#define SILT_UNWIND_CFI_IMAGE_H

/* For tests: writes small .eh_frame_hdr and .eh_frame images by hand. All functions of an image lie in
 * its own code area, so that pc-relative pointers come out as in a real object. */

#include <stdint.h>
#include <string.h>

#include "unwind/arch.h"
#include "unwind/cfi.h"

enum { CFI_IMAGE_CODE_BYTES = 256, CFI_IMAGE_MAX_BYTES = 2048, CFI_IMAGE_FDES_MAX = 8 };

struct cfi_image_builder {
        uint8_t *base; /* code first, then .eh_frame, then .eh_frame_hdr */
        uint32_t size;
        uint32_t cie_off;
        uint8_t fde_enc;
        uint32_t n_fdes;
        uint64_t fde_addr[CFI_IMAGE_FDES_MAX], fde_begin[CFI_IMAGE_FDES_MAX];
};

static inline void image_put(struct cfi_image_builder *b, const void *bytes, uint32_t n) {
        memcpy(b->base + b->size, bytes, n);
        b->size += n;
}

static inline void image_u8(struct cfi_image_builder *b, uint8_t v) {
        image_put(b, &v, 1);
}

static inline void image_u32(struct cfi_image_builder *b, uint32_t v) {
        image_put(b, &v, 4);
}

static inline uint64_t image_here(const struct cfi_image_builder *b) {
        return (uint64_t)b->base + b->size;
}

static inline void image_begin(struct cfi_image_builder *b, void *memory) {
        *b = (struct cfi_image_builder){.base = memory, .size = CFI_IMAGE_CODE_BYTES};
}

/* Starts an entry; image_end_entry writes its length. */
static inline uint32_t image_begin_entry(struct cfi_image_builder *b) {
        image_u32(b, 0);
        return b->size;
}

static inline void image_end_entry(struct cfi_image_builder *b, uint32_t begin) {
        uint32_t len;

        while ((b->size - begin) % 4 != 0)
                image_u8(b, 0); /* nop */
        len = b->size - begin;
        memcpy(b->base + begin - 4, &len, 4);
}

/* A CIE with the letters given after 'z'; data: their augmentation data. Its program says what the
 * ABI says at a function's first instruction. */
static inline void image_cie(struct cfi_image_builder *b, const char *letters, const void *data,
                             uint32_t n_data, uint8_t fde_enc) {
        uint32_t begin = image_begin_entry(b);

        b->cie_off = begin - 4;
        b->fde_enc = fde_enc;
        image_u32(b, 0);
        image_u8(b, 1); /* version */
        image_put(b, letters, (uint32_t)strlen(letters) + 1);
        image_u8(b, 1);    /* code factor */
        image_u8(b, 0x78); /* data factor -8 */
        image_u8(b, ARCH_REG_RA);
        if (letters[0] == 'z') {
                image_u8(b, (uint8_t)n_data);
                image_put(b, data, n_data);
        }
        image_u8(b, 0x0c); /* def_cfa sp, 0 or 8 */
        image_u8(b, ARCH_REG_SP);
        image_u8(b, ARCH_HAS_LR ? 0 : 8);
        if (!ARCH_HAS_LR) { /* offset ra, 1 */
                image_u8(b, 0x80 | ARCH_REG_RA);
                image_u8(b, 1);
        }
        image_end_entry(b, begin);
}

/* The usual CIE: "zR", FDEs pc-relative in four bytes. */
static inline void image_usual_cie(struct cfi_image_builder *b) {
        image_cie(b, "zR", "\x1b", 1, 0x1b);
}

static inline void image_pointer(struct cfi_image_builder *b, uint64_t addr) {
        switch (b->fde_enc) {
        case 0x00: image_put(b, &addr, 8); break;
        case 0x1b: image_u32(b, (uint32_t)(addr - image_here(b))); break;
        case 0x10: {
                uint64_t diff = addr - image_here(b);

                image_put(b, &diff, 8);
                break;
        }
        default: break;
        }
}

/* An FDE for code [begin_off, begin_off + code_bytes) of the code area. */
static inline void image_fde(struct cfi_image_builder *b, uint32_t begin_off, uint32_t code_bytes,
                             const void *program, uint32_t n_program, bool has_augmentation) {
        uint32_t begin = image_begin_entry(b);
        uint64_t size = code_bytes;

        b->fde_begin[b->n_fdes] = (uint64_t)b->base + begin_off;
        b->fde_addr[b->n_fdes++] = (uint64_t)b->base + begin - 4;
        image_u32(b, begin - b->cie_off);
        image_pointer(b, (uint64_t)b->base + begin_off);
        image_put(b, &size, b->fde_enc == 0x1b ? 4 : 8);
        if (has_augmentation)
                image_u8(b, 0);
        image_put(b, program, n_program);
        image_end_entry(b, begin);
}

/* Writes the search table and gives the image. FDEs must have been written in order of their code. */
static inline struct cfi_image image_end(struct cfi_image_builder *b) {
        uint64_t hdr = image_here(b);

        image_put(b, "\x01\x1b\x03\x3b", 4);
        image_u32(b, (uint32_t)((uint64_t)b->base + CFI_IMAGE_CODE_BYTES - image_here(b)));
        image_u32(b, b->n_fdes);
        for (uint32_t i = 0; i < b->n_fdes; i++) {
                image_u32(b, (uint32_t)(b->fde_begin[i] - hdr));
                image_u32(b, (uint32_t)(b->fde_addr[i] - hdr));
        }
        return (struct cfi_image){
                .eh_frame_hdr = hdr,
                .n_ranges = 1,
                .ranges = {{(uint64_t)b->base, image_here(b), true}},
        };
}

#endif
