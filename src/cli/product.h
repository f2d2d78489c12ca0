/* SPDX-License-Identifier: MIT */
/* A file that a command makes. What silt made before is made anew without a question; whatever else is there is somebody's. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct product {
        const char *path;
        const char *mark;   /* stands within the first bytes of what silt makes */
        size_t mark_within; /* of so many; at most PRODUCT_MAX_MARK_WITHIN */
        bool force;         /* overwrite whatever is there */
        bool is_private;    /* for nobody else to read, as traces are */
};
enum { PRODUCT_MAX_MARK_WITHIN = 4096 };

/* Refuses a file that may not be overwritten, before any work is done; product_write has the last word. */
int product_check(const struct product *p, struct err *reterr);
int product_write(const struct product *p, const char *bytes, size_t n, struct err *reterr);
