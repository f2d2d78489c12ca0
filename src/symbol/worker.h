/* SPDX-License-Identifier: MIT */
/* The process that looks names up, and what it says on its pipe. Inside symbol/ only.
 *
 *   'M' u32 module                                          looking up this module from now on
 *   'S' u32 location, u32 line, u8 flags, two strings       one symbol: function, file
 *   'E'                                                     that was all
 * Integers little endian; a string is u32 length and bytes. */
#pragma once

#include "base/bytes.h"
#include "base/macros.h"
#include "symbol/symbol.h"

enum worker_kind { WORKER_MODULE = 'M', WORKER_SYMBOL = 'S', WORKER_END = 'E' };
enum worker_flags { WORKER_INLINED = 1, WORKER_GUESS = 2 };

/* Limits itself, looks up the modules from first_module on, writes to fd and ends the process. */
void worker_main(const char *trace_path, uint32_t first_module, const struct symbol_limits *limits,
                 int fd) __attribute__((noreturn));
