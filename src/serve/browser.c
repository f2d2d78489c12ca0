/* SPDX-License-Identifier: MIT */
#include "serve/browser.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *variable(const char *name) {
        const char *value = getenv(name);

        return value && *value ? value : NULL;
}

bool browser_is_there(void) {
        return variable("BROWSER") || variable("DISPLAY") || variable("WAYLAND_DISPLAY");
}

static void become(const char *address, int failed_fd) __attribute__((noreturn));

/* Away from this terminal, whatever it prints. */
static void become(const char *address, int failed_fd) {
        const char *own = variable("BROWSER");
        int null = open("/dev/null", O_RDWR);
        sigset_t none;

        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        signal(SIGPIPE, SIG_DFL);
        setsid();
        for (int fd = 0; fd < 3 && null >= 0; fd++)
                dup2(null, fd);
        if (own) {
                char *first = strndup(own, strcspn(own, ":"));

                if (first)
                        execlp(first, first, address, NULL);
        }
        execlp("xdg-open", "xdg-open", address, NULL);
        (void)!write(failed_fd, "f", 1);
        _exit(127);
}

/* By a child's child: the former is waited for, the latter belongs to nobody here. */
bool browser_open(const char *address) {
        int failed[2], status;
        bool is_open = false;
        pid_t pid;
        char one;

        if (pipe2(failed, O_CLOEXEC) < 0)
                return false;
        pid = fork();
        if (pid == 0) {
                if (fork() != 0)
                        _exit(0);
                become(address, failed[1]);
        }
        close(failed[1]);
        if (pid > 0) {
                waitpid(pid, &status, 0);
                is_open = read(failed[0], &one, 1) == 0; /* an exec closes the other end */
        }
        close(failed[0]);
        return is_open;
}

bool browser_add_forwarding(uint16_t port, struct str *to) {
        const char *connection = variable("SSH_CONNECTION"), *user = variable("USER");
        char host[80];

        /* "192.0.2.7 51234 198.51.100.4 22": from there to here */
        if (!connection || sscanf(connection, "%*s %*s %79s", host) != 1)
                return false;
        str_addf(to, "ssh -N -L %u:127.0.0.1:%u ", port, port);
        if (user)
                str_addf(to, "%s@", user);
        str_add(to, host);
        return true;
}
