/* SPDX-License-Identifier: MIT */
/* Holds what holders.py expects, says so with a line, and then does what each line on stdin says: "grow N" adds N nodes to the list; anything
 * else ends it. Reads and writes without stdio: every block is one of those below.
 *
 *   list (static: count, head, tail)    N nodes of 16 bytes, each with a payload of 100
 *   cache (global pointer)              a table of 16, its slots of 8 * 500, 500 entries of 64
 *   serve's frame in the thread         one block of 5,000
 *   own_table (thread-local)            800 bytes, 100 entries of 24 in it
 *   left, right (global)                both point to one block of 7,000, which neither holds alone
 *   nothing                             3,000 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct node {
        struct node *next;
        char *payload;
};

struct table {
        size_t n;
        void **slots;
};

static struct {
        long n;
        struct node *head, *tail;
} list;

struct table *cache;
void *volatile left, *volatile right; /* the compiler keeps what is never read */
__thread void **own_table;
static atomic_int is_serving;

#define APART __attribute__((noinline, noclone))

APART static char *make_payload(void) {
        return memset(malloc(100), 0, 100);
}

APART static struct node *make_node(void) {
        struct node *n = malloc(sizeof(*n));

        n->next = NULL;
        return n;
}

APART static void grow(long n) {
        for (; n > 0; n--) {
                struct node *one = make_node();

                one->payload = make_payload();
                if (list.tail)
                        list.tail->next = one;
                else
                        list.head = one;
                list.tail = one;
                list.n++;
        }
}

APART static void *make_entry(void) {
        return calloc(1, 64);
}

APART static void fill_cache(void) {
        cache = malloc(sizeof(*cache));
        cache->n = 500;
        cache->slots = malloc(500 * sizeof(void *));
        for (size_t i = 0; i < cache->n; i++)
                cache->slots[i] = make_entry();
}

APART static void *make_buffer(size_t n) {
        return memset(malloc(n), 0, n);
}

APART static void fill_own(void) {
        own_table = make_buffer(800);
        for (size_t i = 0; i < 100; i++)
                own_table[i] = calloc(1, 24);
}

APART static void wait_for_ever(void *volatile *held) {
        atomic_store(&is_serving, 1);
        while (!held[0])
                pause();
}

APART static void serve(void) {
        void *volatile held[16] = {0};

        held[3] = make_buffer(5000);
        wait_for_ever(held);
}

static void *work(void *arg) {
        fill_own();
        serve();
        return arg;
}

APART static void wipe_stack(void) {
        char room[4096];

        memset(room, 0, sizeof(room));
        __asm__ volatile("" ::"r"(room) : "memory");
}

int main(void) {
        pthread_t thread;
        char line[64];
        ssize_t n;

        grow(1000);
        fill_cache();
        left = make_buffer(7000);
        right = left;
        (void)*(volatile char *)make_buffer(3000);
        pthread_create(&thread, NULL, work, NULL);
        pthread_setname_np(thread, "worker-1");
        while (!atomic_load(&is_serving))
                usleep(1000);
        wipe_stack();
        (void)!write(STDOUT_FILENO, "ready\n", 6);
        while ((n = read(STDIN_FILENO, line, sizeof(line) - 1)) > 0) {
                line[n] = '\0';
                if (strncmp(line, "grow ", 5) != 0)
                        break;
                grow(atol(line + 5));
                wipe_stack();
                (void)!write(STDOUT_FILENO, "ready\n", 6);
        }
        exit(0);
}
