/* SPDX-License-Identifier: MIT */
/* iconv_open and iconv_close in a loop: libc loads and unloads conversion modules by itself,
 * without dlopen being called. The baseline does the same, without the 300 blocks of 11 bytes that
 * are allocated while the modules are loaded and freed when they are gone, and the 300 of 13 that
 * stay.
 *
 *   allocations +600   frees +300   bytes +7,200   end +3,900 in +300
 * The 13 follow the 11 at once: none is temporary. In the baseline the descriptor is the last
 * allocation when iconv_close frees it, so it is temporary, but for the last round with its large
 * block: 299 fewer here. A block of 1 MiB in both runs, the same for both, stands during the
 * conversion of the last round: both peaks are at that moment: +299 * 13 + 11 + 13 = +3,911 in
 * +301. */
#include "truth.h"
#include <iconv.h>

int main(int argc, char **argv) {
        int baseline = truth_baseline(argc, argv);
        void *large = NULL;

        for (int i = 0; i < 300; i++) {
                char in[] = "silt\xe9", out[64], *from = in, *to = out;
                size_t n_in = 5, n_out = sizeof(out);
                void *block = NULL;
                iconv_t cd = iconv_open("UTF-16LE", "ISO-8859-1");

                MUST(cd != (iconv_t)-1);
                if (!baseline) {
                        block = malloc(11);
                        MUST(malloc(13));
                }
                if (i == 299)
                        large = malloc(1 << 20);
                MUST(iconv(cd, &from, &n_in, &to, &n_out) == 0 && n_out == sizeof(out) - 10);
                iconv_close(cd);
                free(block);
        }
        free(large);
        return 0;
}
