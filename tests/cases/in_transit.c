/* SPDX-License-Identifier: MIT */
/* in_transit THREADS: threads that allocate, hand over, resize and free all the time, and lose nothing: at any moment each block is held by a variable, or
 * is between malloc and one. Says "ready PID"; ends at SIGTERM. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_THREADS = 16, N_LISTS = 8, N_NODES = 60, BUFFER_BYTES = 16000 };

struct node {
        struct node *next;
        char *text;
        void *buffer;
};

static struct {
        pthread_mutex_t lock;
        struct node *first;
        unsigned n;
} lists[N_LISTS];
static volatile sig_atomic_t is_over;

static void end(int signal_no) {
        (void)signal_no;
        is_over = 1;
}

static unsigned draw(uint64_t *random) {
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        return (unsigned)(*random >> 20);
}

static __attribute__((noinline)) struct node *node_new(uint64_t *random) {
        struct node *n = malloc(sizeof(*n));

        n->next = NULL;
        n->text = strdup("a text that is as long as texts are");
        n->text = realloc(n->text, 40 + draw(random) % 300);
        n->buffer = draw(random) % 4 ? NULL : malloc(BUFFER_BYTES);
        return n;
}

static __attribute__((noinline)) void node_free(struct node *n) {
        free(n->text);
        free(n->buffer);
        free(n);
}

/* A whole list is made, and hung up when it is done; the one before it is taken down. */
static void exchange(uint64_t *random) {
        unsigned at = draw(random) % N_LISTS;
        struct node *made = NULL, *old;

        for (unsigned i = 0; i < N_NODES; i++) {
                struct node *n = node_new(random);

                n->next = made;
                made = n;
        }
        pthread_mutex_lock(&lists[at].lock);
        old = lists[at].first;
        lists[at].first = made;
        pthread_mutex_unlock(&lists[at].lock);
        while (old) {
                struct node *next = old->next;

                node_free(old);
                old = next;
        }
}

static void *work(void *arg) {
        uint64_t random = 88172645463325252u + (uintptr_t)arg * 7919;

        while (!is_over) {
                exchange(&random);
                for (unsigned i = 0; i < 100; i++)
                        free(malloc(1 + draw(&random) % 2000));
        }
        return NULL;
}

int main(int argc, char **argv) {
        unsigned n_threads = argc > 1 ? (unsigned)atoi(argv[1]) : 4;
        pthread_t threads[MAX_THREADS];

        if (n_threads > MAX_THREADS)
                return 2;
        signal(SIGTERM, end);
        for (unsigned i = 0; i < N_LISTS; i++)
                pthread_mutex_init(&lists[i].lock, NULL);
        for (unsigned i = 0; i < n_threads; i++)
                pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i);
        printf("ready %d\n", (int)getpid());
        fflush(stdout);
        for (unsigned i = 0; i < n_threads; i++)
                pthread_join(threads[i], NULL);
        return 0;
}
