/* SPDX-License-Identifier: MIT */
#include "remote/remote_space.h"

#include <string.h>

#include "base/vec.h"
#include "patch/maps.h"
#include "remote/remote_mappings.h"

struct remote_space {
        struct remote_root root;
        VEC(struct remote_mapping) list; /* by address, none in another */
        size_t last;                     /* found last */
};

pid_t remote_space_pid(const struct remote_space *s) {
        return s->root.pid;
}

/* ---- mappings ----------------------------------------------------------------------------- */

static void mapping_done(struct remote_mapping *m) {
        free(m->module);
        if (m->known)
                remote_files_give_back(m->known);
}

static struct remote_module *module_new(const struct remote_module *like) {
        struct remote_module *m = malloc(sizeof(*m));

        if (!m)
                abort();
        *m = *like;
        return m;
}

static struct remote_mapping mapping_share(const struct remote_mapping *m) {
        struct remote_mapping copy = *m;

        if (copy.known)
                remote_files_share(copy.known);
        if (copy.module)
                copy.module = module_new(copy.module);
        return copy;
}

/* Index of the first mapping that ends above addr. */
static size_t first_above(const struct remote_space *s, uint64_t addr) {
        size_t low = 0, high = s->list.n;

        while (low < high) {
                size_t mid = low + (high - low) / 2;

                if (s->list.items[mid].end <= addr)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low;
}

static void insert(struct remote_space *s, size_t at, struct remote_mapping m) {
        vec_reserve(&s->list, 1);
        memmove(&s->list.items[at + 1], &s->list.items[at], (s->list.n - at) * sizeof(m));
        s->list.items[at] = m;
        s->list.n++;
}

static void remove_at(struct remote_space *s, size_t at) {
        mapping_done(&s->list.items[at]);
        s->list.n--;
        memmove(&s->list.items[at], &s->list.items[at + 1],
                (s->list.n - at) * sizeof(s->list.items[0]));
}

/* Nothing lies in [begin, end) any more; what reaches in is cut. Where to put something there. */
static size_t make_room(struct remote_space *s, uint64_t begin, uint64_t end) {
        size_t i = first_above(s, begin);

        if (i < s->list.n && s->list.items[i].begin < begin) {
                if (s->list.items[i].end > end) {
                        struct remote_mapping rest = mapping_share(&s->list.items[i]);

                        rest.begin = end;
                        insert(s, i + 1, rest);
                }
                s->list.items[i++].end = begin;
        }
        while (i < s->list.n && s->list.items[i].end <= end)
                remove_at(s, i);
        if (i < s->list.n && s->list.items[i].begin < end)
                s->list.items[i].begin = end;
        return i;
}

void remote_space_map(struct remote_space *s, uint64_t begin, uint64_t end, uint64_t file_offset,
                      const char *path) {
        struct remote_mapping m = {.begin = begin, .end = end};
        struct remote_module module = {0};
        size_t at;

        if (begin >= end)
                return;
        at = make_room(s, begin, end);
        s->last = 0;
        if ((path[0] == '/' && path[1] != '/') || strcmp(path, "[vdso]") == 0) {
                m.known = remote_files_take(&s->root, begin, end, path);
                if (m.known->file &&
                    remote_file_bias(m.known->file, begin, file_offset, &module.bias)) {
                        module.path = m.known->path;
                        module.build_id_len = remote_file_build_id(m.known->file, module.build_id);
                        module.size_bytes = remote_file_size_bytes(m.known->file);
                        module.id = m.known->id;
                        m.module = module_new(&module);
                }
        }
        insert(s, at, m);
}

const struct remote_mapping *remote_space_at(struct remote_space *s, uint64_t addr) {
        size_t i = s->last;

        if (i < s->list.n && addr >= s->list.items[i].begin && addr < s->list.items[i].end)
                return &s->list.items[i];
        i = first_above(s, addr);
        if (i == s->list.n || addr < s->list.items[i].begin)
                return NULL;
        s->last = i;
        return &s->list.items[i];
}

const struct remote_module *remote_space_locate(struct remote_space *s, uint64_t pc,
                                                uint64_t *ret_offset) {
        const struct remote_mapping *m = remote_space_at(s, pc - 1);

        if (!m || !m->module)
                return NULL;
        *ret_offset = pc - m->module->bias;
        return m->module;
}

/* ---- spaces ------------------------------------------------------------------------------- */

static struct remote_space *space_empty(struct remote_root root) {
        struct remote_space *s = calloc(1, sizeof(*s));

        if (!s)
                abort();
        s->root = root;
        return s;
}

struct remote_space *remote_space_new(pid_t pid) {
        struct remote_space *s = space_empty(remote_files_root(pid));
        struct maps maps;

        if (maps_read(&maps, pid, NULL) < 0)
                return s;
        for (size_t i = 0; i < maps.list.n; i++) {
                const struct mapping *m = &maps.list.items[i];

                if (m->is_code)
                        remote_space_map(s, m->begin, m->end, m->offset, m->path);
        }
        maps_done(&maps);
        return s;
}

struct remote_space *remote_space_fork(const struct remote_space *of, pid_t pid) {
        struct remote_space *s = space_empty((struct remote_root){pid, of->root.is_other});

        for (size_t i = 0; i < of->list.n; i++)
                vec_push(&s->list, mapping_share(&of->list.items[i]));
        return s;
}

struct remote_space *remote_space_free(struct remote_space *s) {
        if (!s)
                return NULL;
        for (size_t i = 0; i < s->list.n; i++)
                mapping_done(&s->list.items[i]);
        vec_free(&s->list);
        free(s);
        return NULL;
}
