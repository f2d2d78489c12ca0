/* SPDX-License-Identifier: MIT */
#include "hook/exec_parent.h"

#include <fcntl.h>

#include "hook/runtime.h"

enum {
        PARENT_TRIES =
                100, /* a millisecond each: the child may run before the parent has begun to wait */
        PARENT_STAT_BYTES = 128,
        PARENT_PATH_BYTES = 64
};

static unsigned parent_append(char *to, unsigned n, const char *text) {
        while (*text)
                to[n++] = *text++;
        to[n] = '\0';
        return n;
}

static unsigned parent_append_number(char *to, unsigned n, uint32_t number) {
        char digits[11];
        unsigned i = sizeof(digits) - 1;

        digits[i] = '\0';
        do {
                digits[--i] = (char)('0' + number % 10);
                number /= 10;
        } while (number);
        return parent_append(to, n, digits + i);
}

/* The letter for what the thread does, as the kernel tells everybody; 0: it does not. */
static char parent_state(const char *path) {
        long fd = sys_call6(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
        char text[PARENT_STAT_BYTES];
        long n, at;

        if (fd < 0)
                return 0;
        n = sys_call3(SYS_read, fd, (long)text, sizeof(text));
        sys_close((int)fd);
        /* "number (name) letter": a name may have anything in it, and what follows has no bracket */
        for (at = n - 3; at >= 0 && text[at] != ')'; at--)
                ;
        return at >= 0 ? text[at + 2] : 0;
}

bool exec_parent_waits(uint32_t tid) {
        const struct sys_timespec patience = {0, 1000000};
        char path[PARENT_PATH_BYTES];
        uint32_t word = 0;
        unsigned n = parent_append(path, 0, "/proc/");
        char state = 'R';

        n = parent_append_number(path, n, (uint32_t)runtime.pid);
        n = parent_append(path, n, "/task/");
        n = parent_append_number(path, n, tid);
        parent_append(path, n, "/stat");
        for (unsigned i = 0; i < PARENT_TRIES && (state = parent_state(path)) == 'R'; i++)
                sys_futex_wait(&word, 0, &patience);
        return state ==
               'D'; /* of all waiting a program may do itself none but that for a disk is called so */
}
