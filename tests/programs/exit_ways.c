/* SPDX-License-Identifier: MIT */
/* Every way to end, named by the argument. Before it, always: 3 blocks of 10 bytes that stay and
 * one of 20 that is freed at once (temporary): 4 allocations, 1 free, 50 bytes, peak 50 in 4.
 *
 * What runs on the way out allocates and keeps: an atexit function 1,000 bytes, an at_quick_exit
 * function 2,000, a destructor 4,000. (The first 32 functions registered need no block of libc's.)
 *   return, exit, thread_exit: atexit and destructor: 6 allocations, 5,050 bytes,
 *     end = peak = 5,030 in 5
 *   quick_exit: at_quick_exit: 5 allocations, 2,050 bytes; end = peak = 2,030 in 4
 *   _exit, _Exit, abort, sigterm, sigkill, sigsegv, thread__exit: nothing more: end 30 in 3
 *   exec: the image ends as with _exit; a second image of the same pid runs as `return`
 * The thread_ ways call exit from a second thread while main waits: one TLS table of D bytes more;
 * it is made before the four blocks, so the temporary one stays so. */
#include "truth.h"
#include <pthread.h>
#include <signal.h>

static void at_exit(void) {
        MUST(malloc(1000));
}

static void at_quick(void) {
        MUST(malloc(2000));
}

__attribute__((destructor)) static void at_unload(void) {
        MUST(malloc(4000));
}

static void allocate(void) {
        for (int i = 0; i < 3; i++)
                MUST(malloc(10));
        free(malloc(20));
}

static void *from_thread(void *immediate) {
        allocate();
        truth_say("dtv", truth_dtv_bytes());
        if (immediate)
                _exit(12);
        exit(11);
}

static void raise_default(int sig) {
        signal(sig, SIG_DFL);
        raise(sig);
}

int main(int argc, char **argv) {
        const char *way = argc > 1 ? argv[1] : "return";
        pthread_t thread;

        MUST(atexit(at_exit) == 0 && at_quick_exit(at_quick) == 0);
        if (strncmp(way, "thread_", 7) == 0) {
                MUST(pthread_create(&thread, NULL, from_thread,
                                    strcmp(way, "thread__exit") == 0 ? &thread : NULL) == 0);
                for (;;)
                        pause();
        }
        allocate();
        if (strcmp(way, "exit") == 0)
                exit(8);
        if (strcmp(way, "_exit") == 0)
                _exit(9);
        if (strcmp(way, "_Exit") == 0)
                _Exit(0);
        if (strcmp(way, "quick_exit") == 0)
                quick_exit(10);
        if (strcmp(way, "abort") == 0)
                abort();
        if (strcmp(way, "sigterm") == 0)
                raise_default(SIGTERM);
        if (strcmp(way, "sigkill") == 0)
                raise(SIGKILL);
        if (strcmp(way, "sigsegv") == 0)
                *(volatile int *)(uintptr_t)(argc - argc) = 1;
        if (strcmp(way, "exec") == 0)
                execl(argv[0], argv[0], "return", (char *)NULL);
        return 7;
}
