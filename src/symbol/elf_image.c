/* SPDX-License-Identifier: MIT */
#include "symbol/elf_image.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bytes.h"
#include "base/fs.h"
#include "base/macros.h"

enum { IMAGE_MAX_SECTIONS = 16 };

struct image {
        int fd;
        uint64_t size_bytes;
        Elf64_Shdr headers[IMAGE_MAX_SECTIONS + 2]; /* the empty one, sections, their names */
        size_t n_headers;
        bytes_buf names;
};

static int image_write(struct image *im, const void *bytes, size_t n) {
        static const char zeros[8];
        int r = fs_write_all(im->fd, bytes, n);

        im->size_bytes += n;
        if (r == 0 && n % 8) {
                r = fs_write_all(im->fd, zeros, 8 - n % 8);
                im->size_bytes += 8 - n % 8;
        }
        return r;
}

static int image_add(struct image *im, const char *name, uint32_t type, const void *bytes,
                     size_t n) {
        Elf64_Shdr *h = &im->headers[im->n_headers++];

        *h = (Elf64_Shdr){.sh_name = (uint32_t)im->names.n,
                          .sh_type = type,
                          .sh_offset = im->size_bytes,
                          .sh_size = n,
                          .sh_addralign = 1};
        buf_bytes(&im->names, name, strlen(name) + 1);
        if (type == SHT_STRTAB) { /* the names: its own among them */
                bytes = im->names.items;
                h->sh_size = n = im->names.n;
        }
        return image_write(im, bytes, n);
}

static int image_fill(struct image *im, unsigned machine, const struct elf_image_section *sections,
                      size_t n_sections) {
        Elf64_Ehdr e = {
                .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
                            EV_CURRENT},
                .e_type = ET_EXEC,
                .e_machine = (Elf64_Half)machine,
                .e_version = EV_CURRENT,
                .e_ehsize = sizeof(e),
                .e_shentsize = sizeof(Elf64_Shdr),
        };
        int r = image_write(im, &e, sizeof(e));

        im->n_headers = 1;
        buf_u8(&im->names, 0);
        for (size_t i = 0; i < n_sections && r == 0; i++)
                if (sections[i].bytes && sections[i].n)
                        r = image_add(im, sections[i].name, SHT_PROGBITS, sections[i].bytes,
                                      sections[i].n);
        if (r == 0)
                r = image_add(im, ".shstrtab", SHT_STRTAB, NULL, 0);
        e.e_shoff = im->size_bytes;
        e.e_shnum = (Elf64_Half)im->n_headers;
        e.e_shstrndx = (Elf64_Half)(im->n_headers - 1);
        if (r == 0)
                r = image_write(im, im->headers, im->n_headers * sizeof(im->headers[0]));
        if (r == 0 && pwrite(im->fd, &e, sizeof(e), 0) != sizeof(e))
                r = -EIO;
        return r;
}

int elf_image_make(unsigned machine, const struct elf_image_section *sections, size_t n_sections) {
        _cleanup_close_ int fd = memfd_create("elf", MFD_CLOEXEC);
        struct image im = {.fd = fd};
        int r;

        if (fd < 0)
                return -errno;
        if (n_sections > IMAGE_MAX_SECTIONS)
                return -E2BIG;
        r = image_fill(&im, machine, sections, n_sections);
        vec_free(&im.names);
        return r < 0 ? r : TAKE_FD(fd);
}
