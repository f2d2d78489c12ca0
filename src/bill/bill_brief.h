/* SPDX-License-Identifier: MIT */
/* What resident memory was at the latest look, in a sentence: for whoever shows a recording that goes on. */
#pragma once

#include "base/str.h"
#include "name/name.h"
#include "query/query.h"

struct bill_brief {
        uint64_t time_ns, resident_bytes; /* of several processes: what they share counted once */
        uint64_t block_bytes;             /* of it: pages' parts that live blocks take */
        uint64_t own_bytes;               /* likewise: silt's own inside the process */
        /* "185.0 MiB were mapped by the program itself, nearly all through ggc_internal_alloc" */
        struct str largest;
        uint64_t largest_bytes;
};

/* process: of the trace, or QUERY_ALL. False: no look is in the trace, or none can be read. bill_brief_done() in every case. */
bool bill_brief_read(struct bill_brief *b, struct query *q, struct names *names, uint32_t process,
                     bool utf8);
void bill_brief_done(struct bill_brief *b);
