/* SPDX-License-Identifier: MIT */
/* The files that a process has mapped as modules of a trace, for addresses whose module no event has told. Each file is looked at once. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "patch/maps.h"
#include "trace/model.h"

struct mapped_file {
        const char *path; /* as the kernel names it; the caller's */
        uint64_t base;    /* where its first byte is mapped, or would be */
        uint64_t bias;    /* from the file's addresses to the process's */
        uint32_t
                module; /* of the trace; MAPPED_NO_MODULE: it is no program or library, or cannot be read */
};

#define MAPPED_NO_MODULE UINT32_MAX

struct mapped_files {
        pid_t pid; /* behind whose root files are */
        uint32_t (*add_module)(void *ctx, const struct trace_module *m);
        void *ctx;
        VEC(struct mapped_file) list;
};

/* NULL: no module. Valid until the next call. path lives as long as the list. */
const struct mapped_file *mapped_files_get(struct mapped_files *f, const char *path, uint64_t base);

/* The one that has this address: in its mappings, or in zeroed variables behind them. silt's own library is none. */
const struct mapped_file *mapped_files_at(struct mapped_files *f, const struct maps *maps,
                                          uint64_t address);

void mapped_files_done(struct mapped_files *f);
