// SPDX-License-Identifier: MIT
// Heaps of five shapes, for replays to be compared with: `whatif_shapes SHAPE` prints, in bytes, its anonymous memory that is resident at the
// peak and at the end; `nothing` is what any process has. What it keeps for itself lies in shared memory, which is not counted.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <string>

static unsigned draw(unsigned *state) {
        *state = *state * 1103515245u + 12345u;
        return *state >> 8;
}

static long field(const char *text, const char *key) {
        const char *at = strstr(text, key);

        return at ? atol(at + strlen(key)) : -1;
}

static void read_status(char *text, size_t cap) {
        int fd = open("/proc/self/status", O_RDONLY);
        ssize_t n = read(fd, text, cap - 1);

        close(fd);
        text[n > 0 ? n : 0] = 0;
}

static char **table(size_t n) {
        return (char **)mmap(nullptr, n * sizeof(char *), PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static char *take(size_t n) {
        return (char *)memset(malloc(n), 1, n);
}

static pthread_barrier_t barrier;

/* Seven of eight go again; what stays pins the pages. Threads free when all have allocated: their sum does not hang on the scheduler. */
static void *pin(void *arg) {
        enum { N = 150000 };
        unsigned state = (unsigned)(size_t)arg + 1;
        char **blocks = table(N);

        for (size_t i = 0; i < N; i++)
                blocks[i] = take(16 + draw(&state) % 400);
        pthread_barrier_wait(&barrier);
        for (size_t i = 0; i < N; i++)
                if (i % 8)
                        free(blocks[i]);
        for (size_t i = 0; i < 20000; i++)
                free(take(500 + draw(&state) % 1500));
        return nullptr;
}

static void threads() {
        pthread_t t[4];

        pthread_barrier_init(&barrier, nullptr, 4);
        for (size_t i = 0; i < 4; i++)
                pthread_create(&t[i], nullptr, pin, (void *)i);
        for (size_t i = 0; i < 4; i++)
                pthread_join(t[i], nullptr);
}

/* One allocates, the other frees. */
enum { QUEUE = 120000, BATCH = 2000 };
static char **queue;

static void *consume(void *) {
        for (int turn = 0; turn < QUEUE / BATCH; turn++) {
                pthread_barrier_wait(&barrier);
                for (int i = 0; i < BATCH; i++)
                        if (i % 5)
                                free(queue[turn * BATCH + i]);
                pthread_barrier_wait(&barrier);
        }
        return nullptr;
}

static void cross() {
        unsigned state = 7;
        pthread_t t;

        queue = table(QUEUE);
        pthread_barrier_init(&barrier, nullptr, 2);
        pthread_create(&t, nullptr, consume, nullptr);
        for (int turn = 0; turn < QUEUE / BATCH; turn++) {
                for (int i = 0; i < BATCH; i++)
                        queue[turn * BATCH + i] = take(32 + draw(&state) % 2000);
                pthread_barrier_wait(&barrier);
                pthread_barrier_wait(&barrier);
        }
        pthread_join(t, nullptr);
}

/* Many that grow by turns. */
static void vectors() {
        enum { N = 400 };
        char **v = table(N);

        for (size_t size = 64; size <= 128 * 1024; size *= 2)
                for (size_t i = 0; i < N; i++) {
                        v[i] = (char *)realloc(v[i], size);
                        memset(v[i] + size / 2, 1, size / 2);
                }
        for (size_t i = 0; i < N; i += 2)
                free(v[i]);
}

/* Large blocks come and go, and a map of strings stays. */
static void mixed() {
        auto *kept = new std::map<unsigned, std::string>;
        unsigned state = 99;

        for (int round = 0; round < 60; round++) {
                char *large = take(300000 + draw(&state) % 3000000);

                for (int i = 0; i < 3000; i++)
                        (*kept)[draw(&state) % 400000] = std::string(20 + draw(&state) % 100, 'x');
                free(large);
        }
}

int main(int argc, char **argv) {
        const std::string shape = argc > 1 ? argv[1] : "";
        static char after[4096];
        int fd = open("/proc/self/clear_refs", O_WRONLY);

        if (write(fd, "5", 1) != 1)
                return 3;
        close(fd);
        pthread_barrier_init(&barrier, nullptr, 1);
        if (shape == "pinned")
                pin(nullptr);
        else if (shape == "threads")
                threads();
        else if (shape == "cross")
                cross();
        else if (shape == "vectors")
                vectors();
        else if (shape == "mixed")
                mixed();
        else if (shape != "nothing")
                return 2;
        read_status(after, sizeof(after));
        long rest = field(after, "RssFile:") + field(after, "RssShmem:");
        char text[100];
        int n = snprintf(text, sizeof(text), "%ld %ld\n", (field(after, "VmHWM:") - rest) * 1024,
                         field(after, "RssAnon:") * 1024);

        return write(1, text, (size_t)n) == n ? 0 : 1;
}
