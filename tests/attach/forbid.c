/* SPDX-License-Identifier: MIT */
/* Preloaded into silt: ptrace is not permitted, as under yama. */
#include <errno.h>

long ptrace(int request, ...);

long ptrace(int request, ...) {
        (void)request;
        errno = EPERM;
        return -1;
}
