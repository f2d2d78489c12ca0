/* SPDX-License-Identifier: MIT */
/* A set of metrics as text: Prometheus' format 0.0.4, or OpenMetrics 1.0. */
#pragma once

#include "metrics/metric_set.h"

enum exposition { EXPOSITION_PROMETHEUS, EXPOSITION_OPENMETRICS, EXPOSITION_N };

const char *exposition_type(enum exposition e); /* for Content-Type */
/* What a client wants by its Accept header, which may hold anything: OpenMetrics where it is named and wanted no less than text. NULL:
 * not sent. */
enum exposition exposition_of_accept(const char *accept);
/* Whether a client takes gzip, by its Accept-Encoding header, which may hold anything too. NULL: not sent. */
bool exposition_may_be_gzip(const char *accept);
void exposition_write(const struct metric_set *set, enum exposition e, struct str *to);
