/* SPDX-License-Identifier: MIT */
/* All that a bill says, asked once; text and JSON only write it down. Inside bill/ only. */
#pragma once

#include "bill/bill.h"
#include "bill/bill_history.h"
#include "bill/bill_missed.h"
#include "bill/bill_series.h"
#include "resident/fragmentation.h"

struct bill_view {
        const struct bill_options *o;
        struct query *q; /* NULL: nobody records the process */
        struct bill_keys keys;
        struct bill_series series;
        bool is_asked; /* the moment was, by --at; or none is known of the window */
        struct bill_moment moment;
        struct bill bill;
        bool has_bill;    /* else only samples are known: */
        bool is_imported; /* of which other tools tell only the sum */
        struct query_resident sampled;
        struct fragmentation fragmentation; /* of the process that keeps most */
        uint32_t fragmented_process;
        struct bill_missed missed; /* more was resident, and nobody looked */
        struct bill_unlooked unlooked;
        bool has_end; /* another moment than that of the bill */
        struct bill_moment end_moment;
        struct bill end;
        struct bill_history history; /* empty: nobody asked for it */
};

int bill_view_gather(struct bill_view *v, struct err *reterr);
void bill_view_done(struct bill_view *v);

/* Appends the first sentence, and the next where it is of too little. */
void bill_view_add_sentence(const struct bill_view *v, bool utf8, struct str *to);

/* Appends the sentence about fragmentation. False: there is nothing to tell. */
bool bill_view_add_fragmentation(const struct bill_view *v, bool utf8, struct str *to);

void bill_text(FILE *out, const struct bill_view *v);
void bill_json(FILE *out, const struct bill_view *v);
