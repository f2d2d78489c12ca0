/* SPDX-License-Identifier: MIT */
#include "symbol/functions.h"

#include <stdlib.h>
#include <string.h>

/* Names a reader knows before names only the library's own code uses. */
static uint8_t function_rank(const GElf_Sym *sym, const char *name) {
        uint8_t rank = 0;

        if (GELF_ST_TYPE(sym->st_info) != STT_NOTYPE)
                rank += 32;
        if (GELF_ST_BIND(sym->st_info) == STB_GLOBAL)
                rank += 16;
        else if (GELF_ST_BIND(sym->st_info) == STB_WEAK)
                rank += 12;
        if (name[0] != '_')
                rank += 3;
        else if (name[1] != '_')
                rank += 2;
        return rank;
}

static bool names_code(const GElf_Sym *sym, const char *name) {
        unsigned type = GELF_ST_TYPE(sym->st_info);

        if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
                return false;
        /* $x and $d mark stretches of code and data on ARM; .L labels are the compiler's. */
        return name && name[0] && name[0] != '$' && strncmp(name, ".L", 2) != 0;
}

static int function_compare(const void *a, const void *b) {
        const struct function *x = a, *y = b;

        if (x->begin != y->begin)
                return x->begin < y->begin ? -1 : 1;
        if (x->rank != y->rank)
                return x->rank < y->rank ? -1 : 1;
        if (x->end != y->end)
                return x->end < y->end ? -1 : 1;
        return strcmp(y->name, x->name);
}

void functions_load(struct functions *f, Dwfl_Module *module) {
        int n = dwfl_module_getsymtab(module);
        uint64_t reach = 0;

        for (int i = 1; i < n; i++) {
                GElf_Sym sym;
                GElf_Addr address;
                GElf_Word section;
                const char *name =
                        dwfl_module_getsym_info(module, i, &sym, &address, &section, NULL, NULL);

                if (!names_code(&sym, name) || section == SHN_UNDEF || section == SHN_ABS)
                        continue;
                vec_push(&f->by_begin, (struct function){.begin = address,
                                                         .end = address + sym.st_size,
                                                         .name = name,
                                                         .section = section,
                                                         .rank = function_rank(&sym, name)});
        }
        if (f->by_begin.n)
                qsort(f->by_begin.items, f->by_begin.n, sizeof(struct function), function_compare);
        for (size_t i = 0; i < f->by_begin.n; i++) {
                reach = reach > f->by_begin.items[i].end ? reach : f->by_begin.items[i].end;
                f->by_begin.items[i].reach = reach;
        }
}

void functions_done(struct functions *f) {
        vec_free(&f->by_begin);
}

/* The number of functions that begin at or before the address. */
static size_t functions_up_to(const struct functions *f, uint64_t address) {
        size_t low = 0, high = f->by_begin.n;

        while (low < high) {
                size_t mid = low + (high - low) / 2;

                if (f->by_begin.items[mid].begin <= address)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low;
}

const struct function *functions_find(const struct functions *f, uint64_t address,
                                      bool *ret_guess) {
        size_t n = functions_up_to(f, address);
        const struct function *nearest = n ? &f->by_begin.items[n - 1] : NULL;

        *ret_guess = false;
        for (size_t i = n; i-- > 0 && f->by_begin.items[i].reach > address;)
                if (address < f->by_begin.items[i].end)
                        return &f->by_begin.items[i];
        if (nearest)
                *ret_guess =
                        nearest->end != nearest->begin; /* one without size reaches to the next */
        return nearest;
}
