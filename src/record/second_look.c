/* SPDX-License-Identifier: MIT */
#include "record/second_look.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/system_clock.h"

enum {
        LOOK_AFTER_NS = 250 * 1000 * 1000,
        MAX_LOOK_BYTES = 1024, /* schedulers are small, and of tasks the first words tell */
};

/* False: the process has ended by then, and nothing of it can be read. */
static bool lives_until(pid_t pid, uint64_t at_ns) {
        struct pollfd ended = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
        uint64_t now_ns = clock_now_ns();
        int n = 0;

        if (ended.fd < 0)
                return false;
        for (; n == 0 && now_ns < at_ns; now_ns = clock_now_ns())
                n = poll(&ended, 1, (int)((at_ns - now_ns) / 1000000) + 1);
        close(ended.fd);
        return n == 0;
}

static bool *find_candidates(const struct heap_graph *h) {
        const struct reach_graph *g = &h->graph;
        bool *is_one = calloc(MAX(g->n_blocks, 1u), sizeof(*is_one));

        for (uint32_t i = 0; is_one && i < h->n_heads; i++)
                is_one[h->heads[i].block] = true;
        for (uint32_t i = 0; is_one && i < g->n_roots; i++)
                for (uint64_t e = g->first[g->n_blocks + i];
                     h->roots[i].kind == ROOT_STACK && e < g->first[g->n_blocks + i + 1]; e++)
                        is_one[reach_edge_block(g->edges[e])] = true;
        return is_one;
}

static bool is_same(const struct reach_block *b, int copy_mem_fd, int living_mem_fd) {
        uint8_t before[MAX_LOOK_BYTES], now[MAX_LOOK_BYTES];
        size_t n = (size_t)MIN(b->size_bytes, (uint64_t)MAX_LOOK_BYTES);

        return n && pread(copy_mem_fd, before, n, (off_t)b->address) == (ssize_t)n &&
               pread(living_mem_fd, now, n, (off_t)b->address) == (ssize_t)n &&
               memcmp(before, now, n) == 0;
}

void second_look_take(struct heap_graph *h, int copy_mem_fd, pid_t living, uint64_t copied_ns) {
        bool *is_candidate = find_candidates(h);
        char path[64];
        int fd;

        snprintf(path, sizeof(path), "/proc/%d/mem", (int)living);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        h->still = malloc(MAX(h->graph.n_blocks, 1u) * sizeof(h->still[0]));
        if (fd >= 0 && is_candidate && h->still && lives_until(living, copied_ns + LOOK_AFTER_NS)) {
                h->still_ns = clock_now_ns() - copied_ns;
                for (uint32_t i = 0; i < h->graph.n_blocks; i++)
                        if (is_candidate[i] && is_same(&h->graph.blocks[i], copy_mem_fd, fd))
                                h->still[h->n_still++] = i;
        }
        if (fd >= 0)
                close(fd);
        free(is_candidate);
}
