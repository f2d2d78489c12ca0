/* SPDX-License-Identifier: MIT */
/* Numbers and names of memray's captures. Inside import/ only. */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "import/import_input.h"

struct memray_bytes {
        struct import_input *in;
        struct err *reterr;
        struct str text; /* the last string */
};

/* Each: 1, 0 the file ends here, or -errno. */
int memray_take_bytes(struct memray_bytes *b, void *to, size_t n);
int memray_take_varint(struct memray_bytes *b, uint64_t *ret);
int memray_take_signed(struct memray_bytes *b, int64_t *ret);
int memray_take_delta(struct memray_bytes *b, uint64_t *last);
int memray_take_string(struct memray_bytes *b); /* into text */
