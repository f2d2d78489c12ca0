/* SPDX-License-Identifier: MIT */
/* Writes the seeds of request_fuzz: queries of URLs that ask for something of everything.
 * usage: request_seeds DIRECTORY */
#include <stdio.h>
#include <stdlib.h>

#include "request/request.h"
#include "request/testing/random_request.h"

enum { N_SEEDS = 64 };

static int write_seed(const char *directory, unsigned i, struct str *url) {
        char path[4096];
        FILE *f;

        snprintf(path, sizeof(path), "%s/%u", directory, i);
        f = fopen(path, "w");
        if (!f || fwrite(url->bytes, 1, url->n, f) != url->n || fclose(f) != 0) {
                perror(path);
                return -1;
        }
        return 0;
}

int main(int argc, char **argv) {
        if (argc != 2)
                return 2;
        for (unsigned i = 0; i < N_SEEDS; i++) {
                struct request r = REQUEST_DEFAULT;
                struct random_request drawn;
                struct str url = {0};
                int x;

                random_request_draw(&drawn, i);
                for (size_t k = 0; k < drawn.n; k++)
                        if (request_set(&r, drawn.pairs[k].key, drawn.pairs[k].value, NULL) < 0)
                                abort();
                request_add_url(&r, &url);
                if (i % 8 == 0)
                        str_add(&url, "&per-second&rules=x&from=%");
                x = url.n ? write_seed(argv[1], i, &url) : 0;
                str_done(&url);
                request_done(&r);
                if (x < 0)
                        return 1;
        }
        return 0;
}
