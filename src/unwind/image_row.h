/* SPDX-License-Identifier: MIT */
#ifndef SILT_UNWIND_IMAGE_ROW_H
#define SILT_UNWIND_IMAGE_ROW_H

/* The row of a key from an image alone: its tables, and where they say nothing or are not believed, its code. A pure function
 * of the image's bytes; whoever maps the image may be another process than the one whose code it is. */

#include <stdint.h>

#include "unwind/cfi.h"

#pragma GCC visibility push(hidden)

/* entries: where the code of a process begins, 0 none. A walk that gets there has the whole stack. */
row_t image_row(const struct cfi_image *image, uint64_t key, const uint64_t entries[2]);

#pragma GCC visibility pop

#endif
