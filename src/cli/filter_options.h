/* SPDX-License-Identifier: MIT */
/* The options that say which blocks count, the same for every command that asks a trace: man/filter-options.md. */
#pragma once

#include <stdbool.h>

#include "cli/options.h"

struct query_filter;

/* The cases of a command's switch over its options. */
#define CLI_FILTER_CASES(COMMAND)                                                                  \
        case COMMAND##_FUNCTION:                                                                   \
        case COMMAND##_NOT_FUNCTION:                                                               \
        case COMMAND##_MODULE:                                                                     \
        case COMMAND##_NOT_MODULE:                                                                 \
        case COMMAND##_FILE:                                                                       \
        case COMMAND##_NOT_FILE:                                                                   \
        case COMMAND##_ASKED_BY:                                                                   \
        case COMMAND##_NOT_ASKED_BY:                                                               \
        case COMMAND##_THREAD:                                                                     \
        case COMMAND##_SIZE:                                                                       \
        case COMMAND##_LIFETIME:                                                                   \
        case COMMAND##_OLDER_THAN:                                                                 \
        case COMMAND##_ALLOCATED:                                                                  \
        case COMMAND##_ALIVE_AT:                                                                   \
        case COMMAND##_FREED_BEFORE

/* Adds the option just read to *f, which is made when it is NULL. False after an error was printed. */
bool cli_take_filter(struct cli_parser *p, struct query_filter **f);

/* Where nothing is said of the metric: what is alive at the end, if that is what the filter is about. */
void cli_choose_metric(const struct query_filter *f, const char **metric);
