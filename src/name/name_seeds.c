/* SPDX-License-Identifier: MIT */
/* What fuzzing of names begins with: rules of every kind, and the functions of names.table in stacks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

enum { N_FUNCTIONS = 6 }; /* in a seed */

static const char *const rules[] = {
        "allocator my_*alloc\nkeep std::**\nstart a::**::b in libx.so*\n",
        "machinery a::b at */src/*\ntask **::{closure}\ndriver **::poll\n",
        "fold a::b<int, char> => c\nfold a::b => d\nfold a::b<*> =>\ninline std::__1\n# words\n",
        "component a shop::**\npass b std::**\nrust component c core::** in libx.so*\ncomponent d ** at */src/*\n",
        "pass a <b>::c\ncomponent a <b>::d\ncomponent a a::*\n",
        "",
};

static FILE *seed_open(const char *folder, unsigned number) {
        char path[4096];
        FILE *f;

        snprintf(path, sizeof(path), "%s/%u", folder, number);
        f = fopen(path, "w");
        if (!f)
                exit(1);
        return f;
}

int main(int argc, char **argv) {
        FILE *table = fopen(NAMES_TABLE, "r"), *seed = NULL;
        _cleanup_free_ char *line = NULL;
        unsigned n = 0, n_seeds = 0;
        size_t cap = 0;

        if (argc != 2 || !table)
                return 1;
        while (getline(&line, &cap, table) > 0) {
                if (strchr(" #\n", line[0]))
                        continue;
                if (n++ % N_FUNCTIONS == 0) {
                        if (seed)
                                fclose(seed);
                        seed = seed_open(argv[1], n_seeds);
                        fputs(rules[n_seeds % ARRAY_SIZE(rules)], seed);
                        fputc('\0', seed);
                        n_seeds++;
                }
                fputs(line, seed);
                if (n % 5 == 0)
                        fputs("?malloc\n@libc.so.6\n\napp::f::{{closure}}\n<T as Future>::poll\n",
                              seed);
        }
        if (seed)
                fclose(seed);
        fclose(table);
        return 0;
}
