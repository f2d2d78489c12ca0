/* SPDX-License-Identifier: MIT */
/* Can silt enter a program? The loader ignores LD_PRELOAD for static, privileged and foreign programs;
 * that is said before the run, with what to do, instead of leaving an empty trace. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

enum program_verdict {
        PROGRAM_OK = 0,
        PROGRAM_NOT_FOUND,      /* exit status 127 */
        PROGRAM_NOT_EXECUTABLE, /* 126 */
        PROGRAM_REFUSED,        /* 125: static, set-user-id, capabilities, other machine, no ELF */
};

struct checked_program {
        char path[4096];        /* the program as found */
        char interpreter[4096]; /* of a script, the program that is really entered; else "" */
        uint16_t machine;       /* ELF e_machine of what is entered */
        char loader[256];       /* what the program names as its own; "" none */
        bool is_pie, has_symtab, is_static;
        bool is_musl; /* run by musl's loader */
        bool is_go;   /* most of its memory is in a heap that is nobody's malloc */
};

/* What silt says of a Go program, behind its name. */
#define PROGRAM_GO_WORDS                                                                           \
        "is a Go program: silt sees the C code it calls, but not Go's garbage-collected heap: use Go's own profiler (net/http/pprof)"

bool program_is_go_process(pid_t pid); /* false: not, or it cannot be read */
/* A process was refused: if it is a Go program that is why, and what to do. */
void program_explain_go(pid_t pid, struct err *err);

/* name as given to execvp. machine: the runtime's, e.g. EM_AARCH64. reterr explains any verdict but PROGRAM_OK. */
enum program_verdict program_check(const char *name, uint16_t machine, struct checked_program *ret,
                                   struct err *reterr);
