/* SPDX-License-Identifier: MIT */
/* Writes the seeds of folded_stacks_fuzz: paths, names with blanks, a path twice.
 * usage: folded_stacks_seeds DIRECTORY */
#include "import/testing/import_fuzzing.h"

static const char *const seeds[] = {
        "main;serve;operator new(unsigned long) 1204\nmain;serve 3\nmain;serve 4\n# a comment\n\nmain;none 0\n",
        "a 1\r\nb;c 2\r\n;; 3",
};

int main(int argc, char **argv) {
        return argc == 2 ? import_fuzz_put_texts(argv[1], seeds, sizeof(seeds) / sizeof(seeds[0]))
                         : 2;
}
