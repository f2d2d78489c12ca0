/* SPDX-License-Identifier: MIT */
#include "remote/testing/remote_elf.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "unwind/arch.h"
#include "unwind/cfi_image.h"

enum { N_PHDRS = 3, N_SECTIONS = 4 };

static const char names[] = "\0.shstrtab\0.eh_frame\0.debug_frame";
enum { NAME_NAMES = 1, NAME_FRAMES = 11, NAME_DEBUG = 21 };

/* advance 4; def_cfa_offset N; the return address in memory, also where calls leave it in a register */
static void program_of(uint8_t ret[5], uint8_t cfa) {
        const uint8_t program[5] = {0x44, 0x0e, cfa, 0x80 | ARCH_REG_RA, 1};

        memcpy(ret, program, sizeof(program));
}

/* def_cfa_expression fp + 0, deref; expression of fp: fp + 8 */
static const uint8_t realigned[] = {
        0x0f,
        3,
        0x70 + ARCH_REG_FP,
        0,
        0x06,
        0x10,
        ARCH_REG_FP,
        2,
        0x70 + ARCH_REG_FP,
        8,
        0x80 | ARCH_REG_RA,
        1,
};

static struct cfi_image put_frames(uint8_t *at, const uint8_t *code, bool is_realigned,
                                   uint32_t *ret_bytes) {
        struct cfi_image_builder b;
        struct cfi_image image;
        uint8_t program[5];

        memcpy(at, code, CFI_IMAGE_CODE_BYTES);
        image_begin(&b, at);
        image_usual_cie(&b);
        program_of(program, REMOTE_ELF_FIRST_CFA);
        image_fde(&b, 0, REMOTE_ELF_SECOND_OFF, program, sizeof(program), true);
        program_of(program, REMOTE_ELF_SECOND_CFA);
        image_fde(&b, REMOTE_ELF_SECOND_OFF, REMOTE_ELF_SECOND_OFF,
                  is_realigned ? realigned : program,
                  is_realigned ? sizeof(realigned) : sizeof(program), true);
        *ret_bytes = b.size; /* the search table is behind it */
        image = image_end(&b);
        return image;
}

static size_t put_u32(uint8_t *p, size_t at, uint32_t v) {
        memcpy(p + at, &v, 4);
        return at + 4;
}

static size_t put_debug_fde(uint8_t *p, size_t at, uint64_t begin, uint8_t cfa) {
        uint64_t words[2] = {begin, REMOTE_ELF_SECOND_OFF};

        at = put_u32(p, at, 28);
        at = put_u32(p, at, 0); /* the CIE's offset */
        memcpy(p + at, words, sizeof(words));
        program_of(p + at + sizeof(words), cfa);
        memset(p + at + sizeof(words) + 5, 0, 3);
        return at + sizeof(words) + 8;
}

/* As compilers write it for debuggers. */
static size_t put_debug_frames(uint8_t *p) {
        const uint8_t cie[] = {3, 0, 1, 0x78, ARCH_REG_RA, 0x0c, ARCH_REG_SP, ARCH_HAS_LR ? 0 : 8};
        uint64_t code = REMOTE_ELF_VADDR + REMOTE_ELF_CODE_OFF;
        size_t at = put_u32(p, 0, 4 + sizeof(cie));

        at = put_u32(p, at, UINT32_MAX);
        memcpy(p + at, cie, sizeof(cie));
        at = put_debug_fde(p, at + sizeof(cie), code + REMOTE_ELF_SECOND_OFF,
                           REMOTE_ELF_SECOND_CFA);
        return put_debug_fde(p, at, code, REMOTE_ELF_FIRST_CFA);
}

static size_t put_debug_section(uint8_t *p, Elf64_Shdr *h, bool is_deflated) {
        Elf64_Chdr c = {.ch_type = ELFCOMPRESS_ZLIB, .ch_addralign = 8};
        uint8_t plain[256];
        uLongf n = 512;

        *h = (Elf64_Shdr){.sh_name = NAME_DEBUG, .sh_type = SHT_PROGBITS};
        h->sh_size = put_debug_frames(is_deflated ? plain : p);
        if (!is_deflated)
                return h->sh_size;
        c.ch_size = h->sh_size;
        memcpy(p, &c, sizeof(c));
        if (compress(p + sizeof(c), &n, plain, h->sh_size) != Z_OK)
                abort();
        h->sh_flags = SHF_COMPRESSED;
        h->sh_size = sizeof(c) + n;
        return h->sh_size;
}

size_t remote_elf_make(uint8_t ret[REMOTE_ELF_MAX_BYTES], enum remote_elf_tables tables,
                       const uint8_t *code) {
        const uint32_t note[] = {4, 8, NT_GNU_BUILD_ID, 0x554e47, 0x11223344, 0x55667788};
        Elf64_Ehdr eh = {
                .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
                            EV_CURRENT},
                .e_type = ET_EXEC,
                .e_machine = ARCH_HAS_LR ? EM_AARCH64 : EM_X86_64,
                .e_entry = REMOTE_ELF_VADDR + REMOTE_ELF_CODE_OFF,
                .e_phoff = sizeof(eh),
                .e_phentsize = sizeof(Elf64_Phdr),
                .e_phnum = N_PHDRS,
                .e_shentsize = sizeof(Elf64_Shdr),
                .e_shnum = N_SECTIONS,
                .e_shstrndx = 1,
        };
        Elf64_Phdr phdrs[N_PHDRS] = {{.p_type = PT_LOAD, .p_flags = PF_R | PF_X},
                                     {.p_type = PT_NOTE}};
        Elf64_Shdr shdrs[N_SECTIONS] = {{0}, {.sh_name = NAME_NAMES, .sh_type = SHT_STRTAB}};
        bool has_hdr = tables == REMOTE_ELF_HDR || tables == REMOTE_ELF_REALIGNED;
        bool has_frames = has_hdr || tables == REMOTE_ELF_FRAMES;
        uint8_t *image_at = ret + REMOTE_ELF_CODE_OFF;
        uint32_t n_frames;
        struct cfi_image image;
        size_t at;

        memset(ret, 0, REMOTE_ELF_MAX_BYTES);
        image = put_frames(image_at, code, tables == REMOTE_ELF_REALIGNED, &n_frames);
        at = image.ranges[0].end - (uint64_t)ret;
        if (has_frames)
                shdrs[2] = (Elf64_Shdr){.sh_name = NAME_FRAMES,
                                        .sh_type = SHT_PROGBITS,
                                        .sh_flags = SHF_ALLOC,
                                        .sh_addr = REMOTE_ELF_VADDR + REMOTE_ELF_CODE_OFF +
                                                   CFI_IMAGE_CODE_BYTES,
                                        .sh_offset = REMOTE_ELF_CODE_OFF + CFI_IMAGE_CODE_BYTES,
                                        .sh_size = n_frames - CFI_IMAGE_CODE_BYTES};
        if (has_hdr) {
                uint64_t off = image.eh_frame_hdr - (uint64_t)ret;

                phdrs[2] = (Elf64_Phdr){.p_type = PT_GNU_EH_FRAME,
                                        .p_offset = off,
                                        .p_vaddr = REMOTE_ELF_VADDR + off,
                                        .p_filesz = at - off,
                                        .p_memsz = at - off};
        }
        if (tables == REMOTE_ELF_DEBUG || tables == REMOTE_ELF_DEFLATED) {
                size_t n = put_debug_section(ret + at, &shdrs[3], tables == REMOTE_ELF_DEFLATED);

                shdrs[3].sh_offset = at;
                at += n;
        }
        at = (at + 7) & ~(size_t)7;
        memcpy(ret + at, note, sizeof(note));
        phdrs[1].p_offset = at;
        phdrs[1].p_filesz = sizeof(note);
        at += sizeof(note);
        memcpy(ret + at, names, sizeof(names));
        shdrs[1].sh_offset = at;
        shdrs[1].sh_size = sizeof(names);
        at = (at + sizeof(names) + 7) & ~(size_t)7;
        eh.e_shoff = at;
        memcpy(ret + at, shdrs, sizeof(shdrs));
        at += sizeof(shdrs);
        phdrs[0].p_vaddr = REMOTE_ELF_VADDR;
        phdrs[0].p_filesz = phdrs[0].p_memsz = at;
        memcpy(ret, &eh, sizeof(eh));
        memcpy(ret + sizeof(eh), phdrs, sizeof(phdrs));
        return at;
}
