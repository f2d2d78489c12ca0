/* SPDX-License-Identifier: MIT */
#include "pipeline/intern.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/large_pages.h"
#include "trace/writer.h"

enum {
        LOCATION_HIDDEN = UINT32_MAX, /* silt's own: no frame */
        MODULE_HIDDEN = UINT32_MAX - 1,
        MODULE_NONE = UINT32_MAX,
};
enum {
        N_INDEX_MIN = 2048,
        N_PCS_MIN = 256,
};

static void *intern_calloc(size_t n, size_t size_bytes) {
        void *p = calloc(n, size_bytes);

        if (!p) {
                fputs("silt: out of memory\n", stderr);
                abort();
        }
        return p;
}

void intern_init(struct intern *in, struct trace_writer *w, const struct pipeline_calls *calls) {
        memset(in, 0, sizeof(*in));
        in->writer = w;
        in->calls = calls;
        path_key_init(&in->key);
        in->index_cap = N_INDEX_MIN;
        in->index = large_calloc(in->index_cap * sizeof(in->index[0]));
        vec_add(&in->nodes);
}

void intern_done(struct intern *in) {
        large_free(in->index, in->index_cap * sizeof(in->index[0]));
        vec_free(&in->nodes);
        map_done(&in->locations);
        map_done(&in->raw_locations);
        map_done(&in->kernel_locations);
        for (size_t i = 0; i < in->modules.n; i++)
                free((char *)in->modules.items[i].path);
        vec_free(&in->modules);
        memset(in, 0, sizeof(*in));
}

size_t intern_size_bytes(const struct intern *in) {
        return in->index_cap * sizeof(in->index[0]) + in->nodes.cap * sizeof(in->nodes.items[0]) +
               (in->locations.cap + in->raw_locations.cap) * sizeof(struct map_entry);
}

struct intern_space *intern_space_new(void) {
        struct intern_space *s = intern_calloc(1, sizeof(*s));

        s->n_refs = 1;
        paths_init(&s->paths);
        return s;
}

struct intern_space *intern_space_ref(struct intern_space *s) {
        s->n_refs++;
        return s;
}

struct intern_space *intern_space_unref(struct intern_space *s) {
        if (!s || --s->n_refs > 0)
                return NULL;
        vec_free(&s->modules);
        free(s->pcs);
        paths_done(&s->paths);
        free(s);
        return NULL;
}

size_t intern_space_size_bytes(const struct intern_space *s) {
        return (sizeof(*s) + paths_size_bytes(&s->paths) + s->pcs_cap * sizeof(s->pcs[0])) /
               s->n_refs;
}

/* ---- modules ------------------------------------------------------------------------------------ */

static uint64_t name_hash(const char *name) {
        uint64_t h = 0xcbf29ce484222325ull;

        for (; *name; name++)
                h = (h ^ (uint8_t)*name) * 0x100000001b3ull;
        return h;
}

/* Index of the first module that ends at or behind address. */
static size_t space_lower_bound(const struct intern_space *s, uint64_t address) {
        size_t lo = 0, hi = s->modules.n;

        while (lo < hi) {
                size_t mid = lo + (hi - lo) / 2;

                if (s->modules.items[mid].end < address)
                        lo = mid + 1;
                else
                        hi = mid;
        }
        return lo;
}

static const struct intern_mapping *space_find_module(const struct intern_space *s, uint64_t pc) {
        size_t i = space_lower_bound(s, pc);

        return i < s->modules.n && s->modules.items[i].begin < pc ? &s->modules.items[i] : NULL;
}

/* Empties the caches of what lies in [begin, end]; everything else is put back. */
static void space_purge(struct intern_space *s, uint64_t begin, uint64_t end) {
        struct intern_pc *old = s->pcs;

        paths_clear(&s->paths);
        if (s->n_pcs == 0)
                return;
        s->pcs = intern_calloc(s->pcs_cap, sizeof(s->pcs[0]));
        s->n_pcs = 0;
        for (size_t i = 0; i < s->pcs_cap; i++) {
                size_t j = intern_hash(old[i].pc) & (s->pcs_cap - 1);

                if (old[i].pc == 0 || (old[i].pc > begin && old[i].pc <= end))
                        continue;
                while (s->pcs[j].pc != 0)
                        j = (j + 1) & (s->pcs_cap - 1);
                s->pcs[j] = old[i];
                s->n_pcs++;
        }
        free(old);
}

/* A process that goes its own way: the same modules, no cached program counters. */
static struct intern_space *space_diverge(struct intern_space *s) {
        struct intern_space *mine = intern_space_new();

        for (size_t i = 0; i < s->modules.n; i++)
                vec_push(&mine->modules, s->modules.items[i]);
        s->n_refs--;
        return mine;
}

/* The same file has one module in the trace, wherever and however often it is mapped. */
static uint32_t intern_define_module(struct intern *in, const struct trace_module *m) {
        struct trace_module copy = *m;

        for (size_t i = in->modules.n; i-- > 0;) {
                const struct trace_module *o = &in->modules.items[i];

                if (strcmp(o->path, m->path) == 0 && o->size_bytes == m->size_bytes &&
                    o->build_id_len == m->build_id_len &&
                    memcmp(o->build_id, m->build_id, m->build_id_len) == 0)
                        return (uint32_t)i;
        }
        copy.path = strdup(m->path);
        if (!copy.path)
                abort();
        vec_push(&in->modules, copy);
        return trace_add_module(in->writer, m);
}

uint32_t intern_add_file(struct intern *in, const struct trace_module *m) {
        for (size_t i = in->modules.n; i-- > 0;) {
                const struct trace_module *o = &in->modules.items[i];

                /* how large it is depends on who says it */
                if (strcmp(o->path, m->path) == 0 && o->build_id_len == m->build_id_len &&
                    memcmp(o->build_id, m->build_id, m->build_id_len) == 0)
                        return (uint32_t)i;
        }
        return intern_define_module(in, m);
}

static uint32_t intern_resolve_module(struct intern *in, const struct pipeline_module *m) {
        struct trace_module resolved = {.path = m->name, .size_bytes = m->end - m->begin};

        if (in->calls->on_module && !in->calls->on_module(in->calls->ctx, m, &resolved))
                return MODULE_HIDDEN;
        resolved.build_id_len = MIN(resolved.build_id_len, (uint32_t)sizeof(resolved.build_id));
        return intern_define_module(in, &resolved);
}

void intern_add_module(struct intern *in, struct intern_space **space,
                       const struct pipeline_module *m) {
        struct intern_mapping new = {m->begin, m->end, m->bias, name_hash(m->name), 0};
        struct intern_space *s = *space;
        size_t first = space_lower_bound(s, m->begin + 1), last;

        if (m->begin >= m->end)
                return;
        for (last = first; last < s->modules.n && s->modules.items[last].begin < m->end; last++) {
                const struct intern_mapping *o = &s->modules.items[last];

                if (o->begin == new.begin && o->end == new.end && o->bias == new.bias &&
                    o->name_hash == new.name_hash)
                        return;
        }
        if (last > first && s->n_refs > 1)
                s = *space = space_diverge(s);
        if (last > first || s->n_unknown > 0)
                space_purge(s, m->begin, m->end);
        if (last > first) {
                memmove(&s->modules.items[first], &s->modules.items[last],
                        (s->modules.n - last) * sizeof(new));
                s->modules.n -= last - first;
        }

        new.module = intern_resolve_module(in, m);
        vec_reserve(&s->modules, 1);
        memmove(&s->modules.items[first + 1], &s->modules.items[first],
                (s->modules.n - first) * sizeof(new));
        s->modules.items[first] = new;
        s->modules.n++;
}

/* ---- locations and stacks ----------------------------------------------------------------------- */

static uint32_t intern_location(struct intern *in, uint32_t module, uint64_t offset) {
        struct map *m = module == MODULE_NONE ? &in->raw_locations
                        : offset >> 48        ? &in->kernel_locations
                                              : &in->locations;
        uint64_t key = m == &in->locations ? (uint64_t)module << 48 | offset : offset;
        bool added;
        uint64_t *location = map_put(m, key, 0, &added);

        if (added) {
                struct trace_location l = {.module = module, .offset = offset};

                *location = trace_add_location(in->writer, &l);
                in->n_locations++;
        }
        return (uint32_t)*location;
}

static uint32_t space_locate(struct intern *in, struct intern_space *s, uint64_t pc) {
        const struct intern_mapping *m = space_find_module(s, pc);

        if (!m ||
            (m->module != MODULE_HIDDEN && ((pc - m->bias) >> 48 != 0 || m->module >> 16 != 0))) {
                s->n_unknown += m == NULL;
                return intern_location(in, MODULE_NONE, pc);
        }
        return m->module == MODULE_HIDDEN ? LOCATION_HIDDEN
                                          : intern_location(in, m->module, pc - m->bias);
}

static void space_grow_pcs(struct intern_space *s) {
        struct intern_pc *old = s->pcs;
        size_t old_cap = s->pcs_cap;

        s->pcs_cap = old_cap ? old_cap * 2 : N_PCS_MIN;
        s->pcs = intern_calloc(s->pcs_cap, sizeof(s->pcs[0]));
        for (size_t i = 0; i < old_cap; i++) {
                size_t j = intern_hash(old[i].pc) & (s->pcs_cap - 1);

                if (old[i].pc == 0)
                        continue;
                while (s->pcs[j].pc != 0)
                        j = (j + 1) & (s->pcs_cap - 1);
                s->pcs[j] = old[i];
        }
        free(old);
}

static uint32_t space_find_location(struct intern *in, struct intern_space *s, uint64_t pc) {
        size_t i;

        if (unlikely(s->n_pcs * 2 >= s->pcs_cap))
                space_grow_pcs(s);
        i = intern_hash(pc) & (s->pcs_cap - 1);
        while (s->pcs[i].pc != pc) {
                if (s->pcs[i].pc == 0) {
                        s->pcs[i] = (struct intern_pc){pc, space_locate(in, s, pc)};
                        s->n_pcs++;
                        break;
                }
                i = (i + 1) & (s->pcs_cap - 1);
        }
        return s->pcs[i].location;
}

static size_t intern_node_place(const struct intern *in, uint32_t parent, uint32_t location) {
        return intern_hash((uint64_t)parent << 32 | location) & (in->index_cap - 1);
}

static void intern_grow_index(struct intern *in) {
        large_free(in->index, in->index_cap * sizeof(in->index[0]));
        in->index_cap *= 2;
        in->index = large_calloc(in->index_cap * sizeof(in->index[0]));
        for (uint32_t stack = 1; stack < in->nodes.n; stack++) {
                const struct intern_node *n = &in->nodes.items[stack];
                size_t i = intern_node_place(in, n->parent, n->location);

                while (in->index[i] != 0)
                        i = (i + 1) & (in->index_cap - 1);
                in->index[i] = stack;
        }
}

static uint32_t intern_stack(struct intern *in, uint32_t parent, uint32_t location) {
        bool is_first = parent + 1 == in->nodes.n; /* the newest node has no callee yet */
        size_t i;

        if (unlikely(in->nodes.n * 2 >= in->index_cap))
                intern_grow_index(in);
        i = intern_node_place(in, parent, location);
        for (; in->index[i] != 0; i = (i + 1) & (in->index_cap - 1)) {
                const struct intern_node *n = &in->nodes.items[in->index[i]];

                if (!is_first && n->parent == parent && n->location == location)
                        return in->index[i];
        }
        /* the writer counts stacks as nodes are counted here: from 1 */
        in->index[i] = trace_add_stack(in->writer, parent, location);
        vec_push(&in->nodes, (struct intern_node){parent, location});
        return in->index[i];
}

uint32_t intern_push(struct intern *in, struct intern_space *s, uint32_t parent, uint64_t pc) {
        uint32_t location =
                pc == 0 ? intern_location(in, MODULE_NONE, 0) : space_find_location(in, s, pc);

        return location == LOCATION_HIDDEN ? parent : intern_stack(in, parent, location);
}

uint32_t intern_push_at(struct intern *in, uint32_t parent, uint32_t module, uint64_t offset) {
        return intern_stack(in, parent, intern_location(in, module, offset));
}

uint32_t intern_locate_at(struct intern *in, uint32_t module, uint64_t address) {
        return module >> 16 || address >> 48 ? PIPELINE_NO_LOCATION
                                             : intern_location(in, module, address);
}

uint32_t intern_locate(struct intern *in, const struct intern_space *s, uint64_t address) {
        const struct intern_mapping *m = space_find_module(s, address);

        return m && m->module != MODULE_HIDDEN ? intern_locate_at(in, m->module, address - m->bias)
                                               : PIPELINE_NO_LOCATION;
}
