/* SPDX-License-Identifier: MIT */
#include "import/import_frames.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/str.h"
#include "import/import_hash.h"
#include "import/import_maps.h"

enum { FRAMES_ARENA_BYTES = 1 << 20 }; /* kept from one path to the next */

void import_frames_init(struct import_frames *f) {
        *f = (struct import_frames){.arena = arena_new()};
}

void import_frames_done(struct import_frames *f) {
        vec_free(&f->list);
        vec_free(&f->chain);
        map_done(&f->is_fixed);
        f->arena = arena_free(f->arena);
}

void import_frames_clear(struct import_frames *f) {
        vec_clear(&f->list);
        if (arena_size_bytes(f->arena) > FRAMES_ARENA_BYTES) {
                arena_free(f->arena);
                f->arena = arena_new();
        }
}

static const char *kept(struct import_frames *f, const char *text) {
        return text && text[0] ? arena_strdup(f->arena, text) : "";
}

void import_frames_add(struct import_frames *f, const struct import_frame *frame) {
        vec_push(&f->list,
                 (struct import_frame){frame->address,
                                       kept(f, frame->module),
                                       {kept(f, frame->function.name),
                                        kept(f, frame->function.file), frame->function.line},
                                       frame->is_inlined});
}

/* Cuts ":12" off the end of a place, and returns the number; 0: there is none. */
static uint32_t cut_number(char *place) {
        char *colon = strrchr(place, ':'), *end;
        unsigned long n;

        if (!colon || colon[1] < '0' || colon[1] > '9')
                return 0;
        n = strtoul(colon + 1, &end, 10);
        if (*end || n > UINT32_MAX)
                return 0;
        *colon = '\0';
        return (uint32_t)n;
}

bool import_frames_add_text(struct import_frames *f, const char *text) {
        struct import_frame frame = {.module = "", .function = {"", "", 0}};
        char *name, *place, *end;

        if (strncmp(text, "0x", 2) == 0) {
                frame.address = strtoull(text, &end, 16);
                if (strncmp(end, ": ", 2) != 0)
                        return false;
                text = end + 2;
        }
        name = arena_strdup(f->arena, text);
        /* names have brackets of their own: the place is in the last ones */
        for (place = NULL, end = name; (end = strstr(end, " (")); end++)
                place = end;
        if (place && place[strlen(place) - 1] == ')') {
                uint32_t last, before;

                *place = '\0';
                place += 2;
                place[strlen(place) - 1] = '\0';
                if (strncmp(place, "in ", 3) == 0) {
                        frame.module = place + 3;
                } else {
                        last = cut_number(place);
                        before = cut_number(place); /* file:line:column */
                        frame.function.line = before ? before : last;
                        frame.function.file = place;
                }
        }
        /* "0x0: ???" is where valgrind could not look further */
        frame.function.name = frame.address && strcmp(name, "???") == 0 ? "" : name;
        vec_push(&f->list, frame);
        return frame.address || frame.function.name[0];
}

/* Whether the file has its code where it is in memory. */
static bool is_fixed(struct import_frames *f, const struct import_trace *t, const char *module) {
        bool is_new;
        uint64_t *known = map_put(&f->is_fixed, hash_text(1, module), 0, &is_new);
        Elf64_Ehdr head;
        int fd;

        if (!is_new || !import_trace_asks_files(t))
                return *known;
        fd = import_maps_open(module); /* which a stranger may name */
        if (fd < 0)
                return false;
        *known = fs_read_at(fd, &head, sizeof(head), 0) == sizeof(head) &&
                 memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_type == ET_EXEC;
        close(fd);
        return *known;
}

/* What is known of code without a name whose place in its file is not: no name is looked up there. */
static void name_by_address(struct import_frames *f, const struct import_frame *frame,
                            struct import_function *ret) {
        const char *slash = strrchr(frame->module, '/');
        struct str name = {0};

        str_addf(&name, "(code without a name at 0x%" PRIX64 " in %s)", frame->address,
                 slash ? slash + 1 : frame->module);
        *ret = (struct import_function){arena_strdup(f->arena, str_text(&name)), "", 0};
        str_done(&name);
}

int import_frames_stack(struct import_frames *f, struct import_trace *t, uint32_t *ret_stack,
                        struct err *reterr) {
        uint32_t stack = 0;

        for (size_t end = f->list.n, begin; end > 0; end = begin) {
                const struct import_frame *outer = &f->list.items[end - 1];
                struct import_place place = {.module = outer->module};
                int r;

                vec_clear(&f->chain);
                for (begin = end - 1;
                     begin > 0 &&
                     (f->list.items[begin - 1].is_inlined ||
                      (outer->address && f->list.items[begin - 1].address == outer->address));)
                        begin--;
                for (size_t i = begin; i < end; i++)
                        vec_push(&f->chain, f->list.items[i].function);
                /* silt has the return address, behind the call */
                place.address = outer->address ? outer->address + 1 : 0;
                if (f->are_of_memory && f->chain.n == 1 && outer->address && outer->module[0] &&
                    !outer->function.name[0] && !is_fixed(f, t, outer->module)) {
                        name_by_address(f, outer, &f->chain.items[0]);
                        place.address = 0;
                }
                place.functions = f->chain.items;
                place.n_functions = f->chain.n;
                r = import_trace_call(t, &place, &stack, reterr);
                if (r < 0)
                        return r;
        }
        *ret_stack = stack;
        return 0;
}
