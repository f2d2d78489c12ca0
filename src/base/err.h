/* SPDX-License-Identifier: MIT */
/* Why something failed, in one sentence, kept beside the error number.
 * The function that can explain fills it; only cli/ and record/ print it. */
#pragma once

struct err {
        int code; /* negative errno, 0 while nothing has failed: a text then is worth saying all the same */
        const char *
                key; /* of the request (request/request.h) that is to blame: "from"; a constant. NULL: none */
        char text
                [480]; /* "what: why: what to do", without the leading "silt: " and without a newline */
};

/* Fills e (NULL is fine) and returns code, so that `return err_set(e, -EINVAL, …)` is one line. */
int err_set(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The same, with ": <strerror(-code)>" at the end. */
int err_set_errno(struct err *e, int code, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));

/* Says which key of a request the error is about, and returns code. The command line prints "--from: <text>" then. */
int err_about(struct err *e, const char *key, int code);
/* "<subject>: <text of why>", with its key and code, which is returned. */
int err_within(struct err *e, const char *subject, const struct err *why);

/* Names and paths in a text may hold anything: control characters become '?'. err_set does it itself. */
void err_make_one_line(char *text);
