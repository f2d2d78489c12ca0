/* SPDX-License-Identifier: MIT */
#include "symbol/module.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/kernel_id.h"
#include "base/str.h"
#include "symbol/code_file.h"
#include "symbol/code_pointers.h"
#include "symbol/finder.h"
#include "symbol/function_extent.h"
#include "symbol/generic_name.h"
#include "symbol/inline.h"
#include "symbol/kernel_names.h"
#include "symbol/origin.h"
#include "symbol/split.h"
#include "symbol/variables.h"

struct symbol_module {
        Dwfl *dwfl;
        Dwfl_Module *module;
        struct functions functions;
        struct variables variables;    /* loaded when one is asked about */
        struct code_pointers pointers; /* the same */
        struct finder finder;
        struct origin_counts counts;
        bool has_dwarf;
        int code_fd;                 /* the same file, until `code` is opened by it; -1: none */
        struct code_file code;       /* of functions without names */
        struct kernel_names *kernel; /* NULL: a file, with all of the above */
};

static const Dwfl_Callbacks callbacks = {
        .find_elf = dwfl_build_id_find_elf, /* not called: the file is reported with it */
        .find_debuginfo = finder_find_debuginfo,
        .section_address = dwfl_offline_section_address,
};

struct symbol_module *symbol_module_free(struct symbol_module *m) {
        if (!m)
                return NULL;
        functions_done(&m->functions);
        variables_done(&m->variables);
        code_pointers_done(&m->pointers);
        if (m->dwfl)
                dwfl_end(m->dwfl);
        if (m->code_fd >= 0)
                close(m->code_fd);
        code_file_close(&m->code);
        kernel_names_free(m->kernel);
        free(m);
        return NULL;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* This machine's vdso as a file: the build-id decides whether it is the one that ran. */
static int open_vdso(struct finder *f) {
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
        if (elf_file_identify(fd, &f->id, NULL) < 0)
                return -ENOEXEC;
        if (f->module->build_id_len &&
            !elf_file_id_is(&f->id, f->module->build_id, f->module->build_id_len))
                return -ESTALE;
        f->has_sought = true; /* no debug file belongs to it */
        return TAKE_FD(fd);
}

static int module_report(struct symbol_module *sm, int fd) {
        void **userdata;

        sm->code_fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        sm->dwfl = dwfl_begin(&callbacks);
        if (!sm->dwfl) {
                close(fd);
                return -ENOMEM;
        }
        dwfl_report_begin(sm->dwfl);
        /* Bias 0: addresses are the file's own. Takes fd when it succeeds. */
        sm->module = dwfl_report_elf(sm->dwfl, sm->finder.path, sm->finder.path, fd, 0, true);
        if (!sm->module) {
                close(fd);
                return -ENOEXEC;
        }
        dwfl_report_end(sm->dwfl, NULL, NULL);
        dwfl_module_info(sm->module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
        *userdata = &sm->finder;
        return 0;
}

int symbol_module_open(const struct trace_module *m, const struct symbol_search *search,
                       struct symbol_module **ret, struct symbol_origin *ret_origin) {
        _cleanup_(symbol_module_freep) struct symbol_module *sm = calloc(1, sizeof(*sm));
        int r;

        if (!sm)
                abort();
        sm->code_fd = sm->code.fd = -1;
        if (strcmp(m->path, KERNEL_ID_PATH) == 0) {
                r = kernel_names_open(m, &sm->kernel, ret_origin);
                if (r == 0)
                        *ret = TAKE_PTR(sm);
                return r;
        }
        finder_init(&sm->finder, m, search);
        r = strcmp(m->path, "[vdso]") == 0 ? open_vdso(&sm->finder) : finder_open_code(&sm->finder);
        if (r >= 0)
                r = module_report(sm, r);
        if (r < 0) {
                origin_of_missing(ret_origin, &sm->finder, r);
                return r;
        }
        functions_load(&sm->functions, sm->module);
        *ret_origin = (struct symbol_origin){.naming = TRACE_NAMING_UNKNOWN};
        *ret = TAKE_PTR(sm);
        return 0;
}

void symbol_module_origin(const struct symbol_module *m, struct symbol_origin *ret) {
        if (m->kernel) { /* which gives no more */
                *ret = (struct symbol_origin){.naming = TRACE_NAMING_SYMTAB};
                return;
        }
        origin_of_names(ret, &m->finder, &m->functions, &m->counts, m->has_dwarf);
}

const struct functions *symbol_module_functions(const struct symbol_module *m) {
        return &m->functions;
}

/* ---- names ----------------------------------------------------------------------------------- */

struct naming {
        struct symbol_module *m;
        const uint64_t *addresses;
        struct inline_result dwarf;
        struct inline_result split; /* units whose other half was elsewhere */
        symbol_fn fn;
        void *ctx;
};

/* Compilers give one of several functions that are the same all their names, or leave the name of one alone. */
static bool is_merged(struct symbol_module *m, const struct function *f) {
        if (!m->pointers.is_loaded)
                code_pointers_load(&m->pointers, m->module, &m->functions);
        return functions_n_names(&m->functions, f) > 1 ||
               code_pointers_count(&m->pointers, f->begin) > 1;
}

/* plain: the function's name as its source has it; NULL: unknown. f: what its symbol says; NULL: it has none. */
static void emit_function(struct naming *k, size_t address_idx, const char *linker_name,
                          const char *plain, const struct function *f, const char *file,
                          uint32_t line, bool inlined, bool guess) {
        _cleanup_free_ char *function = symbol_demangle(linker_name ? linker_name : "");
        struct str stub = {0};
        struct trace_symbol s = {.location = (uint32_t)address_idx,
                                 .function = function,
                                 .file = file ? file : "",
                                 .line = file ? line : 0,
                                 .inlined = inlined,
                                 .guess = guess};
        bool is_plt = f && f->is_plt;

        if (is_plt)
                str_addf(&stub, "%s@plt", function);
        if (is_plt || (generic_name_is(function) &&
                       generic_name_add(function, plain, f && is_merged(k->m, f), &stub)))
                s.function = str_text(&stub);
        k->fn(k->ctx, &s);
        str_done(&stub);
}

static void emit(struct naming *k, size_t address_idx, const char *linker_name, const char *file,
                 uint32_t line, bool inlined, bool guess) {
        emit_function(k, address_idx, linker_name, NULL, NULL, file, line, inlined, guess);
}

static void count(struct origin_counts *c, const struct function *f, bool is_named, bool guess,
                  bool has_line) {
        c->n_addresses++;
        c->n_lines += has_line;
        c->n_named += is_named && !guess;
        c->n_guesses += is_named && guess;
        if (!has_line && !(f && (f->is_plt || origin_is_linkers(f->name))))
                c->n_lineless++;
}

/* What is known of address i, and by which of the two. */
static struct inline_place place_of(struct naming *k, size_t i, const struct inline_result **ret) {
        struct inline_place place = {.site = INLINE_NONE, .function = INLINE_NONE};

        *ret = &k->dwarf;
        if (k->dwarf.places)
                place = k->dwarf.places[i];
        if (k->split.places && place.function == INLINE_NONE &&
            k->split.places[i].function != INLINE_NONE) {
                *ret = &k->split;
                place = k->split.places[i];
        }
        return place;
}

/* The symbol's name, which readers know; where no symbol covers the address, DWARF's. */
static const char *function_name(const struct function *f, const struct inline_result *dwarf,
                                 uint32_t function, bool *guess) {
        const char *name = NULL;

        if (function != INLINE_NONE && (!f || *guess || f->begin == f->end)) {
                Dwarf_Die die = dwarf->functions.items[function];

                name = inline_linker_name(&die);
        }
        if (!name)
                return f ? f->name : NULL;
        *guess = false;
        return name;
}

/* What is no code is a variable: "name+offset:size", so that whoever reads it knows where it begins and ends. A trace has such places
 * if it has a graph (docs/holders.md). */
static void name_variable(struct naming *k, size_t i) {
        const struct variable *v;
        _cleanup_free_ char *name = NULL;
        struct str text = {0};

        if (!k->m->variables.is_loaded)
                variables_load(&k->m->variables, k->m->module);
        v = variables_find(&k->m->variables, k->addresses[i]);
        if (!v)
                return;
        name = symbol_demangle(v->name);
        str_addf(&text, "%s+%llu:%llu", name, (unsigned long long)(k->addresses[i] - v->begin),
                 (unsigned long long)(v->end - v->begin));
        k->fn(k->ctx, &(struct trace_symbol){.location = (uint32_t)i,
                                             .function = str_text(&text),
                                             .file = ""});
        str_done(&text);
}

static const char *plain_name(const struct inline_result *dwarf, uint32_t function) {
        Dwarf_Die die;

        if (function == INLINE_NONE)
                return NULL;
        die = dwarf->functions.items[function];
        return dwarf_diename(&die);
}

/* Code that no symbol covers: all of a function is one place, not each of its instructions. */
static bool find_begin(struct symbol_module *m, uint64_t address, uint64_t *ret_begin) {
        struct function_extent extent;

        if (m->code_fd >= 0) {
                snprintf(m->code.open_path, sizeof(m->code.open_path), "/proc/self/fd/%d",
                         m->code_fd);
                if (code_file_open(&m->code, 0) < 0)
                        code_file_close(&m->code);
                close(m->code_fd);
                m->code_fd = -1;
        }
        if (m->code.fd < 0 || function_extent_find(&m->code, address, &extent) < 0 ||
            address >= extent.end)
                return false;
        *ret_begin = extent.begin;
        return true;
}

static void name_address(struct naming *k, size_t i) {
        const struct function *trampoline =
                functions_find_trampoline(&k->m->functions, k->addresses[i]);
        const struct inline_result *dwarf;
        struct inline_place p = place_of(k, i, &dwarf);
        bool guess = false;
        const struct function *f = functions_find(&k->m->functions, k->addresses[i], &guess);
        const char *name = function_name(f, dwarf, p.function, &guess);
        char begin_text[32];
        uint64_t begin;

        if (trampoline) {
                count(&k->m->counts, trampoline, true, false, false);
                emit(k, i, trampoline->name, NULL, 0, false, false);
                return;
        }
        /* The nearest symbol below is another function's if one begins between. */
        if ((!name || guess) && p.site == INLINE_NONE &&
            find_begin(k->m, k->addresses[i], &begin) && (!name || f->begin < begin)) {
                count(&k->m->counts, f, false, false, p.file != NULL);
                snprintf(begin_text, sizeof(begin_text), "+%llx", (unsigned long long)begin);
                k->fn(k->ctx, &(struct trace_symbol){.location = (uint32_t)i,
                                                     .function = begin_text,
                                                     .file = p.file ? p.file : "",
                                                     .line = p.file ? p.line : 0,
                                                     .guess = true});
                return;
        }
        count(&k->m->counts, f, name != NULL, guess, p.file != NULL);
        /* Innermost first: each is at the line so far, and was called from the line its DIE
         * names. */
        for (uint32_t at = p.site; at != INLINE_NONE; at = dwarf->sites.items[at].caller) {
                const struct inline_site *s = &dwarf->sites.items[at];
                Dwarf_Die die = s->die;

                emit(k, i, inline_linker_name(&die), p.file, p.line, true, false);
                p.file = s->call_file;
                p.line = s->call_line;
        }
        if (name || p.file || p.site != INLINE_NONE)
                emit_function(k, i, name, plain_name(dwarf, p.function), f, p.file, p.line, false,
                              guess);
}

/* A debug file may be linked at another address than the file that ran. */
static struct split *find_inlined(struct naming *k, size_t n) {
        Dwarf_Addr bias = 0;
        Dwarf *dwarf = dwfl_module_getdwarf(k->m->module, &bias);
        _cleanup_free_ uint64_t *shifted = NULL;
        uint64_t code_begin;
        struct split *split;

        if (!dwarf)
                return NULL;
        k->m->has_dwarf = true;
        shifted = calloc(n + 1, sizeof(*shifted));
        if (!shifted)
                abort();
        for (size_t i = 0; i < n; i++)
                shifted[i] = k->addresses[i] - bias;
        code_begin = functions_code_begin(&k->m->functions) - bias;
        split = split_open(dwarf, &k->m->finder, shifted, n, &k->m->counts.n_unsplit);
        inline_find(dwarf, shifted, n, code_begin, &k->dwarf);
        if (split)
                inline_find(split_dwarf(split), shifted, n, code_begin, &k->split);
        return split;
}

void symbol_module_name(struct symbol_module *m, const uint64_t *addresses, size_t n, symbol_fn fn,
                        void *ctx) {
        struct naming k = {.m = m, .addresses = addresses, .fn = fn, .ctx = ctx};
        _cleanup_(split_freep) struct split *split = m->kernel ? NULL : find_inlined(&k, n);

        (void)split; /* names point into it until they are told */
        for (size_t i = 0; m->kernel && i < n; i++) {
                const char *name = kernel_names_find(m->kernel, addresses[i]);

                if (name)
                        emit(&k, i, name, NULL, 0, false, false);
        }
        if (m->kernel)
                return;
        for (size_t i = 0; i < n; i++)
                if (functions_is_code(&m->functions, addresses[i]))
                        name_address(&k, i);
                else
                        name_variable(&k, i);
        m->counts.is_damaged |= k.dwarf.damaged || k.split.damaged || k.dwarf.lines_damaged;
        inline_done(&k.dwarf);
        inline_done(&k.split);
}
