/* SPDX-License-Identifier: MIT */
/* For tests: a plan of pass-through patches for functions of a process that is described by its maps: every patched
 * function goes through a thunk and back, and nothing else happens.
 *
 *   patch_thunks MACHINE MAPS N SEED OUT FILE...      of all functions of the FILEs, N drawn at random
 *
 * OUT is a file as wire/patch_plan.h has it. Prints how many were patched, and why others were refused. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/fs.h"
#include "patch/maps.h"
#include "patch/patch.h"
#include "symbol/code_file.h"
#include "symbol/module.h"
#include "wire/patch_plan.h"

enum { ROOM_ALIGN = 65536, MAX_FUNCTION_BYTES = 1 << 16 };

static VEC(struct wire_plan_section) sections;
static VEC(struct wire_plan_write) writes;
static bytes_buf rooms;
static size_t n_refused, n_wanted;
static uint64_t random_state;

static uint64_t draw(uint64_t below) {
        random_state = random_state * 6364136223846793005u + 1442695040888963407u;
        return (random_state >> 33) % below;
}

/* The thunk hands on to the moved code: by the hook's address where the argument is in a register, by a `ret` to the argument
 * where it is on the stack. */
static int make_pass_through(const struct patch_function *f, uint64_t room_addr, uint64_t ret_addr,
                             struct patch *ret, struct err *reterr) {
        struct patch_target to = {.room_addr = room_addr};
        int r = patch_make(f, &to, ret, reterr);

        if (r < 0)
                return r;
        to.argument = ret->moved_addr;
        to.hook_addr = f->machine == PATCH_AARCH64 ? ret->moved_addr : ret_addr;
        return patch_make(f, &to, ret, reterr);
}

static bool patch_one(const struct code_file *o, const struct function *f,
                      enum patch_machine machine, uint64_t room_addr, uint64_t ret_addr) {
        static uint8_t code[MAX_FUNCTION_BYTES];
        struct patch_function function = {machine, f->begin + o->bias, code, f->end - f->begin, 0};
        struct wire_plan_write w = {0};
        struct err err = {0};
        struct patch p;

        if (code_file_read(o, f->begin, code, function.n_bytes) != function.n_bytes)
                return false;
        if (make_pass_through(&function, room_addr, ret_addr, &p, &err) < 0) {
                if (n_refused++ < 10)
                        printf("refused: %s: %s\n", f->name, err.text);
                return false;
        }
        w.at = p.at;
        w.n_bytes = p.n_bytes;
        w.section = (uint16_t)sections.n;
        memcpy(w.before, p.before, sizeof(w.before));
        memcpy(w.after, p.after, sizeof(w.after));
        vec_push(&writes, w);
        vec_reserve(&rooms, PATCH_ROOM_BYTES);
        memset(rooms.items + rooms.n, 0, PATCH_ROOM_BYTES);
        memcpy(rooms.items + rooms.n, p.room, p.n_room_bytes);
        rooms.n += PATCH_ROOM_BYTES;
        return true;
}

static bool may_patch(const struct function *f, uint64_t last_begin, uint64_t reach_end) {
        return !f->is_plt && f->end < reach_end && f->begin != last_begin && f->end > f->begin &&
               f->end - f->begin <= MAX_FUNCTION_BYTES;
}

static int patch_file(struct maps *maps, const char *path, uint32_t machine, size_t n_here) {
        _cleanup_(symbol_module_freep) struct symbol_module *module = NULL;
        struct code_file o = {.path = path, .fd = -1};
        struct trace_module m = {.path = path};
        struct symbol_origin origin;
        const struct functions *functions;
        uint64_t room_bytes = ALIGN_UP((n_here + 1) * (uint64_t)PATCH_ROOM_BYTES, ROOM_ALIGN), room;
        size_t n_candidates = 0, off = rooms.n;
        uint64_t last = 0, reach_end;

        for (size_t i = 0; i < maps->list.n; i++)
                if (!strcmp(maps->list.items[i].path, path)) {
                        if (!o.begin)
                                o.begin = maps->list.items[i].begin;
                        o.end = maps->list.items[i].end;
                }
        snprintf(o.open_path, sizeof(o.open_path), "%s", path);
        if (!o.begin || code_file_open(&o, machine) < 0 ||
            symbol_module_open(&m, NULL, &module, &origin) < 0)
                return -ENOENT;
        /* functions at the far end of a large file may be out of reach: others are drawn */
        room = maps_take_room(maps, o.begin, o.begin, room_bytes, ROOM_ALIGN,
                              patch_reach_bytes(patch_machine_of(machine)));
        if (!room)
                return -ENOMEM;
        functions = symbol_module_functions(module);
        reach_end = room + patch_reach_bytes(patch_machine_of(machine)) - o.bias;
        for (size_t i = 0; i < functions->by_begin.n; i++) {
                n_candidates += may_patch(&functions->by_begin.items[i], last, reach_end);
                last = functions->by_begin.items[i].begin;
        }
        vec_reserve(&rooms, PATCH_ROOM_BYTES); /* the first place holds a `ret` */
        memset(rooms.items + rooms.n, 0xc3, PATCH_ROOM_BYTES);
        rooms.n += PATCH_ROOM_BYTES;
        last = 0;
        for (size_t i = 0, n_done = 0; i < functions->by_begin.n && n_done < n_here; i++) {
                const struct function *f = &functions->by_begin.items[i];

                if (may_patch(f, last, reach_end) && draw(n_candidates--) < n_here - n_done)
                        n_done += patch_one(&o, f, patch_machine_of(machine),
                                            room + (rooms.n - off), room);
                last = f->begin;
        }
        vec_push(&sections, (struct wire_plan_section){room, off, room_bytes});
        while (rooms.n < off + room_bytes)
                buf_u8(&rooms, 0);
        code_file_close(&o);
        return 0;
}

static int write_plan(const char *path) {
        uint64_t tables = sizeof(struct wire_plan) + sections.n * sizeof(sections.items[0]) +
                          writes.n * sizeof(writes.items[0]);
        uint64_t rooms_off = ALIGN_UP(tables, (uint64_t)4096);
        struct wire_plan head = {WIRE_PLAN_MAGIC,    (uint32_t)sections.n, (uint32_t)writes.n, 0, 0,
                                 rooms_off + rooms.n};
        FILE *f = fopen(path, "we");

        if (!f)
                return -errno;
        for (size_t i = 0; i < sections.n; i++)
                sections.items[i].off += rooms_off;
        fwrite(&head, sizeof(head), 1, f);
        fwrite(sections.items, sizeof(sections.items[0]), sections.n, f);
        fwrite(writes.items, sizeof(writes.items[0]), writes.n, f);
        for (uint64_t i = tables; i < rooms_off; i++)
                fputc(0, f);
        fwrite(rooms.items, 1, rooms.n, f);
        return fclose(f) ? -errno : 0;
}

int main(int argc, char **argv) {
        struct err err = {0};
        struct maps maps;
        uint32_t machine;

        if (argc < 7) {
                fprintf(stderr, "usage: patch_thunks aarch64|x86_64 MAPS N SEED OUT FILE...\n");
                return 2;
        }
        machine = !strcmp(argv[1], "x86_64") ? EM_X86_64 : EM_AARCH64;
        n_wanted = strtoul(argv[3], NULL, 10);
        random_state = strtoull(argv[4], NULL, 10);
        if (maps_read_file(&maps, argv[2], &err) < 0) {
                fprintf(stderr, "patch_thunks: %s\n", err.text);
                return 2;
        }
        for (int i = 6; i < argc; i++)
                if (patch_file(&maps, argv[i], machine, n_wanted / (size_t)(argc - 6)) < 0)
                        fprintf(stderr, "patch_thunks: '%s': not in the maps\n", argv[i]);
        printf("%zu patched, %zu refused\n", writes.n, n_refused);
        maps_done(&maps);
        return write_plan(argv[5]) < 0 ? 2 : 0;
}
