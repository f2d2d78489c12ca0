/* SPDX-License-Identifier: MIT */
/* Memory that a program names in a call and may not have: the kernel is asked before it is read, and what it would answer
 * with EFAULT is left to it. Asked with a futex, which programs under a filter may call too, and which emulators know. */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "wire/sys.h"

enum {
        READABLE_PAGE_BYTES = 4096, /* the smallest there are */
        READABLE_N_PAGES = 4,
        READABLE_WAIT_PRIVATE = 128, /* FUTEX_WAIT of this process alone */
        READABLE_UNLIKELY = 0x53494c54
};

/* Zeroed at first. */
struct readable {
        uintptr_t pages[READABLE_N_PAGES]; /* that were found readable */
        unsigned n;
};

/* The word is looked at, and found to be another, or waited on for no time at all. */
static inline bool readable_ask(uintptr_t addr) {
        const struct sys_timespec at_once = {0, 0};

        return sys_call6(SYS_futex, (long)(addr & -(uintptr_t)4), READABLE_WAIT_PRIVATE,
                         READABLE_UNLIKELY, (long)&at_once, 0, 0) != -EFAULT;
}

static inline bool readable_has(struct readable *r, const void *addr) {
        uintptr_t page = (uintptr_t)addr & -(uintptr_t)READABLE_PAGE_BYTES;

        for (unsigned i = 0; i < READABLE_N_PAGES; i++)
                if (page && r->pages[i] == page)
                        return true;
        if (!readable_ask((uintptr_t)addr))
                return false;
        r->pages[r->n++ % READABLE_N_PAGES] = page;
        return true;
}

/* The length of text; -1: it cannot be read, or is longer than max_bytes. */
static inline long readable_length(struct readable *r, const char *text, long max_bytes) {
        for (long i = 0; i <= max_bytes; i++) {
                if (!readable_has(r, text + i))
                        return -1;
                if (!text[i])
                        return i;
        }
        return -1;
}
