/* SPDX-License-Identifier: MIT */
/* Where functions begin and end in a file without names: as its unwind tables say (.eh_frame_hdr), which strip leaves. */
#pragma once

#include "symbol/code_file.h"

struct function_extent {
        uint64_t begin, end; /* the file's own addresses */
        uint64_t next;       /* where the one behind begins; 0: there is none */
};

/* The function at addr, or the last before it. 0; -ENOENT: the tables say nothing about it. */
int function_extent_find(const struct code_file *o, uint64_t addr, struct function_extent *ret);
