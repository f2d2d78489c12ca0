/* SPDX-License-Identifier: MIT */
#include "patch/known_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/record.h"

enum {
        MEMORY_MAX_FILES = 4096,
        MEMORY_MAX_FOUND = 256,
        MEMORY_MAX_ALLOCATORS = WIRE_N_ALLOCATORS - 1,
};

static struct known_file file_of(const struct stat *st) {
        return (struct known_file){st->st_dev, st->st_ino, st->st_size, st->st_mtim};
}

static bool is_same(const struct known_file *f, const struct stat *st) {
        return f->dev == st->st_dev && f->ino == st->st_ino && f->size_bytes == st->st_size &&
               f->changed.tv_sec == st->st_mtim.tv_sec && f->changed.tv_nsec == st->st_mtim.tv_nsec;
}

bool known_files_is_plain(const struct known_files *m, const struct stat *file) {
        for (size_t i = 0; i < m->plain.n; i++)
                if (is_same(&m->plain.items[i], file))
                        return true;
        return false;
}

void known_files_add_plain(struct known_files *m, const struct stat *file) {
        if (m->plain.n < MEMORY_MAX_FILES)
                vec_push(&m->plain, file_of(file));
}

static void copy_allocators(struct allocators *to, const struct allocators *from) {
        memset(to, 0, sizeof(*to));
        to->has_symbol_table = from->has_symbol_table;
        to->malloc_begin = from->malloc_begin;
        for (size_t i = 0; i < from->list.n; i++)
                vec_push(&to->list, from->list.items[i]);
        for (size_t i = 0; i < from->functions.n; i++)
                vec_push(&to->functions, from->functions.items[i]);
}

bool known_files_recall(const struct known_files *m, const struct stat *file, enum allocators_of of,
                        struct allocators *ret) {
        for (size_t i = 0; i < m->found.n; i++)
                if (m->found.items[i].of == of && is_same(&m->found.items[i].file, file)) {
                        copy_allocators(ret, &m->found.items[i].found);
                        return true;
                }
        return false;
}

void known_files_keep(struct known_files *m, const struct stat *file, enum allocators_of of,
                      const struct allocators *found) {
        struct known_files_found *to;

        if (m->found.n < MEMORY_MAX_FOUND) {
                to = vec_add(&m->found);
        } else {
                to = &m->found.items[m->oldest++ % MEMORY_MAX_FOUND];
                allocators_done(&to->found);
        }
        to->file = file_of(file);
        to->of = of;
        copy_allocators(&to->found, found);
}

void known_files_learn(struct known_files *m, const struct stat *file,
                       const struct allocators_file *read) {
        if (read->r == 0 && (read->found.functions.n || read->of == ALLOCATORS_OF_PROGRAM))
                known_files_keep(m, file, read->of, &read->found);
        else if (read->r == 0)
                known_files_add_plain(m, file);
}

void known_files_keep_imprint(struct known_files *m, const struct stat *file,
                              const struct imprint *imprint) {
        if (m->imprints.n < MEMORY_MAX_FOUND)
                vec_push(&m->imprints, ((struct known_files_imprint){file_of(file), *imprint}));
}

int known_files_imprint(struct known_files *m, const char *path, struct imprint *ret) {
        struct stat st;
        bool is_there = stat(path, &st) == 0;
        int r;

        for (size_t i = 0; is_there && i < m->imprints.n; i++)
                if (is_same(&m->imprints.items[i].file, &st)) {
                        *ret = m->imprints.items[i].imprint;
                        return 0;
                }
        r = imprint_read(path, ret, NULL);
        if (r == 0 && is_there)
                known_files_keep_imprint(m, &st, ret);
        return r;
}

uint32_t known_files_number(struct known_files *m, const char *family, const char *module,
                            const char *open_path, uint32_t said_version) {
        struct known_allocator *one;
        struct imprint imprint;

        for (size_t i = 0; i < m->allocators.n; i++)
                if (!strcmp(m->allocators.items[i].family, family) &&
                    !strncmp(m->allocators.items[i].module, module, sizeof(one->module) - 1))
                        return (uint32_t)i + 1;
        if (m->allocators.n == MEMORY_MAX_ALLOCATORS)
                return MEMORY_MAX_ALLOCATORS;
        one = vec_add(&m->allocators);
        one->family = one->name = family;
        if (m->allocators.n == MEMORY_MAX_ALLOCATORS) {
                one->family = one->name = "others"; /* the last number is everybody's */
                return MEMORY_MAX_ALLOCATORS;
        }
        snprintf(one->module, sizeof(one->module), "%s", module);
        /* the C library's says nothing, and every recording would wait for it */
        if (strcmp(family, "glibc") != 0 && known_files_imprint(m, open_path, &imprint) == 0) {
                one->name = imprint_name(&imprint, family);
                snprintf(one->version, sizeof(one->version), "%s",
                         imprint_version(&imprint, one->name));
        }
        imprint_say_version(said_version, one->version, sizeof(one->version));
        return (uint32_t)m->allocators.n;
}

const struct known_allocator *known_allocator(const struct known_files *m, uint32_t number) {
        return number > 0 && number <= m->allocators.n ? &m->allocators.items[number - 1] : NULL;
}
