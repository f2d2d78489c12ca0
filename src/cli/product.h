/* SPDX-License-Identifier: MIT */
/* A file that a command makes. What silt made before is made anew without a question; whatever else is there is somebody's. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"

struct product {
        const char *path;
        const char *mark; /* stands within the first bytes of what silt makes; NULL: nothing does */
        size_t mark_within; /* of so many; at most PRODUCT_MAX_MARK_WITHIN */
        bool force;         /* overwrite whatever is there */
        bool is_private;    /* for nobody else to read, as traces are */
};
enum { PRODUCT_MAX_MARK_WITHIN = 4096 };

/* Refuses a file that may not be overwritten, before any work is done. `draw` then writes the product to memory: one that fails leaves
 * what was there. */
typedef int (*product_draw_fn)(void *ctx, FILE *out, struct err *reterr);
int product_draw(const struct product *p, product_draw_fn draw, void *ctx, size_t *ret_n_bytes,
                 struct err *reterr);

/* Large products, as they are made: into a file beside its place, which it takes at the end. Whatever was there stays as it was until
 * then, and after a failure. */
struct product_stream {
        const struct product *product;
        char *part; /* the file beside it; NULL: there is none, as for devices and pipes */
        int fd;
        bool is_nameless; /* it gets the name of part when it is whole */
};
int product_begin(struct product_stream *s, const struct product *p, struct err *reterr);
/* r: how the making went; below 0 nothing is left of it. Returns r, or what failed now. Closes the descriptor. */
int product_end(struct product_stream *s, int r, struct err *reterr);
