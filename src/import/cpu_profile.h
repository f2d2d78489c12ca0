/* SPDX-License-Identifier: MIT */
/* gperftools' CPU profiles, for those who find one inside another file. Inside import/ only. */
#pragma once

#include "import/heap_dump.h"

/* What is left of the input. symbols: what the file called its addresses; NULL: nothing. */
int cpu_profile_read(struct import_input *in, struct import_trace *t,
                     const struct heap_dump *symbols, struct err *reterr);
