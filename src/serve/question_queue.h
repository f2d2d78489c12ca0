/* SPDX-License-Identifier: MIT */
/* Questions in order: so many are answered at once, some more wait, and one whose client has gone is stopped.
 * Inside serve/ only. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "serve/http_gate.h"
#include "serve/responder.h"

enum {
        QUESTIONS_MAX_WAITING = 16,
        QUESTIONS_TIME_S = 60,                /* from asking to the answer */
        QUESTIONS_MAX_PARTS_BYTES = 64 << 10, /* of one that is being answered, told before it is */
};

struct questions;

struct question {
        char name[GATE_MAX_ANSWER + 1], id[GATE_MAX_ID + 1];
        char *keys; /* owned by whoever asks */
        int fd;     /* of the client's connection */
        void (*ready)(
                struct question
                        *q); /* in another thread; from then on the question is the asker's again */
        void *owner;

        /* the answer, once ready */
        int result; /* 0, or -errno and err */
        struct str text;
        struct err err;
        uint64_t version; /* of the trace it is about */

        /* question_queue.c alone */
        struct questions *among;
        struct question *next;
        bool is_quick;
        uint64_t deadline_ns, looked_ns;
        _Atomic uint64_t done,
                total; /* written by its seat, read by whoever asks for progress: relaxed, nothing hangs on it */
        struct str parts; /* JSON values, with commas between them; with the queue's lock */
};

struct questions *questions_new(const struct responder *responder, struct err *reterr);
/* Stops all that are there, telling their askers, and waits for them. */
void questions_stop(struct questions *qs);
struct questions *questions_free(
        struct questions *qs); /* after questions_stop; NULL ok; returns NULL */

/* -EBUSY: too many wait. -ESHUTDOWN. Else ready is called, maybe before this returns. */
int questions_ask(struct questions *qs, struct question *q);

/* No question is being answered from here to questions_resume. False: those that are took longer than that. */
bool questions_pause(struct questions *qs, uint64_t patience_ns);
void questions_resume(struct questions *qs);

struct questions_progress {
        enum { QUESTION_UNKNOWN, QUESTION_WAITS, QUESTION_ANSWERED_NOW } state;
        uint64_t done, total;
        unsigned n_waiting, n_answering;          /* now */
        uint64_t n_answered, n_cancelled, n_late; /* ever */
        struct str
                parts; /* what is known of the answer: JSON values with commas between them; the caller's */
};
/* Of one of them, and of all; id may be "". */
struct questions_progress questions_progress(struct questions *qs, const char *id);

/* The other end has closed its half. */
bool questions_is_gone(int fd);
