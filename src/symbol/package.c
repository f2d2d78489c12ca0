/* SPDX-License-Identifier: MIT */
/* libdw before 0.191 reads no packages. But it reads .dwo files: so the sections of the wanted unit
 * are cut out of the package and put into an ELF file of their own. Strings are the only thing that
 * all units share: a unit's are picked through its table of string offsets. */
#include "symbol/package.h"

#include <errno.h>
#include <gelf.h>
#include <string.h>

#include "base/bytes.h"
#include "symbol/elf_file.h"
#include "symbol/elf_image.h"

/* Columns of the index. */
enum {
        SECTION_INFO = 1,
        SECTION_ABBREV = 3,
        SECTION_LINE = 4,
        SECTION_STR_OFFSETS = 6,
        SECTION_RNGLISTS = 8, /* in DWARF 5; macros before */
        N_SECTIONS = 9,
};

enum { PACKAGE_MAX_COLUMNS = 16, INDEX_HEADER_BYTES = 16 };

struct span {
        const uint8_t *bytes;
        uint64_t n;
};

struct package {
        int fd;
        Elf *elf;
        unsigned machine;
        uint32_t version; /* 2 (DWARF 4) or 5 */
        uint32_t n_columns, n_units, n_slots;
        struct span index, strings;
        struct span sections[N_SECTIONS];
};

struct package *package_free(struct package *p) {
        if (!p)
                return NULL;
        elf_end(p->elf);
        if (p->fd >= 0)
                close(p->fd);
        free(p);
        return NULL;
}

/* ---- opening --------------------------------------------------------------------------------- */

static struct span read_section(Elf *elf, const char *name) {
        Elf_Scn *section = elf_file_section(elf, name);
        Elf_Data *data;
        GElf_Shdr h;

        if (!section || !gelf_getshdr(section, &h))
                return (struct span){0};
        if (h.sh_flags & SHF_COMPRESSED && elf_compress(section, 0, 0) < 0)
                return (struct span){0};
        data = elf_getdata(section, NULL);
        return data && data->d_buf ? (struct span){data->d_buf, data->d_size} : (struct span){0};
}

/* Header: version, columns, units, slots. Then ids, rows, and tables of offsets and sizes. */
static bool read_index(struct package *p) {
        struct bytes_reader r = bytes_reader_of(p->index.bytes, p->index.n);
        uint64_t want;

        p->version = bytes_u32(&r);
        p->n_columns = bytes_u32(&r);
        p->n_units = bytes_u32(&r);
        p->n_slots = bytes_u32(&r);
        if (r.bad || (p->version != 2 && p->version != 5) || p->n_columns == 0 ||
            p->n_columns > PACKAGE_MAX_COLUMNS)
                return false;
        want = 12ull * p->n_slots + 4ull * p->n_columns + 8ull * p->n_units * p->n_columns;
        return want <= bytes_left(&r) && p->n_slots && (p->n_slots & (p->n_slots - 1)) == 0;
}

struct package *package_open(const char *path) {
        _cleanup_(package_freep) struct package *p = calloc(1, sizeof(*p));
        GElf_Ehdr ehdr;

        if (!p)
                abort();
        p->fd = elf_file_open(path);
        if (p->fd < 0 || elf_version(EV_CURRENT) == EV_NONE)
                return NULL;
        p->elf = elf_begin(p->fd, ELF_C_READ_MMAP, NULL);
        if (!p->elf || !gelf_getehdr(p->elf, &ehdr) || ehdr.e_ident[EI_CLASS] != ELFCLASS64 ||
            ehdr.e_ident[EI_DATA] != ELFDATA2LSB)
                return NULL;
        p->machine = ehdr.e_machine;
        p->index = read_section(p->elf, ".debug_cu_index");
        if (!p->index.bytes || !read_index(p))
                return NULL;
        p->strings = read_section(p->elf, ".debug_str.dwo");
        p->sections[SECTION_INFO] = read_section(p->elf, ".debug_info.dwo");
        p->sections[SECTION_ABBREV] = read_section(p->elf, ".debug_abbrev.dwo");
        p->sections[SECTION_LINE] = read_section(p->elf, ".debug_line.dwo");
        p->sections[SECTION_STR_OFFSETS] = read_section(p->elf, ".debug_str_offsets.dwo");
        if (p->version == 5)
                p->sections[SECTION_RNGLISTS] = read_section(p->elf, ".debug_rnglists.dwo");
        return TAKE_PTR(p);
}

/* ---- one unit -------------------------------------------------------------------------------- */

/* The row of the id, counted from 1; 0 when it is not there. Open addressing with double hashing. */
static uint32_t find_row(const struct package *p, uint64_t id) {
        const uint8_t *ids = p->index.bytes + INDEX_HEADER_BYTES;
        const uint8_t *rows = ids + 8ull * p->n_slots;
        uint32_t mask = p->n_slots - 1;
        uint32_t slot = (uint32_t)id & mask, step = ((uint32_t)(id >> 32) & mask) | 1;

        for (uint32_t tried = 0; tried < p->n_slots; tried++, slot = (slot + step) & mask) {
                uint32_t row = bytes_le32(rows + 4ull * slot);

                if (row == 0)
                        return 0;
                if (bytes_le64(ids + 8ull * slot) == id)
                        return row <= p->n_units ? row : 0;
        }
        return 0;
}

bool package_has(const struct package *p, uint64_t dwo_id) {
        return find_row(p, dwo_id) != 0;
}

/* What the unit of this row has of each section. */
static bool cut_sections(const struct package *p, uint32_t row, struct span ret[N_SECTIONS]) {
        const uint8_t *columns = p->index.bytes + INDEX_HEADER_BYTES + 12ull * p->n_slots;
        const uint8_t *offsets = columns + 4ull * p->n_columns;
        const uint8_t *sizes = offsets + 4ull * p->n_units * p->n_columns;

        memset(ret, 0, N_SECTIONS * sizeof(ret[0]));
        for (uint32_t c = 0; c < p->n_columns; c++) {
                uint64_t cell = 4 * ((uint64_t)(row - 1) * p->n_columns + c);
                uint32_t kind = bytes_le32(columns + 4ull * c);
                uint64_t off = bytes_le32(offsets + cell), n = bytes_le32(sizes + cell);

                if (kind >= N_SECTIONS || !p->sections[kind].bytes)
                        continue;
                if (off > p->sections[kind].n || n > p->sections[kind].n - off)
                        return false;
                ret[kind] = (struct span){p->sections[kind].bytes + off, n};
        }
        return true;
}

/* A unit names each string once: more bytes than the package has are a lie. */
static bool pick_strings(const struct package *p, struct span table, bytes_buf *ret_table,
                         bytes_buf *ret_strings) {
        uint64_t at = p->version == 5 ? 8 : 0; /* behind its header */

        if (table.n < at)
                return false;
        buf_bytes(ret_table, table.bytes, table.n);
        for (; at + 4 <= table.n; at += 4) {
                uint32_t off = bytes_le32(table.bytes + at);
                const char *text = (const char *)p->strings.bytes + off;
                uint64_t n;

                if (off >= p->strings.n)
                        return false;
                n = strnlen(text, p->strings.n - off);
                if (n == p->strings.n - off || ret_strings->n + n + 1 > p->strings.n)
                        return false;
                buf_put_le32(ret_table->items + at, (uint32_t)ret_strings->n);
                buf_bytes(ret_strings, text, n + 1);
        }
        return true;
}

int package_extract(const struct package *p, uint64_t dwo_id) {
        uint32_t row = find_row(p, dwo_id);
        struct span parts[N_SECTIONS];
        bytes_buf table = {0}, strings = {0};
        int fd = -EBADMSG;

        if (!row)
                return -ENOENT;
        if (cut_sections(p, row, parts) &&
            (!parts[SECTION_STR_OFFSETS].n ||
             pick_strings(p, parts[SECTION_STR_OFFSETS], &table, &strings))) {
                struct elf_image_section sections[] = {
                        {".debug_info.dwo", parts[SECTION_INFO].bytes, parts[SECTION_INFO].n},
                        {".debug_abbrev.dwo", parts[SECTION_ABBREV].bytes, parts[SECTION_ABBREV].n},
                        {".debug_line.dwo", parts[SECTION_LINE].bytes, parts[SECTION_LINE].n},
                        {".debug_rnglists.dwo", parts[SECTION_RNGLISTS].bytes,
                         parts[SECTION_RNGLISTS].n},
                        {".debug_str_offsets.dwo", table.items, table.n},
                        {".debug_str.dwo", strings.items, strings.n},
                };

                fd = elf_image_make(p->machine, sections, ARRAY_SIZE(sections));
        }
        vec_free(&table);
        vec_free(&strings);
        return fd;
}
