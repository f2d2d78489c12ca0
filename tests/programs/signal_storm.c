/* SPDX-License-Identifier: MIT */
/* A timer interrupts a thread that does nothing but allocate, thousands of times, at any
 * instruction of malloc and of whatever stands around it; the handler allocates. The allocator is
 * bump_lib.c, preloaded by the test itself or linked, which allows that.
 *
 * main: until the handler ran 2,000 times: malloc(40), kept in a list through its first word; at
 * least 20,000. The handler: malloc(24), lost.  Then the timer stops and all of main's are freed:
 * the last of them is main's latest allocation unless a handler ran after it; a last malloc(40)
 * after the timer stopped settles that: it is the first to be freed: exactly 1 temporary.
 * The program tells n (main's) and handled (the handler's):
 *   allocations n + handled   frees n   bytes 40 n + 24 handled   peak the same   end 24 handled in
 *   handled */
#include "truth.h"
#include <signal.h>
#include <sys/time.h>

static volatile unsigned long n_handled;

static void on_alarm(int sig) {
        (void)sig;
        MUST(malloc(24));
        n_handled++;
}

int main(void) {
        struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
        struct itimerval every = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
        void **list = NULL, **block;
        unsigned long n = 0;

        MUST(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &every, NULL) == 0);
        while (n_handled < 2000 || n < 20000) {
                if (n >= 1000000) { /* the pool is not for ever: only wait now */
                        pause();
                        continue;
                }
                block = malloc(40);
                MUST(block);
                *block = list;
                list = block;
                n++;
        }
        MUST(setitimer(ITIMER_REAL, &never, NULL) == 0);
        block = malloc(40);
        MUST(block);
        *block = list;
        list = block;
        n++;
        while (list) {
                block = *list;
                free(list);
                list = block;
        }
        truth_say("n", n);
        truth_say("handled", n_handled);
        return 0;
}
