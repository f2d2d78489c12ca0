/* SPDX-License-Identifier: MIT */
/* libmicrohttpd, loaded when a server starts: with what it needs it would cost every other command 4 ms and 3 MB. */
#pragma once

#include <microhttpd.h>

#include "base/err.h"

/* X(field, function) for each function that is used. */
#define MHD_FUNCTIONS(X)                                                                           \
        X(start_daemon, MHD_start_daemon)                                                          \
        X(stop_daemon, MHD_stop_daemon)                                                            \
        X(quiesce_daemon, MHD_quiesce_daemon)                                                      \
        X(suspend_connection, MHD_suspend_connection)                                              \
        X(resume_connection, MHD_resume_connection)                                                \
        X(get_connection_info, MHD_get_connection_info)                                            \
        X(get_connection_values, MHD_get_connection_values)                                        \
        X(create_response_from_buffer, MHD_create_response_from_buffer)                            \
        X(destroy_response, MHD_destroy_response)                                                  \
        X(add_response_header, MHD_add_response_header)                                            \
        X(queue_response, MHD_queue_response)

struct mhd {
#define X(field, function) __typeof__(&function) field;
        MHD_FUNCTIONS(X)
#undef X
};
extern struct mhd mhd; /* filled by mhd_load */

int mhd_load(struct err *reterr);
