/* SPDX-License-Identifier: MIT */
/* The parts of the page, as web/ was bundled; or nothing, in a silt built without it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct page_asset {
        const char *bytes; /* not ended by a zero */
        size_t n;
};

bool page_is_built(void);
struct page_asset page_script(void);
struct page_asset page_sheet(void);
struct page_asset page_document(void);
