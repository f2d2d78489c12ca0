/* SPDX-License-Identifier: MIT */
/* A file of code as a process has it mapped. Its bytes are read from the file: code is not changed when it is loaded. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { OBJECT_MAX_LOADS = 32 }; /* segments; of a file with more the rest is not looked at */

struct object_load {
        uint64_t addr, n_bytes, offset; /* of the file */
        bool is_code;
};

struct code_file {
        const char *path;     /* as mapped */
        char open_path[4200]; /* where we find the same file */
        uint64_t begin, end;  /* of its mappings */
        uint64_t bias;        /* from the file's addresses to the process's */
        int fd;               /* -1: not open */
        uint32_t machine;     /* ELF e_machine */
        struct object_load loads[OBJECT_MAX_LOADS];
        unsigned n_loads;
        uint64_t frames_addr; /* of the index of its unwind tables (.eh_frame_hdr); 0: none */
        bool is_program;
};

/* Opens open_path, a file for this machine (ELF e_machine; 0: any that silt knows), and finds the bias, which is 0 where begin
 * is. 0 or -errno; closed by code_file_close in any case. */
int code_file_open(struct code_file *o, uint32_t machine);
void code_file_close(struct code_file *o);

/* Up to n_bytes of code at the file's address addr; how many there were. */
size_t code_file_read(const struct code_file *o, uint64_t addr, uint8_t *ret, size_t n_bytes);

/* The same of any segment. */
size_t code_file_read_any(const struct code_file *o, uint64_t addr, void *ret, size_t n_bytes);

/* Where we find the file that /proc/PID/maps calls path: behind the process's root, unless that is a folder of ours, which then is in its name. */
void code_file_locate(pid_t pid, const char *path, char *ret, size_t cap);
