/* SPDX-License-Identifier: MIT */
/* Blocks that grow, are exchanged and are released by other threads, each kind in a function of its own whose figures
 * moves.py knows. usage: moves ROUNDS [killed] */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ALONE __attribute__((noinline, noclone))
#define MUST(x) ((x) ? (void)0 : _exit(99))

enum { N_HANDED = 30, N_INHERITED = 10 };

static void *handed[N_HANDED];

/* 64 to 65,536 bytes: ten steps. */
ALONE static void doubling(void) {
        char *p = NULL;

        for (size_t n = 64; n <= 65536; n *= 2)
                MUST((p = realloc(p, n)) != NULL);
        free(p);
}

/* 64 to 6,464 bytes, 64 more each time: a hundred steps. */
ALONE static void creeping(void) {
        char *p = NULL;

        for (size_t n = 64; n <= 6464; n += 64)
                MUST((p = realloc(p, n)) != NULL);
        free(p);
}

/* As containers do: 16 to 8,192 bytes, nine steps. */
ALONE static void by_hand(void) {
        char *p = NULL;

        for (size_t n = 16; n <= 8192; n *= 2) {
                char *q = malloc(n);

                if (p)
                        memcpy(q, p, n / 2);
                free(p);
                p = q;
        }
        free(p);
}

/* One for another, 50 and 100 bytes in turn: ten times larger, nine times smaller. */
ALONE static void exchanged(void) {
        void *p = NULL;

        for (int i = 0; i < 20; i++) {
                void *q = malloc(i % 2 ? 100 : 50);

                free(p);
                p = q;
        }
        free(p);
}

/* A queue of equal blocks: nothing grows. */
ALONE static void queued(void) {
        void *p[4] = {NULL};

        for (int i = 0; i < 40; i++) {
                void *q = malloc(24);

                free(p[i % 4]);
                p[i % 4] = q;
        }
        for (int i = 0; i < 4; i++)
                free(p[i]);
}

ALONE static void shrinking(void) {
        char *p = malloc(1000);

        for (size_t n = 900; n > 0; n -= 100)
                MUST((p = realloc(p, n)) != NULL);
        free(p);
}

/* A larger block that is gone before the smaller one goes. */
ALONE static void gone(void) {
        void *p = NULL;

        for (size_t n = 8; n <= 16; n += 8) {
                void *q = malloc(n);

                if (p)
                        free(q);
                else
                        p = q;
        }
        free(p);
}

/* Two buffers that grow in turn: each step still replaces its own. Seven steps each. */
ALONE static void in_turn(void) {
        char *p[2] = {NULL, NULL};

        for (size_t n = 32; n <= 4096; n *= 2)
                for (int i = 0; i < 2; i++) {
                        char *q = malloc(n + (size_t)i);

                        free(p[i]);
                        p[i] = q;
                }
        free(p[0]);
        free(p[1]);
}

ALONE static void hand_over(void) {
        for (int i = 0; i < N_HANDED; i++)
                handed[i] = malloc(48);
}

/* Another thread makes the first 20 bytes larger (a release too) and releases all. */
static void *take(void *unused) {
        handed[0] = realloc(handed[0], 68);
        for (int i = 0; i < N_HANDED; i++)
                free(handed[i]);
        return unused;
}

static void in_thread(void *(*f)(void *)) {
        pthread_t t;

        MUST(pthread_create(&t, NULL, f, NULL) == 0);
        MUST(pthread_join(t, NULL) == 0);
}

static void *inherited[N_INHERITED];

/* The parent's blocks of 40 bytes; the child's of 60, after each of which an inherited one goes: no thread of
 * its own allocated those. */
ALONE static void *leave(size_t n) {
        return malloc(n);
}

ALONE static void child(void) {
        for (int i = 0; i < N_INHERITED; i++) {
                void *p = leave(60);

                free(inherited[i]);
                inherited[i] = p;
        }
        hand_over();
        in_thread(take);
        by_hand();
        _exit(0);
}

static void with_child(void) {
        int status;
        pid_t pid;

        for (int i = 0; i < N_INHERITED; i++)
                inherited[i] = leave(40);
        pid = fork();
        MUST(pid >= 0);
        if (pid == 0)
                child();
        MUST(waitpid(pid, &status, 0) == pid && status == 0);
        for (int i = 0; i < N_INHERITED; i++)
                free(inherited[i]);
}

int main(int argc, char **argv) {
        int n_rounds = argc > 1 ? atoi(argv[1]) : 1;

        for (int i = 0; i < n_rounds; i++) {
                doubling();
                creeping();
                by_hand();
                exchanged();
                queued();
                shrinking();
                gone();
                in_turn();
                hand_over();
                in_thread(take);
        }
        if (argc > 2)
                raise(SIGKILL);
        with_child();
        return 0;
}
