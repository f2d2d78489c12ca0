/* SPDX-License-Identifier: MIT */
#include "patch/plan.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bytes.h"
#include "base/fs.h"
#include "patch/allocator.h"
#include "patch/maps.h"
#include "symbol/code_file.h"
#include "symbol/function_extent.h"
#include "wire/record.h"

enum { PLAN_PAGE_BYTES = 65536 }; /* the largest there is: room is whole pages anywhere */

struct planner {
        const struct patch_plan_request *request;
        struct patch_plan *plan;
        struct maps maps;
        VEC(struct wire_plan_section) sections;
        VEC(struct wire_plan_write) writes;
        VEC(struct wire_entry) entries;
        bytes_buf rooms;   /* contents of all sections, one after the other */
        uint32_t n_groups; /* allocators of the files before */
        bool has_replaced; /* somebody has functions of C's or C++'s names, and is none of the libraries that have */
};

/* ---- files ------------------------------------------------------------------------------------- */

static bool path_is_file(const char *path, const char *name) {
        const char *slash = strrchr(path, '/');

        return slash && strncmp(slash + 1, name, strlen(name)) == 0;
}

bool plan_leaves_alone(const char *path) {
        static const char *const names[] = {"libc.so",    "libc-2",     "libstdc++.so",
                                            "libsilt.so", "libpthread", "libm.so"};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (path_is_file(path, names[i]))
                        return true;
        return false;
}

/* Whose functions a preloaded library stands before, but not for everybody: libraries that were opened with RTLD_DEEPBIND look for
 * them in what they need themselves, and whoever has a handle of theirs asks dlsym. */
static bool is_passed_by(const struct planner *p, const char *path) {
        return (p->request->hello->flags & WIRE_HELLO_OPENS) &&
               (path_is_file(path, "libc.so") || path_is_file(path, "libc-2") ||
                path_is_file(path, "libstdc++.so"));
}

static bool is_left_alone(const struct planner *p, const char *path) {
        if (path[0] != '/' || path_is_file(path, "libsilt.so") ||
            (p->request->runtime_path && !strcmp(path, p->request->runtime_path)))
                return true;
        return !(p->request->hello->flags & WIRE_HELLO_ATTACHED) && plan_leaves_alone(path) &&
               !is_passed_by(p, path);
}

/* ---- one function ------------------------------------------------------------------------------ */

static int plan_function(struct planner *p, const struct code_file *o,
                         const struct allocator_function *f, uint64_t room_addr, struct patch *ret,
                         struct err *reterr) {
        struct patch_target to = {
                .room_addr = room_addr,
                .hook_addr = p->request->hello->hooks[f->role->call],
                .argument =
                        p->request->hello->entries +
                        (p->request->hello->first_free + p->entries.n) * sizeof(struct wire_entry),
        };

        return allocator_function_patch(f, patch_machine_of(p->request->machine), o, &to, ret,
                                        reterr);
}

/* A function that is nothing but a short jump (x86_64) has no room for a longer one; where it leads has, and is the same
 * function under another address: nothing was done to the arguments. */
static bool find_behind_jump(const struct code_file *o, const struct allocator_function *f,
                             struct allocator_function *ret) {
        static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
        uint8_t code[6] = {0};
        size_t n = code_file_read(o, f->begin, code, sizeof(code));
        size_t off = n == sizeof(code) && !memcmp(code, endbr64, sizeof(endbr64)) ? 4 : 0;
        struct function_extent extent;
        uint64_t to;

        if (o->machine != EM_X86_64 || n < off + 2 || code[off] != 0xeb)
                return false;
        to = f->begin + off + 2 + (uint64_t)(int8_t)code[off + 1];
        if (function_extent_find(o, to, &extent) < 0 || extent.begin != to || extent.end <= to)
                return false;
        *ret = *f;
        ret->begin = to;
        ret->n_bytes = extent.end - to;
        ret->padding_bytes = extent.next > extent.end ? (size_t)(extent.next - extent.end) : 0;
        return true;
}

static bool is_planned(const struct planner *p, uint64_t at) {
        for (size_t i = 0; i < p->writes.n; i++)
                if (p->writes.items[i].at == at)
                        return true;
        return false;
}

static uint8_t heap_of(const struct planner *p, const struct family *family,
                       const struct family_role *role) {
        if (family->has_nameless_code && !(p->request->hello->flags & WIRE_HELLO_ATTACHED))
                return WIRE_ENTRY_HEAP_NONE_INNER;
        return role->heap || !family->has_heaps ? role->heap : WIRE_ENTRY_HEAP_OF_THREAD;
}

/* Somebody's own functions by C's or C++'s names: what they are built on is called from anywhere. The C++ library's are built on
 * each other, and where somebody has replaced one of those, on his. */
static bool is_open(const struct planner *p, const struct code_file *o,
                    const struct family *family) {
        return !family->own_names[0] && !family->is_loader && !family->is_attached_only &&
               (o->is_program || !path_is_file(o->path, "libstdc++.so") || p->has_replaced);
}

static void add_entry(struct planner *p, const struct code_file *o, const struct allocators *a,
                      const struct allocator_function *f, uint32_t number, uint64_t moved_addr) {
        const struct allocator *allocator = &a->list.items[f->allocator];
        bool is_whole = f->begin >= allocator->code_begin && f->begin < allocator->code_end;

        vec_push(&p->entries,
                 (struct wire_entry){
                         .code_begin = (is_whole ? allocator->code_begin : f->begin) + o->bias,
                         .code_end =
                                 (is_whole ? allocator->code_end : f->begin + f->n_bytes) + o->bias,
                         .moved = moved_addr,
                         .call = f->role->call,
                         .form = (uint8_t)(f->role->form | number << WIRE_FORM_BITS),
                         .size_arg = f->role->size_arg,
                         .count_arg = f->role->count_arg,
                         .block_arg = f->role->block_arg,
                         .heap = (uint8_t)(heap_of(p, allocator->family, f->role) |
                                           (is_open(p, o, allocator->family) ? WIRE_ENTRY_OPEN
                                                                             : 0)),
                         .group = (uint16_t)(p->n_groups + f->allocator),
                 });
}

/* For the entry that is added next. */
static void add_write(struct planner *p, const struct patch *patch) {
        struct wire_plan_write *w = vec_add(&p->writes);

        w->at = patch->at;
        w->n_bytes = patch->n_bytes;
        w->section = (uint16_t)p->sections.n; /* the one that is being filled */
        w->entry = (uint32_t)p->entries.n;
        memcpy(w->before, patch->before, sizeof(w->before));
        memcpy(w->after, patch->after, sizeof(w->after));
}

/* ---- one file ---------------------------------------------------------------------------------- */

static struct patch_plan_allocator *note_allocator(struct planner *p, const struct code_file *o,
                                                   const struct allocator *a) {
        struct patch_plan_allocator *one;

        for (size_t i = 0; i < p->plan->allocators.n; i++) {
                one = &p->plan->allocators.items[i];
                if (!strcmp(one->name, a->family->name) &&
                    !strncmp(one->module, o->path, sizeof(one->module) - 1))
                        return one;
        }
        one = vec_add(&p->plan->allocators);
        snprintf(one->name, sizeof(one->name), "%s", a->family->name);
        snprintf(one->module, sizeof(one->module), "%s", o->path);
        if (!a->family->is_loader && !(a->family->is_preloadable && !o->is_program))
                one->number = known_files_number(p->request->memory, a->family->name, o->path,
                                                 o->open_path, allocator_version_number(a, o));
        return one;
}

static bool has_function(const struct allocators *a, uint64_t begin) {
        for (size_t i = 0; i < a->functions.n; i++)
                if (a->functions.items[i].begin == begin)
                        return true;
        return false;
}

/* Entries are written one by one, and taken back the other way round, beside threads that wake up meanwhile. Releases come first:
 * whatever is seen to be allocated is then seen to be released. Those that give a size come behind the one they end in. */
static unsigned turn_of(const struct allocator_function *f) {
        if (f->role->call != WIRE_CALL_FREE)
                return 2;
        return f->role->size_arg == WIRE_ENTRY_NO_ARG ? 0 : 1;
}

static const struct allocator_function *in_turn(const struct allocators *a, size_t idx) {
        for (unsigned turn = 0; turn <= 2; turn++)
                for (size_t i = 0; i < a->functions.n; i++)
                        if (turn_of(&a->functions.items[i]) == turn && idx-- == 0)
                                return &a->functions.items[i];
        abort();
}

static void plan_object(struct planner *p, const struct code_file *o, const struct allocators *a) {
        uint64_t room_bytes =
                ALIGN_UP(a->functions.n * (uint64_t)PATCH_ROOM_BYTES, (uint64_t)PLAN_PAGE_BYTES);
        const struct allocator_function *first = &a->functions.items[0];
        const struct allocator_function *last = &a->functions.items[a->functions.n - 1];
        /* of a large file not every end is in reach of free space */
        uint64_t room =
                maps_take_room(&p->maps, first->begin + o->bias,
                               last->begin + last->n_bytes + o->bias, room_bytes, PLAN_PAGE_BYTES,
                               patch_reach_bytes(patch_machine_of(p->request->machine)));
        size_t n_used = 0, at_off = p->rooms.n;

        vec_reserve(&p->rooms, room_bytes);
        memset(p->rooms.items + at_off, 0, room_bytes);
        for (size_t i = 0; i < a->functions.n; i++) {
                const struct allocator_function *f = in_turn(a, i);
                struct patch_plan_allocator *one =
                        note_allocator(p, o, &a->list.items[f->allocator]);
                struct allocator_function behind;
                struct err err = {0};
                struct patch patch;
                int r = -EFAULT;

                if (p->entries.n >= MIN(p->request->hello->n_free, WIRE_PLAN_MAX_ENTRIES)) {
                        err_set(&err, r, "there are too many functions");
                } else if (!room) {
                        err_set(&err, r, "no free address space within branch range");
                } else {
                        r = plan_function(p, o, f, room + n_used * PATCH_ROOM_BYTES, &patch, &err);
                        if (r < 0 && find_behind_jump(o, f, &behind)) {
                                f = &behind;
                                r = has_function(a, behind.begin)
                                            ? 0
                                            : plan_function(p, o, f,
                                                            room + n_used * PATCH_ROOM_BYTES,
                                                            &patch, &err);
                                if (r == 0 &&
                                    (has_function(a, behind.begin) || is_planned(p, patch.at))) {
                                        one->n_hooked++; /* where it leads is */
                                        continue;
                                }
                        }
                }
                if (r < 0) {
                        one->n_refused++;
                        if (!one->why[0])
                                snprintf(one->why, sizeof(one->why), "%.60s: %.90s", f->name,
                                         err.text);
                        continue;
                }
                memcpy(p->rooms.items + at_off + n_used++ * PATCH_ROOM_BYTES, patch.room,
                       patch.n_room_bytes);
                add_write(p, &patch);
                add_entry(p, o, a, f, one->number, patch.moved_addr);
                one->n_hooked++;
        }
        p->n_groups += (uint32_t)a->list.n;
        if (!n_used)
                return;
        vec_push(&p->sections, (struct wire_plan_section){room, at_off, room_bytes});
        p->rooms.n += room_bytes;
}

static bool is_loader(const char *path) {
        return path_is_file(path, "ld-linux") || path_is_file(path, "ld-2");
}

/* At the begin everything is; later what the process says it has opened. */
static bool is_news(const struct planner *p, const struct code_file *o) {
        const struct wire_hello *hello = p->request->hello;

        if (!hello->is_again || hello->n_news > WIRE_MAX_NEWS)
                return true;
        for (uint32_t i = 0; i < hello->n_news; i++)
                if (hello->news[i] == o->bias)
                        return true;
        return false;
}

static enum allocators_of of_whom(const struct planner *p, const struct code_file *o) {
        bool is_attached = p->request->hello->flags & WIRE_HELLO_ATTACHED;

        return o->is_program              ? ALLOCATORS_OF_PROGRAM
               : is_loader(o->path)       ? ALLOCATORS_OF_LOADER
               : is_attached              ? ALLOCATORS_OF_ANY_LIBRARY
               : is_passed_by(p, o->path) ? ALLOCATORS_OF_C_LIBRARY
                                          : ALLOCATORS_OF_LIBRARY;
}

static bool is_wanted(struct planner *p, struct code_file *o, struct stat *ret_st) {
        bool is = code_file_open(o, p->request->machine) == 0 && is_news(p, o) &&
                  fstat(o->fd, ret_st) == 0 && !known_files_is_plain(p->request->memory, ret_st);

        code_file_close(o);
        return is;
}

/* Beside operator new, which is C++'s, there is an allocator that has names. */
static bool has_malloc(const struct allocators *a) {
        for (size_t i = 0; i < a->list.n; i++)
                if (a->list.items[i].n_functions &&
                    strcmp(a->list.items[i].family->name, "operator new") != 0)
                        return true;
        return false;
}

static void plan_file(struct planner *p, struct code_file *o, const struct stat *st,
                      struct allocators_file *file) {
        /* where there is no room for entries the files are read ahead, and nobody hears what could not be: that is tried again */
        bool is_said = p->request->hello->n_free > 0;

        if (!file->is_known && (file->found.functions.n || file->of == ALLOCATORS_OF_PROGRAM))
                known_files_keep(p->request->memory, st, file->of, &file->found);
        given_join(p->request->given, st, &file->found); /* what cannot be read has none itself */
        if (file->of == ALLOCATORS_OF_PROGRAM && file->r == 0 && !file->found.has_symbol_table)
                p->plan->is_nameless = true;
        if (p->plan->is_nameless && file->of == ALLOCATORS_OF_PROGRAM)
                p->plan->has_exported = has_malloc(&file->found);
        if (file->found.functions.n && p->sections.n < WIRE_PLAN_MAX_SECTIONS &&
            code_file_open(o, p->request->machine) == 0)
                plan_object(p, o, &file->found);
        else if (file->of != ALLOCATORS_OF_PROGRAM && /* as a library it may have another answer */
                 (file->r == 0 || is_said))
                known_files_add_plain(p->request->memory, st);
        if (file->r == -EBADMSG || file->r == -ETIMEDOUT) {
                snprintf(p->plan->unreadable, sizeof(p->plan->unreadable), "%s", o->path);
                p->plan->is_late = file->r == -ETIMEDOUT;
        }
        code_file_close(o);
}

/* The mappings of a file follow each other, the first of them at its begin; false: none of them is code. */
static bool code_file_at(const struct planner *p, size_t i, struct code_file *ret) {
        const struct mapping *first = &p->maps.list.items[i];
        bool has_code =
                first->is_code || p->request->exe; /* an emulator does not run what it maps */

        if (first->path[0] != '/' || first->offset != 0 || is_left_alone(p, first->path))
                return false;
        *ret = (struct code_file){.path = first->path,
                                  .begin = first->begin,
                                  .end = first->end,
                                  .fd = -1};
        while (++i < p->maps.list.n && !strcmp(p->maps.list.items[i].path, first->path)) {
                ret->end = p->maps.list.items[i].end;
                has_code |= p->maps.list.items[i].is_code;
        }
        return has_code;
}

/* What the C++ library is built on. */
static bool replaces_any(const struct code_file *o, const struct allocators *a) {
        for (size_t i = 0; i < a->list.n; i++)
                if (a->list.items[i].family->is_preloadable &&
                    !a->list.items[i].family->own_names[0] &&
                    !a->list.items[i].family->is_attached_only &&
                    !path_is_file(o->path, "libstdc++.so"))
                        return true;
        return false;
}

struct wanted {
        struct code_file *object;
        struct stat st;
};

static void look_at_objects(struct planner *p) {
        VEC(struct code_file) objects = {0};
        VEC(struct wanted) wanted = {0};
        VEC(struct allocators_file) files = {0}; /* of those */
        char exe[4096] = "", link[64];
        ssize_t n;

        snprintf(link, sizeof(link), "/proc/%d/exe", (int)p->request->pid);
        n = readlink(link, exe, sizeof(exe) - 1);
        exe[MAX(n, 0)] = '\0';
        if (p->request->exe)
                snprintf(exe, sizeof(exe), "%s", p->request->exe);
        for (size_t i = 0; i < p->maps.list.n; i++) {
                struct code_file o;

                if (code_file_at(p, i, &o))
                        vec_push(&objects, o);
        }
        for (size_t i = 0; i < objects.n; i++) {
                struct code_file *o = &objects.items[i];
                struct allocators_file file;
                struct stat st = {0};

                /* a program that was replaced or deleted can still be read there */
                o->is_program = !strcmp(o->path, exe);
                if (o->is_program && !p->request->exe)
                        snprintf(o->open_path, sizeof(o->open_path), "%s", link);
                else
                        code_file_locate(p->request->pid, o->path, o->open_path,
                                         sizeof(o->open_path));
                if (!is_wanted(p, o, &st))
                        continue;
                vec_push(&wanted, ((struct wanted){o, st}));
                file = (struct allocators_file){.path = o->open_path, .of = of_whom(p, o)};
                file.is_known = known_files_recall(p->request->memory, &st, file.of, &file.found);
                vec_push(&files, file);
        }
        if (files.n)
                allocators_read_all(files.items, files.n);
        for (size_t i = 0; i < files.n; i++)
                p->has_replaced |= replaces_any(wanted.items[i].object, &files.items[i].found);
        for (size_t i = 0; i < files.n; i++) {
                plan_file(p, wanted.items[i].object, &wanted.items[i].st, &files.items[i]);
                allocators_done(&files.items[i].found);
        }
        vec_free(&wanted);
        vec_free(&files);
        vec_free(&objects);
}

/* Whose malloc it is that libraries call: the runtime says where it is. */
static void name_loader_allocator(struct planner *p) {
        static const char *const files[][2] = {{"libjemalloc", "jemalloc"},
                                               {"libtcmalloc", "gperftools"},
                                               {"libmimalloc", "mimalloc"},
                                               {"libc.so", "glibc"},
                                               {"libc-2", "glibc"}};
        const char *path = maps_path_at(&p->maps, p->request->hello->malloc);
        const char *family = "malloc"; /* somebody else's, whom its file may name */
        char open_path[sizeof(((struct code_file *)0)->open_path)];

        if (path[0] != '/')
                return;
        for (size_t k = 0; k < ARRAY_SIZE(files); k++)
                if (path_is_file(path, files[k][0]))
                        family = files[k][1];
        code_file_locate(p->request->pid, path, open_path, sizeof(open_path));
        p->plan->loader_number = known_files_number(p->request->memory, family, path, open_path, 0);
}

/* ---- the file ---------------------------------------------------------------------------------- */

static int write_plan(struct planner *p, struct err *reterr) {
        uint64_t tables_bytes = sizeof(struct wire_plan) +
                                p->sections.n * sizeof(struct wire_plan_section) +
                                p->writes.n * sizeof(struct wire_plan_write) +
                                p->entries.n * sizeof(struct wire_entry);
        uint64_t rooms_off = ALIGN_UP(tables_bytes, (uint64_t)4096);
        struct wire_plan head = {
                .magic = WIRE_PLAN_MAGIC,
                .n_sections = (uint32_t)p->sections.n,
                .n_writes = (uint32_t)p->writes.n,
                .n_entries = (uint32_t)p->entries.n,
                .size_bytes = rooms_off + p->rooms.n,
        };
        _cleanup_close_ int fd = -1;
        bytes_buf buf = {0};
        int r;

        if (!p->writes.n)
                return 0;
        for (size_t i = 0; i < p->sections.n; i++)
                p->sections.items[i].off += rooms_off;
        buf_bytes(&buf, &head, sizeof(head));
        buf_bytes(&buf, p->sections.items, p->sections.n * sizeof(p->sections.items[0]));
        buf_bytes(&buf, p->writes.items, p->writes.n * sizeof(p->writes.items[0]));
        buf_bytes(&buf, p->entries.items, p->entries.n * sizeof(p->entries.items[0]));
        while (buf.n < rooms_off)
                buf_u8(&buf, 0);
        buf_bytes(&buf, p->rooms.items, p->rooms.n);
        fd = memfd_create("silt-plan", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        r = fd < 0 ? -errno : fs_write_all(fd, buf.items, buf.n);
        vec_free(&buf);
        if (r < 0)
                return err_set_errno(reterr, r, "a file in memory for patches");
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
        p->plan->n_bytes = head.size_bytes;
        p->plan->fd = TAKE_FD(fd);
        return 0;
}

int patch_plan_make(const struct patch_plan_request *request, struct patch_plan *ret,
                    struct err *reterr) {
        struct planner p = {.request = request, .plan = ret};
        int r;

        memset(ret, 0, sizeof(*ret));
        ret->fd = -1;
        r = maps_read(&p.maps, request->pid, reterr);
        if (r == 0) {
                if (request->hooks_entries) {
                        look_at_objects(&p);
                        r = write_plan(&p, reterr);
                }
                name_loader_allocator(&p);
        }
        maps_done(&p.maps);
        vec_free(&p.sections);
        vec_free(&p.writes);
        vec_free(&p.entries);
        vec_free(&p.rooms);
        return r;
}

void patch_plan_done(struct patch_plan *p) {
        if (p->fd >= 0)
                close(TAKE_FD(p->fd));
        vec_free(&p->allocators);
}
