/* SPDX-License-Identifier: MIT */
/* Which addresses of the kernel, in a recording of perf, this machine has names for: those of the kernel itself and of its modules, where they
 * lay then as they do now. Inside import/ only. */
#pragma once

#include "base/vec.h"
#include "import/address_ranges.h"
#include "import/import_trace.h"
#include "import/perf_file.h"

struct kernel_module {
        const char *name;
        uint64_t begin, end;
};

struct perf_kernel {
        const struct perf_file *f;
        bool is_here, is_of_this_start; /* the recording is of this machine; since it was started */
        const char *root;               /* before /proc and /sys */
        struct arena *arena;
        VEC(struct kernel_module) modules; /* that are loaded now, by name */
        bool has_modules;                  /* they were read */
        bool is_known;                     /* the kernel is the one that runs */
        struct address_ranges named;       /* what has names */
        uint8_t id[32];
        uint32_t n_id;
};

/* f: for build-ids. root: "" but for tests; both are borrowed. */
void perf_kernel_init(struct perf_kernel *k, const struct perf_file *f, bool is_here,
                      bool is_of_this_start, const char *root);
void perf_kernel_done(struct perf_kernel *k);

/* A record of a mapping of the kernel's, of which the kernel itself comes before its modules. id: as the record says. */
void perf_kernel_map(struct perf_kernel *k, const struct address_range *m, const char *path,
                     const struct perf_build_id *id);

/* With a build-id if it has names. ret points into k. */
void perf_kernel_place(const struct perf_kernel *k, uint64_t return_address,
                       struct import_place *ret);
