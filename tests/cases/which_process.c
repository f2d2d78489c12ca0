/* SPDX-License-Identifier: MIT */
/* A program of several processes, of which one or some hold the memory: which and how much, the arguments say. Blocks are
 * of 100,000 bytes. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *kept[100000];
static int n_kept;

__attribute__((noinline)) static void build_index(int n_blocks) {
        for (int i = 0; i < n_blocks; i++)
                kept[n_kept++] = memset(malloc(100000), 1, 100000);
}

static void wait_ms(int ms) {
        usleep((useconds_t)ms * 1000);
}

/* Over its arguments, which lie one behind the other. */
static void set_title(char **argv, const char *title) {
        size_t room = 0;

        for (int i = 0; argv[i]; i++)
                room += strlen(argv[i]) + 1;
        memset(argv[0], 0, room);
        strncpy(argv[0], title, room - 1);
}

static void fork_child(int n_blocks, int ms, char **argv, const char *title) {
        if (fork() != 0)
                return;
        if (title)
                set_title(argv, title);
        build_index(n_blocks);
        wait_ms(ms);
        _exit(0);
}

int main(int argc, char **argv) {
        const char *what = argc > 1 ? argv[1] : "";
        int n = argc > 2 ? atoi(argv[2]) : 0;

        if (strcmp(what, "hold") == 0) {
                build_index(n);
                wait_ms(200);
        } else if (strcmp(what, "become") == 0) { /* it holds more than what it becomes */
                build_index(n);
                execl(argv[0], argv[0], "hold", "1", NULL);
        } else if (strcmp(what, "prefork") == 0) {
                build_index(1);
                for (int i = 0; i < 4; i++)
                        fork_child(n, 700, argv, "pool: worker process");
                set_title(argv, "pool: master process");
        } else if (strcmp(what, "daemon") == 0) {
                build_index(1);
                if (fork() == 0) {
                        setsid();
                        fork_child(n, 300, argv, NULL);
                        _exit(0);
                }
        } else if (strcmp(what, "parent") == 0) {
                build_index(n);
                for (int i = 0; i < 3; i++)
                        fork_child(1, 100, argv, NULL);
        } else if (strcmp(what, "leak") ==
                   0) { /* a child that never comes to rest, of a parent that holds more */
                build_index(n);
                if (fork() == 0) {
                        for (int i = 0; i < 3000; i++) {
                                kept[n_kept++] = malloc(5000);
                                wait_ms(1);
                        }
                        _exit(0);
                }
        }
        while (wait(NULL) > 0)
                ;
        return 0;
}
