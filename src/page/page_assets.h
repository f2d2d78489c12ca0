/* SPDX-License-Identifier: MIT */
/* The parts of the page, as web/ was bundled; or nothing, in a silt built without it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct page_asset {
        const char *bytes; /* not ended by a zero */
        size_t n;
};

/* What an error says where it is not: how to get it. */
#define PAGE_MISSING                                                                               \
        "this silt was built without the page: install nodejs and npm, then run 'meson configure build -Dweb=true' and 'make' where it was built"

bool page_is_built(void);
struct page_asset page_script(void);
struct page_asset page_sheet(void);
struct page_asset page_document(void);
