/* SPDX-License-Identifier: MIT */
/* Lines of Python's code, by the tables that its code objects have. Inside import/ only. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct python_table {
        const uint8_t *bytes;
        size_t n;
        int64_t first_line;
};

/* The line of the instruction at offset; 0: unknown. python_version: PY_VERSION_HEX, since the form of the tables changed. */
uint32_t python_line(uint32_t python_version, const struct python_table *c, int64_t offset);
