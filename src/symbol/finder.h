/* SPDX-License-Identifier: MIT */
/* Finds the files that name a module's code: the file that ran, its separate debug file, the file
 * dwz moved common parts to. docs/symbols.md has the order of places. A file counts only when it
 * is proven to belong: by build-id, or, where there is none, by the checksum in .gnu_debuglink.
 * Inside symbol/ only. */
#pragma once

#include <elfutils/libdwfl.h>

#include "symbol/elf_file.h"
#include "symbol/symbol.h"
#include "trace/model.h"

struct finder {
        const struct trace_module *module;
        const struct symbol_search *search; /* never NULL */
        char path[4200];                    /* of the file opened as the code */
        bool is_debug_file;                 /* that file is only the debug file of the code */
        bool is_unproven;                   /* the trace has no build-id to check it by */
        struct elf_file_id id;              /* of that file */
        char debug_path[4200];              /* the separate debug file; "" none */
        bool has_debug_info;                /* in one of the two, readable or not */
        bool has_sought;                    /* the debug file, found or not */
        const struct debug_files *files; /* of the debug paths; NULL: none, or not looked through */
        char other_path[4200]; /* a file that may be meant, but is of another build; "" none */
        struct elf_file_id other_id; /* and what it is of */
        struct elf_file_alt alt;     /* what the code or the debug file wants */
        bool lacks_alt;              /* and it was not found */
};

void finder_init(struct finder *f, const struct trace_module *m,
                 const struct symbol_search *search);

/* The file to report to libdwfl. -ENOENT: none; -ESTALE: only ones with another build-id;
 * -ENOEXEC: what is there is no ELF file. */
int finder_open_code(struct finder *f);

/* Dwfl_Callbacks.find_debuginfo; *userdata is the finder. */
int finder_find_debuginfo(Dwfl_Module *mod, void **userdata, const char *modname, Dwarf_Addr base,
                          const char *file_name, const char *debuglink, GElf_Word debuglink_crc,
                          char **ret_path);

/* Calls try for every directory that may hold debug files, until one is not 0. */
typedef int (*finder_root_fn)(void *ctx, const char *root);
int finder_each_root(const struct finder *f, finder_root_fn try, void *ctx);
