/* SPDX-License-Identifier: MIT */
#include "patch/given.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "patch/isolated.h"
#include "patch/plan.h"
#include "symbol/function_extent.h"
#include "symbol/module.h"
#include "wire/record.h"

enum {
        NONE = WIRE_ENTRY_NO_ARG,
        GIVEN_MAX_BYTES = 4096, /* of a function whose end nobody knows */
        GIVEN_MAX_SPAN_BYTES = 4 << 20,
        GIVEN_AWAY_BYTES = 1 << 20, /* room as near as it commonly is */
};

/* What a role's function is given, as C and C++ have it. */
static const struct family_role given_roles[] = {
        {"alloc", WIRE_CALL_ALLOC, WIRE_FORM_MALLOC, 0, NONE, NONE},
        {"calloc", WIRE_CALL_ALLOC, WIRE_FORM_CALLOC, 1, 0, NONE},
        {"realloc", WIRE_CALL_REALLOC, WIRE_FORM_REALLOC, 1, NONE, 0},
        {"reallocarray", WIRE_CALL_REALLOC, WIRE_FORM_REALLOC, 2, 1, 0},
        {"memalign", WIRE_CALL_ALLOC, WIRE_FORM_ALIGNED, 1, NONE, NONE},
        {"posix_memalign", WIRE_CALL_ALLOC_OUT, WIRE_FORM_ALIGNED, 2, NONE, NONE},
        {"strdup", WIRE_CALL_ALLOC_TEXT, WIRE_FORM_MALLOC, NONE, NONE, NONE},
        {"new", WIRE_CALL_ALLOC_THROWS, WIRE_FORM_NEW, 0, NONE, NONE},
        {"free", WIRE_CALL_FREE, 0, NONE, NONE, 0},
        {"free_sized", WIRE_CALL_FREE, 0, 1, NONE, 0},
};

static const char *const given_own[] = {NULL};
static const struct family given_family = {
        .name = "functions given by --hook",
        .prefix = "",
        .own_names = given_own,
        .roles = given_roles,
        .n_roles = ARRAY_SIZE(given_roles),
};

static const struct family_role *find_role(const char *text, size_t n, struct err *reterr) {
        char all[160] = "";

        for (size_t i = 0; i < ARRAY_SIZE(given_roles); i++) {
                size_t used = strlen(all);

                if (strlen(given_roles[i].name) == n && !strncmp(given_roles[i].name, text, n))
                        return &given_roles[i];
                snprintf(all + used, sizeof(all) - used, "%s%s", used ? ", " : "",
                         given_roles[i].name);
        }
        err_set(reterr, -EINVAL, "--hook: '%.*s' is not a role: use one of %s", (int)MIN(n, 40u),
                text, all);
        return NULL;
}

/* ---- where it begins and ends ------------------------------------------------------------------ */

/* The named function at or around addr. */
static const struct function *function_around(const struct functions *functions, uint64_t addr) {
        for (size_t i = 0; i < functions->by_begin.n; i++) {
                const struct function *f = &functions->by_begin.items[i];

                if (!f->is_plt && f->begin <= addr && (addr < f->end || addr == f->begin))
                        return f;
        }
        return NULL;
}

static const struct function *function_named(const struct functions *functions, const char *name) {
        size_t n = strlen(name);

        for (size_t i = 0; i < functions->by_begin.n; i++) {
                const struct function *f = &functions->by_begin.items[i];

                if (!f->is_plt && !strncmp(f->name, name, n) &&
                    (f->name[n] == '\0' || f->name[n] == '@'))
                        return f;
        }
        return NULL;
}

/* Whether what stands before addr ends there: a return, a jump, a trap, filling. */
static bool is_behind_end(const struct code_file *o, uint64_t addr) {
        uint8_t before[4];
        uint32_t word;

        if (code_file_read(o, addr - 4, before, sizeof(before)) != sizeof(before))
                return true; /* the first of the segment */
        word = bytes_le32(before);
        if (o->machine == EM_X86_64)
                return before[3] == 0xc3 || before[3] == 0xcc || before[3] == 0x90 ||
                       before[3] == 0x00;
        return word == 0xd503201f || (word & 0xfffffc1f) == 0xd65f0000 || /* nop, ret */
               (word & 0xfc000000) == 0x14000000 || (word & 0xfffffc1f) == 0xd61f0000 || /* b, br */
               (word & 0xffff0000) == 0 || (word & 0xffe0001f) == 0xd4200000; /* udf, brk */
}

/* Names say most, unwind tables are what strip leaves, and then there is what stands before it. */
static int find_end(struct allocator_function *f, const struct functions *functions,
                    const struct code_file *o, struct err *reterr) {
        const struct function *named = function_around(functions, f->begin);
        struct function_extent e = {0};
        bool is_told = function_extent_find(o, f->begin, &e) == 0;

        if (named && named->begin != f->begin)
                return err_set(reterr, -EINVAL,
                               "it is in the middle of '%.60s', which begins at 0x%" PRIx64,
                               named->name, named->begin);
        if (!named && is_told && e.begin != f->begin && f->begin < e.end)
                return err_set(reterr, -EINVAL,
                               "it is in the middle of a function, which begins at 0x%" PRIx64,
                               e.begin);
        if (named && named->end > named->begin) {
                f->n_bytes = named->end - named->begin;
        } else if (is_told && e.begin == f->begin && e.end > e.begin) {
                f->n_bytes = e.end - e.begin;
        } else if (named || is_behind_end(o, f->begin)) {
                uint8_t code[GIVEN_MAX_BYTES];

                f->n_bytes = code_file_read(o, f->begin, code, sizeof(code));
                if (is_told && e.next > f->begin)
                        f->n_bytes = MIN(f->n_bytes, e.next - f->begin);
        } else {
                return err_set(reterr, -EINVAL, "no function begins there");
        }
        if (is_told && e.next > f->begin + f->n_bytes)
                f->padding_bytes = (size_t)MIN(e.next - f->begin - f->n_bytes, 64u);
        return 0;
}

/* In a section of code, where there are sections: segments have headers and data in them too. */
static bool is_code(const struct code_file *o, const struct functions *functions, uint64_t addr) {
        uint8_t byte;
        bool is_in = functions->code.n == 0;

        for (size_t i = 0; i < functions->code.n; i++)
                is_in |= addr >= functions->code.items[i].begin &&
                         addr < functions->code.items[i].end;
        return is_in && code_file_read(o, addr, &byte, 1) == 1;
}

/* An address as nm prints it, or a name. */
static int find_begin(const char *where, const struct functions *functions,
                      const struct code_file *o, struct allocator_function *f, struct err *reterr) {
        const struct function *named;
        char *end;

        snprintf(f->name, sizeof(f->name), "%s", where);
        if (where[0] == '0' && (where[1] == 'x' || where[1] == 'X')) {
                errno = 0;
                f->begin = strtoull(where, &end, 16);
                if (*end || end == where + 2 || errno)
                        return err_set(reterr, -EINVAL, "not an address: write 0x4010a0");
        } else {
                named = function_named(functions, where);
                if (!named)
                        return err_set(
                                reterr, -ENOENT,
                                "no function has this name: give its address, such as 0x4010a0");
                f->begin = named->begin;
        }
        if (!is_code(o, functions, f->begin))
                return err_set(
                        reterr, -EINVAL,
                        "the file has no code there: give the address as nm or objdump print it");
        if (o->machine == EM_AARCH64 && f->begin % 4)
                return err_set(reterr, -EINVAL, "no function begins there");
        return 0;
}

static int check_patch(const struct allocator_function *f, const struct code_file *o,
                       struct err *reterr) {
        const struct patch_target nowhere = {
                .room_addr = ((f->begin + GIVEN_AWAY_BYTES) & -(uint64_t)16)};
        struct err err = {0};
        struct patch patch;
        int r = allocator_function_patch(f, patch_machine_of(o->machine), o, &nowhere, &patch,
                                         &err);

        return r < 0 ? err_set(reterr, r, "cannot be hooked: %.200s", err.text) : 0;
}

/* ---- one ----------------------------------------------------------------------------------------- */

static int read_function_here(const char *path, const char *where, struct allocator_function *f,
                              struct given_function *ret, struct err *reterr) {
        _cleanup_(symbol_module_freep) struct symbol_module *module = NULL;
        struct trace_module m = {.path = path};
        struct code_file o = {.path = path, .fd = -1};
        struct symbol_origin origin;
        struct stat st;
        int r;

        snprintf(o.open_path, sizeof(o.open_path), "%s", path);
        r = code_file_open(&o, 0);
        if (r == 0 && fstat(o.fd, &st) < 0)
                r = -errno;
        if (r == 0)
                r = symbol_module_open(&m, NULL, &module, &origin);
        if (r < 0) {
                code_file_close(&o);
                return err_set(reterr, r, "cannot read '%s' as a program", path);
        }
        r = find_begin(where, symbol_module_functions(module), &o, f, reterr);
        if (r == 0)
                r = find_end(f, symbol_module_functions(module), &o, reterr);
        if (r == 0)
                r = check_patch(f, &o, reterr);
        code_file_close(&o);
        *ret = (struct given_function){st.st_dev, st.st_ino, *f};
        return r;
}

struct given_reading {
        const char *path, *where;
        struct allocator_function function;
        struct given_function given;
        struct err err;
        int r;
};

static void read_function_apart(void *ctx, size_t i) {
        struct given_reading *to = ctx;

        (void)i;
        to->r = read_function_here(to->path, to->where, &to->function, &to->given, &to->err);
}

/* In a process of its own: the file may be anything. */
static int read_function(const char *path, const char *where, const struct family_role *role,
                         struct given_function *ret, struct err *reterr) {
        struct given_reading *shared = isolated_share(sizeof(*shared));
        bool is_done = false, is_in_time;
        int r;

        if (!shared)
                return err_set(reterr, -ENOMEM, "out of memory");
        *shared = (struct given_reading){.path = path, .where = where, .function.role = role};
        is_in_time = isolated_run(1, read_function_apart, shared, &isolated_limits_usual, &is_done);
        *ret = shared->given;
        ret->function.role = role;
        ret->function.name[sizeof(ret->function.name) - 1] = '\0';
        r = is_done ? shared->r : -EBADMSG;
        if (r < 0)
                err_set(reterr, r, "%.*s", (int)sizeof(shared->err.text) - 1,
                        is_done      ? shared->err.text
                        : is_in_time ? "its file is damaged"
                                     : "reading its file took too long");
        isolated_unshare(shared, sizeof(*shared));
        return r < 0 ? r : 0;
}

/* What the preloaded runtime stands before by its name is counted already; a second time would be ignored. */
static int check_library(const char *path, struct err *reterr) {
        _cleanup_free_ char *real = realpath(path, NULL);

        if (!real || !plan_leaves_alone(real))
                return 0;
        return err_set(reterr, -EEXIST,
                       "silt already hooks the allocators of '%.100s' by their names: leave it out",
                       strrchr(real, '/') + 1);
}

static int add_at(struct given *g, const struct family_role *role, const char *path,
                  const char *where, struct err *reterr) {
        struct given_function one;
        int r = check_library(path, reterr);

        if (r == 0)
                r = read_function(path, where, role, &one, reterr);

        for (size_t i = 0; r == 0 && i < g->n; i++)
                if (g->list[i].dev == one.dev && g->list[i].ino == one.ino &&
                    g->list[i].function.begin == one.function.begin)
                        r = err_set(reterr, -EEXIST, "given twice");
        if (r == 0)
                g->list[g->n++] = one;
        return r;
}

int given_add(struct given *g, const char *text, const char *program, struct err *reterr) {
        const char *equals = strchr(text, '='), *colon, *where;
        const struct family_role *role;
        struct err err = {0};
        char library[4096];
        int r;

        if (!equals || !equals[1])
                return err_set(
                        reterr, -EINVAL,
                        "--hook: '%.80s' has no role: write ROLE=ADDRESS, such as alloc=0x4010a0",
                        text);
        role = find_role(text, (size_t)(equals - text), reterr);
        if (!role)
                return -EINVAL;
        if (g->n == GIVEN_MAX)
                return err_set(reterr, -E2BIG, "--hook: more than %d functions", GIVEN_MAX);
        colon = strrchr(equals + 1, ':');
        where = colon ? colon + 1 : equals + 1;
        if (colon)
                snprintf(library, sizeof(library), "%.*s", (int)MIN(colon - equals - 1, 4095),
                         equals + 1);
        r = add_at(g, role, colon ? library : program, where, &err);
        return r < 0 ? err_set(reterr, r, "--hook: '%.80s': %.300s", text, err.text) : 0;
}

/* ---- all ------------------------------------------------------------------------------------------- */

static bool is_in(const struct given_function *f, const struct stat *st) {
        return f->dev == st->st_dev && f->ino == st->st_ino;
}

static bool given_has(const struct given *g, const struct stat *st) {
        for (size_t i = 0; g && i < g->n; i++)
                if (is_in(&g->list[i], st))
                        return true;
        return false;
}

/* Instead of what was found at the same address, or where it belongs in the order. */
static void join_one(struct allocators *a, const struct allocator_function *f, uint32_t allocator) {
        size_t i = a->functions.n;
        struct allocator_function *to;

        while (i > 0 && a->functions.items[i - 1].begin > f->begin)
                i--;
        if (i > 0 && a->functions.items[i - 1].begin == f->begin) {
                to = &a->functions.items[i - 1];
        } else {
                vec_add(&a->functions);
                to = &a->functions.items[i];
                memmove(to + 1, to, (a->functions.n - 1 - i) * sizeof(*to));
        }
        *to = *f;
        to->allocator = allocator;
}

void given_join(const struct given *g, const struct stat *st, struct allocators *a) {
        uint32_t allocator = (uint32_t)a->list.n;
        struct allocator *one;

        if (!given_has(g, st))
                return;
        one = vec_add(&a->list);
        one->family = &given_family;
        one->code_begin = UINT64_MAX;
        for (size_t i = 0; i < g->n; i++) {
                const struct allocator_function *f = &g->list[i].function;

                if (!is_in(&g->list[i], st))
                        continue;
                join_one(a, f, allocator);
                one = &a->list.items[allocator];
                one->n_functions++;
                one->code_begin = MIN(one->code_begin, f->begin);
                one->code_end = MAX(one->code_end, f->begin + f->n_bytes);
        }
        /* what lies between them are its own functions, as far as can be told */
        if (one->code_end - one->code_begin > GIVEN_MAX_SPAN_BYTES)
                one->code_begin = one->code_end = 0;
}
