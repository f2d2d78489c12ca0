/* SPDX-License-Identifier: MIT */
/* swap LIBRARY…: opens one library after the other in the place of the last, all of the same bytes (late_library.c), uses it and closes it, and
 * sleeps in between, while a thread never waits. Waits for nobody: it goes on while that thread is stopped. Says "ready PID"; at SIGTERM how often
 * a library lay where the last did. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { N_BLOCKS = 20, BLOCK_BYTES = 90, SLEEP_US = 150 };

typedef void *take_fn(unsigned i);
typedef void give_fn(void *p, unsigned i);

static volatile sig_atomic_t is_over;
static atomic_ulong n_turns;

static void end(int signal_no) {
        (void)signal_no;
        is_over = 1;
}

static void *turn(void *unused) {
        (void)unused;
        while (!is_over)
                atomic_fetch_add(&n_turns, 1);
        return NULL;
}

static void *use(const char *path) {
        void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL), *blocks[N_BLOCKS];
        take_fn *take = handle ? (take_fn *)dlsym(handle, "late_take") : NULL;
        give_fn *give = handle ? (give_fn *)dlsym(handle, "late_give") : NULL;

        if (!take || !give)
                return NULL;
        for (unsigned i = 0; i < N_BLOCKS; i++) {
                blocks[i] = take(i);
                memset(blocks[i], (int)i, BLOCK_BYTES);
        }
        usleep(SLEEP_US);
        for (unsigned i = 0; i < N_BLOCKS; i++)
                give(blocks[i], i);
        if (dlclose(handle) != 0)
                return NULL;
        usleep(SLEEP_US);
        return (void *)take;
}

int main(int argc, char **argv) {
        unsigned long n_same = 0;
        void *last = NULL;
        pthread_t thread;

        if (argc < 2)
                return 2;
        signal(SIGTERM, end);
        pthread_create(&thread, NULL, turn, NULL);
        dprintf(1, "ready %d\n", (int)getpid());
        for (int i = 0; !is_over; i++) {
                void *here = use(argv[1 + i % (argc - 1)]);

                if (!here)
                        return 3;
                n_same += here == last;
                last = here;
        }
        pthread_join(thread, NULL);
        dprintf(1, "same %lu\n", n_same);
        return 0;
}
