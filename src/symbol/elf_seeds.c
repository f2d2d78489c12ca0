/* SPDX-License-Identifier: MIT */
/* elf_seeds DIRECTORY: a file with two functions and a PLT stub for each machine, in the form that
 * elf_fuzz.c reads. */
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/macros.h"
#include "symbol/elf_fuzz.h"

static void put_section(bytes_buf *out, const void *bytes, size_t n) {
        buf_u8(out, (uint8_t)n);
        buf_u8(out, (uint8_t)(n >> 8));
        buf_bytes(out, bytes, n);
}

static void make_seed(const char *directory, const char *name, bool is_x86_64) {
        static const char dynstr[] = "\0malloc", strtab[] = "\0main\0_ZN1aC2Ev.cold";
        static const char alt[] = "shared.debug\0\1\2\3\4\5\6\7\10";
        static const uint32_t note[] = {4, 8, NT_GNU_BUILD_ID, 0x554e47, 0x11223344, 0x55667788};
        const Elf64_Sym dynsym[] = {{0}, {.st_name = 1, .st_info = 0x12}};
        const Elf64_Sym symtab[] = {{0},
                                    {.st_name = 1,
                                     .st_info = 0x12,
                                     .st_shndx = 6,
                                     .st_value = ELF_FUZZ_TEXT,
                                     .st_size = 64},
                                    {.st_name = 6,
                                     .st_info = 0x02,
                                     .st_shndx = 6,
                                     .st_value = ELF_FUZZ_TEXT + 128,
                                     .st_size = 0}};
        const Elf64_Rela rela = {.r_offset = ELF_FUZZ_GOT,
                                 .r_info = ELF64_R_INFO(1, is_x86_64 ? R_X86_64_JUMP_SLOT
                                                                     : R_AARCH64_JUMP_SLOT)};
        /* bti c; adrp x16, GOT; ldr x17, [x16]; br x17 */
        static const uint32_t plt_aarch64[] = {0xd503245f, 0xd0000010, 0xf9400211, 0xd61f0220};
        /* endbr64; bnd jmp *GOT(%rip) */
        static const uint8_t plt_x86_64[] = {0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff,
                                             0x25, 0xf5, 0x1f, 0,    0};
        static const uint8_t text[256];
        bytes_buf out = {0};
        char path[4096];
        FILE *f;

        buf_u8(&out, is_x86_64);
        put_section(&out, note, sizeof(note));
        put_section(&out, dynsym, sizeof(dynsym));
        put_section(&out, dynstr, sizeof(dynstr));
        put_section(&out, &rela, sizeof(rela));
        put_section(&out, is_x86_64 ? (const void *)plt_x86_64 : plt_aarch64,
                    is_x86_64 ? sizeof(plt_x86_64) : sizeof(plt_aarch64));
        put_section(&out, text, sizeof(text));
        put_section(&out, symtab, sizeof(symtab));
        put_section(&out, strtab, sizeof(strtab));
        put_section(&out, alt, sizeof(alt) - 1);
        snprintf(path, sizeof(path), "%s/%s", directory, name);
        f = fopen(path, "w");
        if (!f || fwrite(out.items, 1, out.n, f) != out.n || fclose(f) != 0)
                exit(1);
        vec_free(&out);
}

int main(int argc, char **argv) {
        if (argc != 2)
                return 2;
        make_seed(argv[1], "aarch64", false);
        make_seed(argv[1], "x86_64", true);
        return 0;
}
