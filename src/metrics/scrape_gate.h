/* SPDX-License-Identifier: MIT */
/* What becomes of a request, by its head, which may hold anything. No HTTP library: it is tested and fuzzed alone. Inside metrics/ only. */
#pragma once

#include <stdbool.h>

/* As the client sent it; NULL: not sent. */
struct scrape_head {
        const char *method, *path; /* without what stands behind '?' */
        const char *host;
        bool has_body;
};

enum scrape_verdict { SCRAPE_REFUSED, SCRAPE_HINT, SCRAPE_METRICS };

struct scrape_admitted {
        enum scrape_verdict verdict;
        unsigned status;
        const char *text; /* one line; a constant. Of metrics: NULL */
};

/* Refused whatever its path: before a body is read. */
bool scrape_is_refused_early(const struct scrape_head *h, struct scrape_admitted *ret);
struct scrape_admitted scrape_admit(const struct scrape_head *h, bool is_loopback);
