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
        uint32_t n_allocators, n_functions;
        struct answer_allocator allocators[ALLOCATORS_MAX];
        struct answer_function functions[ANSWER_MAX_FUNCTIONS];
};

struct reading {
        struct allocators_file *files;
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

static void read_one(void *ctx, size_t i) {
        const struct reading *reading = ctx;
        const struct allocators_file *file = &reading->files[i];
        struct answer *to = &reading->answers[i];
        struct err err = {0};
        struct allocators a;

        if (file->is_known)
                return;
        to->r = allocators_read_here(file->path, file->of, &a, &err);
        snprintf(to->why, sizeof(to->why), "%.199s", err.text);
        if (to->r < 0)
                return;
        to->has_symbol_table = a.has_symbol_table;
        put_allocators(to, &a);
        put_functions(to, &a);
        allocators_done(&a);
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

void allocators_read_all(struct allocators_file *files, size_t n) {
        struct reading reading = {.files = files,
                                  .answers = isolated_share(n * sizeof(struct answer))};
        bool *is_done = calloc(n + 1, sizeof(*is_done)), is_any = false, is_in_time = true;

        for (size_t i = 0; i < n; i++)
                is_any |= !files[i].is_known;
        if (reading.answers && is_done && is_any)
                is_in_time = isolated_run(n, read_one, &reading, &isolated_limits_usual, is_done);
        for (size_t i = 0; i < n; i++)
                settle(&files[i], reading.answers && is_done && is_done[i], is_in_time,
                       &reading.answers[i]);
        free(is_done);
        isolated_unshare(reading.answers, n * sizeof(struct answer));
}

int allocators_read(const char *path, enum allocators_of of, struct allocators *ret,
                    struct err *reterr) {
        struct allocators_file file = {.path = path, .of = of};

        allocators_read_all(&file, 1);
        *ret = file.found;
        return file.r < 0 ? err_set(reterr, file.r, "%s", file.err.text) : 0;
}
