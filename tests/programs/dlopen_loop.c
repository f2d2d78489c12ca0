/* SPDX-License-Identifier: MIT */
/* A library opened and closed 200 times; it allocates in its constructor, frees in its destructor,
 * and a function of it allocates blocks that outlive it. What the loader allocates for itself is
 * the same in the baseline, which also has the library's 1 MiB block, so that both peaks come at
 * the same moment.
 *
 * More than the baseline, per round: 10 blocks of 100 bytes, freed at unload (10 allocations, 10
 * frees, 1,000 bytes), and one of 7 bytes that stays (all from one site, though the code was
 * unloaded in between).
 *   allocations +2,200   frees +2,000   bytes +201,400   end +1,400 in +200
 *   peak: in round 200 after dlopen: 199 * 7 older ones, 1,000 in 10, and the last 7: +2,400 in
 *   +210
 * Temporary: in the baseline the 1 MiB block is allocated last of all dlopen does and freed by
 * dlclose's first step, so it is temporary; here others follow it. Of the small ones none is: the 7
 * bytes follow. So -200. */
#include "truth.h"
#include <dlfcn.h>

int marks_only;

int main(int argc, char **argv) {
        MUST(argc > 1);
        marks_only = truth_baseline(argc, argv);
        for (int i = 0; i < 200; i++) {
                void *library = dlopen(argv[argc - 1], RTLD_NOW | RTLD_LOCAL);
                MUST(library);
                void *(*give_block)(void) = (void *(*)(void))dlsym(library, "give_block");
                MUST(give_block);
                if (!marks_only)
                        MUST(give_block());
                MUST(dlclose(library) == 0);
        }
        return 0;
}
