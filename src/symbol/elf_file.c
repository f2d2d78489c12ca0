/* SPDX-License-Identifier: MIT */
#include "symbol/elf_file.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/macros.h"
#include "symbol/sources.h"

int elf_file_open(const char *path) {
        _cleanup_close_ int fd = -1;
        struct stat st;

        sources_note(path);
        fd = fs_open(path, O_RDONLY, 0);
        if (fd < 0)
                return fd;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return -EINVAL;
        if (fd == 0) { /* standard input was closed; callers use 0 for "not found" */
                int other = fcntl(fd, F_DUPFD_CLOEXEC, 3);

                return other < 0 ? -errno : other;
        }
        return TAKE_FD(fd);
}

Elf_Scn *elf_file_section(Elf *elf, const char *name) {
        Elf_Scn *section = NULL;
        size_t names;

        if (elf_getshdrstrndx(elf, &names) != 0)
                return NULL;
        while ((section = elf_nextscn(elf, section))) {
                GElf_Shdr header;
                const char *found = gelf_getshdr(section, &header)
                                            ? elf_strptr(elf, names, header.sh_name)
                                            : NULL;

                if (found && strcmp(found, name) == 0)
                        return section;
        }
        return NULL;
}

static bool has_content(Elf *elf, const char *name) {
        Elf_Scn *section = elf_file_section(elf, name);
        GElf_Shdr header;

        return section && gelf_getshdr(section, &header) && header.sh_type != SHT_NOBITS;
}

/* A name, a zero byte, a build-id. */
static void read_alt(Elf *elf, struct elf_file_alt *ret) {
        Elf_Scn *section = elf_file_section(elf, ".gnu_debugaltlink");
        Elf_Data *data = section ? elf_rawdata(section, NULL) : NULL;
        const char *bytes = data ? data->d_buf : NULL;
        size_t n_name, n_id;

        if (!bytes)
                return;
        n_name = strnlen(bytes, data->d_size);
        if (n_name == data->d_size || n_name >= sizeof(ret->name))
                return;
        n_id = data->d_size - n_name - 1;
        if (n_id == 0 || n_id > ELF_FILE_MAX_ID)
                return;
        memcpy(ret->name, bytes, n_name + 1);
        memcpy(ret->id.bytes, bytes + n_name + 1, n_id);
        ret->id.n = n_id;
}

/* The table of sections is the last thing in a file: where it lies behind the end, the file was cut. */
static bool is_cut(Elf *elf, int fd) {
        GElf_Ehdr h;
        struct stat st;

        if (!gelf_getehdr(elf, &h) || fstat(fd, &st) < 0)
                return true;
        return h.e_shoff > (uint64_t)st.st_size ||
               (uint64_t)h.e_shnum * h.e_shentsize > (uint64_t)st.st_size - h.e_shoff;
}

/* Go's linker leaves the note out of the segment of notes. */
static ssize_t id_of_section(Elf *elf, const void **ret) {
        Elf_Scn *section = elf_file_section(elf, ".note.gnu.build-id");
        Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
        size_t name, desc;
        GElf_Nhdr note;

        if (!data || data->d_type != ELF_T_NHDR || gelf_getnote(data, 0, &note, &name, &desc) == 0)
                return 0;
        if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof("GNU") ||
            memcmp((const char *)data->d_buf + name, "GNU", sizeof("GNU")) != 0)
                return 0;
        *ret = (const char *)data->d_buf + desc;
        return note.n_descsz;
}

int elf_file_identify(int fd, struct elf_file_id *ret, struct elf_file_alt *ret_alt) {
        const void *id;
        ssize_t n;
        Elf *elf;

        *ret = (struct elf_file_id){0};
        if (elf_version(EV_CURRENT) == EV_NONE)
                return -ENOEXEC;
        elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
        if (!elf || elf_kind(elf) != ELF_K_ELF || is_cut(elf, fd)) {
                elf_end(elf);
                return -ENOEXEC;
        }
        n = dwelf_elf_gnu_build_id(elf, &id);
        if (n <= 0)
                n = id_of_section(elf, &id);
        if (n > 0 && n <= ELF_FILE_MAX_ID) {
                memcpy(ret->bytes, id, (size_t)n);
                ret->n = (size_t)n;
        }
        ret->has_debug_info = has_content(elf, ".debug_info") || has_content(elf, ".zdebug_info");
        if (ret_alt) {
                *ret_alt = (struct elf_file_alt){0};
                read_alt(elf, ret_alt);
        }
        elf_end(elf);
        return 0;
}

bool elf_file_id_is(const struct elf_file_id *id, const uint8_t *wanted, size_t n_wanted) {
        if (id->n != n_wanted && !(n_wanted == 32 && id->n > 32))
                return false;
        return memcmp(id->bytes, wanted, n_wanted) == 0;
}

static uint32_t crc32_add(uint32_t crc, const uint8_t *bytes, size_t n) {
        static uint32_t table[256];

        if (!table[1])
                for (uint32_t i = 0; i < 256; i++) {
                        uint32_t c = i;

                        for (int bit = 0; bit < 8; bit++)
                                c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
                        table[i] = c;
                }
        for (size_t i = 0; i < n; i++)
                crc = table[(crc ^ bytes[i]) & 0xff] ^ crc >> 8;
        return crc;
}

int elf_file_crc32(int fd, uint32_t *ret) {
        uint32_t crc = 0xffffffff;
        static uint8_t buf[65536];
        uint64_t off = 0;
        ssize_t n;

        while ((n = fs_read_at(fd, buf, sizeof(buf), off)) > 0) {
                crc = crc32_add(crc, buf, (size_t)n);
                off += (uint64_t)n;
        }
        *ret = ~crc;
        return n < 0 ? (int)n : 0;
}
