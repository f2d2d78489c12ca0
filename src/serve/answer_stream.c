/* SPDX-License-Identifier: MIT */
#include "serve/answer_stream.h"

#include <errno.h>

#include "base/system_clock.h"

enum { LOOK_BYTES = 64 << 10 }; /* between two looks: less than a millisecond's work */

bool answer_stream_progress(void *ctx, uint64_t done, uint64_t total) {
        struct answer_stream *s = ctx;

        s->done = done;
        s->total = total;
        return s->q->progress(s->q->ctx, done, total);
}

static ssize_t stream_write(void *ctx, const char *bytes, size_t n) {
        struct answer_stream *s = ctx;

        if (s->failed)
                return 0;
        if (s->text.n + n > ANSWER_STREAM_MAX_BYTES)
                s->failed = -E2BIG;
        else if (clock_now_ns() > s->q->deadline_ns)
                s->failed = -ETIME;
        else if (!s->q->progress(s->q->ctx, s->done, s->total))
                s->failed = -ECANCELED;
        if (s->failed) {
                str_done(&s->text);
                return 0; /* which is an error of the stream */
        }
        str_addn(&s->text, bytes, n);
        return (ssize_t)n;
}

FILE *answer_stream_open(struct answer_stream *s, const struct responder_question *q,
                         struct err *reterr) {
        FILE *out;

        *s = (struct answer_stream){.q = q};
        out = fopencookie(s, "w", (cookie_io_functions_t){.write = stream_write});
        if (!out) {
                err_set_errno(reterr, -errno, "no memory for the answer");
                return NULL;
        }
        setvbuf(out, NULL, _IOFBF, LOOK_BYTES);
        return out;
}

int answer_stream_close(struct answer_stream *s, FILE *out, int r, struct str *ret,
                        struct err *reterr) {
        fclose(out);
        switch (s->failed) {
        case 0: break;
        case -E2BIG:
                r = err_set(reterr, -E2BIG, "the answer is larger than %d MiB: ask for less of it",
                            ANSWER_STREAM_MAX_BYTES >> 20);
                break;
        case -ETIME: r = err_set(reterr, -ETIME, "the answer took too long"); break;
        default: r = err_set(reterr, s->failed, "the client has gone"); break;
        }
        if (r < 0) {
                str_done(&s->text);
                return r;
        }
        *ret = s->text;
        s->text = (struct str){0};
        return 0;
}
