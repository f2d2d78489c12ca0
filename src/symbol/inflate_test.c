/* SPDX-License-Identifier: MIT */
/* Compressed sections come out as they went in; whatever else a file claims, nothing is read or written outside of it. */
#include <elf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <cmocka.h>

#include "base/fs.h"
#include "base/macros.h"
#include "symbol/finder.h"
#include "symbol/inflate.h"

enum { N_PLAIN = 300000, N_SECTIONS = 5, FILE_MAX = 1 << 20 };

static uint8_t plain[N_PLAIN], file[FILE_MAX];
static size_t file_bytes;

static const char names[] = "\0.debug_info\0.debug_loclists\0.text\0.shstrtab";

static Elf64_Shdr *section(unsigned i) {
        return (Elf64_Shdr *)(file + ((Elf64_Ehdr *)file)->e_shoff) + i;
}

static uint64_t put(const void *p, size_t n) {
        uint64_t at = ALIGN_UP(file_bytes, 8);

        memcpy(file + at, p, n);
        file_bytes = at + n;
        return at;
}

static void put_compressed(Elf64_Shdr *s, size_t n) {
        size_t cap = ZSTD_compressBound(n);
        uint8_t *packed = malloc(sizeof(Elf64_Chdr) + cap);
        Elf64_Chdr head = {.ch_type = 2, .ch_size = n, .ch_addralign = 1};
        size_t got = ZSTD_compress(packed + sizeof(head), cap, plain, n, 1);

        memcpy(packed, &head, sizeof(head));
        s->sh_size = sizeof(head) + got;
        s->sh_flags = SHF_COMPRESSED;
        s->sh_type = SHT_PROGBITS;
        s->sh_offset = put(packed, s->sh_size);
        free(packed);
}

static void make_file(void) {
        Elf64_Ehdr ehdr = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                           .e_type = ET_DYN,
                           .e_machine = EM_AARCH64,
                           .e_version = EV_CURRENT,
                           .e_ehsize = sizeof(ehdr),
                           .e_shentsize = sizeof(Elf64_Shdr),
                           .e_shnum = N_SECTIONS,
                           .e_shstrndx = 4};
        Elf64_Shdr sections[N_SECTIONS] = {0};

        for (size_t i = 0; i < N_PLAIN; i++)
                plain[i] = (uint8_t)(i * i / 977);
        memset(file, 0, sizeof(file));
        file_bytes = sizeof(ehdr);
        sections[1].sh_name = 1;
        put_compressed(&sections[1], N_PLAIN);
        sections[2].sh_name = 13;
        put_compressed(&sections[2], N_PLAIN / 2);
        sections[3] = (Elf64_Shdr){.sh_name = 29, .sh_type = SHT_PROGBITS, .sh_size = 1000};
        sections[3].sh_offset = put(plain + 5, 1000);
        sections[4] = (Elf64_Shdr){.sh_name = 35, .sh_type = SHT_STRTAB, .sh_size = sizeof(names)};
        sections[4].sh_offset = put(names, sizeof(names));
        ehdr.e_shoff = put(sections, sizeof(sections));
        memcpy(file, &ehdr, sizeof(ehdr));
}

static int open_file(void) {
        int fd = memfd_create("packed", MFD_CLOEXEC);

        assert_true(fd >= 0);
        assert_int_equal(fs_write_all(fd, file, file_bytes), 0);
        return fd;
}

static void test_round_trip(void **state) {
        static uint8_t out[FILE_MAX * 2];
        const Elf64_Ehdr *ehdr = (const void *)out;
        const Elf64_Shdr *s;
        int packed, fd;

        (void)state;
        make_file();
        packed = open_file();
        fd = inflate_open(packed);
        assert_true(fd >= 0 && fd != packed);
        assert_int_equal(fcntl(packed, F_GETFD), -1); /* taken */
        assert_true(fs_read_at(fd, out, sizeof(out), 0) > N_PLAIN);
        close(fd);
        s = (const void *)(out + ehdr->e_shoff);
        assert_int_equal(s[1].sh_size, N_PLAIN);
        assert_int_equal(s[1].sh_flags, 0);
        assert_memory_equal(out + s[1].sh_offset, plain, N_PLAIN);
        assert_int_equal(s[2].sh_type, SHT_NOBITS); /* nobody asks it */
        assert_memory_equal(out + s[3].sh_offset, plain + 5, 1000);
        assert_string_equal(out + s[4].sh_offset + 1, ".debug_info");
}

static ino_t inode_of(int fd) {
        struct stat st;

        assert_int_equal(fstat(fd, &st), 0);
        return st.st_ino;
}

/* Who asks for functions alone, while a program waits, gets the file as it is. */
static void test_not_for_functions(void **state) {
        const struct symbol_search all = {0}, functions = {.functions_only = true};
        const struct symbol_search *searches[] = {&all, &functions};
        struct trace_module m = {0};
        struct finder f;
        char path[64];
        int packed;

        (void)state;
        make_file();
        packed = open_file();
        snprintf(path, sizeof(path), "/proc/self/fd/%d", packed);
        m.path = path;
        for (size_t i = 0; i < ARRAY_SIZE(searches); i++) {
                int fd;

                finder_init(&f, &m, searches[i]);
                fd = finder_open_code(&f);
                assert_true(fd >= 0);
                assert_int_equal(inode_of(fd) == inode_of(packed), searches[i]->functions_only);
                close(fd);
        }
        close(packed);
}

static void expect_untouched(const char *why) {
        int fd = open_file(), got = inflate_open(fd);

        if (got != fd)
                fail_msg("%s: it was taken", why);
        close(fd);
}

static void test_left_to_libelf(void **state) {
        Elf64_Chdr *head;

        (void)state;
        make_file();
        section(1)->sh_flags = section(2)->sh_flags = 0;
        expect_untouched("nothing is compressed");
        make_file();
        head = (void *)(file + section(1)->sh_offset);
        head->ch_size++;
        expect_untouched("a wrong size");
        head->ch_size = UINT64_MAX;
        expect_untouched("an impossible size");
        head->ch_size = section(1)->sh_size * 900;
        expect_untouched("too much");
        head->ch_size = N_PLAIN;
        head->ch_type = 77;
        expect_untouched("an unknown kind");
        head->ch_type = 2;
        section(1)->sh_size -= 100;
        expect_untouched("an end that is missing");
        make_file();
        file[EI_DATA] = ELFDATA2MSB;
        expect_untouched("another byte order");
        file_bytes = 10;
        expect_untouched("a stump");
}

/* Headers changed at random; a sanitizer or the kernel tells of what lies outside. */
static void test_hostile(void **state) {
        static uint8_t whole[FILE_MAX];
        int n_taken = 0;

        (void)state;
        make_file();
        memcpy(whole, file, sizeof(whole));
        srandom(99);
        for (int i = 0; i < 1000; i++) {
                uint64_t shoff;
                int fd;

                memcpy(file, whole, sizeof(file));
                shoff = ((Elf64_Ehdr *)file)->e_shoff;
                for (long k = random() % 3; k >= 0; k--) {
                        size_t at = random() % 3   ? shoff + (size_t)random() % (N_SECTIONS * 64)
                                    : random() % 2 ? (size_t)random() % sizeof(Elf64_Ehdr)
                                                   : section(1)->sh_offset % FILE_MAX +
                                                             (size_t)random() % sizeof(Elf64_Chdr);

                        if (at < FILE_MAX)
                                file[at] = (uint8_t)(random() % 4 ? random() : 0xff);
                        if (((Elf64_Ehdr *)file)->e_shoff != shoff)
                                break;
                }
                fd = open_file();
                fd = inflate_open(fd);
                assert_true(fd >= 0);
                n_taken += fd >= 0;
                close(fd);
        }
        assert_int_equal(n_taken, 1000);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_round_trip),
                cmocka_unit_test(test_not_for_functions),
                cmocka_unit_test(test_left_to_libelf),
                cmocka_unit_test(test_hostile),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
