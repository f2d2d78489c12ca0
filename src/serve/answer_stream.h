/* SPDX-License-Identifier: MIT */
/* What an answer is written to: only so many bytes of it are kept, and while it is being written somebody looks whether its client
 * is still there, and for how long it has waited. Once that ends it, ferror() holds. Inside serve/ only.
 *
 *   FILE *out = answer_stream_open(&s, q);
 *   asker_set_progress(k, answer_stream_progress, &s); … write …
 *   r = answer_stream_close(&s, out, r, &text, reterr); */
#pragma once

#include <stdio.h>

#include "serve/responder.h"

enum { ANSWER_STREAM_MAX_BYTES = 128 << 20 };

struct answer_stream {
        const struct responder_question *q;
        struct str text;
        int failed;           /* -E2BIG, -ECANCELED, -ETIME: no more is taken */
        uint64_t done, total; /* as was told last */
};

FILE *answer_stream_open(struct answer_stream *s, const struct responder_question *q,
                         struct err *reterr); /* NULL: reterr says why */
bool answer_stream_progress(void *ctx, uint64_t done, uint64_t total);
/* r is what became of the answer: kept, or why the stream ended it. ret is set if that is 0. */
int answer_stream_close(struct answer_stream *s, FILE *out, int r, struct str *ret,
                        struct err *reterr);
