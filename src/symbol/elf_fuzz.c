/* SPDX-License-Identifier: MIT */
/* ELF files of sound shape with any contents: symbols, relocations, PLT stubs, notes, links. Input: u8
 * machine (0 aarch64, else x86_64); then for each section of elf_fuzz.h u16 length and bytes; then changes
 * to the headers: u8 section, u8 offset, u8 value. Whatever they are:
 *  - a function that is found covers the address, or begins before it
 *  - where one covers the address, none that does not is found
 *
 * seeds: src/symbol/elf_seeds
 * covers: src/symbol/functions.c src/symbol/plt.c src/symbol/elf_file.c */
#include "symbol/elf_fuzz.h"

#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/bytes.h"
#include "base/fs.h"
#include "base/macros.h"
#include "symbol/elf_file.h"
#include "symbol/functions.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* ---- the file -------------------------------------------------------------------------------- */

struct file {
        bytes_buf bytes;
        Elf64_Shdr headers[ELF_FUZZ_N_SECTIONS + 2]; /* the empty one, sections, their names */
};

static void add_section(struct file *f, size_t i, const void *bytes, size_t n) {
        Elf64_Shdr *h = &f->headers[i];

        h->sh_offset = f->bytes.n;
        h->sh_size = n;
        buf_bytes(&f->bytes, bytes, n);
        while (f->bytes.n % 8)
                buf_u8(&f->bytes, 0);
}

static void read_sections(struct file *f, struct bytes_reader *r, bytes_buf *names) {
        for (size_t i = 0; i < ELF_FUZZ_N_SECTIONS; i++) {
                const struct elf_fuzz_section *s = &elf_fuzz_sections[i];
                size_t n = bytes_u8(r);

                n |= (size_t)bytes_u8(r) << 8;
                n = MIN(n, bytes_left(r));
                f->headers[i + 1] = (Elf64_Shdr){.sh_name = (uint32_t)names->n,
                                                 .sh_type = s->type,
                                                 .sh_flags = s->flags,
                                                 .sh_addr = s->address,
                                                 .sh_link = s->link,
                                                 .sh_entsize = s->entry_size,
                                                 .sh_addralign = 8};
                buf_bytes(names, s->name, strlen(s->name) + 1);
                add_section(f, i + 1, bytes_take(r, n), n);
        }
}

static int make_file(struct bytes_reader *r) {
        Elf64_Ehdr e = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
                                    EV_CURRENT},
                        .e_type = ET_DYN,
                        .e_machine = bytes_u8(r) ? EM_X86_64 : EM_AARCH64,
                        .e_version = EV_CURRENT,
                        .e_ehsize = sizeof(e),
                        .e_shentsize = sizeof(Elf64_Shdr),
                        .e_phentsize = sizeof(Elf64_Phdr),
                        .e_phoff = sizeof(e),
                        .e_phnum = 1,
                        .e_shnum = ELF_FUZZ_N_SECTIONS + 2,
                        .e_shstrndx = ELF_FUZZ_N_SECTIONS + 1};
        Elf64_Phdr p = {.p_type = PT_LOAD,
                        .p_flags = PF_R | PF_X,
                        .p_filesz = 0x4000,
                        .p_memsz = 0x4000,
                        .p_align = 0x1000};
        struct file f = {0};
        bytes_buf names = {0};
        int fd = memfd_create("elf", MFD_CLOEXEC);

        buf_bytes(&f.bytes, &e, sizeof(e));
        buf_bytes(&f.bytes, &p, sizeof(p));
        buf_u8(&names, 0);
        read_sections(&f, r, &names);
        f.headers[ELF_FUZZ_N_SECTIONS + 1] = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_addralign = 1};
        add_section(&f, ELF_FUZZ_N_SECTIONS + 1, names.items, names.n);
        while (bytes_left(r) >= 3) {
                size_t i = bytes_u8(r) % ARRAY_SIZE(f.headers),
                       at = bytes_u8(r) % sizeof(Elf64_Shdr);

                ((uint8_t *)&f.headers[i])[at] = bytes_u8(r);
        }
        e.e_shoff = f.bytes.n;
        memcpy(f.bytes.items, &e, sizeof(e));
        buf_bytes(&f.bytes, f.headers, sizeof(f.headers));
        if (fd < 0 || fs_write_all(fd, f.bytes.items, f.bytes.n) < 0)
                abort();
        vec_free(&f.bytes);
        vec_free(&names);
        return fd;
}

/* ---- the questions --------------------------------------------------------------------------- */

static void check_identity(int fd) {
        struct elf_file_id id;
        struct elf_file_alt alt;

        if (elf_file_identify(fd, &id, &alt) < 0)
                return;
        if (id.n > ELF_FILE_MAX_ID || alt.id.n > ELF_FILE_MAX_ID ||
            strnlen(alt.name, sizeof(alt.name)) == sizeof(alt.name))
                abort();
        if (!elf_file_id_is(&id, id.bytes, MIN(id.n, 32u)) && id.n <= 32)
                abort();
}

static void check_find(const struct functions *f, uint64_t address) {
        bool guess = false, is_covered = false;
        const struct function *found = functions_find(f, address, &guess);

        for (size_t i = 0; i < f->by_begin.n; i++)
                is_covered |=
                        f->by_begin.items[i].begin <= address && address < f->by_begin.items[i].end;
        if (is_covered && (!found || guess || address < found->begin || address >= found->end))
                abort();
        if (found && (found->begin > address || !found->name))
                abort();
}

static void check_all(const struct functions *f) {
        for (uint64_t a = ELF_FUZZ_PLT - 64; a < ELF_FUZZ_TEXT + 512; a += 24) {
                const struct function *back = functions_find_trampoline(f, a - 1);

                check_find(f, a);
                if (back && back->begin != a)
                        abort();
        }
        check_find(f, UINT64_MAX);
}

static void check_exported(int fd) {
        struct functions f = {0};
        Elf *elf;

        elf_version(EV_CURRENT);
        elf = elf_begin(fd, ELF_C_READ, NULL);
        functions_load_exported(&f, elf);
        check_all(&f);
        functions_done(&f);
        elf_end(elf);
}

static int no_debug_file(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
                         const char *path, const char *link, GElf_Word crc, char **ret) {
        (void)module, (void)userdata, (void)name, (void)base;
        (void)path, (void)link, (void)crc, (void)ret;
        return -1;
}

static void check_functions(int fd) {
        static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
                                                 .find_debuginfo = no_debug_file,
                                                 .section_address = dwfl_offline_section_address};
        Dwfl *dwfl = dwfl_begin(&callbacks);
        struct functions f = {0};
        Dwfl_Module *module;
        int copy = dup(fd);

        dwfl_report_begin(dwfl);
        module = dwfl_report_elf(dwfl, "fuzz", "fuzz", copy, 0, true);
        dwfl_report_end(dwfl, NULL, NULL);
        if (module) {
                functions_load(&f, module);
                check_all(&f);
                functions_code_begin(&f);
        } else {
                close(copy);
        }
        functions_done(&f);
        dwfl_end(dwfl);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        struct bytes_reader r = bytes_reader_of(data, n);
        uint32_t crc;
        char path[32];
        int fd = make_file(&r), again;

        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        again = elf_file_open(path);
        if (again < 0 || elf_file_open("/dev/null") >= 0)
                abort();
        close(again);
        check_identity(fd);
        check_functions(fd);
        check_exported(fd);
        if (elf_file_crc32(fd, &crc) < 0)
                abort();
        close(fd);
        return 0;
}
