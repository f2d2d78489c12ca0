/* SPDX-License-Identifier: MIT */
#include "reach/block_types.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "reach/vtable.h"

/* A class has a table for each of its bases, and one in each module that has a copy of its own: its name is what makes it one. */
static uint32_t type_at(struct heap_graph *h, const struct reach_memory *m, uint64_t address) {
        struct vtable table;
        struct heap_type *t = &h->types[h->n_types];

        if (!vtable_read(m, address, &table))
                return 0;
        for (uint32_t i = 0; table.name[0] && i < h->n_types; i++)
                if (strcmp(h->types[i].name, table.name) == 0)
                        return i + 1;
        *t = (struct heap_type){.name = strdup(table.name),
                                .function = table.kind == VTABLE_CXX ? 0 : table.function,
                                .table = address,
                                .kind = (enum heap_type_kind)table.kind};
        h->n_types++;
        return h->n_types;
}

/* Compilers merge functions that are the same for several types: which type a table is of, another function of it may tell. */
static int add_functions(struct heap_graph *h, const struct reach_memory *m) {
        uint32_t n = h->n_types;

        for (uint32_t i = 0; i < n; i++) {
                uint64_t functions[VTABLE_MAX_FUNCTIONS], table = h->types[i].table;
                unsigned n_functions =
                        h->types[i].kind == TYPE_OTHER ? vtable_functions(m, table, functions) : 0;

                for (unsigned k = 1; k < n_functions && h->n_types < HEAP_MAX_TYPES; k++) {
                        struct heap_type *t = &h->types[h->n_types++];

                        *t = (struct heap_type){.name = strdup(""),
                                                .function = functions[k],
                                                .table = table,
                                                .kind = TYPE_OTHER};
                        if (!t->name)
                                return -ENOMEM;
                }
        }
        return 0;
}

int block_types_find(const struct reach_memory *m, const uint64_t *tables, struct heap_graph *h) {
        struct map known = {0};
        int r = 0;

        h->type_of = calloc(MAX(h->graph.n_blocks, 1u), sizeof(*h->type_of));
        h->types = calloc(HEAP_MAX_TYPES, sizeof(*h->types));
        if (!h->type_of || !h->types)
                return -ENOMEM;
        for (uint32_t i = 0; i < h->graph.n_blocks && r == 0; i++) {
                uint64_t *type;
                bool is_new;

                if (!tables[i])
                        continue;
                type = map_put(&known, tables[i], 0, &is_new);
                if (is_new && h->n_types < HEAP_MAX_TYPES)
                        *type = type_at(h, m, tables[i]);
                h->type_of[i] = (uint32_t)*type;
                if (*type && !h->types[*type - 1].name)
                        r = -ENOMEM;
        }
        map_done(&known);
        return r < 0 ? r : add_functions(h, m);
}
