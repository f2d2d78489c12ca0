/* SPDX-License-Identifier: MIT */
/* An allocator with its settings, and where its library is. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

struct contender {
        char allocator[64];      /* "glibc"; of a library given by its path its file name */
        const char *package;     /* of Debian's that it is in; "" none */
        char library[256];       /* to preload; "" none: it is in libc */
        bool is_missing;         /* no such library here */
        struct str settings;     /* "arenas=2, tcache=0"; empty: as it comes */
        VEC(char *) environment; /* "MALLOC_CONF=…" */
        bool needs_pace;         /* has threads that sleep by the kernel's clock */
        uint64_t trim_us;        /* malloc_trim so often, of recorded time; 0 never */
};

struct contenders {
        VEC(struct contender) rows;
};

/* "glibc,jemalloc" or a path with a slash; NULL: all that are known. Names that are not known are refused with those that are. */
int contenders_add_list(struct contenders *c, const char *list, struct err *reterr);
/* "glibc:arenas=2,tcache=0": one more row. Keys that are not known are refused with those that are. */
int contenders_add_setting(struct contenders *c, const char *text, struct err *reterr);
void contenders_done(struct contenders *c);

/* "jemalloc with dirty_decay=0" */
void contender_add_name(const struct contender *c, struct str *to);
