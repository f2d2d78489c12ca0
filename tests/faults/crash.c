/* SPDX-License-Identifier: MIT */
/* A program that ends badly: `crash WAY FILE`.
 *
 * First, whatever the way: main and 4 threads each allocate 1,000 blocks of 10 bytes and release 500
 * of them; the threads stay. That is 5,000 allocations, 2,500 releases, and one TLS table per thread:
 * 5,004 allocations, 5 threads. Then
 *   segv, bus, ill, abort, _exit, quick_exit   main does that
 *   thread_segv                     the last thread does that
 *   overflow                        main recurses without end, one block of 1 byte at each level
 *   overflow_caught                 the same; a handler on a stack of its own ends with status 3
 *   overflow_handler_allocates      main recurses without allocating; the handler allocates 5 blocks
 *                                   of 1 byte, status 4
 *   exec                            main runs this program as `crash second`: 7 blocks of 20 bytes,
 *                                   status 6
 *   exec_in_thread                  the last thread does that
 *   exec_under_way                  as exec_in_thread, while the other threads go on: each allocates
 *                                   and releases blocks of 1 byte until it is gone
 * FILE is mapped shared: word 0 is how many blocks of 1 byte had been handed out, word 1 how many had
 * been released. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { N_THREADS = 4 };

static const char *way, *program;
static _Atomic uint64_t *words;
static pthread_barrier_t barrier;
static void *volatile kept;

static int is_way(const char *name) {
        return strcmp(way, name) == 0;
}

static void allocate(void) {
        void *blocks[1000];

        for (int i = 0; i < 1000; i++)
                blocks[i] = malloc(10);
        for (int i = 0; i < 500; i++)
                free(blocks[i * 2]);
}

__attribute__((noinline)) static void write_nowhere(void) {
        volatile uintptr_t nowhere = 0;

        *(volatile int *)nowhere = 1;
}

static void run_second(void) {
        execl(program, program, "second", (char *)NULL);
        _exit(98);
}

/* volatile and the asm: no tail call, and every level has a frame. */
__attribute__((noinline)) static int recurse(int allocates) {
        volatile char frame[64];

        frame[0] = 1;
        if (allocates) {
                kept = malloc(1);
                atomic_fetch_add(&words[0], 1);
        }
        return recurse(allocates) + frame[0];
}

static void on_overflow(int sig) {
        (void)sig;
        if (is_way("overflow_caught"))
                _exit(3);
        for (int i = 0; i < 5; i++)
                kept = malloc(1);
        _exit(4);
}

static void catch_overflow(void) {
        static char stack[256 << 10];
        stack_t alternative = {.ss_sp = stack, .ss_size = sizeof(stack)};
        struct sigaction action = {.sa_handler = on_overflow, .sa_flags = SA_ONSTACK};

        sigaltstack(&alternative, NULL);
        sigaction(SIGSEGV, &action, NULL);
}

static void *thread_main(void *no) {
        int is_last = (uintptr_t)no == N_THREADS - 1;

        allocate();
        pthread_barrier_wait(&barrier);
        if (is_last && is_way("thread_segv"))
                write_nowhere();
        if (is_last && is_way("exec_in_thread"))
                run_second();
        if (is_way("exec_under_way")) {
                if (is_last) {
                        while (atomic_load(&words[0]) < 50000)
                                sched_yield();
                        run_second();
                }
                for (;;) {
                        void *block = malloc(1);

                        atomic_fetch_add(&words[0], 1);
                        free(block);
                        atomic_fetch_add(&words[1], 1);
                }
        }
        for (;;)
                pause();
        return NULL;
}

static void end(void) {
        if (is_way("segv"))
                write_nowhere();
        if (is_way("bus"))
                raise(SIGBUS);
        if (is_way("ill"))
                __builtin_trap();
        if (is_way("abort"))
                abort();
        if (is_way("_exit"))
                _exit(9);
        if (is_way("quick_exit"))
                quick_exit(10);
        if (is_way("exec"))
                run_second();
        if (is_way("overflow_caught") || is_way("overflow_handler_allocates"))
                catch_overflow();
        if (strncmp(way, "overflow", 8) == 0)
                recurse(!is_way("overflow_handler_allocates"));
        for (;;)
                pause();
}

int main(int argc, char **argv) {
        pthread_t thread;
        int fd;

        program = argv[0];
        way = argc > 1 ? argv[1] : "";
        if (is_way("second")) {
                for (int i = 0; i < 7; i++)
                        kept = malloc(20);
                return 6;
        }
        fd = argc > 2 ? open(argv[2], O_RDWR | O_CREAT, 0600) : -1;
        if (fd < 0 || ftruncate(fd, 4096) < 0)
                return 98;
        words = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        pthread_barrier_init(&barrier, NULL, N_THREADS + 1);
        for (uintptr_t i = 0; i < N_THREADS; i++)
                if (pthread_create(&thread, NULL, thread_main, (void *)i) != 0)
                        return 98;
        allocate();
        pthread_barrier_wait(&barrier);
        end();
}
