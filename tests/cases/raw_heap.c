/* SPDX-License-Identifier: MIT */
/* A heap that no library maps: raw_heap ADDRESS. It begins where an arena of glibc's could. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { HEAP_BYTES = 64 << 20, USED_BYTES = 40 << 20, BLOCK_BYTES = 1000000 };

int main(int n_args, char **args) {
        void *wanted = (void *)strtoul(n_args > 1 ? args[1] : "0", NULL, 16);
        char *heap = (char *)syscall(SYS_mmap, wanted, HEAP_BYTES, PROT_NONE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
        char *block = malloc(BLOCK_BYTES);

        if (heap == MAP_FAILED || !block ||
            syscall(SYS_mprotect, heap, USED_BYTES, PROT_READ | PROT_WRITE) != 0)
                return 1;
        memset(heap, 1, USED_BYTES);
        memset(block, 1, BLOCK_BYTES);
        usleep(500000);
        return heap[5] - block[5];
}
