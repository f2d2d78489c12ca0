/* SPDX-License-Identifier: MIT */
/* Any bytes as a suppression file: refused in one line, or understood; then what it holds is laid beside call paths. The input is the file up to the
 * first NUL, then functions with newlines between them: a call path. What fits a path fits it again, and a longer one of which it is the begin.
 *
 * covers: src/keep/suppression.c */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macros.h"
#include "keep/suppression.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { MAX_PLACES = 64 };

static void expect(bool is_so) {
        if (!is_so)
                abort();
}

/* From a file now and then: that takes longer. */
static int load(struct suppressions *s, const uint8_t *text, size_t n, struct err *err) {
        static unsigned n_runs;
        char path[32];
        int fd, r;

        if (n_runs++ % 64)
                return suppressions_parse(s, (const char *)text, n, "x.supp", err);
        fd = memfd_create("suppressions", MFD_CLOEXEC);
        expect(fd >= 0 && fs_write_all(fd, text, n) == 0);
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        r = suppressions_read(s, path, err);
        close(fd);
        return r;
}

static size_t split(char *text, struct suppression_place *places) {
        char *at = text, *line;
        size_t n = 0;

        for (; n < MAX_PLACES && (line = strsep(&at, "\n")); n++)
                places[n] =
                        (struct suppression_place){.function = line,
                                                   .object = n % 2 ? "/usr/lib/libfoo.so.1" : "",
                                                   .source = n % 3 ? "/src/load.c" : "",
                                                   .line = (uint32_t)n};
        return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        const uint8_t *end = n ? memchr(data, 0, n) : NULL;
        size_t n_file = end ? (size_t)(end - data) : n;
        _cleanup_free_ char *path =
                strndup(end ? (const char *)end + 1 : "", end ? n - n_file - 1 : 0);
        struct suppression_place places[MAX_PLACES];
        struct suppressions s = {0};
        struct err err = {0};
        size_t n_places;

        expect(path != NULL);
        if (load(&s, data, n_file, &err) < 0)
                expect(err.text[0] && !strchr(err.text, '\n'));
        n_places = split(path, places);
        for (unsigned class = 0; class < N_LEAK_CLASSES; class ++) {
                const struct suppression *found = suppressions_find(&s, class, places, n_places);

                if (found)
                        expect(found->classes & 1u << class);
                if (found && n_places > 1)
                        expect(suppressions_find(&s, class, places, n_places) == found);
                if (n_places > 1 && suppressions_find(&s, class, places, n_places - 1))
                        expect(found != NULL);
        }
        suppressions_done(&s);
        return 0;
}
