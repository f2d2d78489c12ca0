/* SPDX-License-Identifier: MIT */
/* Records in the order of their times; of equal times the one that was added first comes first. What does not fit into memory waits, sorted, in a
 * file without a name. Inside import/ only.
 *
 *   import_order_add(o, time, &record) …; then import_order_next(o, &time, &record) until it returns 0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct import_order;

/* run_records: so many are kept in memory and sorted at once; 0: the usual number. */
struct import_order *import_order_new(size_t record_bytes, size_t run_records);
struct import_order *import_order_free(struct import_order *o); /* NULL ok; returns NULL */
/* 0, or -errno: the file could not be written. Not after the first import_order_next. */
int import_order_add(struct import_order *o, uint64_t time, const void *record);
/* 1, 0 there are no more, or -errno. */
int import_order_next(struct import_order *o, uint64_t *ret_time, void *ret_record);
