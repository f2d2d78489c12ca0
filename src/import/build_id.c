/* SPDX-License-Identifier: MIT */
#include "import/build_id.h"

#include <gelf.h>
#include <libelf.h>
#include <string.h>

#include "base/fs.h"
#include "base/macros.h"

static uint8_t hex_digit(char c) {
        return (uint8_t)(c >= '0' && c <= '9'   ? c - '0'
                         : c >= 'a' && c <= 'f' ? c - 'a' + 10
                         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                : 0xff);
}

/* Go has texts of its own there: such a one is none. */
size_t build_id_parse(const char *text, uint8_t *ret, size_t cap) {
        size_t n = strlen(text) / 2;

        if (strlen(text) % 2 || n > cap)
                return 0;
        for (size_t i = 0; i < n; i++) {
                uint8_t high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);

                if (high == 0xff || low == 0xff)
                        return 0;
                ret[i] = (uint8_t)(high << 4 | low);
        }
        return n;
}

enum { BUILD_ID_MAX_NOTES_BYTES = 4096 };

/* Notes: length of the name, length of what it says, kind, and both, each to whole words. */
size_t build_id_of_notes(const uint8_t *notes, size_t n, uint8_t *ret, size_t cap) {
        size_t at = 0;

        while (n - at >= 12) {
                uint32_t head[3];
                size_t name_at = at + 12, n_name, n_said;

                memcpy(head, notes + at, sizeof(head));
                n_name = (head[0] + 3ul) & ~3ul;
                n_said = (head[1] + 3ul) & ~3ul;
                if (n_name > n - name_at || n_said > n - name_at - n_name)
                        return 0;
                if (head[2] == NT_GNU_BUILD_ID && head[0] == 4 && head[1] && head[1] <= cap &&
                    memcmp(notes + name_at, "GNU", 4) == 0) {
                        memcpy(ret, notes + name_at + n_name, head[1]);
                        return head[1];
                }
                at = name_at + n_name + n_said;
        }
        return 0;
}

static size_t id_in(int fd, uint64_t at, uint64_t n, uint8_t *ret, size_t cap) {
        uint8_t notes[BUILD_ID_MAX_NOTES_BYTES];
        ssize_t got = fs_read_at(fd, notes, MIN(sizeof(notes), n), at);

        return got > 0 ? build_id_of_notes(notes, (size_t)got, ret, cap) : 0;
}

size_t build_id_of_file(int fd, uint8_t *ret, size_t cap) {
        size_t n_headers = 0, n_id = 0;
        Elf_Scn *section = NULL;
        Elf *elf;

        elf_version(EV_CURRENT);
        elf = elf_begin(fd, ELF_C_READ, NULL);
        if (!elf || elf_getphdrnum(elf, &n_headers) != 0)
                n_headers = 0;
        for (size_t i = 0; i < n_headers && !n_id; i++) {
                GElf_Phdr p;

                if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_NOTE)
                        n_id = id_in(fd, p.p_offset, p.p_filesz, ret, cap);
        }
        /* Go's linker leaves it out of the segment of notes */
        while (!n_id && elf && (section = elf_nextscn(elf, section))) {
                GElf_Shdr s;

                if (gelf_getshdr(section, &s) && s.sh_type == SHT_NOTE)
                        n_id = id_in(fd, s.sh_offset, s.sh_size, ret, cap);
        }
        elf_end(elf);
        return n_id;
}
