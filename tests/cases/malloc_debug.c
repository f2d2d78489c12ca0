/* SPDX-License-Identifier: MIT */
/* malloc_debug WHAT: for glibc's libc_malloc_debug.so.
 *   trace    20 allocations of several kinds between mtrace and muntrace, 5 of them kept
 *   mcheck   writes behind a block and releases it; mcheck's handler says so
 *   check    releases a block twice, which malloc-check (GLIBC_TUNABLES) does not let pass */
#include <malloc.h>
#include <mcheck.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *blocks[20];

static void work(void) {
        for (int i = 0; i < 16; i++)
                blocks[i] = malloc(100 + (size_t)i);
        blocks[16] = calloc(3, 7);
        blocks[17] = memalign(64, 333);
        blocks[18] = realloc(malloc(10), 2000); /* two */
        for (int i = 5; i < 19; i++)
                free(blocks[i]);
}

static void on_error(enum mcheck_status status) {
        printf("mcheck: %s\n", status == MCHECK_TAIL ? "behind the block" : "other");
        fflush(stdout);
        _Exit(3);
}

int main(int argc, char **argv) {
        const char *what = argc > 1 ? argv[1] : "";
        volatile char *block;

        setvbuf(stdout, NULL, _IONBF, 0);
        if (!strcmp(what, "trace")) {
                mtrace();
                work();
                muntrace();
                return 0;
        }
        if (!strcmp(what, "mcheck")) {
                if (mcheck(on_error))
                        return 4;
                block = malloc(10);
                block[10] = 1;
                free((void *)block);
                return 5;
        }
        work();
        free(blocks[5]); /* once more */
        return 6;
}
