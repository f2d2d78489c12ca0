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

static uint64_t hash_of(const char *path) {
        uint64_t hash = 14695981039346656037u;

        for (; *path; path++)
                hash = (hash ^ (uint8_t)*path) * 1099511628211u;
        return hash;
}

/* Keeps the objects of other processes, and of this one those that are there. */
static void forget(struct patch_memory *m, uint32_t process, bool all) {
        size_t kept = 0;

        for (size_t i = 0; i < m->objects.n; i++)
                if (m->objects.items[i].process != process ||
                    (!all && m->objects.items[i].is_there))
                        m->objects.items[kept++] = m->objects.items[i];
        m->objects.n = kept;
}

void memory_look_begin(struct patch_memory *m, uint32_t process, bool is_anew) {
        if (is_anew)
                forget(m, process, true);
        for (size_t i = 0; i < m->objects.n; i++)
                if (m->objects.items[i].process == process)
                        m->objects.items[i].is_there = false;
}

bool memory_look_at(struct patch_memory *m, uint32_t process, uint64_t begin, const char *path) {
        uint64_t path_hash = hash_of(path);

        for (size_t i = 0; i < m->objects.n; i++) {
                struct memory_object *o = &m->objects.items[i];

                if (o->process == process && o->begin == begin && o->path_hash == path_hash) {
                        o->is_there = true;
                        return false;
                }
        }
        vec_push(&m->objects, (struct memory_object){process, begin, path_hash, true});
        return true;
}

void memory_look_end(struct patch_memory *m, uint32_t process) {
        forget(m, process, false);
}

void patch_memory_done(struct patch_memory *m) {
        vec_free(&m->plain);
        vec_free(&m->objects);
}
