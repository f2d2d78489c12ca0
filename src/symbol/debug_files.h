/* SPDX-License-Identifier: MIT */
/* The ELF files in what --debug-path names, files or whole trees, by build-id: whatever they are called there, and however
 * deep. Looked through once, when a module is first missing, in the process that looks names up. Inside symbol/ only. */
#pragma once

#include "symbol/elf_file.h"
#include "symbol/symbol.h"

struct debug_file {
        const char *path;
        struct elf_file_id id;
        bool is_given; /* named on the command line, not found in a directory */
};

struct debug_files {
        struct debug_file *items;
        size_t n, cap;
        size_t n_seen; /* files looked at, ELF or not */
        bool is_cut;   /* there are more than may be looked at */
};

/* Of this process, for ever. NULL: no debug path was given. */
const struct debug_files *debug_files_of(const struct symbol_search *search);

/* The file of that build-id, one with debug information before others; NULL: none. */
const struct debug_file *debug_files_find(const struct debug_files *f, const uint8_t *id,
                                          size_t n_id);

/* A file that is called like the module (or like its debug file, NULL: not known), or that was given by name, but is of another
 * build; NULL: none. */
const struct debug_file *debug_files_find_other(const struct debug_files *f, const char *module,
                                                const char *link);
