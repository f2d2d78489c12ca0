/* SPDX-License-Identifier: MIT */
/* realloc fails because the address space is used up: the block, its site and its size stay as they
 * were.
 *
 * malloc(4 MiB), then RLIMIT_AS at what is in use, then 50 times realloc to 1 GiB, which fails: 50
 * failed. The limit back, realloc to 8 MiB works: 1 reallocation, of a block that was the last
 * allocation: temporary. The 8 MiB block is freed: temporary too. Peak 8 MiB in 1 block; nothing
 * left. */
#include "truth.h"
#include <sys/resource.h>

int main(void) {
        struct rlimit old, tight;
        size_t mib = (size_t)1 << 20;
        char *p = malloc(4 * mib);

        MUST(p && getrlimit(RLIMIT_AS, &old) == 0);
        tight = old;
        /* less than the program has: every growth is refused, nothing is taken away */
        tight.rlim_cur = 64 * mib;
        MUST(setrlimit(RLIMIT_AS, &tight) == 0);
        for (int i = 0; i < 50; i++)
                MUST(!realloc(p, 1024 * mib));
        MUST(setrlimit(RLIMIT_AS, &old) == 0);
        p = realloc(p, 8 * mib);
        MUST(p);
        free(p);
        return 0;
}
