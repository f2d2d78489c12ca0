/* SPDX-License-Identifier: MIT */
/* A program whose main loop has nothing but sources of GIO's own kinds: gio_service N listens at N ports. Without GLib's headers, which are of a package of its own.
 * Says "ready" when it listens, and ends when its input does. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct service service;
typedef struct loop loop;

loop *g_main_loop_new(void *context, int is_running);
void g_main_loop_run(loop *l);
service *g_socket_service_new(void);
void g_socket_service_start(service *s);
void g_socket_service_stop(service *s);
unsigned short g_socket_listener_add_any_inet_port(service *s, void *source_object, void **error);
unsigned long g_signal_connect_data(void *instance, const char *signal, void (*f)(void), void *data,
                                    void (*destroy)(void), int flags);

static int on_incoming(void) {
        return 1;
}

static void *wait_for_end(void *unused) {
        (void)unused;
        while (read(0, &(char){0}, 1) > 0)
                continue;
        _exit(0);
}

static void listen_at_all(service *s) {
        g_socket_service_start(s); /* listens */
}

int main(int argc, char **argv) {
        int n = argc > 1 ? atoi(argv[1]) : 1;
        service *s = g_socket_service_new();
        pthread_t waiting;

        g_signal_connect_data(s, "incoming", (void (*)(void))on_incoming, NULL, NULL, 0);
        g_socket_service_stop(s); /* with each port it would begin anew, later */
        for (int i = 0; i < n; i++)
                if (!g_socket_listener_add_any_inet_port(s, NULL, NULL))
                        return 1;
        listen_at_all(s);
        if (pthread_create(&waiting, NULL, wait_for_end, NULL) != 0)
                return 1;
        puts("ready");
        fflush(stdout);
        g_main_loop_run(g_main_loop_new(NULL, 0));
        return 0;
}
