/* SPDX-License-Identifier: MIT */
#include "attach/code.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "attach/machine.h"
#include "base/macros.h"
#include "patch/allocator.h"

enum { CODE_MAX_ALLOCATOR_BYTES = 4 << 20 }; /* a library with more code is not only an allocator */

static bool is_named(const char *path, const char *name) {
        const char *slash = strrchr(path, '/');

        return strncmp(slash ? slash + 1 : path, name, strlen(name)) == 0;
}

static void add(struct code *c, uint64_t begin, uint64_t end, enum code_kind kind) {
        vec_push(&c->list, (struct code_span){begin, end, kind});
}

static void add_allocators(struct code *c, const struct code_file *o, const struct allocators *a) {
        for (size_t i = 0; i < a->list.n; i++)
                if (a->list.items[i].code_end)
                        add(c, a->list.items[i].code_begin + o->bias,
                            a->list.items[i].code_end + o->bias, CODE_UNTOUCHED);
        for (size_t i = 0; i < a->functions.n; i++)
                add(c, a->functions.items[i].begin + o->bias,
                    a->functions.items[i].begin + a->functions.items[i].n_bytes + o->bias,
                    CODE_UNTOUCHED);
}

static void add_file(struct code *c, const struct target *t, const char *path,
                     enum code_kind kind) {
        for (size_t i = 0; i < t->maps.list.n; i++)
                if (t->maps.list.items[i].is_code && !strcmp(t->maps.list.items[i].path, path))
                        add(c, t->maps.list.items[i].begin, t->maps.list.items[i].end, kind);
}

static uint64_t code_bytes(const struct target *t, const char *path) {
        uint64_t n = 0;

        for (size_t i = 0; i < t->maps.list.n; i++)
                if (t->maps.list.items[i].is_code && !strcmp(t->maps.list.items[i].path, path))
                        n += t->maps.list.items[i].end - t->maps.list.items[i].begin;
        return n;
}

/* One of those that silt knows, whose names tell it apart from a program's own malloc. */
static bool is_known_allocator(const struct allocators *a) {
        for (size_t i = 0; i < a->list.n; i++)
                if (a->list.items[i].family->own_names[0] && !a->list.items[i].family->mark)
                        return true;
        return false;
}

static bool is_malloc_within(const struct allocators *a) {
        for (size_t i = 0; i < a->list.n; i++)
                if (a->malloc_begin >= a->list.items[i].code_begin &&
                    a->malloc_begin < a->list.items[i].code_end)
                        return true;
        return false;
}

/* dlopen calls malloc, which must not wait for a lock that its own thread holds. Where malloc is not the C library's, what it calls may have no names (a
 * library from a package), and has malloc's own frame above it no more (a tail call): a library that is an allocator is left alone as a whole; of others,
 * which may be a sanitizer's through which all calls go, and of a program that has one inside, as much is known as symbols tell. */
static void add_malloc(struct code *c, const struct target *t, const char *path,
                       const struct allocators *found) {
        if (!found->malloc_begin)
                return;
        if (strcmp(path, t->exe) != 0 && is_known_allocator(found) &&
            code_bytes(t, path) <= CODE_MAX_ALLOCATOR_BYTES)
                add_file(c, t, path, CODE_UNTOUCHED);
        else if (!found->has_symbol_table || !is_malloc_within(found))
                add_file(c, t, path, CODE_DOUBTFUL);
}

static bool is_libc(const char *path) {
        return is_named(path, "libc.so") || is_named(path, "libc-2");
}

typedef VEC(struct code_file) object_list;

static void find_object(struct code *c, const struct target *t, const struct mapping *first,
                        object_list *ret) {
        struct code_file o = {.path = first->path,
                              .begin = first->begin,
                              .end = first->end,
                              .fd = -1};

        if (!strcmp(first->path, t->exe))
                snprintf(o.open_path, sizeof(o.open_path), "/proc/%d/exe", (int)t->pid);
        else
                code_file_locate(t->pid, first->path, o.open_path, sizeof(o.open_path));
        if (code_file_open(&o, machine_own.elf_machine) == 0) {
                vec_push(ret, o);
                return;
        }
        code_file_close(&o);
        add_file(c, t, first->path, CODE_UNTOUCHED); /* it may have any allocator */
}

/* Nobody waits for it, as a program does for the recorder: on a busy machine the C library may take more than one turn. */
static void read_patiently(struct allocators_file *files, size_t n, size_t libc) {
        enum { TURNS = 4 };

        for (unsigned turn = 0; n && turn < TURNS; turn++) {
                allocators_read_all(files, n);
                if (libc >= n || files[libc].r != -EBADMSG)
                        return;
                for (size_t i = 0; i < n; i++)
                        files[i].is_known = files[i].r == 0;
        }
}

/* All files at once: whoever reads them is a process of its own. */
static void read_allocators(struct code *c, const struct target *t, object_list *objects) {
        VEC(struct allocators_file) files = {0};
        size_t libc = SIZE_MAX;

        for (size_t i = 0; i < objects->n; i++) {
                vec_push(&files, ((struct allocators_file){.path = objects->items[i].open_path,
                                                           .of = ALLOCATORS_OF_ANY_LIBRARY}));
                if (is_libc(objects->items[i].path))
                        libc = i;
        }
        read_patiently(files.items, files.n, libc);
        for (size_t i = 0; i < objects->n; i++) {
                c->is_libc_unread |= is_libc(objects->items[i].path) && files.items[i].r < 0;
                add_allocators(c, &objects->items[i], &files.items[i].found);
                if (files.items[i].r < 0)
                        add_file(c, t, objects->items[i].path, CODE_UNTOUCHED);
                else if (!is_libc(objects->items[i].path))
                        add_malloc(c, t, objects->items[i].path, &files.items[i].found);
                c->has_libc |= is_libc(objects->items[i].path) && files.items[i].found.functions.n;
                allocators_done(&files.items[i].found);
                code_file_close(&objects->items[i]);
        }
        vec_free(&files);
}

/* What forks, makes threads, or goes through ld.so's list of objects. */
static void add_risky(struct code *c, const struct target *t, const struct mapping *libc) {
        static const char *const names[] = {
                "fork",
                "_Fork",
                "vfork",
                "posix_spawn",
                "posix_spawnp",
                "pthread_create",
                "dlopen",
                "dlclose",
                "dlsym",
                "dl_iterate_phdr",
                "__register_atfork",
                "exit",
        };

        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                uint64_t n_bytes, at = target_symbol(t, libc->begin, names[i], &n_bytes);

                if (at)
                        add(c, at, at + n_bytes, CODE_UNTOUCHED);
        }
}

int code_read(struct code *c, const struct target *t, struct err *reterr) {
        object_list objects = {0};
        const char *last = "";

        *c = (struct code){0};
        for (size_t i = 0; i < t->maps.list.n; i++) {
                const struct mapping *m = &t->maps.list.items[i];
                bool is_first = strcmp(m->path, last) != 0;

                last = m->path;
                if (is_named(m->path, "ld-") || is_named(m->path, "libsilt.so"))
                        add(c, m->begin, m->end, CODE_UNTOUCHED);
                else if (m->path[0] == '/' && m->offset == 0 && is_first)
                        find_object(c, t, m, &objects);
                if (m->is_code && m->path[0] == '\0')
                        add(c, m->begin, m->end, CODE_UNTOUCHED); /* thunks, or who knows */
        }
        read_allocators(c, t, &objects);
        vec_free(&objects);
        for (size_t i = 0; i < t->maps.list.n; i++) {
                const struct mapping *m = &t->maps.list.items[i];

                if (!is_named(m->path, "libc.so") && !is_named(m->path, "libc-2") &&
                    !is_named(m->path, "libpthread") && !is_named(m->path, "[vdso]"))
                        continue;
                if (m->offset == 0)
                        add_risky(c, t, m);
                add(c, m->begin, m->end, CODE_LIBC);
        }
        if (!c->has_libc && c->is_libc_unread)
                return err_set(
                        reterr, -EBADMSG,
                        "process %d (%s): cannot read its C library: it is damaged, or the machine is too busy: try again",
                        (int)t->pid, t->name);
        if (!c->has_libc)
                return err_set(
                        reterr, -ENOTSUP,
                        "process %d (%s): the file of its C library is gone (was it upgraded?): restart the program",
                        (int)t->pid, t->name);
        return 0;
}

void code_done(struct code *c) {
        vec_free(&c->list);
}

enum code_kind code_at(const struct code *c, uint64_t addr) {
        for (size_t i = 0; i < c->list.n; i++)
                if (addr >= c->list.items[i].begin && addr < c->list.items[i].end)
                        return c->list.items[i].kind;
        return CODE_OWN;
}
