/* SPDX-License-Identifier: MIT */
/* inline.c on debug information that says anything at all. The library that reads DWARF is not in
 * question here (it runs in a process of its own): what stands in for it below gives the answers of the
 * input, entries that lead in circles, to each other's insides, and ranges that never end among them.
 *
 * Input: records of 8 bytes, each an entry: tag, first child, sibling (each the number of an entry),
 * first range, number of ranges, file, line, flags. Entry 0 is the first unit. Whatever they say:
 *  - it comes to an end
 *  - every site was called by one before it, so that a chain ends too
 *  - a place has no function and no site that is not there, and none below the code
 *
 * covers: src/symbol/inline.c */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdlib.h>

#include "symbol/inline.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { N_ADDRESSES = 64, ADDRESS_STEP = 16, CODE_BEGIN = 32 };
enum {
        FLAG_UNIT = 1,
        FLAG_RANGES = 2,
        FLAG_SPLIT = 4,
        FLAG_NAMELESS = 8,
        FLAG_ENDLESS = 16,
        FLAG_BROKEN = 32
};

struct entry {
        uint8_t tag, child, sibling, range, n_ranges, file, line, flags;
};

static struct entry entries[256];
static size_t n_entries;

static const int tags[] = {DW_TAG_subprogram,       DW_TAG_inlined_subroutine,
                           DW_TAG_lexical_block,    DW_TAG_namespace,
                           DW_TAG_structure_type,   DW_TAG_compile_unit,
                           DW_TAG_enumeration_type, DW_TAG_variable};

/* ---- in the place of libdw ------------------------------------------------------------------- */

/* A die's address is that of its entry. */
static const struct entry *entry_of(Dwarf_Die *die) {
        return die->addr;
}

static int die_of(size_t number, Dwarf_Die *ret) {
        if (number == 0 || number >= n_entries)
                return 1;
        *ret = (Dwarf_Die){.addr = &entries[number]};
        return 0;
}

int dwarf_tag(Dwarf_Die *die) {
        return tags[entry_of(die)->tag % (sizeof(tags) / sizeof(tags[0]))];
}

int dwarf_child(Dwarf_Die *die, Dwarf_Die *ret) {
        return die_of(entry_of(die)->child, ret);
}

int dwarf_siblingof(Dwarf_Die *die, Dwarf_Die *ret) {
        if (entry_of(die)->flags & FLAG_BROKEN)
                return -1;
        return die_of(entry_of(die)->sibling, ret);
}

Dwarf_Off dwarf_dieoffset(Dwarf_Die *die) {
        return (Dwarf_Off)(entry_of(die) - entries) + 1;
}

ptrdiff_t dwarf_ranges(Dwarf_Die *die, ptrdiff_t off, Dwarf_Addr *base, Dwarf_Addr *begin,
                       Dwarf_Addr *end) {
        const struct entry *e = entry_of(die), *range;

        if (!(e->flags & FLAG_ENDLESS) && off >= e->n_ranges)
                return e->n_ranges == 255 ? -1 : 0;
        range = &entries[((size_t)e->range + (size_t)off) % n_entries];
        *base = 0;
        *begin = range->range * 4u;
        *end = range->file & 128 ? UINT64_MAX : *begin + range->line * 4u;
        return off + 1;
}

int dwarf_hasattr(Dwarf_Die *die, unsigned name) {
        return name == DW_AT_ranges && (entry_of(die)->flags & FLAG_RANGES);
}

Dwarf_Attribute *dwarf_attr(Dwarf_Die *die, unsigned name, Dwarf_Attribute *ret) {
        const struct entry *e = entry_of(die);

        ret->code = name;
        ret->valp = (unsigned char *)&entries[e - entries] +
                    (name == DW_AT_call_file ? offsetof(struct entry, file)
                                             : offsetof(struct entry, line));
        return e->flags & FLAG_NAMELESS ? NULL : ret;
}

Dwarf_Attribute *dwarf_attr_integrate(Dwarf_Die *die, unsigned name, Dwarf_Attribute *ret) {
        return name == DW_AT_linkage_name && entry_of(die)->file & 1 ? NULL
                                                                     : dwarf_attr(die, name, ret);
}

int dwarf_formudata(Dwarf_Attribute *attr, Dwarf_Word *ret) {
        if (!attr)
                return -1;
        *ret = *attr->valp;
        return 0;
}

const char *dwarf_formstring(Dwarf_Attribute *attr) {
        return attr ? "_Z1fv" : NULL;
}

const char *dwarf_diename(Dwarf_Die *die) {
        return entry_of(die)->file & 2 ? "f" : NULL;
}

Dwarf_Line *dwarf_getsrc_die(Dwarf_Die *unit, Dwarf_Addr address) {
        struct entry *e = &entries[(address / ADDRESS_STEP) % n_entries];

        return entry_of(unit)->flags & FLAG_NAMELESS ? NULL : (Dwarf_Line *)e;
}

const char *dwarf_linesrc(Dwarf_Line *line, Dwarf_Word *mtime, Dwarf_Word *length) {
        (void)mtime;
        (void)length;
        return ((struct entry *)line)->file & 4 ? "f.c" : NULL;
}

int dwarf_lineno(Dwarf_Line *line, int *ret) {
        *ret = ((struct entry *)line)->line - 8;
        return *ret > 200 ? -1 : 0;
}

int dwarf_getsrcfiles(Dwarf_Die *unit, Dwarf_Files **ret, size_t *n) {
        *ret = (Dwarf_Files *)entries;
        *n = n_entries;
        return entry_of(unit)->file & 8 ? -1 : 0;
}

const char *dwarf_filesrc(Dwarf_Files *files, size_t number, Dwarf_Word *mtime,
                          Dwarf_Word *length) {
        (void)files;
        (void)mtime;
        (void)length;
        return number < n_entries ? "g.c" : NULL;
}

int dwarf_get_units(Dwarf *dwarf, Dwarf_CU *unit, Dwarf_CU **next, Dwarf_Half *version,
                    uint8_t *type, Dwarf_Die *ret, Dwarf_Die *split) {
        size_t i = unit ? (size_t)((struct entry *)unit - entries) + 1 : 0;

        (void)dwarf;
        (void)type;
        while (i < n_entries && i > 0 && !(entries[i].flags & FLAG_UNIT))
                i++;
        if (i >= n_entries)
                return 1;
        *next = (Dwarf_CU *)&entries[i];
        *version = entries[i].flags & FLAG_ENDLESS ? 4 : 5;
        *ret = (Dwarf_Die){.addr = &entries[i]};
        *split = (Dwarf_Die){.addr = entries[i].flags & FLAG_SPLIT
                                             ? &entries[entries[i].child % n_entries]
                                             : NULL};
        return 0;
}

/* ---- the question ---------------------------------------------------------------------------- */

static void check(const struct inline_result *r) {
        for (size_t i = 0; i < N_ADDRESSES; i++) {
                const struct inline_place *p = &r->places[i];

                if (p->site != INLINE_NONE && p->site >= r->sites.n)
                        abort();
                if (p->function != INLINE_NONE && p->function >= r->functions.n)
                        abort();
                if (i * ADDRESS_STEP < CODE_BEGIN && p->function != INLINE_NONE)
                        abort();
        }
        for (size_t i = 0; i < r->sites.n; i++) {
                Dwarf_Die die = r->sites.items[i].die;

                if (r->sites.items[i].caller != INLINE_NONE && r->sites.items[i].caller >= i)
                        abort();
                (void)inline_linker_name(&die);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        uint64_t addresses[N_ADDRESSES];
        struct inline_result r;

        n_entries = n / sizeof(entries[0]);
        if (n_entries > 256)
                n_entries = 256;
        if (n_entries == 0)
                return 0;
        memcpy(entries, data, n_entries * sizeof(entries[0]));
        for (size_t i = 0; i < N_ADDRESSES; i++)
                addresses[i] = i * ADDRESS_STEP;
        inline_find((Dwarf *)entries, addresses, N_ADDRESSES, CODE_BEGIN, &r);
        check(&r);
        inline_done(&r);
        return 0;
}
