/* SPDX-License-Identifier: MIT */
/* Parts at all moments at which a trace knows them, for charts: of very many, evenly spread ones. Inside bill/ only. */
#pragma once

#include "bill/bill_series.h"

enum { BILL_HISTORY_MAX_MOMENTS = 240 };

struct bill_history_moment {
        uint64_t time_ns, resident_bytes;
        int64_t bytes[BILL_N_KINDS]; /* these add up to it */
};

struct bill_history {
        VEC(struct bill_history_moment) moments; /* by time */
};

/* bill_history_done() in every case. */
int bill_history_read(struct bill_history *h, struct query *q, const struct bill_series *s,
                      struct err *reterr);
void bill_history_done(struct bill_history *h);
/* Whether there was ever something of it. */
bool bill_history_has(const struct bill_history *h, enum bill_kind k);
