/* SPDX-License-Identifier: MIT */
/* malloc and free, nothing else: pairs PAIRS BYTES. */
#include <stdlib.h>

int main(int argc, char **argv) {
        long n = argc > 2 ? atol(argv[1]) : 0;
        size_t size_bytes = argc > 2 ? (size_t)atol(argv[2]) : 0;
        void *volatile block;

        for (long i = 0; i < n; i++) {
                block = malloc(size_bytes);
                free(block);
        }
        return 0;
}
