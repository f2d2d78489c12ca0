/* SPDX-License-Identifier: MIT */
/* A program that means harm to whoever records it: `scribbler WHAT SEED MS`. It finds the memory that silt shares with
 * it in /proc/self/maps and writes into it for MS milliseconds, while 4 threads allocate; in the end it prints what
 * they found in their own blocks, and ends with status 29. WHAT:
 *   all         random bytes anywhere but in the header
 *   header      random bytes in the header, but not in `recording`, which is a switch and no secret
 *   slots       random words in the slots' fields: positions, states, lent chunks
 *   chunks      random words in the chunks: records of any kind, length and stack
 *   processes   random words in the process entries
 *   rewind      positions of all slots moved back and forth by small steps */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { N_THREADS = 4, N_BLOCKS = 32, SWITCH_OFF = 128, HEADER_BYTES = 384 };

static volatile int is_over;
static uint64_t random_state;

static uint64_t random_word(void) {
        random_state ^= random_state << 13;
        random_state ^= random_state >> 7;
        random_state ^= random_state << 17;
        return random_state;
}

static void *work(void *ctx) {
        unsigned long *n_wrong = ctx;
        unsigned char *blocks[N_BLOCKS];

        while (!is_over) {
                for (int i = 0; i < N_BLOCKS; i++) {
                        blocks[i] = malloc((size_t)(40 + i));
                        memset(blocks[i], i, (size_t)(40 + i));
                }
                for (int i = 0; i < N_BLOCKS; i++) {
                        *n_wrong += blocks[i][39] != i;
                        free(blocks[i]);
                }
        }
        return NULL;
}

static uint8_t *find_arena(size_t *ret_bytes) {
        char line[512];
        FILE *maps = fopen("/proc/self/maps", "r");
        uint8_t *found = NULL;

        while (maps && fgets(line, sizeof(line), maps)) {
                unsigned long begin, end;

                if (strstr(line, "memfd:silt") && sscanf(line, "%lx-%lx", &begin, &end) == 2) {
                        found = (uint8_t *)begin;
                        *ret_bytes = end - begin;
                }
        }
        if (maps)
                fclose(maps);
        return found;
}

/* The arrays' places, as the header says. */
struct parts {
        uint64_t process_off, slot_off, chunk_off, size_bytes;
};

static void scribble(uint8_t *arena, const struct parts *p, const char *what) {
        uint64_t word = random_word(), off;

        if (random_word() % 4 == 0)
                word %= 4096; /* small numbers look likely */
        else if (random_word() % 4 == 0)
                word = (word % 20) | random_word() % 1000 << 8;
        if (strcmp(what, "header") == 0) {
                off = random_word() % (HEADER_BYTES / 8) * 8;
                if (off != SWITCH_OFF)
                        memcpy(arena + off, &word, 8);
                return;
        }
        if (strcmp(what, "slots") == 0)
                off = p->slot_off + random_word() % (64 * 640 / 8) * 8;
        else if (strcmp(what, "processes") == 0)
                off = p->process_off + random_word() % (16 * 128 / 8) * 8;
        else if (strcmp(what, "chunks") == 0)
                off = p->chunk_off + random_word() % (256 * 16384 / 8) * 8;
        else if (strcmp(what, "rewind") == 0) {
                off = p->slot_off + random_word() % 16 * 640 + 128 * (1 + random_word() % 2);
                word = *(uint64_t *)(arena + off) + (random_word() % 9 - 4) * 8;
        } else
                off = p->process_off + random_word() % ((p->size_bytes - p->process_off) / 8) * 8;
        if (off < p->chunk_off + (4 << 20)) /* pages beyond are not backed, perhaps */
                memcpy(arena + off, &word, 8);
}

int main(int argc, char **argv) {
        unsigned long n_wrong[N_THREADS] = {0}, sum = 0;
        pthread_t threads[N_THREADS];
        struct timespec rest = {0, 50000};
        struct parts parts;
        size_t n_bytes = 0;
        uint8_t *arena;

        if (argc != 4)
                return 99;
        random_state = strtoull(argv[2], NULL, 10) * 0x9e3779b97f4a7c15ull + 1;
        arena = find_arena(&n_bytes);
        if (arena)
                memcpy(&parts, arena + 32, sizeof(parts));
        for (int i = 0; i < N_THREADS; i++)
                pthread_create(&threads[i], NULL, work, &n_wrong[i]);
        for (long i = 0; i < atol(argv[3]) * 10; i++) {
                for (int k = 0; arena && k < 200; k++)
                        scribble(arena, &parts, argv[1]);
                nanosleep(&rest, NULL);
        }
        is_over = 1;
        for (int i = 0; i < N_THREADS; i++) {
                pthread_join(threads[i], NULL);
                sum += n_wrong[i];
        }
        if (getenv("SILT_RENDEZVOUS") && !arena)
                return 98;
        printf("wrong %lu\n", sum);
        return 29;
}
