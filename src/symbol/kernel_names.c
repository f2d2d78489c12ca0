/* SPDX-License-Identifier: MIT */
#include "symbol/kernel_names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/fs.h"
#include "base/kernel_id.h"
#include "base/vec.h"

enum {
        FUNCTION_MAX_BYTES = 1 << 20, /* the table has no sizes: no function is larger */
        LINES_MAX = 4 << 20,
};

struct kernel_function {
        uint64_t begin;
        uint32_t rank; /* of several names for one address the highest is shown */
        const char *name;
};

struct kernel_names {
        VEC(struct kernel_function) by_begin;
        struct arena *arena;
};

struct kernel_names *kernel_names_free(struct kernel_names *k) {
        if (!k)
                return NULL;
        vec_free(&k->by_begin);
        arena_free(k->arena);
        free(k);
        return NULL;
}

/* Marks of the linker's and of places before functions are no functions; a name for all is better than one of a file's own. */
static uint32_t rank_of(char type, const char *name) {
        if (strncmp(name, "__pfx_", 6) == 0 || strcmp(name, "_stext") == 0 ||
            strcmp(name, "_text") == 0 || strcmp(name, "startup_64") == 0)
                return 0;
        return type == 'T' ? 3 : type == 't' ? 2 : 1;
}

static int by_begin(const void *a, const void *b) {
        const struct kernel_function *x = a, *y = b;

        if (x->begin != y->begin)
                return x->begin < y->begin ? -1 : 1;
        if (x->rank != y->rank)
                return x->rank < y->rank ? -1 : 1;
        return strcmp(x->name, y->name);
}

static void file_close(FILE **f) {
        if (*f)
                fclose(*f);
}

/* Lines of "ADDRESS TYPE NAME", and of a loaded module "\t[MODULE]" behind it. */
int kernel_names_read(int fd, struct kernel_names **ret) {
        _cleanup_(kernel_names_freep) struct kernel_names *k = calloc(1, sizeof(*k));
        _cleanup_(file_close) FILE *f = fdopen(fd, "r");
        bool has_address = false;
        char line[1024];

        if (!f)
                close(fd);
        if (!k || !f)
                return -ENOMEM;
        k->arena = arena_new();
        for (size_t n = 0; n < LINES_MAX && fgets(line, sizeof(line), f); n++) {
                char type, name[512];
                unsigned long long address;

                if (sscanf(line, "%llx %c %511s", &address, &type, name) != 3)
                        continue;
                has_address |= address != 0;
                if (!strchr("tTwW", type))
                        continue;
                vec_push(&k->by_begin, (struct kernel_function){address, rank_of(type, name),
                                                                arena_strdup(k->arena, name)});
        }
        if (!has_address)
                return -EACCES;
        qsort(k->by_begin.items, k->by_begin.n, sizeof(k->by_begin.items[0]), by_begin);
        *ret = TAKE_PTR(k);
        return 0;
}

const char *kernel_names_find(const struct kernel_names *k, uint64_t address) {
        size_t low = 0, high = k->by_begin.n;

        if (address == KERNEL_UNSAMPLED_ADDRESS)
                return KERNEL_UNSAMPLED_NAME;
        while (low < high) {
                size_t mid = low + (high - low) / 2;

                if (k->by_begin.items[mid].begin <= address)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low > 0 && address - k->by_begin.items[low - 1].begin < FUNCTION_MAX_BYTES
                       ? k->by_begin.items[low - 1].name
                       : NULL;
}

static int say(struct symbol_origin *o, enum trace_naming naming, int r, const char *text) {
        *o = (struct symbol_origin){.naming = naming};
        snprintf(o->text, sizeof(o->text), "%s", text);
        return r;
}

int kernel_names_open(const struct trace_module *m, struct kernel_names **ret,
                      struct symbol_origin *ret_origin) {
        uint8_t id[32];
        uint32_t n = kernel_id_read(id);
        int fd, r;

        if (n == 0 || m->build_id_len != n || memcmp(m->build_id, id, n) != 0)
                return say(
                        ret_origin, TRACE_NAMING_REPLACED, -ESTALE,
                        "the kernel's functions have names only on the machine that was recorded, until it is started again");
        fd = fs_open("/proc/kallsyms", O_RDONLY, 0);
        r = fd < 0 ? fd : kernel_names_read(fd, ret);
        if (r < 0)
                return say(
                        ret_origin, TRACE_NAMING_MISSING, r,
                        "the kernel hides its addresses, so its functions have no names: run silt as root, or 'sysctl kernel.kptr_restrict=0'");
        *ret_origin = (struct symbol_origin){.naming = TRACE_NAMING_UNKNOWN};
        return 0;
}
