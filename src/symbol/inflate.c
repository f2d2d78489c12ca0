/* SPDX-License-Identifier: MIT */
/* The new file has everything where the old one had it, holes in the place of compressed sections, and the inflated
 * ones behind the old end. */
#include "symbol/inflate.h"

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#if HAVE_LIBDEFLATE
#include <libdeflate.h>
#endif
#include <zstd.h>

#include "base/macros.h"

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

enum {
        INFLATE_MIN_BYTES = 64 << 10, /* of what libelf can inflate less is not worth a file */
        INFLATE_MAX_RATIO = 1032,     /* deflate can do no more */
        INFLATE_MAX_SECTIONS = 65280,
};

struct inflate {
        const uint8_t *in;
        uint64_t in_bytes;
        uint8_t *out;
        uint64_t out_bytes; /* as planned so far */
        const Elf64_Ehdr *ehdr;
        const Elf64_Shdr *sections;
};

/* Sections that name no address. */
static bool is_needless(const char *name) {
        static const char *const names[] = {".debug_loc",          ".debug_loclists",
                                            ".debug_macro",        ".debug_macinfo",
                                            ".debug_pubnames",     ".debug_pubtypes",
                                            ".debug_gnu_pubnames", ".debug_gnu_pubtypes",
                                            ".debug_names",        ".debug_frame"};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (strcmp(name, names[i]) == 0)
                        return true;
        return false;
}

static bool lies_inside(const struct inflate *f, uint64_t off, uint64_t n) {
        return off <= f->in_bytes && n <= f->in_bytes - off;
}

static const char *section_name(const struct inflate *f, const Elf64_Shdr *s) {
        const Elf64_Shdr *names = &f->sections[f->ehdr->e_shstrndx];
        const char *name;

        if (!lies_inside(f, names->sh_offset, names->sh_size) || s->sh_name >= names->sh_size)
                return "";
        name = (const char *)f->in + names->sh_offset + s->sh_name;
        return memchr(name, 0, names->sh_size - s->sh_name) ? name : "";
}

/* Of this machine's byte order, with a plain number of sections. */
static bool inflate_parse(struct inflate *f) {
        f->ehdr = (const void *)f->in;
        if (f->in_bytes < sizeof(*f->ehdr) || memcmp(f->in, ELFMAG, SELFMAG) != 0 ||
            f->in[EI_CLASS] != ELFCLASS64 || f->in[EI_DATA] != ELFDATA2LSB ||
            f->ehdr->e_shentsize != sizeof(Elf64_Shdr) || f->ehdr->e_shnum == 0 ||
            f->ehdr->e_shnum > INFLATE_MAX_SECTIONS || f->ehdr->e_shstrndx >= f->ehdr->e_shnum ||
            f->ehdr->e_shoff % 8 ||
            !lies_inside(f, f->ehdr->e_shoff, (uint64_t)f->ehdr->e_shnum * sizeof(Elf64_Shdr)) ||
            !lies_inside(f, f->ehdr->e_phoff, (uint64_t)f->ehdr->e_phnum * f->ehdr->e_phentsize))
                return false;
        f->sections = (const void *)(f->in + f->ehdr->e_shoff);
        return true;
}

/* What a compressed section says of itself; false when it is not one. */
static bool section_head(const struct inflate *f, const Elf64_Shdr *s, Elf64_Chdr *ret) {
        if (!(s->sh_flags & SHF_COMPRESSED) || s->sh_type == SHT_NOBITS ||
            !lies_inside(f, s->sh_offset, s->sh_size) || s->sh_size < sizeof(*ret))
                return false;
        memcpy(ret, f->in + s->sh_offset, sizeof(*ret));
        return true;
}

static bool is_known(uint32_t type) {
#if HAVE_LIBDEFLATE
        if (type == ELFCOMPRESS_ZLIB)
                return true;
#endif
        return type == ELFCOMPRESS_ZSTD;
}

/* Limits of the process bound what a file can claim. */
static uint64_t max_bytes(void) {
        struct rlimit l;

        return getrlimit(RLIMIT_DATA, &l) == 0 && l.rlim_cur != RLIM_INFINITY ? l.rlim_cur
                                                                              : 8ull << 30;
}

/* How large the new file becomes; false when there is no need for it, or it cannot be. */
static bool inflate_plan(struct inflate *f) {
        uint64_t n_packed = 0;
        bool has_zstd = false;

        f->out_bytes = ALIGN_UP(f->in_bytes, 64);
        for (unsigned i = 0; i < f->ehdr->e_shnum; i++) {
                const Elf64_Shdr *s = &f->sections[i];
                Elf64_Chdr head;

                if (!section_head(f, s, &head))
                        continue;
                if (!is_known(head.ch_type) || head.ch_addralign > 4096 ||
                    head.ch_size > s->sh_size * INFLATE_MAX_RATIO || head.ch_size > max_bytes())
                        return false;
                n_packed += s->sh_size;
                has_zstd |= head.ch_type == ELFCOMPRESS_ZSTD;
                if (!is_needless(section_name(f, s)))
                        f->out_bytes += ALIGN_UP(head.ch_size, 64);
                if (f->out_bytes > max_bytes())
                        return false;
        }
        return has_zstd || n_packed >= INFLATE_MIN_BYTES;
}

static bool inflate_bytes(const Elf64_Chdr *head, const uint8_t *in, size_t n, uint8_t *out) {
        if (head->ch_type == ELFCOMPRESS_ZSTD) {
                size_t got = ZSTD_decompress(out, head->ch_size, in, n);

                return !ZSTD_isError(got) && got == head->ch_size;
        }
#if HAVE_LIBDEFLATE
        struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
        bool ok = d && libdeflate_zlib_decompress(d, in, n, out, head->ch_size, NULL) ==
                               LIBDEFLATE_SUCCESS;

        libdeflate_free_decompressor(d);
        return ok;
#else
        return false;
#endif
}

/* One section into the new file, its header adapted. *end: where inflated ones go. */
static bool inflate_section(const struct inflate *f, unsigned i, Elf64_Shdr *to, uint64_t *end) {
        const Elf64_Shdr *s = &f->sections[i];
        Elf64_Chdr head;

        if (!section_head(f, s, &head)) {
                if (s->sh_type != SHT_NOBITS && s->sh_type != SHT_NULL &&
                    lies_inside(f, s->sh_offset, s->sh_size))
                        memcpy(f->out + s->sh_offset, f->in + s->sh_offset, s->sh_size);
                return true;
        }
        to->sh_flags &= ~(uint64_t)SHF_COMPRESSED;
        to->sh_offset = *end;
        to->sh_size = head.ch_size;
        to->sh_addralign = head.ch_addralign;
        if (is_needless(section_name(f, s))) {
                to->sh_type = SHT_NOBITS;
                return true;
        }
        *end += ALIGN_UP(head.ch_size, 64);
        return inflate_bytes(&head, f->in + s->sh_offset + sizeof(head), s->sh_size - sizeof(head),
                             f->out + to->sh_offset);
}

/* Headers last: no section, wherever it claims to lie, writes over them. */
static bool inflate_all(const struct inflate *f) {
        size_t n_bytes = f->ehdr->e_shnum * sizeof(Elf64_Shdr);
        _cleanup_free_ Elf64_Shdr *to = malloc(n_bytes);
        uint64_t end = ALIGN_UP(f->in_bytes, 64);

        if (!to)
                return false;
        memcpy(to, f->sections, n_bytes);
        for (unsigned i = 0; i < f->ehdr->e_shnum; i++)
                if (!inflate_section(f, i, &to[i], &end))
                        return false;
        memcpy(f->out + f->ehdr->e_phoff, f->in + f->ehdr->e_phoff,
               (size_t)f->ehdr->e_phnum * f->ehdr->e_phentsize);
        memcpy(f->out + f->ehdr->e_shoff, to, n_bytes);
        memcpy(f->out, f->in, sizeof(*f->ehdr));
        return true;
}

static int inflate_make(struct inflate *f) {
        _cleanup_close_ int fd = memfd_create("inflated", MFD_CLOEXEC);
        void *out;
        bool ok;

        if (fd < 0 || ftruncate(fd, (off_t)f->out_bytes) < 0)
                return -1;
        out = mmap(NULL, f->out_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (out == MAP_FAILED)
                return -1;
        f->out = out;
        ok = inflate_all(f);
        munmap(out, f->out_bytes);
        return ok ? TAKE_FD(fd) : -1;
}

int inflate_open(int fd) {
        struct inflate f = {0};
        struct stat st;
        int made = -1;
        void *in;

        if (fstat(fd, &st) < 0 || st.st_size <= 0)
                return fd;
        f.in_bytes = (uint64_t)st.st_size;
        in = mmap(NULL, f.in_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
        if (in == MAP_FAILED)
                return fd;
        f.in = in;
        if (inflate_parse(&f) && inflate_plan(&f))
                made = inflate_make(&f);
        munmap(in, f.in_bytes);
        if (made < 0)
                return fd;
        close(fd);
        return made;
}
