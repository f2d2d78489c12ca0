/* SPDX-License-Identifier: MIT */
#include "patch/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "patch/given.h"
#include "patch/imprint.h"
#include "wire/record.h"

enum {
        MEMORY_MAX_FILES = 4096,
        MEMORY_MAX_ALLOCATORS = WIRE_N_ALLOCATORS - 1,
};

static bool is_same(const struct memory_file *f, const struct stat *st) {
        return f->dev == st->st_dev && f->ino == st->st_ino && f->size_bytes == st->st_size &&
               f->changed.tv_sec == st->st_mtim.tv_sec && f->changed.tv_nsec == st->st_mtim.tv_nsec;
}

bool memory_is_plain(const struct patch_memory *m, const struct stat *file) {
        for (size_t i = 0; i < m->plain.n; i++)
                if (is_same(&m->plain.items[i], file))
                        return true;
        return false;
}

void memory_add_plain(struct patch_memory *m, const struct stat *file) {
        if (m->plain.n < MEMORY_MAX_FILES)
                vec_push(&m->plain, (struct memory_file){file->st_dev, file->st_ino, file->st_size,
                                                         file->st_mtim});
}

const struct allocators *memory_allocators(struct patch_memory *m, const struct stat *file,
                                           const char *open_path, enum allocators_of of,
                                           const struct given *given) {
        struct memory_known *one;

        for (size_t i = 0; i < m->known.n; i++)
                if (m->known.items[i]->of == of && is_same(&m->known.items[i]->file, file))
                        return &m->known.items[i]->allocators;
        one = calloc(1, sizeof(*one));
        if (!one)
                return NULL;
        allocators_read(open_path, of, &one->allocators, NULL); /* what cannot be read has none */
        given_join(given, file, &one->allocators);
        if (!one->allocators.functions.n) {
                allocators_done(&one->allocators);
                free(one);
                return NULL;
        }
        one->of = of;
        one->file = (struct memory_file){file->st_dev, file->st_ino, file->st_size, file->st_mtim};
        vec_push(&m->known, one);
        return &one->allocators;
}

uint32_t memory_number(struct patch_memory *m, const char *family, const char *module,
                       const char *open_path, uint32_t said_version) {
        struct memory_allocator *one;
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
        if (imprint_read(open_path, &imprint, NULL) == 0) {
                one->name = imprint_name(&imprint, family);
                snprintf(one->version, sizeof(one->version), "%s",
                         imprint_version(&imprint, one->name));
        }
        imprint_say_version(said_version, one->version, sizeof(one->version));
        return (uint32_t)m->allocators.n;
}

const struct memory_allocator *memory_allocator(const struct patch_memory *m, uint32_t number) {
        return number > 0 && number <= m->allocators.n ? &m->allocators.items[number - 1] : NULL;
}

void patch_memory_done(struct patch_memory *m) {
        for (size_t i = 0; i < m->known.n; i++) {
                allocators_done(&m->known.items[i]->allocators);
                free(m->known.items[i]);
        }
        vec_free(&m->known);
        vec_free(&m->allocators);
        vec_free(&m->plain);
}
