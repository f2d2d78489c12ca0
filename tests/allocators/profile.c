/* SPDX-License-Identifier: MIT */
/* Part of a drill with jemalloc: at its end jemalloc's own profile goes to the file DRILL_PROFILE, and what jemalloc was configured
 * with, as it and as the program sees it, to stdout. PREFIX as in jemalloc.c. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PASTE2(a, b) a##b
#define PASTE(a, b) PASTE2(a, b)
#ifdef PREFIX
#define JE(name) PASTE(PREFIX, name)
#else
#define JE(name) name
#define CONF "MALLOC_CONF"
#endif
#ifndef CONF
#define CONF "_RJEM_MALLOC_CONF"
#endif

int JE(mallctl)(const char *name, void *old, size_t *old_bytes, void *new, size_t new_bytes);

static void say(const char *name, uint64_t value) {
        char text[96], *p = text + sizeof(text);
        size_t n = strlen(name);

        *--p = '\n';
        do
                *--p = (char)('0' + value % 10);
        while (value /= 10);
        *--p = ' ';
        p -= n;
        memcpy(p, name, n);
        if (write(1, p, (size_t)(text + sizeof(text) - p)) < 0)
                _exit(6);
}

static uint64_t asked(const char *name, size_t n_bytes) {
        uint64_t value = 0;

        JE(mallctl)(name, &value, &n_bytes, NULL, 0);
        return value;
}

__attribute__((destructor)) static void tell(void) {
        const char *path = getenv("DRILL_PROFILE"), *conf = getenv(CONF);
        uint64_t sum = 0;

        for (const char *c = conf ? conf : ""; *c; c++)
                sum = sum * 31 + (unsigned char)*c;
        say("configuration", sum >> 1);
        say("opt.narenas", asked("opt.narenas", sizeof(unsigned)));
        say("opt.dirty_decay_ms", asked("opt.dirty_decay_ms", sizeof(size_t)));
        say("opt.prof", asked("opt.prof", sizeof(bool)));
        if (path && JE(mallctl)("prof.dump", NULL, NULL, &path, sizeof(path)) != 0)
                _exit(7);
}
