/* SPDX-License-Identifier: MIT */
/* Allocates in a signal handler: on aarch64 the stack then leads through the vdso. */
#include <signal.h>
#include <stdlib.h>

static void on_signal(int number) {
        free(malloc(4321));
        (void)number;
}

int main(void) {
        signal(SIGUSR1, on_signal);
        return raise(SIGUSR1) != 0;
}
