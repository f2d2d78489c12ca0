/* SPDX-License-Identifier: MIT */
#include "record/watcher.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct watcher {
        struct wire_header *header;
        int epoll_fd;
        /* 1 when descriptors are waiting to be looked at. Written 1 by the thread, 0 by the main thread; futex of both. */
        _Atomic uint32_t ready;
};

static long watcher_futex(_Atomic uint32_t *word, int op, uint32_t value,
                          const struct timespec *timeout) {
        return syscall(SYS_futex, word, op, value, timeout, NULL, 0);
}

static void watcher_wake_main(struct watcher *w) {
        atomic_fetch_add_explicit(&w->header->wake, 1, memory_order_release);
        watcher_futex(&w->header->wake, FUTEX_WAKE, INT_MAX, NULL);
}

static void *watcher_thread(void *arg) {
        struct watcher *w = arg;
        struct epoll_event event;

        for (;;) {
                if (epoll_wait(w->epoll_fd, &event, 1, -1) <= 0)
                        continue;
                /* release: the main thread's acquire in watcher_next pairs with it */
                atomic_store_explicit(&w->ready, 1, memory_order_release);
                watcher_wake_main(w);
                while (atomic_load_explicit(&w->ready, memory_order_acquire))
                        watcher_futex(&w->ready, FUTEX_WAIT_PRIVATE, 1, NULL);
        }
        return NULL;
}

int watcher_new(struct wire_header *header, struct watcher **ret, struct err *reterr) {
        struct watcher *w = calloc(1, sizeof(*w));
        pthread_attr_t attr;
        pthread_t thread;
        int r;

        if (!w)
                return err_set_errno(reterr, -ENOMEM, "watcher");
        w->header = header;
        w->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        if (w->epoll_fd < 0) {
                r = err_set_errno(reterr, -errno, "epoll");
                free(w);
                return r;
        }
        pthread_attr_init(&attr);
        pthread_attr_setstacksize(&attr, 128 * 1024);
        r = pthread_create(&thread, &attr, watcher_thread, w);
        pthread_attr_destroy(&attr);
        if (r) {
                close(w->epoll_fd);
                free(w);
                return err_set_errno(reterr, -r, "watcher thread");
        }
        *ret = w;
        return 0;
}

int watcher_add(struct watcher *w, int fd, uint64_t tag) {
        struct epoll_event event = {.events = EPOLLIN, .data.u64 = tag};

        return epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

void watcher_remove(struct watcher *w, int fd) {
        epoll_ctl(w->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

bool watcher_next(struct watcher *w, uint64_t *ret_tag) {
        struct epoll_event event;

        if (epoll_wait(w->epoll_fd, &event, 1, 0) == 1) {
                *ret_tag = event.data.u64;
                return true;
        }
        if (atomic_load_explicit(&w->ready, memory_order_acquire)) {
                atomic_store_explicit(&w->ready, 0, memory_order_release);
                watcher_futex(&w->ready, FUTEX_WAKE_PRIVATE, 1, NULL);
        }
        return false;
}

void watcher_sleep(struct watcher *w, uint64_t timeout_ns, bool (*has_work)(void *ctx), void *ctx) {
        struct timespec timeout = {(time_t)(timeout_ns / 1000000000u),
                                   (long)(timeout_ns % 1000000000u)};
        uint32_t seen = atomic_load_explicit(&w->header->wake, memory_order_acquire);

        /* seq_cst: the store must be visible before has_work looks, or a target that fills its ring just now would
         * neither be seen here nor see that it has to wake us. */
        atomic_store_explicit(&w->header->asleep, 1, memory_order_seq_cst);
        if (!atomic_load_explicit(&w->ready, memory_order_acquire) && !has_work(ctx))
                watcher_futex(&w->header->wake, FUTEX_WAIT, seen, &timeout);
        atomic_store_explicit(&w->header->asleep, 0, memory_order_relaxed);
}
