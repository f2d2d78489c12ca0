/* SPDX-License-Identifier: MIT */
/* A main loop of GLib with timeouts of 250 callbacks, one of which has 900 of them. Says "ready" and ends as main_loop.c does. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef int (*function)(void *data);

unsigned g_timeout_add(unsigned ms, function f, void *data);

enum { AN_HOUR_MS = 3600000, N_MANY = 900 };

#define CALLBACK(n)                                                                                \
        static int on_##n(void *data) {                                                            \
                (void)data;                                                                        \
                return n;                                                                          \
        }
#define NAME(n) on_##n,
#define FIVE(x, a, b) x(1##a##b##1) x(1##a##b##2) x(1##a##b##3) x(1##a##b##4) x(1##a##b##5)
#define FIFTY(x, a)                                                                                \
        FIVE(x, a, 0)                                                                              \
        FIVE(x, a, 1)                                                                              \
        FIVE(x, a, 2)                                                                              \
        FIVE(x, a, 3)                                                                              \
        FIVE(x, a, 4)                                                                              \
        FIVE(x, a, 5) FIVE(x, a, 6) FIVE(x, a, 7) FIVE(x, a, 8) FIVE(x, a, 9)
#define ALL(x) FIFTY(x, 0) FIFTY(x, 1) FIFTY(x, 2) FIFTY(x, 3) FIFTY(x, 4)

ALL(CALLBACK)

static const function callbacks[] = {ALL(NAME)};

int main(void) {
        char end;

        for (size_t i = 0; i < sizeof(callbacks) / sizeof(callbacks[0]); i++)
                for (int n = 0; n < (i == 0 ? N_MANY : 1); n++)
                        if (!g_timeout_add(AN_HOUR_MS, callbacks[i], NULL))
                                return 1;
        printf("ready\n");
        fflush(stdout);
        return read(0, &end, 1) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
