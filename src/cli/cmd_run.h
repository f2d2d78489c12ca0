/* SPDX-License-Identifier: MIT */
/* What the command line of `silt run` asks for. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct run_options {
        const char *output_path;  /* NULL: silt.<program>.<pid>.silt in the working directory */
        const char *log_path;     /* NULL: none */
        const char *launcher;     /* NULL: the program is started directly */
        const char *runtime_path; /* NULL: the libsilt.so beside this silt */
        uint64_t duration_ns;     /* 0: to the end */
        bool overwrite;
        bool quiet;
        bool verbose;
        bool wait_for_descendants;
        bool free_stacks;
        bool addresses;
        bool no_symbols;
        bool lossy;
        char **argv; /* the program and its arguments, NULL-ended */
};

/* False when silt is to end with *ret_exit_status: help or an error was printed. */
bool run_options_parse(int argc, char **argv, struct run_options *ret_options,
                       int *ret_exit_status);
