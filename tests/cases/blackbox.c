/* SPDX-License-Identifier: MIT */
/* Takes memory until somebody stops it: blackbox WAY PAUSE_US. What is kept hangs on a static, `kept`. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N_THREADS = 8, STEP_BYTES = 16384, FULL_BYTES = 62 << 20 };

struct page {
        struct page *next;
        char body[STEP_BYTES - sizeof(struct page *)];
};

static struct page *kept;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static useconds_t pause_us;

__attribute__((noinline)) static void hoard(void) {
        struct page *one = malloc(sizeof(*one));

        memset(one, 1, sizeof(*one));
        pthread_mutex_lock(&lock);
        one->next = kept;
        kept = one;
        pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) static void map_more(void) {
        char *p = mmap(NULL, 16 * STEP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                       -1, 0);

        memset(p, 1, 16 * STEP_BYTES);
}

static void nap(void) {
        if (pause_us)
                usleep(pause_us);
}

static void *hoard_on(void *arg) {
        (void)arg;
        for (;;) {
                hoard();
                nap();
        }
        return NULL;
}

static void start_threads(void) {
        pthread_t one;

        for (int i = 0; i < N_THREADS - 1; i++)
                pthread_create(&one, NULL, hoard_on, NULL);
        hoard_on(NULL);
}

/* The child is killed; its parent says so and goes on. */
static int fork_one(void) {
        int status = 0;

        if (fork() == 0)
                hoard_on(NULL);
        wait(&status);
        return WIFSIGNALED(status) ? 40 + WTERMSIG(status) : 1;
}

/* Files that are nobody's memory, in the group all the same. */
static int fill_tmpfs(void) {
        static char block[16 * STEP_BYTES];
        int fd = memfd_create("blackbox", MFD_CLOEXEC);

        memset(block, 1, sizeof(block));
        while (write(fd, block, sizeof(block)) > 0) {
                free(malloc(10));
                nap();
        }
        return 1;
}

/* As one whose next block the kernel has no memory for: all at once, then nothing. */
_Noreturn static void fill_and_wait(void) {
        for (int i = 0; i < FULL_BYTES / STEP_BYTES; i++) {
                hoard();
                nap();
        }
        for (;;)
                pause();
}

int main(int n_args, char **args) {
        const char *way = n_args > 1 ? args[1] : "";

        pause_us = n_args > 2 ? (useconds_t)atoi(args[2]) : 0;
        if (!strcmp(way, "list"))
                hoard_on(NULL);
        if (!strcmp(way, "threads"))
                start_threads();
        if (!strcmp(way, "fork"))
                return fork_one();
        if (!strcmp(way, "wait"))
                fill_and_wait();
        if (!strcmp(way, "tmpfs"))
                return fill_tmpfs();
        while (!strcmp(way, "map")) {
                map_more();
                nap();
        }
        return 2;
}
