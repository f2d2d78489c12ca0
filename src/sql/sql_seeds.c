/* SPDX-License-Identifier: MIT */
/* What fuzzing of statements begins with beside its corpus: the questions that people ask. */
#include <stdio.h>
#include <string.h>

#include "sql/recipe.h"

int main(int argc, char **argv) {
        _cleanup_(recipes_freep) struct recipes *all = NULL;
        struct err e = {0};

        if (argc != 2 || recipes_load(false, NULL, &all, &e) < 0)
                return 1;
        for (size_t i = 0; i < recipes_n(all); i++) {
                const struct recipe *one = recipes_at(all, i);
                char path[4096];
                FILE *f;

                snprintf(path, sizeof(path), "%s/%s", argv[1], one->name);
                f = fopen(path, "w");
                if (!f || fputs(one->statement, f) == EOF || fclose(f) != 0)
                        return 1;
        }
        return 0;
}
