/* SPDX-License-Identifier: MIT */
#include "page/page_assets.h"

#if SILT_WEB
#include <page_css.h>
#include <page_html.h>
#include <page_js.h>
#else
static const char page_css[1], page_html[1], page_js[1];
#endif

bool page_is_built(void) {
        return SILT_WEB;
}

struct page_asset page_script(void) {
        return (struct page_asset){page_js, sizeof(page_js)};
}

struct page_asset page_sheet(void) {
        return (struct page_asset){page_css, sizeof(page_css)};
}

struct page_asset page_document(void) {
        return (struct page_asset){page_html, sizeof(page_html)};
}
