/* SPDX-License-Identifier: MIT */
/* Writes seeds of pipeline_fuzz: programs in its language that reach what chance hardly does.
 *
 *   pipeline_seeds FOLDER */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

/* The steps, as pipeline_fuzz.c takes them. */
enum { WAIT = 1, CLAIM = 2, END_SLICE = 5, PUMP = 10, MANY = 11, RARE = 79, TOKEN = 143 };

/* In the fuzzer's table of rare kinds. */
enum {
        FREE_STACK,
        HEAP,
        UNSEEN,
        MPROTECT,
        FAIL,
        SAMPLE,
        MARK,
        BRK,
        LOST,
        SAMPLE_FREE,
        MREMAP,
        FORK_DONE,
        THREAD_NAME,
        FAILED,
        MMAP,
        MUNMAP,
        EXEC,
        FORK,
        LEAVES = 255, /* any of them, and silt leaves */
};

static bytes_buf seed;

#define PUT(...)                                                                                   \
        buf_bytes(&seed, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void claim(uint8_t slot, uint8_t tid) {
        PUT(CLAIM, slot, 0, tid, 0);
}

static void pump(void) {
        PUT(PUMP, 0);
}

static void wait_long(void) {
        PUT(WAIT, 0, 255);
}

/* A record whose first five words are these, in sixteens. */
static void rare(uint8_t kind, uint8_t a, uint8_t b, uint8_t c, uint8_t d, uint8_t e) {
        PUT(RARE, 0, kind, 0, a, b, c, d, e);
}

static void rare_any(uint8_t kind) {
        rare(kind, 1, 2, 3, 4, 5);
}

static void stack(void) {
        PUT(2, 0, 0, 7, 9);
}

static void text(void) {
        PUT(13);
        buf_bytes(&seed, (const uint8_t *)"a program's name", 16);
}

static void give_tokens(void) {
        for (uint8_t i = 0; i < 3; i++)
                PUT(TOKEN, 0, 1, i, i + 1, 1, 7, 0, 5, 6);
}

static void use_token(uint8_t token, uint8_t address) {
        PUT(TOKEN, 0, 0, token, address, 7);
}

static void use_tokens(void) {
        for (uint8_t i = 0; i < 6; i++)
                use_token(i % 3, i + 5);
}

static void begin(void) {
        seed.n = 0;
        claim(0, 1);
        pump();
}

static void write_seed(const char *folder, const char *name) {
        char path[4096];
        FILE *f;

        snprintf(path, sizeof(path), "%s/%s", folder, name);
        f = fopen(path, "wb");
        if (!f || fwrite(seed.items, 1, seed.n, f) != seed.n || fclose(f) != 0)
                abort();
}

static void end(const char *folder, const char *name) {
        wait_long();
        pump();
        wait_long();
        pump();
        write_seed(folder, name);
}

static void rare_kinds(void) {
        static const uint8_t kinds[] = {FREE_STACK, HEAP,   UNSEEN, MPROTECT,  FAIL,        MARK,
                                        BRK,        LOST,   MREMAP, FORK_DONE, THREAD_NAME, FAILED,
                                        MMAP,       MUNMAP, EXEC,   FORK};

        for (size_t i = 0; i < sizeof(kinds); i++) {
                rare_any(kinds[i]);
                switch (kinds[i]) {
                case HEAP:
                case EXEC: PUT(1); break;
                case UNSEEN:
                        PUT(1);
                        text();
                        break;
                case MARK: text(); break;
                case FREE_STACK:
                case FAIL:
                case BRK:
                case MREMAP:
                case MMAP: stack(); break;
                default: break;
                }
        }
}

/* More blocks than fit into what is near, so that the look ahead has work. */
static void many_blocks(void) {
        for (uint8_t i = 1; i <= 13; i++) {
                PUT(MANY, 0, i, 100, i % 2 ? 1 : 3);
                pump();
                wait_long();
                pump();
        }
        give_tokens();
        use_tokens();
        for (uint8_t i = 1; i <= 5; i++) {
                PUT(MANY, 0, i, 60, 0);
                pump();
                wait_long();
        }
        give_tokens();
        use_tokens();
}

/* A release of a block that nobody knows waits, while others are named by tokens. */
static void known_while_held(void) {
        give_tokens();
        use_tokens();
        wait_long();
        pump();
        rare(FREE_STACK, 9, 0, 0, 0, 0);
        stack();
        claim(1, 2);
        pump();
        rare(FREE_STACK, 9, 0, 0, 0, 0);
        stack();
        give_tokens();
        use_tokens();
        for (uint8_t i = 0; i < 3; i++)
                use_token(i, i + 1);
        pump();
        wait_long();
        pump();
        use_token(3, 3);
}

static void leaves(void) {
        rare_any(MARK);
        text();
        wait_long();
        pump();
        rare_any(LEAVES);
        for (int i = 0; i < 2; i++) {
                wait_long();
                rare_any(MUNMAP);
        }
        pump();
        rare_any(MUNMAP);
        pump();
}

static void samples(void) {
        for (uint8_t i = 1; i <= 3; i++) {
                rare(SAMPLE, i, 3, 9, i, 0);
                if (i == 1)
                        stack();
                else
                        PUT(1, 9, 1, 8, 9);
        }
        rare(SAMPLE_FREE, 1, 5, 0, 0, 0);
        rare(SAMPLE_FREE, 3, 5, 0, 0, 0);
}

int main(int argc, char **argv) {
        if (argc < 2)
                return 2;
        begin();
        rare_kinds();
        end(argv[1], "rare_kinds");
        begin();
        many_blocks();
        end(argv[1], "many_blocks");
        begin();
        known_while_held();
        end(argv[1], "known_while_held");
        begin();
        leaves();
        wait_long();
        pump();
        write_seed(argv[1], "leaves");
        begin();
        samples();
        end(argv[1], "samples");
        PUT(END_SLICE, 0, 1, 's'); /* the last byte: a recording of samples */
        write_seed(argv[1], "samples");
        vec_free(&seed);
        return 0;
}
