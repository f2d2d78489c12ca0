/* SPDX-License-Identifier: MIT */
/* Writes the seeds of snapshot_server_fuzz: names that are taken and names that are not, messages that are none, and time that passes.
 *
 *   snapshot_server_seeds FOLDER */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *seed_open(const char *folder, const char *name) {
        char path[4096];
        FILE *f;

        snprintf(path, sizeof(path), "%s/%s", folder, name);
        f = fopen(path, "wb");
        if (!f)
                abort();
        return f;
}

static void put(FILE *f, unsigned choice, const char *text) {
        size_t n = strlen(text) < 255 ? strlen(text) : 255;

        fputc((int)choice, f);
        fputc((int)n, f);
        fwrite(text, 1, n, f);
}

int main(int argc, char **argv) {
        static const char *const names[] = {"warm", "warm", "@x", "a..b", " a", "a\nb", "größer"};
        char longest[256];
        FILE *f;

        if (argc < 2)
                return 2;
        memset(longest, 'x', sizeof(longest) - 1);
        longest[sizeof(longest) - 1] = '\0';
        f = seed_open(argv[1], "names");
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
                put(f, 3, names[i]);
        put(f, 11, "");
        put(f, 7, "gone");
        put(f, 3, longest);
        fclose(f);
        f = seed_open(argv[1], "noise");
        put(f, 0, "x");
        put(f, 1, longest);
        fclose(f);
        f = seed_open(argv[1], "time");
        for (unsigned i = 0; i < 40; i++)
                put(f, i % 3 ? 19 : 27, longest + 255 - i % 16);
        fclose(f);
        return 0;
}
