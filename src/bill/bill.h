/* SPDX-License-Identifier: MIT */
/* silt bill: what resident memory is made of, part by part, adding up (docs/bill.md). */
#pragma once

#include "bill/bill_parts.h"
#include "resident/resident.h"
#include "show/show_options.h"

struct bill_options {
        struct show_options view;
        /* of a process that nobody records, or did from its start: what was found in it now, and who it is. NULL: view.path is a trace */
        const struct resident *now;
        uint32_t pid;
        const char *program; /* its name */
        const char
                *recorded; /* the trace of a recorder that does not know its blocks; NULL: none */
        bool is_closed;    /* silt can neither enter nor copy it */
        bool is_full;      /* every line of every part */
        bool needs_blocks; /* of a trace: -ENODATA, and nothing is printed, where blocks are not known */
};
#define BILL_OPTIONS_DEFAULT ((struct bill_options){.view = SHOW_OPTIONS_DEFAULT})

/* Of a trace that is open, as JSON, with all moments beside the one that is told. view: resolved. */
int bill_write(FILE *out, struct query *q, struct names *names, const struct show_options *view,
               struct err *reterr);

/* Parts of one bill of a trace, which add up to the resident memory of its process; what that shares with others counts whole. */
int bill_read_parts(struct query *q, size_t bill_idx, int64_t ret_bytes[BILL_N_KINDS],
                    struct err *reterr);

int bill_print(FILE *out, const struct bill_options *o, struct err *reterr);
