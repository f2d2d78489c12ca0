/* SPDX-License-Identifier: MIT */
#include "symbol/inline.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/addresses.h"

enum {
        INLINE_MAX_DEPTH = 256, /* of nested scopes: more is a damaged file */
        /* Ranges and addresses in them that are looked at: for each entry and each address on
         * average, and before the average counts. */
        INLINE_MAX_STEPS = 64,
#ifdef SILT_TINY
        INLINE_MIN_STEPS = 1 << 10,
#else
        INLINE_MIN_STEPS = 1 << 20,
#endif
};

struct walk {
        const uint64_t *addresses;
        size_t n_addresses;
        uint64_t code_begin; /* no code lies below */
        uint64_t n_entries, n_steps;
        bool is_exhausted; /* too many steps: the rest is not looked at */
        struct inline_result *result;
        /* Of the unit at hand: */
        Dwarf_Die unit;
        Dwarf_Files *files;
        const char *directory; /* where the compiler ran; NULL unknown */
        unsigned version;
        bool lines_known;    /* for all addresses of the unit */
        Dwarf_Off last_off;  /* of the entry looked at last */
        uint32_t n_enclosed; /* scopes entered and not left */
        bool is_thorough;    /* looks also into what covers no address */
        bool is_damaged;
};

/* What the entry at hand lies in. */
struct scope {
        uint32_t function, site; /* INLINE_NONE: none */
};

/* ---- what covers an address ------------------------------------------------------------------ */

struct span {
        size_t begin, end; /* indices of addresses */
};

static bool take_steps(struct walk *w, uint64_t n) {
        w->n_steps += n;
        if (w->n_steps > INLINE_MIN_STEPS + INLINE_MAX_STEPS * (w->n_entries + w->n_addresses))
                w->is_damaged = w->is_exhausted = true;
        return !w->is_exhausted;
}

/* The addresses in the next range of the entry; false: there are no more ranges. */
static bool next_span(struct walk *w, Dwarf_Die *die, ptrdiff_t *off, Dwarf_Addr *base,
                      struct span *ret) {
        Dwarf_Addr begin, end;

        *off = dwarf_ranges(die, *off, base, &begin, &end);
        if (*off <= 0)
                return false;
        *ret = (struct span){0};
        if (begin < end && begin >= w->code_begin) {
                ret->begin = addresses_first_from(w->addresses, w->n_addresses, begin);
                ret->end = addresses_first_from(w->addresses, w->n_addresses, end);
        }
        return take_steps(w, 1 + (ret->end - ret->begin));
}

static bool covers_address(struct walk *w, Dwarf_Die *die) {
        Dwarf_Addr base;
        struct span s;

        for (ptrdiff_t off = 0; next_span(w, die, &off, &base, &s);)
                if (s.begin < s.end)
                        return true;
        return false;
}

static const char *path_of(struct walk *w, const char *file) {
        return source_path(&w->result->paths, w->directory, file);
}

static void find_lines(struct walk *w, struct span s) {
        for (size_t i = s.begin; i < s.end; i++) {
                struct inline_place *p = &w->result->places[i];
                Dwarf_Line *line = NULL;
                int number = 0;

                if (!p->file)
                        line = dwarf_getsrc_die(&w->unit, w->addresses[i]);
                if (!line)
                        continue;
                p->file = path_of(w, dwarf_linesrc(line, NULL, NULL));
                p->line = dwarf_lineno(line, &number) == 0 && number > 0 ? (uint32_t)number : 0;
        }
}

/* Notes the scope at all addresses the entry covers; false: at none. */
static bool note_scope(struct walk *w, Dwarf_Die *die, struct scope scope) {
        Dwarf_Addr base;
        struct span s;
        bool covers = false;

        for (ptrdiff_t off = 0; next_span(w, die, &off, &base, &s);) {
                for (size_t i = s.begin; i < s.end; i++) {
                        w->result->places[i].function = scope.function;
                        w->result->places[i].site = scope.site;
                }
                if (s.begin < s.end && !w->lines_known)
                        find_lines(w, s);
                covers |= s.begin < s.end;
        }
        return covers;
}

/* ---- entries --------------------------------------------------------------------------------- */

/* Before DWARF 5 files are counted from 1, and 0 is none. */
static const char *call_file(struct walk *w, Dwarf_Die *die) {
        Dwarf_Attribute attr;
        Dwarf_Word value;

        if (!w->files || dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attr), &value) != 0)
                return NULL;
        if (value == 0 && w->version < 5)
                return NULL;
        return path_of(w, dwarf_filesrc(w->files, value, NULL, NULL));
}

static uint32_t add_site(struct walk *w, Dwarf_Die *die, uint32_t caller) {
        struct inline_site site = {.die = *die, .call_file = call_file(w, die), .caller = caller};
        Dwarf_Attribute attr;
        Dwarf_Word value;

        if (dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attr), &value) == 0)
                site.call_line = (uint32_t)value;
        vec_push(&w->result->sites, site);
        return (uint32_t)(w->result->sites.n - 1);
}

static void walk_children(struct walk *w, Dwarf_Die *parent, struct scope scope);

static void walk_subprogram(struct walk *w, Dwarf_Die *die) {
        struct scope inner = {(uint32_t)w->result->functions.n, INLINE_NONE};

        if (!note_scope(w, die, inner) && !w->is_thorough)
                return;
        vec_push(&w->result->functions, *die);
        walk_children(w, die, inner);
}

static void walk_inlined(struct walk *w, Dwarf_Die *die, struct scope scope) {
        struct scope inner = {scope.function, (uint32_t)w->result->sites.n};

        if (!note_scope(w, die, inner) && !w->is_thorough)
                return;
        add_site(w, die, scope.site);
        walk_children(w, die, inner);
}

static void walk_entry(struct walk *w, Dwarf_Die *die, struct scope scope) {
        switch (dwarf_tag(die)) {
        case DW_TAG_namespace:
        case DW_TAG_module:
        case DW_TAG_class_type:
        case DW_TAG_structure_type:
        case DW_TAG_union_type:
        case DW_TAG_enumeration_type: /* Rust puts methods of enums there */
                walk_children(w, die, scope);
                break;
        case DW_TAG_subprogram: walk_subprogram(w, die); break;
        case DW_TAG_inlined_subroutine: walk_inlined(w, die, scope); break;
        case DW_TAG_lexical_block:
        case DW_TAG_try_block:
        case DW_TAG_catch_block:
                if (w->is_thorough || covers_address(w, die))
                        walk_children(w, die, scope);
                break;
        default: break;
        }
}

static void walk_children(struct walk *w, Dwarf_Die *parent, struct scope scope) {
        Dwarf_Die die;
        int r = dwarf_child(parent, &die);

        w->is_damaged |= ++w->n_enclosed > INLINE_MAX_DEPTH;
        while (r == 0 && !w->is_damaged) {
                Dwarf_Off off = dwarf_dieoffset(&die);

                /* An entry lies behind all that come before it: with that no way leads in circles,
                 * and none twice to the same place. */
                if (off <= w->last_off) {
                        w->is_damaged = true;
                        break;
                }
                w->last_off = off;
                w->n_entries++;
                walk_entry(w, &die, scope);
                if (!w->is_damaged)
                        r = dwarf_siblingof(&die, &die);
        }
        w->is_damaged |= r < 0;
        w->n_enclosed--;
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

/* Lines of all addresses in the unit; false: it has none of them. */
static bool unit_lines(struct walk *w) {
        Dwarf_Addr base;
        struct span s;
        bool covers = false;

        for (ptrdiff_t off = 0; next_span(w, &w->unit, &off, &base, &s);) {
                find_lines(w, s);
                covers |= s.begin < s.end;
        }
        return covers;
}

/* What a unit that cannot be believed has said of chains. */
static void forget(struct walk *w, size_t n_functions, size_t n_sites) {
        struct inline_result *r = w->result;

        r->damaged = true;
        take_steps(w, w->n_addresses);
        for (size_t i = 0; i < w->n_addresses; i++) {
                struct inline_place *p = &r->places[i];

                if ((p->function != INLINE_NONE && p->function >= n_functions) ||
                    (p->site != INLINE_NONE && p->site >= n_sites))
                        p->function = p->site = INLINE_NONE;
        }
        r->functions.n = n_functions;
        r->sites.n = n_sites;
}

/* Whether an address of the unit is in none of its functions. */
static bool lacks_function(struct walk *w) {
        Dwarf_Addr base;
        struct span s;

        for (ptrdiff_t off = 0; next_span(w, &w->unit, &off, &base, &s);)
                for (size_t i = s.begin; i < s.end; i++)
                        if (w->result->places[i].function == INLINE_NONE)
                                return true;
        return false;
}

static void walk_tree(struct walk *w, Dwarf_Die *root) {
        w->last_off = dwarf_dieoffset(root);
        w->n_enclosed = 0;
        walk_children(w, root, (struct scope){INLINE_NONE, INLINE_NONE});
}

static void walk_unit(struct walk *w, Dwarf_Die *split) {
        Dwarf_Die *root = split->addr ? split : &w->unit;
        size_t n_functions = w->result->functions.n, n_sites = w->result->sites.n;
        Dwarf_Attribute attr;
        size_t n_files;

        w->n_entries++;
        w->is_damaged = w->is_exhausted;
        w->directory = dwarf_formstring(dwarf_attr(&w->unit, DW_AT_comp_dir, &attr));
        w->lines_known =
                dwarf_hasattr(&w->unit, DW_AT_low_pc) || dwarf_hasattr(&w->unit, DW_AT_ranges);
        if (w->lines_known && !unit_lines(w))
                return;
        /* What other units share has no code of its own. */
        if (!w->lines_known && dwarf_tag(&w->unit) != DW_TAG_compile_unit)
                return;
        if (dwarf_getsrcfiles(&w->unit, &w->files, &n_files) != 0) {
                w->files = NULL;
                w->result->lines_damaged |= dwarf_hasattr(&w->unit, DW_AT_stmt_list) != 0;
        }
        w->is_thorough = false;
        walk_tree(w, root);
        /* Functions can lie inside others that cover nothing that is asked for: compilers leave a
         * lambda's where its type was declared. Seldom enough to look for them only when missed. */
        if (!w->is_damaged && lacks_function(w)) {
                w->is_thorough = true;
                walk_tree(w, root);
        }
        if (w->is_damaged)
                forget(w, n_functions, n_sites);
}

void inline_find(Dwarf *dwarf, const uint64_t *addresses, size_t n, uint64_t code_begin,
                 struct inline_result *ret) {
        struct walk w = {.addresses = addresses,
                         .n_addresses = n,
                         .code_begin = code_begin,
                         .result = ret};
        Dwarf_CU *unit = NULL;
        Dwarf_Half version;
        Dwarf_Die split;
        int r = 0;

        *ret = (struct inline_result){.places = calloc(n + 1, sizeof(ret->places[0]))};
        if (!ret->places)
                abort();
        source_paths_init(&ret->paths);
        for (size_t i = 0; i < n; i++)
                ret->places[i].site = ret->places[i].function = INLINE_NONE;
        while (!w.is_exhausted &&
               (r = dwarf_get_units(dwarf, unit, &unit, &version, NULL, &w.unit, &split)) == 0) {
                w.version = version;
                if (dwarf_tag(&w.unit) == DW_TAG_invalid)
                        ret->damaged = true;
                else
                        walk_unit(&w, &split);
        }
        ret->damaged |= w.is_exhausted || r < 0;
}

void inline_done(struct inline_result *r) {
        vec_free(&r->sites);
        vec_free(&r->functions);
        free(r->places);
        source_paths_done(&r->paths);
        *r = (struct inline_result){0};
}
