/* SPDX-License-Identifier: MIT */
/* From a pc to its FDE through the binary search table of .eh_frame_hdr, then to the CIE.
 *
 *     .eh_frame_hdr:  u8 version = 1, u8 enc of eh_frame, u8 enc of count, u8 enc of table,
 *                     eh_frame, count, count x { initial location, address of FDE }
 *     FDE:            u32 length, u32 distance back to CIE, location, range, augmentation, program
 *     CIE:            u32 length, u32 0, u8 version, augmentation string, code and data factors,
 *                     return address register, augmentation, program
 *
 * Objects without the table are treated as objects without CFI: every linker in use writes it, and
 * scanning .eh_frame for each row would take milliseconds. */

#include "unwind/cfi.h"

#include <errno.h>

#include "unwind/cfi_program.h"

enum { HDR_VERSION = 1, TABLE_ENC = CFI_ENC_DATAREL | CFI_ENC_SDATA4, TABLE_ENTRY_BYTES = 8 };

/* A cursor from addr to the end of the range that holds it. */
static struct cfi_bytes bytes_from(const struct cfi_image *image, uint64_t addr) {
        struct cfi_bytes b = {.bad = true};

        for (uint32_t i = 0; i < image->n_ranges && i < CFI_RANGES_MAX; i++) {
                const struct cfi_range *r = &image->ranges[i];

                if (addr >= r->begin && addr < r->end)
                        return (struct cfi_bytes){(const uint8_t *)addr, (const uint8_t *)r->end,
                                                  false};
        }
        return b;
}

struct table {
        const uint8_t *entries;
        uint64_t n_entries;
};

static int open_table(const struct cfi_image *image, struct table *ret) {
        struct cfi_bytes b = bytes_from(image, image->eh_frame_hdr);
        uint8_t version = cfi_bytes_u8(&b);
        uint8_t frame_enc = cfi_bytes_u8(&b);
        uint8_t count_enc = cfi_bytes_u8(&b);
        uint8_t table_enc = cfi_bytes_u8(&b);
        uint64_t n_entries;

        cfi_bytes_skip_pointer(&b, frame_enc);
        if (b.bad || version != HDR_VERSION || count_enc == CFI_ENC_OMIT || table_enc != TABLE_ENC)
                return -ENOENT;
        n_entries = cfi_bytes_pointer(&b, count_enc, image->eh_frame_hdr);
        if (b.bad || n_entries > cfi_bytes_left(&b) / TABLE_ENTRY_BYTES)
                return -EBADMSG;
        *ret = (struct table){b.at, n_entries};
        return 0;
}

static uint64_t table_address(const struct cfi_image *image, const struct table *t, uint64_t idx,
                              int word) {
        int32_t off;

        __builtin_memcpy(&off, t->entries + idx * TABLE_ENTRY_BYTES + word * 4, sizeof(off));
        return image->eh_frame_hdr + (uint64_t)(int64_t)off;
}

/* The FDE of the last entry whose initial location is <= pc; 0: pc is below all. */
static uint64_t table_search(const struct cfi_image *image, const struct table *t, uint64_t pc) {
        uint64_t low = 0, high = t->n_entries; /* entries below low are <= pc, from high on > pc */

        while (low < high) {
                uint64_t mid = low + (high - low) / 2;

                if (table_address(image, t, mid, 0) <= pc)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low == 0 ? 0 : table_address(image, t, low - 1, 1);
}

/* Cuts the cursor to the entry's own bytes. The 64-bit form (length 0xffffffff) is refused: no
 * toolchain writes it into .eh_frame, and libgcc cannot read it either. */
static int open_entry(const struct cfi_image *image, uint64_t addr, struct cfi_bytes *ret) {
        struct cfi_bytes b = bytes_from(image, addr);
        uint32_t len = cfi_bytes_u32(&b);

        if (b.bad || len == 0 || len == UINT32_MAX || len > cfi_bytes_left(&b))
                return -EBADMSG;
        b.end = b.at + len;
        *ret = b;
        return 0;
}

/* Unknown letters end the parsing: 'z' gave the length of the data, so the rest can be skipped, but
 * the FDE encoding must have been seen by then if it comes at all. */
static void read_augmentation(struct cfi_bytes *b, const uint8_t *letters, struct cfi_cie *cie) {
        uint64_t size = cfi_bytes_uleb(b);
        struct cfi_bytes data = {.at = b->at, .end = b->at};

        cfi_bytes_skip(b, size);
        if (b->bad)
                return;
        data.end = b->at;
        for (const uint8_t *p = letters; *p != 0; p++) {
                switch (*p) {
                case 'R': cie->fde_enc = cfi_bytes_u8(&data); break;
                case 'P': cfi_bytes_skip_pointer(&data, cfi_bytes_u8(&data)); break;
                case 'L': cfi_bytes_u8(&data); break;
                case 'S': cie->is_signal = true; break;
                case 'B':        /* return addresses are signed with key B */
                case 'G': break; /* the stack frame is memory-tagged */
                default: cfi_bytes_spoil(&data); break;
                }
        }
        b->bad |= data.bad;
}

static int read_cie(const struct cfi_image *image, uint64_t addr, struct cfi_cie *ret) {
        struct cfi_cie cie = {.fde_enc = CFI_ENC_ABSPTR};
        const uint8_t *letters;
        struct cfi_bytes b;
        uint8_t version;
        int r;

        r = open_entry(image, addr, &b);
        if (r < 0)
                return r;
        if (cfi_bytes_u32(&b) != 0)
                return -EBADMSG;
        version = cfi_bytes_u8(&b);
        if (version != 1 && version != 3 && version != 4)
                return -EBADMSG;
        letters = b.at;
        while (cfi_bytes_u8(&b) != 0)
                ;
        if (b.bad)
                return -EBADMSG;
        if (version == 4 && cfi_bytes_u16(&b) != 8)
                return -EBADMSG; /* u8 address size, u8 segment selector size */
        cie.code_align = cfi_bytes_uleb(&b);
        cie.data_align = cfi_bytes_sleb(&b);
        cie.ra_reg = version == 1 ? cfi_bytes_u8(&b) : cfi_bytes_uleb(&b);
        cie.has_augmentation = *letters == 'z';
        if (cie.has_augmentation)
                read_augmentation(&b, letters + 1, &cie);
        else if (*letters != 0)
                return -EBADMSG;
        if (b.bad)
                return -EBADMSG;
        cie.program = b;
        *ret = cie;
        return 0;
}

/* An FDE that was read up to its program. */
struct fde {
        struct cfi_cie cie;
        uint64_t begin, end; /* the code it covers */
        struct cfi_bytes program;
};

static int read_fde(const struct cfi_image *image, uint64_t addr, struct fde *ret) {
        struct cfi_bytes b;
        uint64_t cie_field, size;
        uint32_t cie_distance;
        int r;

        r = open_entry(image, addr, &b);
        if (r < 0)
                return r;
        cie_field = (uint64_t)b.at;
        cie_distance = cfi_bytes_u32(&b);
        if (b.bad || cie_distance == 0) /* 0: this is a CIE */
                return -EBADMSG;
        r = read_cie(image, cie_field - cie_distance, &ret->cie);
        if (r < 0)
                return r;
        ret->begin = cfi_bytes_pointer(&b, ret->cie.fde_enc, 0);
        size = cfi_bytes_number(&b, ret->cie.fde_enc & CFI_ENC_FORMAT);
        if (ret->cie.has_augmentation)
                cfi_bytes_skip(&b, cfi_bytes_uleb(&b));
        if (b.bad || __builtin_add_overflow(ret->begin, size, &ret->end))
                return -EBADMSG;
        ret->program = b;
        return 0;
}

int cfi_fde_range(const struct cfi_image *image, uint64_t addr, uint64_t *ret_begin,
                  uint64_t *ret_end) {
        struct fde f;
        int r = read_fde(image, addr, &f);

        if (r < 0)
                return r;
        *ret_begin = f.begin;
        *ret_end = f.end;
        return 0;
}

int cfi_find(const struct cfi_image *image, uint64_t pc, struct cfi_answer *ret) {
        struct table t;
        struct fde f;
        uint64_t addr;
        int r;

        if (image->eh_frame_hdr == 0)
                return -ENOENT;
        r = open_table(image, &t);
        if (r < 0)
                return r;
        addr = table_search(image, &t, pc);
        if (addr == 0)
                return -ENOENT;
        r = read_fde(image, addr, &f);
        if (r < 0)
                return r;
        if (pc < f.begin || pc >= f.end)
                return -ENOENT;
        ret->fde_begin = f.begin;
        ret->fde_end = f.end;
        ret->row = cfi_program_run(&f.cie, f.program, f.begin, pc);
        return 0;
}
