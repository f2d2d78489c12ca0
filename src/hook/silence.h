/* SPDX-License-Identifier: MIT */
/* How long images wait for a recorder that does not answer: 5 s for all of them together, not for each. A program that
 * runs a thousand others beside a stopped recorder must not wait a thousand times.
 *
 * What they share is a file beside the rendezvous socket, "silence". The first image that got no answer for 100 ms makes it,
 * with the time when it began to wait; all images stop waiting 5 s after that. The recorder removes it as soon as it runs
 * again. Images that cannot see the socket's folder (another root, another user) wait 5 s each. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

enum { SILENCE_NOTICE_MS = 100, SILENCE_MAX_MS = 5000 };

struct silence {
        char path[128];    /* of the file; "" none */
        uint64_t began_ns; /* monotonic: since when the images wait */
        bool is_known;     /* the file was found or made */
};

/* names: as in WIRE_ENV. An image begins to ask now. */
void silence_look(struct silence *s, const char *names, size_t len);

/* There was no answer for SILENCE_NOTICE_MS. */
void silence_tell(struct silence *s);

/* What is left of the time to wait. */
uint64_t silence_left_ns(const struct silence *s);

/* This image goes unrecorded, and the recorder could not even be told: it counts these by the file's size. */
void silence_count(const struct silence *s);

#pragma GCC visibility pop
