/* SPDX-License-Identifier: MIT */
/* libdw finds the other half of a unit by the path in the unit alone. So the units that lack theirs
 * are copied, with another path, into a file that has nothing else; what they refer to (addresses,
 * ranges, lines, strings) is copied along whole. */
#include "symbol/split.h"

#include <dwarf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/fs.h"
#include "symbol/elf_image.h"
#include "symbol/package.h"
#include "symbol/sources.h"

struct half {
        Dwarf_Die skeleton;
        Dwarf_Half version;
        uint64_t id;
        uint8_t address_size;
        char path[4200]; /* of its .dwo file; "" the package has it */
};

struct split {
        Dwarf *dwarf;
        int fd;      /* of its image */
        int slot_fd; /* where libdw opens what the package has */
};

struct builder {
        Dwarf *dwarf;
        Elf *elf;
        const struct finder *finder;
        struct package *package;
        VEC(struct half) halves;
        bytes_buf info, abbrev;
        const uint8_t *info_begin, *info_end; /* of the original: attributes lie in there */
        int slot_fd;
};

struct split *split_free(struct split *s) {
        if (!s)
                return NULL;
        if (s->dwarf)
                dwarf_end(s->dwarf);
        if (s->fd >= 0)
                close(s->fd);
        if (s->slot_fd >= 0)
                close(s->slot_fd);
        free(s);
        return NULL;
}

Dwarf *split_dwarf(const struct split *s) {
        return s->dwarf;
}

/* ---- which units ----------------------------------------------------------------------------- */

static bool covers_any(Dwarf_Die *unit, const uint64_t *addresses, size_t n) {
        Dwarf_Addr base, begin, end;

        for (ptrdiff_t off = 0; (off = dwarf_ranges(unit, off, &base, &begin, &end)) > 0;) {
                size_t low = 0, high = n;

                while (low < high) {
                        size_t mid = low + (high - low) / 2;

                        if (addresses[mid] < begin)
                                low = mid + 1;
                        else
                                high = mid;
                }
                if (low < n && addresses[low] < end)
                        return true;
        }
        return false;
}

static void collect_halves(struct builder *b, const uint64_t *addresses, size_t n) {
        struct half h = {0};
        Dwarf_CU *unit = NULL;
        uint8_t type, offset_size;

        while (dwarf_get_units(b->dwarf, unit, &unit, &h.version, &type, &h.skeleton, NULL) == 0) {
                Dwarf_Die whole = {0};

                if (type != DW_UT_skeleton || !covers_any(&h.skeleton, addresses, n))
                        continue;
                if (dwarf_cu_info(unit, NULL, NULL, NULL, &whole, &h.id, &h.address_size,
                                  &offset_size) != 0)
                        continue;
                if (!whole.addr && offset_size == 4)
                        vec_push(&b->halves, h);
        }
}

/* ---- where their other halves are ------------------------------------------------------------ */

static int try_package(void *ctx, const char *root) {
        struct builder *b = ctx;
        const char *name = strrchr(b->finder->module->path, '/');
        char path[8500];

        snprintf(path, sizeof(path), "%s/%s.dwp", root, name ? name + 1 : b->finder->module->path);
        b->package = package_open(path);
        return b->package != NULL;
}

/* NAME.dwp beside the program or its debug file (NAME.debug has NAME.dwp too), or under a root. */
static void find_package(struct builder *b) {
        const char *const files[] = {b->finder->path, b->finder->debug_path};
        char path[4300];

        for (size_t i = 0; i < ARRAY_SIZE(files) && !b->package; i++) {
                size_t n = strlen(files[i]);

                if (!n)
                        continue;
                snprintf(path, sizeof(path), "%s.dwp", files[i]);
                b->package = package_open(path);
                if (b->package || n < 6 || strcmp(files[i] + n - 6, ".debug") != 0)
                        continue;
                snprintf(path, sizeof(path), "%.*s.dwp", (int)(n - 6), files[i]);
                b->package = package_open(path);
        }
        if (!b->package)
                finder_each_root(b->finder, try_package, b);
}

static const char *string_of(Dwarf_Die *die, unsigned name, unsigned old_name) {
        Dwarf_Attribute attr;

        if (!dwarf_attr(die, name, &attr) && !(old_name && dwarf_attr(die, old_name, &attr)))
                return NULL;
        return dwarf_formstring(&attr);
}

static bool is_file(const char *path) {
        int fd = elf_file_open(path);

        if (fd < 0)
                return false;
        close(fd);
        return true;
}

/* Below the sysroot where it was compiled; or by its name beside the program or in a debug path. */
static bool find_moved(struct builder *b, struct half *h) {
        const struct symbol_search *s = b->finder->search;
        const char *name = string_of(&h->skeleton, DW_AT_dwo_name, DW_AT_GNU_dwo_name);
        const char *dir = string_of(&h->skeleton, DW_AT_comp_dir, 0);
        const char *slash = name ? strrchr(name, '/') : NULL, *base = slash ? slash + 1 : name;
        const char *beside = strrchr(b->finder->path, '/');
        const size_t cap = sizeof(h->path);

        if (!name)
                return false;
        if (dir && name[0] != '/') { /* where libdw has looked: should it come there, look again */
                snprintf(h->path, cap, "%s/%s", dir, name);
                sources_note(h->path);
        } else {
                sources_note(name);
        }
        if (s->sysroot) {
                snprintf(h->path, cap, "%s/%s/%s", s->sysroot, name[0] == '/' || !dir ? "" : dir,
                         name);
                if (is_file(h->path))
                        return true;
        }
        for (size_t i = 0; i < s->n_debug_paths; i++) {
                snprintf(h->path, cap, "%s/%s", s->debug_paths[i], name);
                if (is_file(h->path))
                        return true;
                snprintf(h->path, cap, "%s/%s", s->debug_paths[i], base);
                if (is_file(h->path))
                        return true;
        }
        snprintf(h->path, cap, "%.*s%s", beside ? (int)(beside + 1 - b->finder->path) : 0,
                 b->finder->path, base);
        if (is_file(h->path))
                return true;
        h->path[0] = '\0';
        return false;
}

static bool find_half(struct builder *b, struct half *h) {
        return (b->package && package_has(b->package, h->id)) || find_moved(b, h);
}

/* ---- copies of the units --------------------------------------------------------------------- */

static size_t leb128_len(const uint8_t *p, const uint8_t *end) {
        const uint8_t *begin = p;

        while (p < end && *p & 0x80)
                p++;
        return p < end ? (size_t)(p + 1 - begin) : SIZE_MAX;
}

/* Bytes of an attribute's value; SIZE_MAX: of a kind that skeletons do not have, to be left out. */
static size_t form_len(unsigned form, const uint8_t *p, const uint8_t *end, uint8_t address_size) {
        size_t n;

        switch (form) {
        case DW_FORM_flag_present: return 0;
        case DW_FORM_data1:
        case DW_FORM_flag:
        case DW_FORM_strx1:
        case DW_FORM_addrx1: n = 1; break;
        case DW_FORM_data2:
        case DW_FORM_strx2:
        case DW_FORM_addrx2: n = 2; break;
        case DW_FORM_strx3:
        case DW_FORM_addrx3: n = 3; break;
        case DW_FORM_data4:
        case DW_FORM_strp:
        case DW_FORM_line_strp:
        case DW_FORM_sec_offset:
        case DW_FORM_strx4:
        case DW_FORM_addrx4: n = 4; break;
        case DW_FORM_data8: n = 8; break;
        case DW_FORM_addr: n = address_size; break;
        case DW_FORM_udata:
        case DW_FORM_sdata:
        case DW_FORM_strx:
        case DW_FORM_addrx:
        case DW_FORM_rnglistx:
        case DW_FORM_loclistx: n = leb128_len(p, end); break;
        case DW_FORM_string:
                n = strnlen((const char *)p, (size_t)(end - p));
                n = n == (size_t)(end - p) ? SIZE_MAX : n + 1;
                break;
        default: return SIZE_MAX;
        }
        return n <= (size_t)(end - p) ? n : SIZE_MAX;
}

struct copying {
        struct builder *b;
        const struct half *half;
        const char *path;
};

static int copy_attribute(Dwarf_Attribute *attr, void *ctx) {
        struct copying *c = ctx;
        struct builder *b = c->b;
        unsigned name = dwarf_whatattr(attr), form = dwarf_whatform(attr);
        size_t n;

        if (name == DW_AT_dwo_name || name == DW_AT_GNU_dwo_name) {
                buf_varint(&b->abbrev, name);
                buf_varint(&b->abbrev, DW_FORM_string);
                buf_bytes(&b->info, c->path, strlen(c->path) + 1);
                return DWARF_CB_OK;
        }
        if (attr->valp < b->info_begin || attr->valp > b->info_end)
                return DWARF_CB_OK; /* its value is in the abbreviation */
        n = form_len(form, attr->valp, b->info_end, c->half->address_size);
        if (n == SIZE_MAX)
                return DWARF_CB_OK;
        buf_varint(&b->abbrev, name);
        buf_varint(&b->abbrev, form);
        buf_bytes(&b->info, attr->valp, n);
        return DWARF_CB_OK;
}

/* Unit header, one entry without children, and its abbreviation. */
static void copy_skeleton(struct builder *b, struct half *h) {
        struct copying c = {.b = b, .half = h, .path = h->path};
        size_t begin = b->info.n;
        char slot[32];

        if (!h->path[0]) {
                snprintf(slot, sizeof(slot), "/proc/self/fd/%d", b->slot_fd);
                c.path = slot;
        }
        buf_u32(&b->info, 0);
        buf_u8(&b->info, (uint8_t)h->version);
        buf_u8(&b->info, 0);
        if (h->version >= 5) {
                buf_u8(&b->info, DW_UT_skeleton);
                buf_u8(&b->info, h->address_size);
                buf_u32(&b->info, (uint32_t)b->abbrev.n);
                buf_u64(&b->info, h->id);
        } else {
                buf_u32(&b->info, (uint32_t)b->abbrev.n);
                buf_u8(&b->info, h->address_size);
        }
        buf_varint(&b->info, 1);
        buf_varint(&b->abbrev, 1);
        buf_varint(&b->abbrev, (uint64_t)dwarf_tag(&h->skeleton));
        buf_u8(&b->abbrev, DW_CHILDREN_no);
        dwarf_getattrs(&h->skeleton, copy_attribute, &c, 0);
        buf_bytes(&b->abbrev, "\0\0\0", 3); /* no more attributes, no more abbreviations */
        buf_put_le32(b->info.items + begin, (uint32_t)(b->info.n - begin - 4));
}

static struct elf_image_section section_of(struct builder *b, const char *name) {
        char compressed_name[32];
        struct elf_image_section s = {.name = name};
        Elf_Scn *section = elf_file_section(b->elf, name);
        Elf_Data *data;
        GElf_Shdr h;

        snprintf(compressed_name, sizeof(compressed_name), ".z%s", name + 1);
        if (!section) /* libdw has inflated it in place */
                section = elf_file_section(b->elf, compressed_name);
        data = section ? elf_getdata(section, NULL) : NULL;
        if (!data || !gelf_getshdr(section, &h) || h.sh_type == SHT_NOBITS ||
            h.sh_flags & SHF_COMPRESSED)
                return s;
        s.bytes = data->d_buf;
        s.n = data->d_size;
        return s;
}

static int make_image(struct builder *b) {
        struct elf_image_section sections[] = {
                {".debug_info", b->info.items, b->info.n},
                {".debug_abbrev", b->abbrev.items, b->abbrev.n},
                section_of(b, ".debug_addr"),
                section_of(b, ".debug_line"),
                section_of(b, ".debug_line_str"),
                section_of(b, ".debug_ranges"),
                section_of(b, ".debug_rnglists"),
                section_of(b, ".debug_str"),
                section_of(b, ".debug_str_offsets"),
        };
        GElf_Ehdr ehdr;

        if (!gelf_getehdr(b->elf, &ehdr) || ehdr.e_ident[EI_CLASS] != ELFCLASS64 ||
            ehdr.e_ident[EI_DATA] != ELFDATA2LSB)
                return -ENOEXEC;
        return elf_image_make(ehdr.e_machine, sections, ARRAY_SIZE(sections));
}

/* libdw opens a unit's other half when it is first asked for it: so those of the package can all be
 * opened through one descriptor, each in its turn. */
static size_t link_halves(struct builder *b, Dwarf *dwarf) {
        Dwarf_CU *unit = NULL;
        size_t n_linked = 0;

        for (size_t i = 0;
             dwarf_get_units(dwarf, unit, &unit, NULL, NULL, NULL, NULL) == 0 && i < b->halves.n;
             i++) {
                const struct half *h = &b->halves.items[i];
                Dwarf_Die whole = {0};
                int fd = h->path[0] ? -1 : package_extract(b->package, h->id);

                if (fd >= 0) {
                        dup3(fd, b->slot_fd, O_CLOEXEC);
                        close(fd);
                }
                dwarf_cu_info(unit, NULL, NULL, NULL, &whole, NULL, NULL, NULL);
                n_linked += whole.addr != NULL;
        }
        return n_linked;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static struct split *build(struct builder *b, size_t *ret_n_linked) {
        _cleanup_(split_freep) struct split *s = calloc(1, sizeof(*s));

        if (!s)
                abort();
        s->fd = s->slot_fd = -1;
        s->slot_fd = b->slot_fd = fs_open("/dev/null", O_RDONLY, 0);
        if (s->slot_fd < 0)
                return NULL;
        for (size_t i = 0; i < b->halves.n; i++)
                copy_skeleton(b, &b->halves.items[i]);
        s->fd = make_image(b);
        s->dwarf = s->fd < 0 ? NULL : dwarf_begin(s->fd, DWARF_C_READ);
        if (!s->dwarf)
                return NULL;
        *ret_n_linked = link_halves(b, s->dwarf);
        return *ret_n_linked ? TAKE_PTR(s) : NULL;
}

static bool find_info(struct builder *b) {
        struct elf_image_section s;

        b->elf = dwarf_getelf(b->dwarf);
        if (!b->elf)
                return false;
        s = section_of(b, ".debug_info");
        b->info_begin = s.bytes;
        b->info_end = b->info_begin + s.n;
        return s.bytes != NULL;
}

struct split *split_open(Dwarf *dwarf, const struct finder *f, const uint64_t *addresses, size_t n,
                         size_t *ret_n_missing) {
        struct builder b = {.dwarf = dwarf, .finder = f};
        struct split *s = NULL;
        size_t n_linked = 0, n_found = 0;

        *ret_n_missing = 0;
        if (!find_info(&b))
                return NULL;
        collect_halves(&b, addresses, n);
        *ret_n_missing = b.halves.n;
        if (b.halves.n) {
                find_package(&b);
                for (size_t i = 0; i < b.halves.n; i++)
                        n_found += find_half(&b, &b.halves.items[i]);
                if (n_found)
                        s = build(&b, &n_linked);
                *ret_n_missing -= n_linked;
        }
        package_free(b.package);
        vec_free(&b.halves);
        vec_free(&b.info);
        vec_free(&b.abbrev);
        return s;
}
