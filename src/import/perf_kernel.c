/* SPDX-License-Identifier: MIT */
#include "import/perf_kernel.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/kernel_id.h"
#include "base/macros.h"
#include "import/build_id.h"

enum { KERNEL_MAX_MODULES = 1 << 14, KERNEL_PATH_BYTES = 512 };

static const char core_name[] = "[kernel.kallsyms]";

void perf_kernel_init(struct perf_kernel *k, const struct perf_file *f, bool is_here,
                      bool is_of_this_start, const char *root) {
        *k = (struct perf_kernel){.f = f,
                                  .is_here = is_here,
                                  .is_of_this_start = is_of_this_start,
                                  .root = root,
                                  .arena = arena_new()};
}

void perf_kernel_done(struct perf_kernel *k) {
        vec_free(&k->modules);
        address_ranges_done(&k->named);
        arena_free(k->arena);
}

/* Whether notes that the kernel shows say this id. */
static bool notes_say(const struct perf_kernel *k, const char *path,
                      const struct perf_build_id *id) {
        char whole[KERNEL_PATH_BYTES];
        uint8_t notes[4096], own[32];
        size_t n = 0;
        ssize_t got;
        int fd;

        if (snprintf(whole, sizeof(whole), "%s%s", k->root, path) >= (int)sizeof(whole))
                return false;
        fd = fs_open(whole, O_RDONLY | O_CLOEXEC, 0);
        got = fd < 0 ? -1 : fs_read_at(fd, notes, sizeof(notes), 0);
        if (fd >= 0)
                close(fd);
        if (got > 0)
                n = build_id_of_notes(notes, (size_t)got, own, sizeof(own));
        return n && n == id->n && memcmp(own, id->bytes, n) == 0;
}

static FILE *open_list(const struct perf_kernel *k, const char *path) {
        char whole[KERNEL_PATH_BYTES];

        return snprintf(whole, sizeof(whole), "%s%s", k->root, path) < (int)sizeof(whole)
                       ? fopen(whole, "re")
                       : NULL;
}

/* Where a symbol of this kernel is; 0: it is hidden, or there is none. */
static uint64_t address_of(const struct perf_kernel *k, const char *name) {
        FILE *f = open_list(k, "/proc/kallsyms");
        uint64_t found = 0;
        char line[1024];

        while (f && !found && fgets(line, sizeof(line), f)) {
                unsigned long long address;
                char symbol[512];

                if (sscanf(line, "%llx %*c %511s", &address, symbol) == 2 &&
                    strcmp(symbol, name) == 0)
                        found = address;
        }
        if (f)
                fclose(f);
        return found;
}

/* "[kernel.kallsyms]_text", whose offset is the address of _text: the kernel lies elsewhere whenever the machine is started. Without a build-id
 * (perf record -z, or to a pipe) the recording has to be of the time since then. */
static void take_core(struct perf_kernel *k, const struct address_range *m, const char *path,
                      const struct perf_build_id *id) {
        const char *symbol = path + strlen(core_name);

        if (!symbol[0] || !k->is_here || k->is_known)
                return;
        if (!id->n)
                id = perf_file_build_id(k->f, core_name);
        if (id->n ? !notes_say(k, "/sys/kernel/notes", id) : !k->is_of_this_start)
                return;
        if (address_of(k, symbol) != m->offset)
                return;
        k->n_id = kernel_id_read(k->id);
        k->is_known = true;
        address_ranges_put(&k->named, m);
}

/* ---- modules ------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b) {
        return strcmp(((const struct kernel_module *)a)->name,
                      ((const struct kernel_module *)b)->name);
}

/* "nf_conntrack 172032 1 nf_nat, Live 0xffffffffc0a5b000"; an address that is hidden is 0. */
static void read_modules(struct perf_kernel *k) {
        FILE *f = open_list(k, "/proc/modules");
        char line[4096];

        k->has_modules = true;
        while (f && k->modules.n < KERNEL_MAX_MODULES && fgets(line, sizeof(line), f)) {
                unsigned long long n_bytes, begin;
                char name[128];

                if (sscanf(line, "%127s %llu %*s %*s %*s %llx", name, &n_bytes, &begin) == 3 &&
                    begin && n_bytes && n_bytes <= UINT64_MAX - begin)
                        vec_push(&k->modules, (struct kernel_module){arena_strdup(k->arena, name),
                                                                     begin, begin + n_bytes});
        }
        if (f)
                fclose(f);
        if (k->modules.n)
                qsort(k->modules.items, k->modules.n, sizeof(k->modules.items[0]), by_name);
}

/* "[nf_conntrack]", or the path of its file, "/lib/modules/6.1.0/kernel/net/nf-conntrack.ko.xz". */
static bool name_of(const char *path, char *ret, size_t cap) {
        const char *slash = strrchr(path, '/'), *begin, *end;
        size_t n;

        if (path[0] != '[' && !slash)
                return false;
        begin = path[0] == '[' ? path + 1 : slash + 1;
        end = path[0] == '[' ? strchr(begin, ']') : strstr(begin, ".ko");
        if (!end || end == begin)
                return false;
        n = (size_t)(end - begin);
        if (n >= cap)
                return false;
        for (size_t i = 0; i < n; i++)
                ret[i] = begin[i] == '-' ? '_' : begin[i];
        ret[n] = '\0';
        return true;
}

/* Loaded where it was: else it was loaded again, or is another. */
static void take_module(struct perf_kernel *k, const struct address_range *m, const char *path,
                        const struct perf_build_id *id) {
        struct address_range named = *m;
        char name[128], notes[200];
        const struct kernel_module *now;

        if (!k->is_known || !name_of(path, name, sizeof(name)))
                return;
        if (!k->has_modules)
                read_modules(k);
        now = k->modules.n ? bsearch(&(struct kernel_module){.name = name}, k->modules.items,
                                     k->modules.n, sizeof(*now), by_name)
                           : NULL;
        if (!now || now->begin != m->begin)
                return;
        if (!id->n)
                id = perf_file_build_id(k->f, path);
        snprintf(notes, sizeof(notes), "/sys/module/%s/notes/.note.gnu.build-id", name);
        if (id->n ? !notes_say(k, notes, id) : !k->is_of_this_start)
                return;
        named.end = MIN(named.end, now->end);
        address_ranges_put(&k->named, &named);
}

/* ---- all of it ----------------------------------------------------------------------------------- */

void perf_kernel_map(struct perf_kernel *k, const struct address_range *m, const char *path,
                     const struct perf_build_id *id) {
        if (strncmp(path, core_name, strlen(core_name)) == 0)
                take_core(k, m, path, id);
        else
                take_module(k, m, path, id);
}

void perf_kernel_place(const struct perf_kernel *k, uint64_t return_address,
                       struct import_place *ret) {
        *ret = (struct import_place){.module = KERNEL_ID_PATH, .address = return_address};
        if (return_address && k->n_id && address_ranges_at(&k->named, return_address - 1)) {
                ret->build_id = k->id;
                ret->n_build_id = k->n_id;
        }
}
