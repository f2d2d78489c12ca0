/* SPDX-License-Identifier: MIT */
/* A handler allocates while its own thread is inside malloc's code, at a moment where that is
 * sound: realloc copies a block of which one page was made unreadable. The copy faults, the handler
 * repairs the page, allocates 77 bytes and frees what it got the time before. glibc's lists are
 * consistent then (the new block is taken, the old one not yet released), and a single thread takes
 * no lock.
 *
 * 100 rounds: a = malloc(64 KiB), wall = malloc(16) behind it, so that a must move; realloc of a to
 * 100 KiB with the handler's malloc(77) inside; free(wall); free(a).
 *   allocations 100 * 4 = 400   reallocations 100
 *   bytes 100 * (65,536 + 16 + 102,400 + 77) = 16,802,900
 *   frees: per round a's old block, wall, a: 300; by the handler 99
 * In the thread's order the new a is the last allocation of a round: temporary, 100. The handler
 * frees after it allocated, and the wall is older: not temporary.
 * Peak: when realloc returns: 16 + 77 + 102,400 in 3 blocks. End: 77 in 1. */
#include "truth.h"
#include <malloc.h>
#include <signal.h>
#include <sys/mman.h>

static char *volatile bad_page;
static void *volatile from_handler;
static volatile int n_handled;

static void on_fault(int sig, siginfo_t *info, void *context) {
        void *older = from_handler;

        (void)sig;
        (void)context;
        MUST((char *)info->si_addr >= bad_page && (char *)info->si_addr < bad_page + 4096);
        MUST(mprotect(bad_page, 4096, PROT_READ | PROT_WRITE) == 0);
        from_handler = malloc(77);
        free(older);
        n_handled++;
}

int main(void) {
        struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};

        MUST(sigaction(SIGSEGV, &action, NULL) == 0);
        MUST(mallopt(M_MMAP_THRESHOLD, 1 << 30) && mallopt(M_TRIM_THRESHOLD, 1 << 30));
        for (int i = 0; i < 100; i++) {
                char *a = malloc(64 << 10), *wall = malloc(16);
                MUST(a && wall);
                bad_page = (char *)(((uintptr_t)a + 32768) & ~(uintptr_t)4095);
                MUST(mprotect(bad_page, 4096, PROT_NONE) == 0);
                a = realloc(a, 100 << 10);
                MUST(a);
                free(wall);
                free(a);
        }
        MUST(n_handled == 100);
        return 0;
}
