/* SPDX-License-Identifier: MIT */
/* Follows a recording until it is finished: after each refresh every kind of answer must be that of the trace opened anew. Prints how
 * often it compared, and what refreshing cost. For tests/cases/follow.py.
 *
 *   query_follow TRACE
 *
 * Exit status 0: all were equal. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "query/query.h"
#include "query/testing/questions.h"

enum { MAX_WAITS = 600, WAIT_MS = 100 };

/* Until something is written, or a while. */
static void wait_for_more(int inotify_fd) {
        struct pollfd p = {.fd = inotify_fd, .events = POLLIN};
        char events[4096];

        if (poll(&p, 1, WAIT_MS) > 0 && read(inotify_fd, events, sizeof(events)) < 0)
                perror("inotify");
}

/* Both in one state, though the file may grow in between: 1 when it is so, 0 when it is another one each time. */
static int meet(struct query *q, const char *path, struct query **ret_fresh, struct err *e) {
        for (unsigned i = 0; i < 20; i++) {
                int r = query_open(path, ret_fresh, e);

                if (r >= 0)
                        r = query_refresh(q, e);
                if (r < 0)
                        return r;
                if (query_view(q)->file_bytes == query_view(*ret_fresh)->file_bytes &&
                    query_view(q)->n_slices == query_view(*ret_fresh)->n_slices &&
                    query_view(q)->n_symbols == query_view(*ret_fresh)->n_symbols)
                        return 1;
                *ret_fresh = query_free(*ret_fresh);
        }
        return 0;
}

static const char *compare(struct query *q, struct query *fresh) {
        struct query_scope scope = query_whole(q);
        const char *difference = questions_compare(q, fresh, &scope);

        scope.process = QUERY_ALL;
        scope.from_ns = query_view(q)->end_ns / 3;
        return difference ? difference : questions_compare(q, fresh, &scope);
}

int main(int argc, char **argv) {
        _cleanup_(query_freep) struct query *q = NULL;
        int inotify_fd = inotify_init1(IN_CLOEXEC);
        unsigned n_compared = 0, n_grown = 0;
        struct err e = {0};
        size_t n_slices = 0;

        if (argc != 2 || inotify_fd < 0)
                return 2;
        for (unsigned i = 0; !q && i < MAX_WAITS; i++)
                if (query_open(argv[1], &q, &e) < 0)
                        wait_for_more(inotify_fd);
        if (!q || inotify_add_watch(inotify_fd, argv[1], IN_MODIFY | IN_CLOSE_WRITE) < 0) {
                fprintf(stderr, "%s\n", e.text);
                return 2;
        }
        for (unsigned i = 0; i < MAX_WAITS; i++) {
                _cleanup_(query_freep) struct query *fresh = NULL;
                int r = meet(q, argv[1], &fresh, &e);
                const char *difference = r > 0 ? compare(q, fresh) : NULL;

                if (r < 0 || difference) {
                        fprintf(stderr, "%s\n", difference ? difference : e.text);
                        return 1;
                }
                n_compared += r > 0;
                n_grown += query_view(q)->n_slices > n_slices;
                n_slices = query_view(q)->n_slices;
                if (query_view(q)->finished && r > 0)
                        break;
                wait_for_more(inotify_fd);
        }
        printf("compared %u grown %u slices %zu events %llu finished %d\n", n_compared, n_grown,
               n_slices, (unsigned long long)query_view(q)->n_events, query_view(q)->finished);
        close(inotify_fd);
        return 0;
}
