/* SPDX-License-Identifier: MIT */
/* Sessions that nobody closes: for three seconds a list in a static grows by 2,008 bytes at a time. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct session {
        struct session *next;
        char data[2000];
};

static struct session *sessions;

__attribute__((noinline)) static void open_session(void) {
        struct session *s = malloc(sizeof(*s));

        memset(s, 0, sizeof(*s));
        s->next = sessions;
        sessions = s;
}

int main(void) {
        for (int i = 0; i < 3000; i++) {
                open_session();
                usleep(900);
        }
        exit(0);
}
