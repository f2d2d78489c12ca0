/* SPDX-License-Identifier: MIT */
/* Any bytes as the sections of a .dwp package. Input: five sections, each u16 length and bytes: index,
 * strings, string offsets, units, abbreviations; what is left are ids to ask for, 8 bytes each. Whatever
 * they are, what is cut out for an id is no larger than the package.
 *
 * seeds: src/symbol/package_seeds
 * covers: src/symbol/package.c src/symbol/elf_image.c */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/fs.h"
#include "symbol/elf_image.h"
#include "symbol/package.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char *const section_names[] = {".debug_cu_index", ".debug_str.dwo",
                                            ".debug_str_offsets.dwo", ".debug_info.dwo",
                                            ".debug_abbrev.dwo"};

static int make_package(struct bytes_reader *r) {
        struct elf_image_section sections[ARRAY_SIZE(section_names)];

        for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
                size_t n = bytes_u8(r);

                n |= (size_t)bytes_u8(r) << 8;
                n = MIN(n, bytes_left(r));
                sections[i] = (struct elf_image_section){section_names[i], bytes_take(r, n), n};
        }
        return elf_image_make(EM_AARCH64, sections, ARRAY_SIZE(sections));
}

static void check_extracted(const struct package *p, uint64_t id, size_t n_input) {
        int fd = package_extract(p, id);
        struct stat st;

        if ((fd < 0) == (package_has(p, id) && fd != -EBADMSG))
                abort();
        if (fd < 0)
                return;
        /* Each section may be in it once, with the tables of the file. */
        if (fstat(fd, &st) < 0 || (size_t)st.st_size > 8 * n_input + 4096)
                abort();
        close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        struct bytes_reader r = bytes_reader_of(data, n);
        struct package *p;
        char path[32];
        int fd;

        fd = make_package(&r);
        if (fd < 0)
                abort();
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        p = package_open(path);
        for (unsigned i = 0; p && i < 16 && bytes_left(&r); i++)
                check_extracted(p, bytes_left(&r) >= 8 ? bytes_u64(&r) : bytes_u8(&r), n);
        package_free(p);
        close(fd);
        return 0;
}
