/* SPDX-License-Identifier: MIT */
/* Options that are keys of a request, the same for every command that asks a trace: their names are the keys. */
#pragma once

#include <stdbool.h>

#include "cli/options.h"
#include "request/request.h"

/* The cases of a command's switch over its options: man/filter-options.md. */
#define CLI_FILTER_CASES(COMMAND)                                                                  \
        case COMMAND##_FUNCTION:                                                                   \
        case COMMAND##_NOT_FUNCTION:                                                               \
        case COMMAND##_MODULE:                                                                     \
        case COMMAND##_NOT_MODULE:                                                                 \
        case COMMAND##_FILE:                                                                       \
        case COMMAND##_NOT_FILE:                                                                   \
        case COMMAND##_ASKED_BY:                                                                   \
        case COMMAND##_NOT_ASKED_BY:                                                               \
        case COMMAND##_SITE:                                                                       \
        case COMMAND##_NOT_SITE:                                                                   \
        case COMMAND##_THREAD:                                                                     \
        case COMMAND##_SIZE:                                                                       \
        case COMMAND##_LIFETIME:                                                                   \
        case COMMAND##_OLDER_THAN:                                                                 \
        case COMMAND##_ALLOCATED:                                                                  \
        case COMMAND##_ALIVE_AT:                                                                   \
        case COMMAND##_FREED_BEFORE

/* Hands the option just read to the request. False after an error was printed. */
bool cli_take_key(struct cli_parser *p, struct request *r);
/* Whether the options make sense together. False after an error was printed. */
bool cli_check_request(struct cli_parser *p, const struct request *r, enum request_view view);
