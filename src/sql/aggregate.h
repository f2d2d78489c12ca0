/* SPDX-License-Identifier: MIT */
/* Functions of SQL over the rows of a group: percentile, median, stddev, histogram. Their memory counts as SQLite's does. Inside sql/
 * only. */
#pragma once

#include <sqlite3.h>

void aggregate_step_percentile(sqlite3_context *to, int n, sqlite3_value **v);
void aggregate_final_percentile(sqlite3_context *to);
void aggregate_step_median(sqlite3_context *to, int n, sqlite3_value **v);
void aggregate_step_stddev(sqlite3_context *to, int n, sqlite3_value **v);
void aggregate_final_stddev(sqlite3_context *to);
void aggregate_step_histogram(sqlite3_context *to, int n, sqlite3_value **v);
void aggregate_final_histogram(sqlite3_context *to);
