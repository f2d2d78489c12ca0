/* SPDX-License-Identifier: MIT */
/* A main loop of GLib with sources of known kinds, callbacks and states: main_loop SESSIONS SAME REMOVED IDLE ENDED. Without GLib's headers, which are of a package of
 * its own. Says "ready" from within a callback, when everything is there, and ends when its input does. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef int (*function)(void *data);
typedef struct source source;
typedef struct loop loop;

loop *g_main_loop_new(void *context, int is_running);
void g_main_loop_run(loop *l);
unsigned g_timeout_add(unsigned ms, function f, void *data);
unsigned g_idle_add(function f, void *data);
unsigned g_unix_signal_add(int signal, function f, void *data);
unsigned g_unix_fd_add(int fd, int condition, int (*f)(int fd, int condition, void *data),
                       void *data);
source *g_timeout_source_new(unsigned ms);
void g_source_set_callback(source *s, function f, void *data, void (*notify)(void *data));
unsigned g_source_attach(source *s, void *context);
void g_source_destroy(source *s);
int g_source_remove(unsigned id);

enum { AN_HOUR_MS = 3600000, IN = 1, HANG_UP = 16, A_SIGNAL = 10 /* SIGUSR1 */ };

/* What "GSource" begins with, and its four functions: a kind of the program's own. */
struct source_funcs {
        int (*prepare)(source *s, int *timeout_ms), (*check)(source *s),
                (*dispatch)(source *s, function f, void *data);
        void (*finalize)(source *s);
        void *closure_callback, *closure_marshal;
};
source *g_source_new(struct source_funcs *funcs, unsigned n_bytes);

static int never(source *s, int *timeout_ms) {
        (void)s;
        *timeout_ms = -1;
        return 0;
}

static int never_now(source *s) {
        (void)s;
        return 0;
}

static int pass_on(source *s, function f, void *data) {
        (void)s;
        return f(data);
}

static struct source_funcs own_funcs = {never, never_now, pass_on, NULL, NULL, NULL};
static int n_same, n_idle;
static source **removed;

static int on_tick(void *data) {
        (void)data;
        return 1;
}

static int on_session(void *data) {
        (void)data;
        return 1;
}

static int on_own(void *data) {
        (void)data;
        return 1;
}

static int on_signal(void *data) {
        (void)data;
        return 1;
}

static int on_idle(void *data) {
        (void)data;
        return 1;
}

static int on_input(int fd, int condition, void *data) {
        char c;

        (void)condition;
        (void)data;
        if (read(fd, &c, 1) <= 0)
                _exit(0);
        return 1;
}

/* Who shows something again begins to refresh it again. */
static void show_again(void) {
        g_timeout_add(AN_HOUR_MS, on_tick, &n_same); /* the leak */
}

/* From within the loop, where nothing else is being called. */
static int on_start(void *data) {
        (void)data;
        for (int i = 0; i < n_idle; i++)
                g_idle_add(on_idle, NULL);
        puts("ready");
        fflush(stdout);
        for (;;)
                if (read(0, &(char){0}, 1) <= 0)
                        _exit(0);
}

int main(int argc, char **argv) {
        int n_sessions = argc > 1 ? atoi(argv[1]) : 0, n_removed = argc > 3 ? atoi(argv[3]) : 0,
            n_ended = argc > 5 ? atoi(argv[5]) : 0;
        source *own = g_source_new(&own_funcs, 120);

        n_same = argc > 2 ? atoi(argv[2]) : 0;
        n_idle = argc > 4 ? atoi(argv[4]) : 0;
        removed = calloc((size_t)n_removed + 1, sizeof(*removed));
        for (int i = 0; i < n_sessions + n_ended; i++) {
                unsigned id = g_timeout_add(AN_HOUR_MS, on_session, malloc(16)); /* sessions */

                if (i >= n_sessions)
                        g_source_remove(id);
        }
        for (int i = 0; i < n_same; i++)
                show_again();
        for (int i = 0; i < n_removed; i++) {
                removed[i] = g_timeout_source_new(AN_HOUR_MS); /* removed */
                g_source_set_callback(removed[i], on_session, NULL, NULL);
                g_source_attach(removed[i], NULL);
                g_source_destroy(removed[i]); /* and no g_source_unref */
        }
        g_source_set_callback(own, on_own, NULL, NULL);
        g_source_attach(own, NULL);
        g_timeout_source_new(AN_HOUR_MS); /* in no loop */
        g_unix_signal_add(A_SIGNAL, on_signal, NULL);
        g_unix_fd_add(0, IN | HANG_UP, on_input, NULL);
        g_timeout_add(0, on_start, NULL);
        g_main_loop_run(g_main_loop_new(NULL, 0));
        return 0;
}
