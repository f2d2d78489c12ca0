/* SPDX-License-Identifier: MIT */
/* Lets the recorder sleep on one futex although it also waits for descriptors: a thread that polls them
 * and, when one is ready, wakes the recorder and waits until it has looked.
 *
 * Owner: the recorder's main thread calls everything here; the watcher thread touches only the epoll
 * descriptor, `ready` and the arena's wake word. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "wire/layout.h"

struct watcher;

int watcher_new(struct wire_header *header, struct watcher **ret, struct err *reterr);
int watcher_add(struct watcher *w, int fd,
                uint64_t tag); /* readable; tag comes back from watcher_next */
void watcher_remove(struct watcher *w, int fd);

/* The tag of a descriptor that is ready now: true, or false when there is none. Never blocks. */
bool watcher_next(struct watcher *w, uint64_t *ret_tag);

/* Sleeps until a target or a descriptor wakes the recorder, or timeout_ns have passed. `has_work` is asked
 * once more after the arena says the recorder sleeps, so that no wake-up is missed. */
void watcher_sleep(struct watcher *w, uint64_t timeout_ns, bool (*has_work)(void *ctx), void *ctx);
