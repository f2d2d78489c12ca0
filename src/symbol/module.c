/* SPDX-License-Identifier: MIT */
#include "symbol/module.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "base/fs.h"
#include "symbol/inline.h"
#include "symbol/symbol.h"

static char *debuginfo_path; /* NULL: the library's own list, which begins with /usr/lib/debug */

static const Dwfl_Callbacks callbacks = {
        .find_elf = dwfl_build_id_find_elf,
        .find_debuginfo = dwfl_standard_find_debuginfo,
        .section_address = dwfl_offline_section_address,
        .debuginfo_path = &debuginfo_path,
};

struct symbol_module *symbol_module_free(struct symbol_module *m) {
        if (!m)
                return NULL;
        functions_done(&m->functions);
        if (m->dwfl)
                dwfl_end(m->dwfl);
        free(m);
        return NULL;
}

/* ---- finding the file ------------------------------------------------------------------------ */

/* This machine's vdso as a file: the build-id decides whether it is the one that ran. */
static int open_vdso(void) {
        const ElfW(Ehdr) *h =
                (const void *)getauxval(AT_SYSINFO_EHDR); /* NOLINT: an address by definition */
        _cleanup_close_ int fd = -1;

        if (!h)
                return -ENOENT;
        fd = memfd_create("vdso", MFD_CLOEXEC);
        if (fd < 0)
                return -errno;
        if (fs_write_all(fd, h, h->e_shoff + (size_t)h->e_shnum * h->e_shentsize) < 0)
                return -EIO;
        return TAKE_FD(fd);
}

/* A debug file has the symbols too, should the file itself be gone. */
static int open_by_build_id(const struct trace_module *m) {
        char path[128] = "/usr/lib/debug/.build-id/";
        size_t n = strlen(path);

        if (m->build_id_len < 2)
                return -ENOENT;
        for (uint32_t i = 0; i < m->build_id_len; i++)
                n += (size_t)snprintf(path + n, sizeof(path) - n, i == 1 ? "/%02x" : "%02x",
                                      m->build_id[i]);
        snprintf(path + n, sizeof(path) - n, ".debug");
        return fs_open(path, O_RDONLY | O_CLOEXEC, 0);
}

static int module_report(struct symbol_module *sm, const char *name, int fd,
                         const struct trace_module *m) {
        const unsigned char *bits;
        GElf_Addr address;
        int n;

        sm->dwfl = dwfl_begin(&callbacks);
        if (!sm->dwfl)
                return -ENOMEM;
        dwfl_report_begin(sm->dwfl);
        /* Bias 0: addresses are the file's own. Takes fd when it succeeds. */
        sm->module = dwfl_report_elf(sm->dwfl, name, name, fd, 0, true);
        if (!sm->module) {
                close(fd);
                return -ENOEXEC;
        }
        dwfl_report_end(sm->dwfl, NULL, NULL);
        if (m->build_id_len == 0)
                return 0;
        n = dwfl_module_build_id(sm->module, &bits, &address);
        if (n != (int)m->build_id_len || memcmp(bits, m->build_id, m->build_id_len) != 0)
                return -ESTALE;
        return 0;
}

int symbol_module_open(const struct trace_module *m, struct symbol_module **ret,
                       struct err *reterr) {
        _cleanup_(symbol_module_freep) struct symbol_module *sm = calloc(1, sizeof(*sm));
        bool vdso = strcmp(m->path, "[vdso]") == 0;
        int fd, r;

        if (!sm)
                abort();
        fd = vdso ? open_vdso() : fs_open(m->path, O_RDONLY | O_CLOEXEC, 0);
        r = fd < 0 ? fd : module_report(sm, m->path, fd, m);
        if (r < 0 && !vdso) {
                fd = open_by_build_id(m);
                if (fd >= 0) {
                        if (sm->dwfl)
                                dwfl_end(sm->dwfl);
                        sm->dwfl = NULL;
                        r = module_report(sm, m->path, fd, m);
                }
        }
        if (r == -ESTALE)
                return err_set(
                        reterr, r,
                        "'%s': it is not the file that ran, its build-id differs: install the one that ran",
                        m->path);
        if (r < 0)
                return err_set(reterr, r, "'%s': no names from it: %s: install its debug symbols",
                               m->path, strerror(-r));
        functions_load(&sm->functions, sm->module);
        *ret = TAKE_PTR(sm);
        return 0;
}

/* ---- names ----------------------------------------------------------------------------------- */

struct naming {
        struct symbol_module *m;
        const uint64_t *addresses;
        struct inline_result dwarf;
        size_t call_idx; /* the first call of the address at hand, or of a later one */
        symbol_fn fn;
        void *ctx;
};

static void emit(struct naming *k, size_t address_idx, const char *linker_name, const char *file,
                 uint32_t line, bool inlined, bool guess) {
        _cleanup_free_ char *function = symbol_demangle(linker_name ? linker_name : "");
        struct trace_symbol s = {.location = (uint32_t)address_idx,
                                 .function = function,
                                 .file = file ? file : "",
                                 .line = file ? line : 0,
                                 .inlined = inlined,
                                 .guess = guess};

        k->fn(k->ctx, &s);
}

static void name_address(struct naming *k, size_t i) {
        struct inline_line line = k->dwarf.lines ? k->dwarf.lines[i] : (struct inline_line){0};
        const struct inline_call *calls = k->dwarf.calls.items;
        const struct function *f;
        size_t begin = k->call_idx;
        bool guess = false;

        while (k->call_idx < k->dwarf.calls.n && calls[k->call_idx].address_idx == i)
                k->call_idx++;
        /* Innermost first: each is at the line so far, and was called from the line its DIE
         * names. */
        for (size_t c = k->call_idx; c-- > begin;) {
                Dwarf_Die die = calls[c].die;

                emit(k, i, inline_linker_name(&die), line.file, line.line, true, false);
                line = (struct inline_line){calls[c].call_file, calls[c].call_line};
        }
        f = functions_find(&k->m->functions, k->addresses[i], &guess);
        if (f || line.file || k->call_idx > begin)
                emit(k, i, f ? f->name : "", line.file, line.line, false, guess);
}

/* A debug file may be linked at another address than the file that ran. */
static void find_inlined(struct naming *k, size_t n) {
        Dwarf_Addr bias = 0;
        Dwarf *dwarf = dwfl_module_getdwarf(k->m->module, &bias);
        _cleanup_free_ uint64_t *shifted = NULL;

        if (!dwarf)
                return;
        shifted = calloc(n + 1, sizeof(*shifted));
        if (!shifted)
                abort();
        for (size_t i = 0; i < n; i++)
                shifted[i] = k->addresses[i] - bias;
        inline_find(dwarf, shifted, n, &k->dwarf);
}

void symbol_module_name(struct symbol_module *m, const uint64_t *addresses, size_t n, symbol_fn fn,
                        void *ctx) {
        struct naming k = {.m = m, .addresses = addresses, .fn = fn, .ctx = ctx};

        find_inlined(&k, n);
        for (size_t i = 0; i < n; i++)
                name_address(&k, i);
        inline_done(&k.dwarf);
}
