/* SPDX-License-Identifier: MIT */
/* A space's contents, for walks. Inside remote/ only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "remote/remote_files.h"
#include "remote/remote_space.h"

struct remote_mapping {
        uint64_t begin, end;
        struct remote_known *known; /* NULL: in no file */
        struct remote_module *
                module; /* NULL: no file, or nothing is known of its code. Owned by its first mapping */
};

pid_t remote_space_pid(const struct remote_space *s);

/* The mapping of code that holds addr; NULL: none. */
const struct remote_mapping *remote_space_at(struct remote_space *s, uint64_t addr);
