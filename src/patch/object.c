/* SPDX-License-Identifier: MIT */
#include "patch/object.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macros.h"

/* The first segment's address tells how far the file was moved. */
int object_open(struct object *o, uint32_t machine) {
        Elf64_Ehdr ehdr;

        o->fd = fs_open(o->open_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
        if (o->fd < 0)
                return o->fd;
        if (fs_read_at(o->fd, &ehdr, sizeof(ehdr), 0) != sizeof(ehdr) ||
            memcmp(ehdr.e_ident, ELFMAG, SELFMAG) != 0 || ehdr.e_ident[EI_CLASS] != ELFCLASS64 ||
            ehdr.e_machine != machine)
                return -ENOEXEC;
        for (unsigned i = 0; i < ehdr.e_phnum; i++) {
                Elf64_Phdr phdr;

                if (fs_read_at(o->fd, &phdr, sizeof(phdr), ehdr.e_phoff + i * sizeof(phdr)) !=
                    sizeof(phdr))
                        return -ENOEXEC;
                if (phdr.p_type != PT_LOAD)
                        continue;
                o->bias = o->begin ? o->begin - (phdr.p_vaddr & -(uint64_t)4096) : 0;
                return 0;
        }
        return -ENOEXEC;
}

size_t object_read(const struct object *o, uint64_t addr, uint8_t *ret, size_t n_bytes) {
        Elf64_Ehdr ehdr;
        Elf64_Phdr phdr;

        if (fs_read_at(o->fd, &ehdr, sizeof(ehdr), 0) != sizeof(ehdr))
                return 0;
        for (unsigned i = 0; i < ehdr.e_phnum; i++) {
                if (fs_read_at(o->fd, &phdr, sizeof(phdr), ehdr.e_phoff + i * sizeof(phdr)) !=
                    sizeof(phdr))
                        return 0;
                if (phdr.p_type == PT_LOAD && phdr.p_flags & PF_X && addr >= phdr.p_vaddr &&
                    addr - phdr.p_vaddr < phdr.p_filesz) {
                        uint64_t left = phdr.p_filesz - (addr - phdr.p_vaddr);
                        ssize_t n = fs_read_at(o->fd, ret, MIN((uint64_t)n_bytes, left),
                                               phdr.p_offset + (addr - phdr.p_vaddr));

                        return n < 0 ? 0 : (size_t)n;
                }
        }
        return 0;
}

void object_close(struct object *o) {
        if (o->fd >= 0)
                close(TAKE_FD(o->fd));
}
