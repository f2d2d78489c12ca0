/* SPDX-License-Identifier: MIT */
#include "patch/survey.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "patch/allocator.h"
#include "patch/isolated.h"

enum { SURVEY_AWAY_BYTES = 1 << 20 }; /* room as near as it commonly is */

static void try_function(const struct allocator_function *f, enum patch_machine machine,
                         const struct code_file *o, struct survey_allocator *to) {
        const struct patch_target nowhere = {
                .room_addr = ((f->begin + SURVEY_AWAY_BYTES) & -(uint64_t)16)};
        struct err err = {0};
        struct patch patch;

        if (allocator_function_patch(f, machine, o, &nowhere, &patch, &err) == 0) {
                to->n_hookable++;
                return;
        }
        to->n_refused++;
        if (!to->why[0])
                snprintf(to->why, sizeof(to->why), "%.60s: %.90s", f->name, err.text);
}

static void add_version(struct survey_allocator *one, const struct survey *s) {
        const char *name = imprint_name(&s->imprint, one->name);

        one->is_exported_only = name != one->name && !s->has_symbol_table;
        one->name = name;
        if (!one->version[0])
                snprintf(one->version, sizeof(one->version), "%s",
                         imprint_version(&s->imprint, one->name));
}

/* Under its own names and under those of C it is one allocator. */
static void fold(struct survey *s) {
        size_t n = 0;

        for (size_t i = 0, k; i < s->allocators.n; i++) {
                struct survey_allocator one = s->allocators.items[i], *same;

                for (k = 0; k < n && strcmp(s->allocators.items[k].name, one.name) != 0; k++)
                        ;
                same = &s->allocators.items[k];
                if (k == n) {
                        s->allocators.items[n++] = one;
                        continue;
                }
                same->n_hookable += one.n_hookable;
                same->n_refused += one.n_refused;
                if (!same->why[0])
                        memcpy(same->why, one.why, sizeof(same->why));
                same->is_exported_only &= one.is_exported_only;
        }
        s->allocators.n = n;
}

static bool is_listed(const struct survey *s, const char *name) {
        for (size_t i = 0; i < s->allocators.n; i++)
                if (!strcmp(s->allocators.items[i].name, name))
                        return true;
        return false;
}

/* Where there is a symbol table, a message without the functions belongs to somebody who speaks of allocators. */
static void add_nameless(struct survey *s) {
        const char *name;

        for (unsigned k = 0; !s->has_symbol_table && (name = imprint_allocator(&s->imprint, k));
             k++) {
                struct survey_allocator one = {.name = name, .is_nameless = true};

                if (is_listed(s, name))
                        continue;
                add_version(&one, s);
                vec_push(&s->allocators, one);
        }
}

/* ---- reading ----------------------------------------------------------------------------------- */

enum { SURVEY_PROGRAM, SURVEY_LOADER, SURVEY_N_FILES, SURVEY_N_STEPS = SURVEY_N_FILES + 1 };

struct survey_work {
        char paths[SURVEY_N_FILES][4096];
        struct stat st[SURVEY_N_FILES]; /* from before they were read */
        struct allocators_file files[SURVEY_N_FILES];
        size_t n_files;
        bool is_spare;
        struct allocators_reading *allocators;
        struct imprint_reading *imprint;
        struct isolated_work work;
};

/* The imprint last: it depends on what was found. */
static void read_step(void *ctx, size_t i) {
        const struct survey_work *w = ctx;

        if (i < w->n_files)
                allocators_reading_one(w->allocators, i);
        else if (!w->is_spare || allocators_reading_is_nameless(w->allocators, SURVEY_PROGRAM))
                imprint_reading_do(w->imprint);
}

static void add_file(struct survey_work *w, const char *path, enum allocators_of of) {
        size_t i = w->n_files;

        if (!path[0])
                return;
        snprintf(w->paths[i], sizeof(w->paths[i]), "%s", path);
        (void)!stat(path, &w->st[i]); /* nobody has a file of zeroes */
        w->files[i] = (struct allocators_file){.path = w->paths[i], .of = of};
        w->n_files++;
}

struct survey_work *survey_begin(const char *path, const char *loader, bool is_spare) {
        struct survey_work *w = calloc(1, sizeof(*w));

        if (!w)
                abort();
        w->is_spare = is_spare;
        add_file(w, path, ALLOCATORS_OF_PROGRAM);
        add_file(w, loader, ALLOCATORS_OF_LOADER);
        w->allocators = allocators_reading_new(w->files, w->n_files);
        w->imprint = imprint_reading_new(w->paths[SURVEY_PROGRAM]);
        isolated_begin(&w->work, w->n_files + 1, read_step, w, &isolated_limits_usual);
        return w;
}

/* ---- what it means ------------------------------------------------------------------------------ */

static void survey_judge(struct survey *s, const char *path, uint32_t machine,
                         const struct allocators *a) {
        struct code_file o = {.path = path, .fd = -1};
        int r;

        snprintf(o.open_path, sizeof(o.open_path), "%s", path);
        r = code_file_open(&o, machine);
        s->has_symbol_table = a->has_symbol_table;
        for (size_t i = 0; i < a->list.n; i++) {
                struct survey_allocator one = {.name = a->list.items[i].family->name};

                snprintf(one.prefix, sizeof(one.prefix), "%s", a->list.items[i].prefix);
                imprint_say_version(allocator_version_number(&a->list.items[i], &o), one.version,
                                    sizeof(one.version));
                vec_push(&s->allocators, one);
        }
        for (size_t i = 0; r == 0 && i < a->functions.n; i++) {
                const struct allocator_function *f = &a->functions.items[i];

                try_function(f, patch_machine_of(machine), &o, &s->allocators.items[f->allocator]);
        }
        for (size_t i = 0; i < s->allocators.n; i++)
                add_version(&s->allocators.items[i], s);
        fold(s);
        add_nameless(s);
        code_file_close(&o);
}

int survey_end(struct survey_work *w, uint32_t machine, struct known_files *memory,
               struct survey *ret, struct err *reterr) {
        const struct allocators_file *program = &w->files[SURVEY_PROGRAM];
        bool is_done[SURVEY_N_STEPS], is_in_time = isolated_end(&w->work, is_done), has_imprint;
        int r;

        memset(ret, 0, sizeof(*ret));
        allocators_reading_end(w->allocators, is_done, is_in_time);
        /* it says more, or nothing */
        has_imprint = imprint_reading_end(w->imprint, is_done[w->n_files], is_in_time,
                                          &ret->imprint, NULL) == 0;
        if (memory && has_imprint)
                known_files_keep_imprint(memory, &w->st[SURVEY_PROGRAM], &ret->imprint);
        for (size_t i = 0; memory && i < w->n_files; i++)
                known_files_learn(memory, &w->st[i], &w->files[i]);
        r = program->r < 0 ? err_set(reterr, program->r, "%s", program->err.text) : 0;
        if (r == 0)
                survey_judge(ret, program->path, machine, &program->found);
        for (size_t i = 0; i < w->n_files; i++)
                allocators_done(&w->files[i].found);
        free(w);
        return r;
}

int survey_make(const char *path, uint32_t machine, struct survey *ret, struct err *reterr) {
        return survey_end(survey_begin(path, "", false), machine, NULL, ret, reterr);
}

void survey_done(struct survey *s) {
        vec_free(&s->allocators);
}
