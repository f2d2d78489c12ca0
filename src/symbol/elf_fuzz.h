/* SPDX-License-Identifier: MIT */
/* Sections of the files that elf_fuzz.c makes, and in which order its input has them. */
#pragma once

#include <elf.h>
#include <stdint.h>

/* Where the code lies. */
enum { ELF_FUZZ_PLT = 0x1000, ELF_FUZZ_TEXT = 0x2000, ELF_FUZZ_GOT = 0x3000 };

struct elf_fuzz_section {
        const char *name;
        uint32_t type, link; /* link: number of another section, from 1 */
        uint64_t flags, address, entry_size;
};

static const struct elf_fuzz_section elf_fuzz_sections[] = {
        {".note.gnu.build-id", SHT_NOTE, 0, SHF_ALLOC, 0x200, 0},
        {".dynsym", SHT_DYNSYM, 3, SHF_ALLOC, 0x300, sizeof(Elf64_Sym)},
        {".dynstr", SHT_STRTAB, 0, SHF_ALLOC, 0x400, 0},
        {".rela.plt", SHT_RELA, 2, SHF_ALLOC, 0x500, sizeof(Elf64_Rela)},
        {".plt", SHT_PROGBITS, 0, SHF_ALLOC | SHF_EXECINSTR, ELF_FUZZ_PLT, 0},
        {".text", SHT_PROGBITS, 0, SHF_ALLOC | SHF_EXECINSTR, ELF_FUZZ_TEXT, 0},
        {".symtab", SHT_SYMTAB, 8, 0, 0, sizeof(Elf64_Sym)},
        {".strtab", SHT_STRTAB, 0, 0, 0, 0},
        {".gnu_debugaltlink", SHT_PROGBITS, 0, 0, 0, 0},
};
enum { ELF_FUZZ_N_SECTIONS = sizeof(elf_fuzz_sections) / sizeof(elf_fuzz_sections[0]) };
