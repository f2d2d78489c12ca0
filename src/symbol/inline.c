/* SPDX-License-Identifier: MIT */
#include "symbol/inline.h"

#include <dwarf.h>
#include <stdlib.h>

enum { INLINE_MAX_DEPTH = 256 }; /* of nested scopes: more is a damaged file */

struct unit_walk {
        const uint64_t *addresses;
        size_t n_addresses;
        Dwarf_Die unit;
        Dwarf_Files *files;
        struct inline_result *result;
};

static size_t first_at_or_after(const uint64_t *addresses, size_t n, uint64_t address) {
        size_t low = 0, high = n;

        while (low < high) {
                size_t mid = low + (high - low) / 2;

                if (addresses[mid] < address)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low;
}

/* ---- inlined functions ----------------------------------------------------------------------- */

static void add_calls(struct unit_walk *w, Dwarf_Die *die, unsigned depth, size_t begin,
                      size_t end) {
        struct inline_call call = {.depth = depth, .die = *die};
        Dwarf_Attribute attr;
        Dwarf_Word value;

        if (w->files && dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attr), &value) == 0)
                call.call_file = dwarf_filesrc(w->files, value, NULL, NULL);
        if (dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attr), &value) == 0)
                call.call_line = (uint32_t)value;
        for (call.address_idx = begin; call.address_idx < end; call.address_idx++)
                vec_push(&w->result->calls, call);
}

/* Whether any address lies in the DIE's code; its inlined calls are noted on the way. */
static bool covers_address(struct unit_walk *w, Dwarf_Die *die, unsigned inline_depth) {
        Dwarf_Addr base, begin, end;
        bool covers = false;

        for (ptrdiff_t off = 0; (off = dwarf_ranges(die, off, &base, &begin, &end)) > 0;) {
                size_t first = first_at_or_after(w->addresses, w->n_addresses, begin);
                size_t last = first_at_or_after(w->addresses, w->n_addresses, end);

                if (first >= last)
                        continue;
                covers = true;
                if (inline_depth)
                        add_calls(w, die, inline_depth, first, last);
        }
        return covers;
}

static void walk_children(struct unit_walk *w, Dwarf_Die *parent, unsigned inline_depth,
                          unsigned depth) {
        Dwarf_Die die;

        if (depth > INLINE_MAX_DEPTH || dwarf_child(parent, &die) != 0)
                return;
        do {
                switch (dwarf_tag(&die)) {
                case DW_TAG_namespace:
                case DW_TAG_module:
                case DW_TAG_class_type:
                case DW_TAG_structure_type:
                case DW_TAG_union_type:
                case DW_TAG_enumeration_type: /* Rust puts methods of enums there */
                        walk_children(w, &die, inline_depth, depth + 1);
                        break;
                case DW_TAG_subprogram:
                case DW_TAG_lexical_block:
                        if (covers_address(w, &die, 0))
                                walk_children(w, &die, inline_depth, depth + 1);
                        break;
                case DW_TAG_inlined_subroutine:
                        if (covers_address(w, &die, inline_depth + 1))
                                walk_children(w, &die, inline_depth + 1, depth + 1);
                        break;
                default: break;
                }
        } while (dwarf_siblingof(&die, &die) == 0);
}

const char *inline_linker_name(Dwarf_Die *die) {
        Dwarf_Attribute attr;
        const char *name;

        name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attr));
        if (!name)
                name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr));
        return name ? name : dwarf_diename(die);
}

/* ---- units ----------------------------------------------------------------------------------- */

static void find_lines(struct unit_walk *w, size_t begin, size_t end) {
        for (size_t i = begin; i < end; i++) {
                Dwarf_Line *line = dwarf_getsrc_die(&w->unit, w->addresses[i]);
                int number = 0;

                if (!line)
                        continue;
                w->result->lines[i].file = dwarf_linesrc(line, NULL, NULL);
                if (dwarf_lineno(line, &number) == 0)
                        w->result->lines[i].line = (uint32_t)number;
        }
}

static void walk_unit(struct unit_walk *w, Dwarf_Die *subdie) {
        Dwarf_Addr base, begin, end;
        bool covers = false;
        size_t n_files;

        for (ptrdiff_t off = 0; (off = dwarf_ranges(&w->unit, off, &base, &begin, &end)) > 0;) {
                size_t first = first_at_or_after(w->addresses, w->n_addresses, begin);
                size_t last = first_at_or_after(w->addresses, w->n_addresses, end);

                if (first >= last)
                        continue;
                covers = true;
                find_lines(w, first, last);
        }
        if (!covers)
                return;
        if (dwarf_getsrcfiles(&w->unit, &w->files, &n_files) != 0)
                w->files = NULL;
        walk_children(w, subdie->addr ? subdie : &w->unit, 0, 0);
}

static int call_compare(const void *a, const void *b) {
        const struct inline_call *x = a, *y = b;

        if (x->address_idx != y->address_idx)
                return x->address_idx < y->address_idx ? -1 : 1;
        return x->depth < y->depth ? -1 : x->depth > y->depth;
}

void inline_find(Dwarf *dwarf, const uint64_t *addresses, size_t n, struct inline_result *ret) {
        Dwarf_CU *unit = NULL;
        Dwarf_Die die, subdie;

        *ret = (struct inline_result){.lines = calloc(n + 1, sizeof(ret->lines[0]))};
        if (!ret->lines)
                abort();
        while (dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, &subdie) == 0) {
                struct unit_walk w = {.addresses = addresses,
                                      .n_addresses = n,
                                      .unit = die,
                                      .result = ret};

                walk_unit(&w, &subdie);
        }
        if (ret->calls.n)
                qsort(ret->calls.items, ret->calls.n, sizeof(struct inline_call), call_compare);
}

void inline_done(struct inline_result *r) {
        vec_free(&r->calls);
        free(r->lines);
        *r = (struct inline_result){0};
}
