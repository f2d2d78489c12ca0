/* SPDX-License-Identifier: MIT */
/* A program that fills memory until it is stopped by force: `leak FILE BLOCK_BYTES [MAX_MIB]`.
 *
 * Three of four blocks come from `hoard`, one from `trickle`; all are written to and kept. FILE is
 * mapped shared and holds three words that outlive a SIGKILL: this pid, how many blocks of hoard and
 * how many of trickle had been handed out. With MAX_MIB it ends there, with status 5. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* noipa: the two must not become one. */
__attribute__((noipa)) static void *hoard(size_t size) {
        void *block = malloc(size);

        __asm__ volatile("" : "+r"(block)); /* no tail call */
        return block;
}

__attribute__((noipa)) static void *trickle(size_t size) {
        void *block = malloc(size);

        __asm__ volatile("" : "+r"(block));
        return block;
}

int main(int argc, char **argv) {
        size_t size = argc > 2 ? (size_t)atol(argv[2]) : 0, done = 0;
        size_t end = argc > 3 ? (size_t)atol(argv[3]) << 20 : SIZE_MAX;
        int fd = size ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
        _Atomic uint64_t *words;

        if (fd < 0 || ftruncate(fd, 4096) < 0)
                return 98;
        words = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (words == MAP_FAILED)
                return 98;
        atomic_store(&words[0], (uint64_t)getpid());
        for (unsigned i = 0; done < end; i++, done += size) {
                void *block = i % 4 ? hoard(size) : trickle(size);

                if (!block)
                        return 97;
                atomic_fetch_add(&words[i % 4 ? 1 : 2], 1);
                memset(block, 1, size);
        }
        return 5;
}
