/* SPDX-License-Identifier: MIT */
/* Has its own arenas read, from a copy of its memory, and holds them against what its C library says: "ok N_ARENAS", or what differs. Built for any machine,
 * with src/attach/arenas.c. */
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attach/arenas.h"

enum { N_BLOCKS = 3000, N_THREADS = 3, MAX_SPANS = 256, MAX_SPAN_BYTES = 64 << 20 };

static struct memory_span spans[MAX_SPANS], data;
static char *copies[MAX_SPANS], maps[1 << 16];
static size_t n_spans;
static pthread_barrier_t at_work;

static void scatter(unsigned seed) {
        char *blocks[N_BLOCKS];

        for (size_t i = 0; i < N_BLOCKS; i++) {
                seed = seed * 1103515245 + 12345;
                blocks[i] = malloc(1 + seed / 65536 % (i % 10 ? 300 : 5000));
        }
        for (size_t i = 0; i < N_BLOCKS; i += 2)
                free(blocks[i]);
}

/* All at once, so that each has an arena of its own. */
static void *scatter_apart(void *arg) {
        free(malloc(1));
        pthread_barrier_wait(&at_work);
        scatter((unsigned)(size_t)arg);
        return NULL;
}

static void take_line(const char *line) {
        unsigned long begin, end;
        char rights[8], path[256] = "";

        if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %255s", &begin, &end, rights, path) < 3 ||
            strncmp(rights, "rw", 2) != 0)
                return;
        if (strstr(path, "libc.so")) {
                data.begin = data.begin ? data.begin : begin;
                data.end = end;
        } else if ((path[0] == '\0' || path[0] == '[') && n_spans < MAX_SPANS) {
                spans[n_spans++] = (struct memory_span){begin, end};
        }
}

static void read_maps(void) {
        int fd = open("/proc/self/maps", O_RDONLY);
        size_t n = 0;
        ssize_t r;

        while ((r = read(fd, maps + n, sizeof(maps) - 1 - n)) > 0)
                n += (size_t)r;
        close(fd);
        for (char *line = maps, *end; (end = strchr(line, '\n')); line = end + 1) {
                *end = '\0';
                take_line(line);
        }
}

static char *copy_of(uint64_t begin, uint64_t end) {
        char *to =
                mmap(NULL, end - begin, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        memcpy(to, (void *)begin, end - begin);
        return to;
}

static bool read_copy(void *ctx, uint64_t addr, void *ret, size_t n_bytes) {
        (void)ctx;
        for (size_t i = 0; i < n_spans; i++)
                if (copies[i] && addr >= spans[i].begin && addr + n_bytes <= spans[i].end) {
                        memcpy(ret, copies[i] + (addr - spans[i].begin), n_bytes);
                        return true;
                }
        return false;
}

int main(void) {
        struct memory memory = {.read = read_copy, .spans = spans};
        char *volatile large = malloc(3 << 20);
        pthread_t threads[N_THREADS];
        struct arenas_found found;
        struct mallinfo2 said;
        char *variables;

        pthread_barrier_init(&at_work, NULL, N_THREADS);
        for (size_t i = 0; i < N_THREADS; i++)
                pthread_create(&threads[i], NULL, scatter_apart, (void *)(i + 2));
        for (size_t i = 0; i < N_THREADS; i++)
                pthread_join(threads[i], NULL);
        scatter(1);
        read_maps();
        said = mallinfo2();
        variables = copy_of(data.begin, data.end);
        for (size_t i = 0; i < n_spans; i++)
                if (spans[i].end - spans[i].begin < MAX_SPAN_BYTES)
                        copies[i] = copy_of(spans[i].begin, spans[i].end);
        memory.n_spans = n_spans;
        if (!arenas_read(&memory, data.begin, (const uint64_t *)(void *)variables,
                         (data.end - data.begin) / 8, &found))
                puts("not recognised");
        else if (found.held_bytes != said.arena || found.free_bytes != said.fordblks ||
                 !found.is_whole || !found.has_mmapped || found.n_mmapped != said.hblks ||
                 found.mmapped_bytes != said.hblkhd)
                printf("held %zu, said %zu; free %zu, said %zu; mapped %u with %zu, said %zu with %zu\n",
                       (size_t)found.held_bytes, said.arena, (size_t)found.free_bytes,
                       said.fordblks, found.n_mmapped, (size_t)found.mmapped_bytes, said.hblks,
                       said.hblkhd);
        else
                printf("ok %u\n", found.n_arenas);
        free(large);
        return 0;
}
