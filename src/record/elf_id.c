/* SPDX-License-Identifier: MIT */
#include "record/elf_id.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <libelf.h>
#include <string.h>

#include "base/fs.h"
#include "base/macros.h"

uint32_t elf_id_read(const char *path, uint8_t ret[32]) {
        _cleanup_close_ int fd = fs_open(path, O_RDONLY, 0);
        const void *id;
        ssize_t n = 0;
        Elf *elf;

        if (fd < 0 || elf_version(EV_CURRENT) == EV_NONE)
                return 0;
        elf = elf_begin(fd, ELF_C_READ, NULL);
        if (!elf)
                return 0;
        n = dwelf_elf_gnu_build_id(elf, &id);
        n = n > 0 ? MIN(n, (ssize_t)32) : 0;
        if (n)
                memcpy(ret, id, (size_t)n);
        elf_end(elf);
        return (uint32_t)n;
}
