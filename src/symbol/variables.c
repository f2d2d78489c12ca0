/* SPDX-License-Identifier: MIT */
#include "symbol/variables.h"

#include <stdlib.h>
#include <string.h>

/* Names a reader knows before names only the library's own code uses. */
static uint8_t variable_rank(const GElf_Sym *sym, const char *name) {
        uint8_t rank = GELF_ST_BIND(sym->st_info) == STB_LOCAL ? 0 : 4;

        if (name[0] != '_')
                rank += 2;
        else if (name[1] != '_')
                rank += 1;
        return rank;
}

static int variable_compare(const void *a, const void *b) {
        const struct variable *x = a, *y = b;

        if (x->begin != y->begin)
                return x->begin < y->begin ? -1 : 1;
        if (x->end != y->end)
                return x->end > y->end ? -1 : 1;
        if (x->rank != y->rank)
                return x->rank < y->rank ? -1 : 1;
        return strcmp(y->name, x->name);
}

void variables_load(struct variables *v, Dwfl_Module *module) {
        int n = dwfl_module_getsymtab(module);
        uint64_t reach = 0;

        v->is_loaded = true;
        for (int i = 1; i < n; i++) {
                GElf_Sym sym;
                GElf_Addr address;
                GElf_Word section;
                const char *name =
                        dwfl_module_getsym_info(module, i, &sym, &address, &section, NULL, NULL);

                if (!name || !name[0] || GELF_ST_TYPE(sym.st_info) != STT_OBJECT || !sym.st_size ||
                    section == SHN_UNDEF || section == SHN_ABS ||
                    sym.st_size > UINT64_MAX - address)
                        continue;
                vec_push(&v->by_begin, (struct variable){.begin = address,
                                                         .end = address + sym.st_size,
                                                         .name = name,
                                                         .rank = variable_rank(&sym, name)});
        }
        if (v->by_begin.n)
                qsort(v->by_begin.items, v->by_begin.n, sizeof(v->by_begin.items[0]),
                      variable_compare);
        for (size_t i = 0; i < v->by_begin.n; i++) {
                reach = reach > v->by_begin.items[i].end ? reach : v->by_begin.items[i].end;
                v->by_begin.items[i].reach = reach;
        }
}

void variables_done(struct variables *v) {
        vec_free(&v->by_begin);
}

const struct variable *variables_find(const struct variables *v, uint64_t address) {
        size_t low = 0, high = v->by_begin.n;

        while (low < high) {
                size_t mid = low + (high - low) / 2;

                if (v->by_begin.items[mid].begin <= address)
                        low = mid + 1;
                else
                        high = mid;
        }
        while (low-- > 0 && v->by_begin.items[low].reach > address)
                if (address < v->by_begin.items[low].end)
                        return &v->by_begin.items[low];
        return NULL;
}
