/* SPDX-License-Identifier: MIT */
/* For tests: a small trace of one process with bills, whose figures are known: a heap that fills, of which three blocks in four are then released. */
#pragma once

#include <stdint.h>

enum {
        BILL_TRACE_PAGE = 4096,
        BILL_TRACE_CELLS = 2048, /* of four pages each */
        BILL_TRACE_CELL_PAGES = 4,
        BILL_TRACE_LIVE_BYTES = 2048, /* in each cell, in the end */
        BILL_TRACE_MAPPED_BYTES = 4 << 20,
        BILL_TRACE_MISSED_BYTES = 100 << 20, /* resident at 5.5 s, between two bills */
};

void bill_trace_write(const char *path);

/* Of a process with bills and of n_workers that it forked at 4 s, which have worker_bytes each and no bill. */
void bill_trace_write_workers(const char *path, unsigned n_workers, uint64_t worker_bytes);
