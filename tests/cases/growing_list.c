/* SPDX-License-Identifier: MIT */
/* Sessions that nobody closes: for three seconds a list in a static grows by 2,008 bytes at a time. With an argument the static holds the last one alone,
 * and the others are lost. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct session {
        struct session *next;
        char data[2000];
};

static struct session *sessions;
static int is_lost;

__attribute__((noinline)) static void open_session(void) {
        struct session *s = malloc(sizeof(*s));

        memset(s, 0, sizeof(*s));
        s->next = is_lost ? NULL : sessions;
        sessions = s;
}

int main(int argc, char **argv) {
        (void)argv;
        is_lost = argc > 1;
        for (int i = 0; i < 3000; i++) {
                open_session();
                usleep(900);
        }
        exit(0);
}
