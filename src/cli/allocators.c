/* SPDX-License-Identifier: MIT */
#include "cli/allocators.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>

#include "base/fs.h"
#include "base/macros.h"

/* One entry point that every member of a family has. */
static const struct {
        const char *symbol, *family;
} families[] = {
        {"_rjem_malloc", "jemalloc (Rust)"}, {"_rjem_mallocx", "jemalloc (Rust)"},
        {"je_malloc", "jemalloc"},           {"mi_malloc", "mimalloc"},
        {"tc_malloc", "tcmalloc"},           {"rpmalloc", "rpmalloc"},
};

static void take_symbol(struct allocators *a, const char *name) {
        if (strcmp(name, "malloc") == 0)
                a->defines_malloc = true;
        for (size_t i = 0; i < ARRAY_SIZE(families); i++)
                if (strcmp(name, families[i].symbol) == 0)
                        a->linked_in = families[i].family;
}

static void scan_section(struct allocators *a, Elf *elf, Elf_Scn *section,
                         const GElf_Shdr *header) {
        Elf_Data *data = elf_getdata(section, NULL);
        size_t n = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;

        for (size_t i = 0; data && i < n; i++) {
                const char *name;
                GElf_Sym symbol;

                if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_shndx == SHN_UNDEF ||
                    GELF_ST_TYPE(symbol.st_info) != STT_FUNC)
                        continue;
                name = elf_strptr(elf, header->sh_link, symbol.st_name);
                if (name)
                        take_symbol(a, name);
        }
}

static void elf_endp(Elf **elf) {
        if (*elf)
                elf_end(*elf);
}

int allocators_find(const char *path, struct allocators *ret, struct err *reterr) {
        _cleanup_(elf_endp) Elf *elf = NULL;
        _cleanup_close_ int fd = -1;
        struct allocators a = {0};
        Elf_Scn *section = NULL;

        fd = fs_open(path, O_RDONLY | O_CLOEXEC, 0);
        if (fd < 0)
                return err_set(reterr, fd, "'%s': cannot read it: %s: check its permissions", path,
                               strerror(-fd));
        if (elf_version(EV_CURRENT) == EV_NONE)
                return err_set(reterr, -ENOTSUP, "libelf: it is too old: install a newer one");
        elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
        if (!elf || elf_kind(elf) != ELF_K_ELF)
                return err_set(reterr, -ENOEXEC, "'%s': not an ELF file: name a program", path);

        while ((section = elf_nextscn(elf, section))) {
                GElf_Shdr header;

                if (!gelf_getshdr(section, &header) ||
                    (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
                        continue;
                if (header.sh_type == SHT_SYMTAB)
                        a.has_symbol_table = true;
                scan_section(&a, elf, section, &header);
        }
        *ret = a;
        return 0;
}
