/* SPDX-License-Identifier: MIT */
/* What the fuzzers of importers share: any bytes as a file of one format. Whatever they are: an error is one line and leaves nothing behind; what is
 * let through becomes a trace that passes `silt verify` and can be asked; memory is bounded by the size of the file. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "import/import_format.h"

/* Reads data as a file of format f, if its first bytes match. Aborts where a promise is broken. */
void import_fuzz_one(const struct import_format *f, const uint8_t *data, size_t n);

/* For programs that write seeds: the file NAME in directory. Aborts when it cannot be written. */
void import_fuzz_put_seed(const char *directory, const char *name, const void *bytes, size_t n);
/* The same for texts, by their numbers. Returns 0. */
int import_fuzz_put_texts(const char *directory, const char *const *texts, size_t n);
