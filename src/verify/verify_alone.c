/* SPDX-License-Identifier: MIT */
/* The verifier as a program, linked without the reader: that it links is half of the test.
 * usage: verify_alone FILE */
#include <stdio.h>

#include "verify/verify.h"

int main(int argc, char **argv) {
        struct err err = {0};
        int r;

        if (argc != 2)
                return 2;
        r = trace_verify(argv[1], stdout, &err);
        if (r < 0)
                fprintf(stderr, "%s\n", err.text);
        return r < 0 ? 2 : r;
}
