/* SPDX-License-Identifier: MIT */
/* From the words of a command line to what they ask for; apart from the commands so that it can be tested. */
#pragma once

#include <stdbool.h>

struct run_options;
struct report_options;

/* False when silt is to end with *ret_exit_status: help or an error was printed. */
bool run_options_parse(int argc, char **argv, struct run_options *ret_options,
                       int *ret_exit_status);
bool report_options_parse(int argc, char **argv, struct report_options *ret_options,
                          int *ret_exit_status);
