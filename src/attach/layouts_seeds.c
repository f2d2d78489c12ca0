/* SPDX-License-Identifier: MIT */
/* Writes the seeds of layouts_fuzz: the layouts that silt comes with.
 * usage: layouts_seeds DIRECTORY */
#include <stdio.h>

#include "attach/builtin_layouts.h"
#include "base/macros.h"

int main(int argc, char **argv) {
        char path[4096];

        if (argc != 2)
                return 2;
        for (size_t i = 0; i < ARRAY_SIZE(builtin_layouts); i++) {
                FILE *f;

                snprintf(path, sizeof(path), "%s/%s-%zu", argv[1], builtin_layouts[i].name, i);
                f = fopen(path, "w");
                if (!f || fputs(builtin_layouts[i].text, f) < 0 || fclose(f))
                        return 1;
        }
        return 0;
}
