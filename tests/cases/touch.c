/* SPDX-License-Identifier: MIT */
/* Asks for large blocks, touches some of their pages, and says which.
 *
 *   touch SEED MS exit|idle|fork|churn|slowly|PROGRAM
 *
 * Each function below asks for blocks of its own. After MS milliseconds the program prints for each function: name, blocks, bytes,
 * bytes in pages that mincore says are in memory; then it ends as told. idle: does nothing meanwhile. fork: the child touches what it inherited. churn: short-lived blocks instead, all touched.
 * PROGRAM: touches all of a few blocks and becomes that one, which is to be this one again and told to
 * touch memory slowly. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_BLOCKS = 400 };

struct block {
        const char *name;
        char *p;
        size_t size;
};

static struct block blocks[MAX_BLOCKS];
static size_t n_blocks, page;
static uint64_t state;

static uint64_t draw(uint64_t below) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        return (state >> 33) % below;
}

static char *keep(const char *name, void *p, size_t size) {
        if (!p || n_blocks == MAX_BLOCKS)
                abort();
        blocks[n_blocks++] = (struct block){name, p, size};
        return p;
}

#define ALONE __attribute__((noinline, noclone))

ALONE void ask_untouched(size_t size) {
        keep(__func__, malloc(size), size);
}

ALONE void ask_all(size_t size) {
        memset(keep(__func__, malloc(size), size), 1, size);
}

ALONE void ask_some(size_t size) {
        char *p = keep(__func__, malloc(size), size);

        for (size_t i = 0; i < size; i += page)
                if (draw(3) == 0)
                        p[i] = 1;
}

ALONE void ask_begin(size_t size) {
        memset(keep(__func__, malloc(size), size), 1, draw(size));
}

ALONE void ask_calloc(size_t size) {
        keep(__func__, calloc(1, size), size);
}

ALONE void ask_calloc_half(size_t size) {
        memset(keep(__func__, calloc(2, size / 2), size / 2 * 2), 1, size / 2);
}

ALONE void ask_aligned(size_t size) {
        void *p = NULL;

        if (posix_memalign(&p, page, size))
                abort();
        memset(keep(__func__, p, size), 1, size / 4);
}

ALONE void ask_grown(size_t size) {
        char *p = malloc(size / 4);

        memset(p, 1, size / 4);
        keep(__func__, realloc(p, size), size);
}

ALONE void ask_read(size_t size) {
        const volatile char *p = keep(__func__, malloc(size), size);

        for (size_t i = 0; i < size; i += 2 * page)
                (void)p[i];
}

static size_t block_in_core(const struct block *b) {
        uintptr_t begin = (uintptr_t)b->p / page * page, end = (uintptr_t)b->p + b->size;
        size_t n = (end - 1 - begin) / page + 1, bytes = 0;
        static unsigned char in_core[1 << 16];

        if (n > sizeof(in_core) || mincore((void *)begin, n * page, in_core) < 0)
                abort();
        for (size_t i = 0; i < n; i++) {
                uintptr_t from = begin + i * page, to = from + page;

                from = from < (uintptr_t)b->p ? (uintptr_t)b->p : from;
                to = to > end ? end : to;
                bytes += in_core[i] & 1 ? to - from : 0;
        }
        return bytes;
}

static void tell(void) {
        for (size_t i = 0; i < n_blocks; i++) {
                size_t n = 0, bytes = 0, in_core = 0;

                for (size_t k = 0; k < n_blocks; k++) {
                        if (strcmp(blocks[k].name, blocks[i].name))
                                continue;
                        if (k < i)
                                break;
                        n++;
                        bytes += blocks[k].size;
                        in_core += block_in_core(&blocks[k]);
                }
                if (n)
                        printf("%s %zu %zu %zu\n", blocks[i].name, n, bytes, in_core);
        }
        fflush(stdout);
}

/* With an event now and then, or none. */
static void wait_ms(int ms, int is_idle) {
        if (is_idle)
                usleep((useconds_t)ms * 1000);
        for (int i = 0; i < ms && !is_idle; i++) {
                void *volatile p = malloc(10);

                free(p);
                nanosleep(&(struct timespec){0, 1000000}, NULL);
        }
}

static void churn(int ms) {
        struct timespec begin, now;

        clock_gettime(CLOCK_MONOTONIC, &begin);
        do {
                size_t size = 65536 + draw(500000);
                char *p = malloc(size);

                memset(p, 1, size);
                free(p);
                clock_gettime(CLOCK_MONOTONIC, &now);
        } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < ms);
}

/* Another page every millisecond: there is always something new to look at. */
static void touch_slowly(int ms) {
        char *p = malloc((size_t)ms * page);

        for (int i = 0; i < ms; i++) {
                p[(size_t)i * page] = 1;
                nanosleep(&(struct timespec){0, 1000000}, NULL);
        }
}

int main(int argc, char **argv) {
        static void (*const ask[])(size_t) = {ask_untouched, ask_all,    ask_some,
                                              ask_begin,     ask_calloc, ask_calloc_half,
                                              ask_aligned,   ask_grown,  ask_read};
        int ms, n_rounds, is_idle;

        if (argc != 4)
                return 2;
        state = strtoull(argv[1], NULL, 10);
        ms = atoi(argv[2]);
        is_idle = !strcmp(argv[3], "idle");
        page = (size_t)sysconf(_SC_PAGESIZE);
        if (!strcmp(argv[3], "churn")) {
                churn(ms);
                return 0;
        }
        if (argv[3][0] == '/') {
                for (int i = 0; i < 5; i++)
                        ask_all(65536 + draw(200000));
                wait_ms(ms, is_idle);
                execl(argv[3], argv[3], argv[1], "400", "slowly", (char *)NULL);
                return 127;
        }
        if (!strcmp(argv[3], "slowly")) {
                touch_slowly(ms);
                return 0;
        }
        n_rounds = 1 + (int)draw(20);
        for (int i = 0; i < n_rounds; i++)
                for (size_t k = 0; k < sizeof(ask) / sizeof(ask[0]); k++)
                        ask[k](65536 + draw(draw(2) ? 200000 : 4000000));
        if (!strcmp(argv[3], "fork") && fork() == 0) {
                for (size_t i = 0; i < n_blocks; i++)
                        memset(blocks[i].p, 2, blocks[i].size);
                wait_ms(ms, is_idle);
                _exit(0);
        }
        wait_ms(ms, is_idle);
        tell();
        while (wait(NULL) > 0)
                ;
        return 0;
}
