/* SPDX-License-Identifier: MIT */
/* same_place ROUNDS THREADS LIBRARY...: one library after the other is opened, where the one before it was: they are alike but for
 * the names of their functions. Threads that have nothing to do with opening call each of them 20 times, on two call paths, for
 * a block of 100 bytes and the library's number, and release it. Tells how many different places there were. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MUST(x)                                                                                    \
        do {                                                                                       \
                if (!(x))                                                                          \
                        _exit(98);                                                                 \
        } while (0)

enum { MAX_THREADS = 16, MAX_PLACES = 4096, N_CALLS = 20 };

typedef void *take_fn(size_t size);
static take_fn *take;
static size_t size;
static pthread_barrier_t gate;
static int n_rounds;

static __attribute__((noinline)) void *call_it(void) {
        void *p = take(size);
        __asm__ volatile("" : "+r"(p));
        return p;
}

static void call_often(void) {
        for (int i = 0; i < N_CALLS; i++) {
                void *p = i % 2 ? call_it() : take(size);
                MUST(p);
                free(p);
        }
}

static void *work(void *unused) {
        for (int i = 0; i < n_rounds; i++) {
                pthread_barrier_wait(&gate);
                call_often();
                pthread_barrier_wait(&gate);
        }
        return unused;
}

static void tell(const char *name, unsigned value) {
        char line[64], digits[12];
        size_t n = strlen(name), n_digits = 0;

        memcpy(line, name, n);
        line[n++] = ' ';
        do
                digits[n_digits++] = (char)('0' + value % 10);
        while (value /= 10);
        while (n_digits)
                line[n++] = digits[--n_digits];
        line[n++] = '\n';
        MUST(write(1, line, n) == (ssize_t)n);
}

int main(int argc, char **argv) {
        static void *places[MAX_PLACES];
        pthread_t threads[MAX_THREADS];
        unsigned n_places = 0;
        int n_threads;

        MUST(argc > 3);
        n_rounds = atoi(argv[1]);
        n_threads = atoi(argv[2]);
        MUST(n_threads <= MAX_THREADS && n_rounds <= MAX_PLACES);
        MUST(pthread_barrier_init(&gate, NULL, (unsigned)n_threads + 1) == 0);
        for (int i = 0; i < n_threads; i++)
                MUST(pthread_create(&threads[i], NULL, work, NULL) == 0);
        for (int i = 0; i < n_rounds; i++) {
                int no = i % (argc - 3);
                void *library = dlopen(argv[3 + no], RTLD_NOW | RTLD_LOCAL);
                unsigned k = 0;

                MUST(library);
                MUST(take = (take_fn *)dlsym(library, "take"));
                size = 100 + (size_t)no;
                while (k < n_places && places[k] != (void *)take)
                        k++;
                places[k] = (void *)take;
                n_places += k == n_places;
                pthread_barrier_wait(&gate);
                call_often();
                pthread_barrier_wait(&gate);
                MUST(dlclose(library) == 0);
        }
        for (int i = 0; i < n_threads; i++)
                MUST(pthread_join(threads[i], NULL) == 0);
        tell("places", n_places);
        return 0;
}
