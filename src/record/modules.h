/* SPDX-License-Identifier: MIT */
/* Which file a module of the target is: its path and build-id, read once per file. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/vec.h"
#include "pipeline/pipeline.h"

struct modules_file {
        const char *path;
        dev_t dev;
        ino_t ino;
        time_t mtime;
        uint8_t build_id[32];
        uint32_t build_id_len;
};

struct modules {
        struct arena *arena;
        const char *runtime_path; /* libsilt.so, whose frames are not the program's */
        VEC(struct modules_file) files;
};

void modules_init(struct modules *m, const char *runtime_path);

/* The program of a process that surely lives, under the path exe: another file may be there by the time its events are read. Its number, 0:
 * it cannot be read. */
uint32_t modules_add_program(struct modules *m, pid_t pid, const char *exe);

/* As pipeline_calls.on_module wants it; false for the runtime itself. exe: the process's program, read while it
 * surely lived; program: its number, 0 unknown. */
bool modules_resolve(struct modules *m, const struct pipeline_module *which, const char *exe,
                     uint32_t program, struct trace_module *fill);
