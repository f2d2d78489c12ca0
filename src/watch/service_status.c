/* SPDX-License-Identifier: MIT */
#include "watch/service_status.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/macros.h"

void service_status_tell(const char *fmt, ...) {
        struct sockaddr_un to = {.sun_family = AF_UNIX};
        const char *path = getenv("NOTIFY_SOCKET");
        _cleanup_close_ int fd = -1;
        char text[512];
        va_list args;
        size_t n;

        if (!path || (path[0] != '/' && path[0] != '@') || strlen(path) >= sizeof(to.sun_path))
                return;
        n = strlen(path);
        memcpy(to.sun_path, path, n);
        if (path[0] == '@') /* has no file */
                to.sun_path[0] = '\0';
        fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return;
        va_start(args, fmt);
        vsnprintf(text, sizeof(text), fmt, args);
        va_end(args);
        (void)!sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&to,
                      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
}
