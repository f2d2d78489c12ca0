/* SPDX-License-Identifier: MIT */
#include "symbol/code_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macros.h"

enum { OBJECT_MAX_HEADERS = 256 };

static bool is_known(const Elf64_Ehdr *e, uint32_t machine) {
        if (memcmp(e->e_ident, ELFMAG, SELFMAG) != 0 || e->e_ident[EI_CLASS] != ELFCLASS64 ||
            e->e_ident[EI_DATA] != ELFDATA2LSB)
                return false;
        return machine ? e->e_machine == machine
                       : e->e_machine == EM_AARCH64 || e->e_machine == EM_X86_64;
}

static void add_load(struct code_file *o, const Elf64_Phdr *p) {
        if (o->n_loads == OBJECT_MAX_LOADS || p->p_vaddr + p->p_filesz < p->p_vaddr)
                return;
        o->loads[o->n_loads++] =
                (struct object_load){p->p_vaddr, p->p_filesz, p->p_offset, p->p_flags & PF_X};
}

/* The first segment's address tells how far the file was moved. */
int code_file_open(struct code_file *o, uint32_t machine) {
        Elf64_Ehdr ehdr;

        o->n_loads = 0;
        o->frames_addr = 0;
        o->fd = fs_open(o->open_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
        if (o->fd < 0)
                return o->fd;
        if (fs_read_at(o->fd, &ehdr, sizeof(ehdr), 0) != sizeof(ehdr) || !is_known(&ehdr, machine))
                return -ENOEXEC;
        o->machine = ehdr.e_machine;
        for (unsigned i = 0; i < (unsigned)MIN(ehdr.e_phnum, OBJECT_MAX_HEADERS); i++) {
                Elf64_Phdr phdr;

                if (fs_read_at(o->fd, &phdr, sizeof(phdr), ehdr.e_phoff + i * sizeof(phdr)) !=
                    sizeof(phdr))
                        break;
                if (phdr.p_type == PT_LOAD)
                        add_load(o, &phdr);
                else if (phdr.p_type == PT_GNU_EH_FRAME)
                        o->frames_addr = phdr.p_vaddr;
        }
        if (o->n_loads == 0)
                return -ENOEXEC;
        o->bias = o->begin ? o->begin - (o->loads[0].addr & -(uint64_t)4096) : 0;
        return 0;
}

static size_t read_at(const struct code_file *o, uint64_t addr, void *ret, size_t n_bytes,
                      bool is_code) {
        for (unsigned i = 0; i < o->n_loads; i++) {
                const struct object_load *l = &o->loads[i];
                ssize_t n;

                if ((is_code && !l->is_code) || addr < l->addr || addr - l->addr >= l->n_bytes)
                        continue;
                n = fs_read_at(o->fd, ret, MIN((uint64_t)n_bytes, l->n_bytes - (addr - l->addr)),
                               l->offset + (addr - l->addr));
                return n < 0 ? 0 : (size_t)n;
        }
        return 0;
}

size_t code_file_read(const struct code_file *o, uint64_t addr, uint8_t *ret, size_t n_bytes) {
        return read_at(o, addr, ret, n_bytes, true);
}

size_t code_file_read_any(const struct code_file *o, uint64_t addr, void *ret, size_t n_bytes) {
        return read_at(o, addr, ret, n_bytes, false);
}

void code_file_close(struct code_file *o) {
        if (o->fd >= 0)
                close(TAKE_FD(o->fd));
}

void code_file_locate(pid_t pid, const char *path, char *ret, size_t cap) {
        snprintf(ret, cap, "/proc/%d/root%s", (int)pid, path);
        if (access(ret, F_OK) < 0)
                snprintf(ret, cap, "%s", path);
}
