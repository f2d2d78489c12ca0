/* SPDX-License-Identifier: MIT */
#include "cli/page_product.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/options.h"
#include "cli/product.h"
#include "page/page_assets.h"

static int write_page(const struct page_product *p, FILE *out, struct page_file_result *ret,
                      struct err *reterr) {
        _cleanup_(answerer_freep) struct answerer *a = NULL;
        _cleanup_(asker_freep) struct asker *k = NULL;
        const struct answerer_options options = {.path = p->path,
                                                 .old_path = p->old_path,
                                                 .rules = p->page.request->rules};
        int r;

        if (!page_is_built())
                return err_set(reterr, -ENOTSUP, PAGE_MISSING);
        r = answerer_new(&options, &a, reterr);
        if (r < 0)
                return r;
        k = asker_new(a);
        return page_file_write(out, k, &p->page, ret, reterr);
}

struct page_drawing {
        const struct page_product *product;
        struct page_file_result result;
};

static int draw(void *ctx, FILE *out, struct err *reterr) {
        struct page_drawing *d = ctx;

        return write_page(d->product, out, &d->result, reterr);
}

static int make_file(const struct page_product *p, struct err *reterr) {
        const struct product product = {p->output, PAGE_FILE_MARK, PAGE_FILE_MARK_WITHIN, p->force,
                                        true};
        struct page_drawing d = {.product = p};
        struct unit_text size;
        size_t n;
        int r = product_draw(&product, draw, &d, &n, reterr);

        if (r >= 0)
                cli_say("page: %s (%s): open it in a browser, or mail it", p->output,
                        unit_bytes(&size, n));
        if (r >= 0 && d.result.left_out[0])
                cli_say("page: left out: %s; 'silt view' has it", d.result.left_out);
        return r;
}

int page_product_make(const struct page_product *p, struct err *reterr) {
        struct page_file_result result;

        return strcmp(p->output, "-") == 0 ? write_page(p, stdout, &result, reterr)
                                           : make_file(p, reterr);
}
