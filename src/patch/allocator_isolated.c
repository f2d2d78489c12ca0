/* SPDX-License-Identifier: MIT */
/* Looks for allocators in files in a process of its own, and believes nothing it says without a look. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "patch/allocator.h"
#include "patch/isolated.h"

enum { ANSWER_MAX_FUNCTIONS = WIRE_PLAN_MAX_ENTRIES };

struct answer_function {
        uint64_t begin, n_bytes, padding_bytes;
        uint32_t role, allocator;
        char name[64];
};

struct answer_allocator {
        uint64_t code_begin, code_end, version_begin;
        uint32_t family;
        char prefix[32];
};

/* What the child has found in a file. */
struct answer {
        int r;
        char why[200];
        bool has_symbol_table;
        uint64_t malloc_begin;
        uint32_t n_allocators, n_functions;
        struct answer_allocator allocators[ALLOCATORS_MAX];
        struct answer_function functions[ANSWER_MAX_FUNCTIONS];
};

struct allocators_reading {
        struct allocators_file *files;
        size_t n;
        struct answer *answers; /* shared */
};

/* ---- the child --------------------------------------------------------------------------------- */

static void put_allocators(struct answer *to, const struct allocators *a) {
        for (size_t i = 0; i < MIN(a->list.n, (size_t)ALLOCATORS_MAX); i++) {
                const struct allocator *one = &a->list.items[i];
                struct answer_allocator *said = &to->allocators[to->n_allocators++];

                said->code_begin = one->code_begin;
                said->code_end = one->code_end;
                said->version_begin = one->version_begin;
                said->family = (uint32_t)(one->family - families);
                memcpy(said->prefix, one->prefix, sizeof(said->prefix));
        }
}

static void put_functions(struct answer *to, const struct allocators *a) {
        for (size_t i = 0; i < MIN(a->functions.n, (size_t)ANSWER_MAX_FUNCTIONS); i++) {
                const struct allocator_function *f = &a->functions.items[i];
                struct answer_function *said = &to->functions[to->n_functions++];

                said->begin = f->begin;
                said->n_bytes = f->n_bytes;
                said->padding_bytes = f->padding_bytes;
                said->role = (uint32_t)(f->role - a->list.items[f->allocator].family->roles);
                said->allocator = f->allocator;
                memcpy(said->name, f->name, sizeof(said->name));
        }
}

void allocators_reading_one(void *ctx, size_t i) {
        const struct allocators_reading *reading = ctx;
        const struct allocators_file *file = &reading->files[i];
        struct answer *to = &reading->answers[i];
        struct err err = {0};
        struct allocators a;

        if (file->is_known || !reading->answers)
                return;
        to->r = allocators_read_here(file->path, file->of, &a, &err);
        snprintf(to->why, sizeof(to->why), "%.199s", err.text);
        if (to->r < 0)
                return;
        to->has_symbol_table = a.has_symbol_table;
        to->malloc_begin = a.malloc_begin;
        put_allocators(to, &a);
        put_functions(to, &a);
        allocators_done(&a);
}

bool allocators_reading_is_nameless(const struct allocators_reading *r, size_t i) {
        return r->answers && r->answers[i].r == 0 && !r->answers[i].has_symbol_table;
}

/* ---- the parent -------------------------------------------------------------------------------- */

static bool take_allocator(const struct answer_allocator *said, struct allocators *a) {
        struct allocator *one;

        if (said->family >= n_families)
                return false;
        one = vec_add(&a->list);
        one->family = &families[said->family];
        one->code_begin = said->code_begin;
        one->code_end = said->code_end;
        one->version_begin = said->version_begin;
        memcpy(one->prefix, said->prefix, sizeof(one->prefix) - 1);
        return true;
}

/* By address, each once. */
static bool take_function(const struct answer_function *said, struct allocators *a) {
        struct allocator_function *f;

        if (said->allocator >= a->list.n ||
            said->role >= a->list.items[said->allocator].family->n_roles ||
            (a->functions.n && a->functions.items[a->functions.n - 1].begin >= said->begin))
                return false;
        f = vec_add(&a->functions);
        f->role = &a->list.items[said->allocator].family->roles[said->role];
        f->allocator = said->allocator;
        f->begin = said->begin;
        f->n_bytes = said->n_bytes;
        f->padding_bytes = (size_t)said->padding_bytes;
        memcpy(f->name, said->name, sizeof(f->name) - 1);
        a->list.items[f->allocator].n_functions++;
        return true;
}

static bool take_answer(const struct answer *said, struct allocators *a) {
        if (said->n_allocators > ALLOCATORS_MAX || said->n_functions > ANSWER_MAX_FUNCTIONS)
                return false;
        a->has_symbol_table = said->has_symbol_table;
        a->malloc_begin = said->malloc_begin;
        for (uint32_t i = 0; i < said->n_allocators; i++)
                if (!take_allocator(&said->allocators[i], a))
                        return false;
        for (uint32_t i = 0; i < said->n_functions; i++)
                if (!take_function(&said->functions[i], a))
                        return false;
        return true;
}

static void settle(struct allocators_file *file, bool is_done, bool is_in_time,
                   const struct answer *said) {
        file->r = 0;
        if (file->is_known)
                return;
        memset(&file->found, 0, sizeof(file->found));
        if (is_done && said->r < 0) {
                file->r =
                        err_set(&file->err, said->r, "%.*s", (int)sizeof(said->why) - 1, said->why);
        } else if (!is_done || !take_answer(said, &file->found)) {
                allocators_done(&file->found);
                memset(&file->found, 0, sizeof(file->found));
                file->r = err_set(&file->err, is_done || is_in_time ? -EBADMSG : -ETIMEDOUT,
                                  is_done || is_in_time
                                          ? "cannot read '%s': it is damaged"
                                          : "cannot read '%s': reading it took too long",
                                  file->path);
        }
}

struct allocators_reading *allocators_reading_new(struct allocators_file *files, size_t n) {
        struct allocators_reading *r = malloc(sizeof(*r));

        if (!r)
                abort();
        *r = (struct allocators_reading){files, n, isolated_share(n * sizeof(struct answer))};
        return r;
}

void allocators_reading_end(struct allocators_reading *r, const bool *is_done, bool is_in_time) {
        for (size_t i = 0; i < r->n; i++)
                settle(&r->files[i], r->answers && is_done[i], is_in_time, &r->answers[i]);
        isolated_unshare(r->answers, r->n * sizeof(struct answer));
        free(r);
}

void allocators_read_all(struct allocators_file *files, size_t n) {
        struct allocators_reading *reading = allocators_reading_new(files, n);
        bool *is_done = calloc(n + 1, sizeof(*is_done)), is_any = false, is_in_time = true;

        if (!is_done)
                abort();
        for (size_t i = 0; i < n; i++)
                is_any |= !files[i].is_known;
        if (reading->answers && is_any)
                is_in_time = isolated_run(n, allocators_reading_one, reading,
                                          &isolated_limits_usual, is_done);
        allocators_reading_end(reading, is_done, is_in_time);
        free(is_done);
}
