/* SPDX-License-Identifier: MIT */
#include "patch/survey.h"

#include <stdio.h>
#include <string.h>

#include "patch/allocator.h"

enum { SURVEY_AWAY_BYTES = 1 << 20 }; /* room as near as it commonly is */

static void try_function(const struct allocator_function *f, enum patch_machine machine,
                         const struct object *o, struct survey_allocator *to) {
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

int survey_make(const char *path, uint32_t machine, struct survey *ret, struct err *reterr) {
        struct object o = {.path = path, .fd = -1};
        struct allocators a;
        int r;

        memset(ret, 0, sizeof(*ret));
        r = allocators_read(path, ALLOCATORS_OF_PROGRAM, &a, reterr);
        if (r < 0)
                return r;
        snprintf(o.open_path, sizeof(o.open_path), "%s", path);
        r = object_open(&o, machine);
        ret->has_symbol_table = a.has_symbol_table;
        for (size_t i = 0; i < a.list.n; i++) {
                struct survey_allocator one = {.name = a.list.items[i].family->name};

                snprintf(one.prefix, sizeof(one.prefix), "%s", a.list.items[i].prefix);
                vec_push(&ret->allocators, one);
        }
        for (size_t i = 0; r == 0 && i < a.functions.n; i++) {
                const struct allocator_function *f = &a.functions.items[i];

                try_function(f, patch_machine_of(machine), &o,
                             &ret->allocators.items[f->allocator]);
        }
        object_close(&o);
        allocators_done(&a);
        return 0;
}

void survey_done(struct survey *s) {
        vec_free(&s->allocators);
}
