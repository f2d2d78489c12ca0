/* SPDX-License-Identifier: MIT */
/* Any bytes as linker names, one a line. Whatever they are, the readable form is there, bounded, without
 * line breaks, and the same when asked again.
 *
 * covers: src/symbol/demangle.c */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "symbol/symbol.h"

enum { READABLE_MAX_BYTES = 256 * 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(const char *name) {
        _cleanup_free_ char *readable = symbol_demangle(name), *again = symbol_demangle(name);

        if (!readable || strcmp(readable, again) != 0)
                abort();
        if (strlen(readable) > READABLE_MAX_BYTES && strlen(readable) > strlen(name))
                abort();
        if (name[0] != '_' && strncmp(readable, name, strlen(readable)) != 0)
                abort(); /* no scheme's name: at most cut */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        _cleanup_free_ char *text = malloc(n + 1);
        char *at = text, *line;

        if (!text)
                abort();
        memcpy(text, data, n);
        text[n] = '\0';
        while ((line = strsep(&at, "\n")))
                check(line);
        return 0;
}
