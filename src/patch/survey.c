/* SPDX-License-Identifier: MIT */
#include "patch/survey.h"

#include <stdio.h>
#include <string.h>

#include "patch/allocator.h"

enum { SURVEY_AWAY_BYTES = 1 << 20 }; /* room as near as it commonly is */

static void try_function(const struct allocator_function *f, enum patch_machine machine,
                         const struct code_file *o, struct survey_allocator *to) {
        const struct patch_target nowhere = {
                .room_addr = ((f->begin + SURVEY_AWAY_BYTES) & -(uint64_t)16)};
        struct err err = {0};
        struct patch patch;

        if (f->role->call == WIRE_CALL_NAME_TO_MIB)
                return; /* is called, not patched */
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

int survey_make(const char *path, uint32_t machine, struct survey *ret, struct err *reterr) {
        struct code_file o = {.path = path, .fd = -1};
        struct allocators a;
        int r;

        memset(ret, 0, sizeof(*ret));
        r = allocators_read(path, ALLOCATORS_OF_PROGRAM, &a, reterr);
        if (r < 0)
                return r;
        imprint_read(path, &ret->imprint, NULL); /* it says more, or nothing */
        snprintf(o.open_path, sizeof(o.open_path), "%s", path);
        r = code_file_open(&o, machine);
        ret->has_symbol_table = a.has_symbol_table;
        for (size_t i = 0; i < a.list.n; i++) {
                struct survey_allocator one = {.name = a.list.items[i].family->name};

                snprintf(one.prefix, sizeof(one.prefix), "%s", a.list.items[i].prefix);
                imprint_say_version(allocator_version_number(&a.list.items[i], &o), one.version,
                                    sizeof(one.version));
                vec_push(&ret->allocators, one);
        }
        for (size_t i = 0; r == 0 && i < a.functions.n; i++) {
                const struct allocator_function *f = &a.functions.items[i];

                try_function(f, patch_machine_of(machine), &o,
                             &ret->allocators.items[f->allocator]);
        }
        for (size_t i = 0; i < ret->allocators.n; i++)
                add_version(&ret->allocators.items[i], ret);
        fold(ret);
        add_nameless(ret);
        code_file_close(&o);
        allocators_done(&a);
        return 0;
}

void survey_done(struct survey *s) {
        vec_free(&s->allocators);
}
