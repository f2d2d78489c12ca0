/* SPDX-License-Identifier: MIT */
/* Can silt enter a program? The loader ignores LD_PRELOAD for static, privileged and foreign programs;
 * that is said before the run, with what to do, instead of leaving an empty trace. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum entry_verdict {
        ENTRY_OK = 0,
        ENTRY_NOT_FOUND,      /* exit status 127 */
        ENTRY_NOT_EXECUTABLE, /* 126 */
        ENTRY_REFUSED,        /* 125: static, set-user-id, capabilities, other machine, no ELF */
};

struct entry {
        char path[4096];        /* the program as found */
        char interpreter[4096]; /* of a script, the program that is really entered; else "" */
        uint16_t machine;       /* ELF e_machine of what is entered */
        bool is_pie, has_symtab, is_static;
        bool is_musl; /* run by musl's loader */
};

/* name as given to execvp. machine: the runtime's, e.g. EM_AARCH64. reterr explains any verdict but ENTRY_OK. */
enum entry_verdict entry_check(const char *name, uint16_t machine, struct entry *ret,
                               struct err *reterr);
