/* SPDX-License-Identifier: MIT */
/* What memray's captures begin with, of all versions. Inside import/ only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "import/memray_bytes.h"

enum {
        MEMRAY_OLDEST = 9,
        MEMRAY_HAS_FORM = 10, /* versions: what came with them */
        MEMRAY_HAS_PYTHON_ALLOCATORS = 11,
        MEMRAY_HAS_TABLES = 12,
        MEMRAY_HAS_PATHS = 13,
        MEMRAY_NEWEST = 13,
};

struct memray_head {
        uint32_t version, python_version, pid;
        bool is_native;
        uint64_t start_ms, end_ms, main_handle, n_skipped;
        const char *command; /* of the arena */
};

/* 1, or -errno: it is refused. */
int memray_head_take(struct memray_bytes *b, struct memray_head *ret, struct arena *arena);
