/* SPDX-License-Identifier: MIT */
#include "record/elf_id.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <libelf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/fs.h"
#include "base/macros.h"

/* Takes elf, which may be NULL. */
static uint32_t id_of(Elf *elf, uint8_t ret[32]) {
        const void *id;
        ssize_t n;

        if (!elf)
                return 0;
        n = dwelf_elf_gnu_build_id(elf, &id);
        n = n > 0 ? MIN(n, (ssize_t)32) : 0;
        if (n)
                memcpy(ret, id, (size_t)n);
        elf_end(elf);
        return (uint32_t)n;
}

uint32_t elf_id_read(const char *path, uint8_t ret[32]) {
        _cleanup_close_ int fd = fs_open(path, O_RDONLY, 0);

        if (fd < 0 || elf_version(EV_CURRENT) == EV_NONE)
                return 0;
        return id_of(elf_begin(fd, ELF_C_READ, NULL), ret);
}

uint32_t elf_id_read_vdso(uint8_t ret[32]) {
        const ElfW(Ehdr) *h =
                (const void *)getauxval(AT_SYSINFO_EHDR); /* NOLINT: an address by definition */
        size_t n = h ? h->e_shoff + (size_t)h->e_shnum * h->e_shentsize : 0;

        if (!h || elf_version(EV_CURRENT) == EV_NONE)
                return 0;
        return id_of(elf_memory((char *)(uintptr_t)h, n), ret);
}
