/* SPDX-License-Identifier: MIT */
/* Ranges of SQL as those of query/. Inside sql/ only. */
#pragma once

#include "query/block_rows.h"
#include "sql/table.h"

/* SQL's are of signed numbers; the last one of them stands for all above, too (sql_result_count). */
static inline struct query_value_range sql_value_range(const struct sql_range *r) {
        if (!r->is_set)
                return (struct query_value_range){0, UINT64_MAX};
        if (r->high < 0 || r->low > r->high)
                return (struct query_value_range){1, 0};
        return (struct query_value_range){r->low < 0 ? 0 : (uint64_t)r->low,
                                          r->high == INT64_MAX ? UINT64_MAX : (uint64_t)r->high};
}
