/* SPDX-License-Identifier: MIT */
#include "record/mapped_files.h"

#include <string.h>

#include "base/macros.h"
#include "record/elf_id.h"
#include "symbol/code_file.h"

static uint64_t size_of(const struct code_file *o) {
        uint64_t end = 0;

        for (unsigned i = 0; i < o->n_loads; i++)
                end = MAX(end, o->loads[i].addr + o->loads[i].n_bytes);
        return end - MIN(end, o->loads[0].addr);
}

/* How far the addresses of a file are from where it is mapped, its first segment tells. */
static void look(struct mapped_files *f, struct mapped_file *m) {
        struct trace_module one = {.path = m->path};
        struct code_file file = {.path = m->path};

        code_file_locate(f->pid, m->path, file.open_path, sizeof(file.open_path));
        if (code_file_open(&file, 0) >= 0) {
                m->bias = m->base - (file.loads[0].addr - file.loads[0].offset);
                one.size_bytes = size_of(&file);
                one.build_id_len = elf_id_read(file.open_path, one.build_id);
                m->module = f->add_module(f->ctx, &one);
        }
        code_file_close(&file);
}

const struct mapped_file *mapped_files_get(struct mapped_files *f, const char *path,
                                           uint64_t base) {
        struct mapped_file *m = NULL;

        for (size_t i = 0; i < f->list.n && !m; i++)
                if (f->list.items[i].base == base && strcmp(f->list.items[i].path, path) == 0)
                        m = &f->list.items[i];
        if (!m) {
                vec_push(&f->list, (struct mapped_file){path, base, base, MAPPED_NO_MODULE});
                m = &f->list.items[f->list.n - 1];
                look(f, m);
        }
        return m->module == MAPPED_NO_MODULE ? NULL : m;
}

static const struct mapping *mapping_at(const struct maps *maps, uint64_t address) {
        size_t low = 0, high = maps->list.n;

        while (low < high) {
                size_t mid = low + (high - low) / 2;

                if (maps->list.items[mid].end <= address)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low < maps->list.n && maps->list.items[low].begin <= address ? &maps->list.items[low]
                                                                            : NULL;
}

const struct mapped_file *mapped_files_at(struct mapped_files *f, const struct maps *maps,
                                          uint64_t address) {
        const struct mapping *m = mapping_at(maps, address);

        if (m && !m->path[0] && m > maps->list.items && m[-1].end == m->begin)
                m--; /* zeroed variables have no file themselves */
        if (!m || m->path[0] != '/' || strstr(m->path, "/libsilt.so"))
                return NULL;
        while (m > maps->list.items && strcmp(m[-1].path, m->path) == 0)
                m--;
        return mapped_files_get(f, m->path, m->begin - m->offset);
}

void mapped_files_done(struct mapped_files *f) {
        vec_free(&f->list);
}
