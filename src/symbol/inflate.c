/* SPDX-License-Identifier: MIT */
/* The copy is the file itself with the plain sections behind it, and a table of section headers that
 * says so. */
#include "symbol/inflate.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <zstd.h>

#include "base/fs.h"
#include "base/macros.h"

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

/* Debug information shrinks to a third or a tenth: what claims more is a trap. */
#define INFLATE_MAX_RATIO 1000
#define INFLATE_MAX_BYTES (4ull << 30)

struct source {
        const uint8_t *bytes; /* the whole file, mapped */
        uint64_t n;
        Elf64_Ehdr header;
};

static bool source_has(const struct source *s, uint64_t off, uint64_t n) {
        return off <= s->n && n <= s->n - off;
}

static bool source_map(struct source *s, int fd) {
        struct stat st;

        if (fstat(fd, &st) < 0 || (uint64_t)st.st_size < sizeof(s->header))
                return false;
        s->n = (uint64_t)st.st_size;
        s->bytes = mmap(NULL, s->n, PROT_READ, MAP_PRIVATE, fd, 0);
        if (s->bytes == MAP_FAILED)
                return false;
        memcpy(&s->header, s->bytes, sizeof(s->header));
        return memcmp(s->header.e_ident, ELFMAG, SELFMAG) == 0 &&
               s->header.e_ident[EI_CLASS] == ELFCLASS64 &&
               s->header.e_ident[EI_DATA] == ELFDATA2LSB &&
               s->header.e_shentsize == sizeof(Elf64_Shdr) &&
               source_has(s, s->header.e_shoff, s->header.e_shnum * sizeof(Elf64_Shdr));
}

static Elf64_Shdr source_section(const struct source *s, size_t i) {
        Elf64_Shdr h;

        memcpy(&h, s->bytes + s->header.e_shoff + i * sizeof(h), sizeof(h));
        return h;
}

/* Whether the section is compressed with zstd, and how long it is plain. */
static bool is_zstd(const struct source *s, const Elf64_Shdr *h, Elf64_Chdr *ret) {
        if (!(h->sh_flags & SHF_COMPRESSED) || h->sh_type == SHT_NOBITS ||
            h->sh_size < sizeof(*ret) || !source_has(s, h->sh_offset, h->sh_size))
                return false;
        memcpy(ret, s->bytes + h->sh_offset, sizeof(*ret));
        return ret->ch_type == ELFCOMPRESS_ZSTD;
}

static int inflate_section(const struct source *s, const Elf64_Shdr *h, const Elf64_Chdr *c,
                           int out_fd, uint64_t out_off) {
        uint64_t map_off = out_off & ~(uint64_t)(sysconf(_SC_PAGESIZE) - 1);
        uint64_t map_bytes = out_off - map_off + c->ch_size;
        uint8_t *out;
        size_t n;

        if (ftruncate(out_fd, (off_t)(out_off + c->ch_size)) < 0)
                return -errno;
        out = mmap(NULL, map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, out_fd, (off_t)map_off);
        if (out == MAP_FAILED)
                return -errno;
        n = ZSTD_decompress(out + (out_off - map_off), c->ch_size,
                            s->bytes + h->sh_offset + sizeof(*c), h->sh_size - sizeof(*c));
        munmap(out, map_bytes);
        return ZSTD_isError(n) || n != c->ch_size ? -EBADMSG : 0;
}

static int inflate_all(const struct source *s, int out_fd) {
        uint64_t end = s->n;
        int r = fs_write_all(out_fd, s->bytes, s->n);

        for (size_t i = 0; i < s->header.e_shnum && r == 0; i++) {
                Elf64_Shdr h = source_section(s, i);
                Elf64_Chdr c;

                if (!is_zstd(s, &h, &c))
                        continue;
                end = ALIGN_UP(end, 16ull);
                if (c.ch_size == 0 || c.ch_size / INFLATE_MAX_RATIO > h.sh_size ||
                    c.ch_size > INFLATE_MAX_BYTES || end + c.ch_size > INFLATE_MAX_BYTES)
                        return -EFBIG;
                r = inflate_section(s, &h, &c, out_fd, end);
                h.sh_offset = end;
                h.sh_size = c.ch_size;
                h.sh_addralign = c.ch_addralign;
                h.sh_flags &= ~(uint64_t)SHF_COMPRESSED;
                end += c.ch_size;
                if (r == 0 && pwrite(out_fd, &h, sizeof(h),
                                     (off_t)(s->header.e_shoff + i * sizeof(h))) != sizeof(h))
                        r = -EIO;
        }
        return r;
}

int inflate_zstd(int fd) {
        struct source s = {0};
        bool any = false;
        int out_fd = -1;

        if (source_map(&s, fd))
                for (size_t i = 0; i < s.header.e_shnum && !any; i++) {
                        Elf64_Shdr h = source_section(&s, i);
                        Elf64_Chdr c;

                        any = is_zstd(&s, &h, &c);
                }
        if (any)
                out_fd = memfd_create("inflated", MFD_CLOEXEC);
        if (out_fd >= 0 && inflate_all(&s, out_fd) < 0) {
                close(out_fd);
                out_fd = -1;
        }
        if (s.bytes && s.bytes != MAP_FAILED)
                munmap((void *)(uintptr_t)s.bytes, s.n);
        if (out_fd < 0)
                return fd;
        close(fd);
        return out_fd;
}
