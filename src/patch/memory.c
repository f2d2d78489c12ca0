/* SPDX-License-Identifier: MIT */
#include "patch/memory.h"

enum { MEMORY_MAX_FILES = 4096 };

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

void patch_memory_done(struct patch_memory *m) {
        vec_free(&m->plain);
}
