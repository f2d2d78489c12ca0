/* SPDX-License-Identifier: MIT */
#include "remote/remote_tables.h"

#include <stdlib.h>
#include <zlib.h>

#include "base/bytes.h"
#include "unwind/cfi_bytes.h"

enum {
        SECTIONS_MAX = 8192,
        NAMES_MAX_BYTES = 1 << 20,
        ENTRY_HEAD_BYTES = 8, /* length and what tells CIEs from FDEs */
        HDR_BYTES = 8,        /* before the search table, here */
};
#define DEBUG_FRAME_CIE UINT32_MAX

/* ---- sections ----------------------------------------------------------------------------- */

static bool section_size(const struct remote_bytes *file, const Elf64_Shdr *h,
                         struct remote_section *ret) {
        Elf64_Chdr c;

        *ret = (struct remote_section){h->sh_addr, h->sh_offset, h->sh_size, h->sh_size, false};
        if (!(h->sh_flags & SHF_COMPRESSED))
                return h->sh_size > 0 && h->sh_size <= REMOTE_TABLE_MAX_BYTES;
        if (h->sh_size < sizeof(c) || h->sh_size > REMOTE_TABLE_MAX_BYTES ||
            !remote_bytes_read(file, &c, sizeof(c), h->sh_offset) ||
            c.ch_type != ELFCOMPRESS_ZLIB || c.ch_size > REMOTE_TABLE_MAX_BYTES)
                return false;
        ret->file_off += sizeof(c);
        ret->file_bytes -= sizeof(c);
        ret->n_bytes = c.ch_size;
        ret->is_deflated = true;
        return true;
}

bool remote_tables_section(const struct remote_bytes *file, const Elf64_Ehdr *eh, const char *name,
                           struct remote_section *ret) {
        _cleanup_free_ Elf64_Shdr *shdrs = NULL;
        _cleanup_free_ char *names = NULL;
        size_t n = eh->e_shnum, n_names;

        if (n == 0 || n > SECTIONS_MAX || eh->e_shentsize != sizeof(Elf64_Shdr) ||
            eh->e_shstrndx >= n)
                return false;
        shdrs = malloc(n * sizeof(*shdrs));
        if (!shdrs || !remote_bytes_read(file, shdrs, n * sizeof(*shdrs), eh->e_shoff))
                return false;
        n_names = shdrs[eh->e_shstrndx].sh_size;
        if (n_names == 0 || n_names > NAMES_MAX_BYTES)
                return false;
        names = malloc(n_names);
        if (!names || !remote_bytes_read(file, names, n_names, shdrs[eh->e_shstrndx].sh_offset) ||
            names[n_names - 1] != '\0')
                return false;
        for (size_t i = 0; i < n; i++)
                if (shdrs[i].sh_name < n_names && shdrs[i].sh_type != SHT_NOBITS &&
                    strcmp(names + shdrs[i].sh_name, name) == 0)
                        return section_size(file, &shdrs[i], ret);
        return false;
}

bool remote_tables_read(const struct remote_bytes *file, const struct remote_section *s, void *p) {
        _cleanup_free_ uint8_t *packed = NULL;
        uLongf n = s->n_bytes;

        if (!s->is_deflated)
                return remote_bytes_read(file, p, s->n_bytes, s->file_off);
        packed = malloc(s->file_bytes + 1);
        return packed && remote_bytes_read(file, packed, s->file_bytes, s->file_off) &&
               uncompress(p, &n, packed, s->file_bytes) == Z_OK && n == s->n_bytes;
}

/* ---- entries ------------------------------------------------------------------------------ */

/* The entry at off, without its length; 0: no further one. A length of 0, by which a linker marks an end, may stand between
 * the parts of several files. */
static size_t next_entry(const uint8_t *p, size_t n_bytes, size_t *off) {
        while (n_bytes - *off >= ENTRY_HEAD_BYTES) {
                size_t len = bytes_le32(p + *off);

                if (len == 0) {
                        *off += 4;
                        continue;
                }
                return len >= 4 && len <= n_bytes - *off - 4 ? len : 0;
        }
        return 0;
}

/* .debug_frame has other marks of CIEs, offsets from its beginning instead of distances, and addresses as they are in the
 * file; of the same sizes all of them. */
void remote_tables_convert(uint8_t *p, size_t n_bytes, uint64_t delta) {
        size_t len;

        for (size_t off = 0; (len = next_entry(p, n_bytes, &off)) != 0; off += 4 + len) {
                uint32_t cie = bytes_le32(p + off + 4);

                if (cie == DEBUG_FRAME_CIE) {
                        buf_put_le32(p + off + 4, 0);
                        continue;
                }
                buf_put_le32(p + off + 4, (uint32_t)(off + 4 - cie));
                if (len >= 12)
                        buf_put_le64(p + off + 8, bytes_le64(p + off + 8) + delta);
        }
}

void remote_tables_list(const struct cfi_image *image, const uint8_t *p, size_t n_bytes,
                        uint64_t begin, uint64_t end, remote_fdes *fdes) {
        size_t len;

        for (size_t off = 0; (len = next_entry(p, n_bytes, &off)) != 0; off += 4 + len) {
                uint64_t from, to;

                if (bytes_le32(p + off + 4) == 0 ||
                    cfi_fde_range(image, (uint64_t)(p + off), &from, &to) < 0)
                        continue;
                if (from >= begin && to <= end && from < to)
                        vec_push(fdes, (struct remote_fde){from, (uint64_t)(p + off)});
        }
}

static int fde_by_begin(const void *a, const void *b) {
        const struct remote_fde *x = a, *y = b;

        if (x->begin != y->begin)
                return x->begin < y->begin ? -1 : 1;
        return x->at < y->at ? -1 : x->at > y->at;
}

static bool fits(uint64_t addr, uint64_t from) {
        int64_t off = (int64_t)(addr - from);

        return off >= INT32_MIN && off <= INT32_MAX;
}

size_t remote_tables_write(remote_fdes *fdes, uint8_t *p, size_t cap) {
        const uint8_t head[4] = {1, CFI_ENC_OMIT, CFI_ENC_UDATA4, CFI_ENC_DATAREL | CFI_ENC_SDATA4};
        uint64_t base = (uint64_t)p;
        size_t at = HDR_BYTES;

        if (fdes->n == 0 || cap < HDR_BYTES)
                return 0;
        qsort(fdes->items, fdes->n, sizeof(fdes->items[0]), fde_by_begin);
        memcpy(p, head, sizeof(head));
        for (size_t i = 0; i < fdes->n && cap - at >= 8; i++) {
                const struct remote_fde *f = &fdes->items[i];

                if ((i > 0 && f->begin == f[-1].begin) || !fits(f->begin, base) ||
                    !fits(f->at, base))
                        continue;
                buf_put_le32(p + at, (uint32_t)(f->begin - base));
                buf_put_le32(p + at + 4, (uint32_t)(f->at - base));
                at += 8;
        }
        buf_put_le32(p + 4, (uint32_t)((at - HDR_BYTES) / 8));
        return at;
}
