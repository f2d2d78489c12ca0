/* SPDX-License-Identifier: MIT */
/* What tests of answers begin with: traces opened, and one question put to them. */
#pragma once

#include <stddef.h>

#include "answer/answerer.h"
#include "base/err.h"

struct text {
        char *bytes; /* the caller's to free */
        size_t n;
        int r;
        struct err err;
};

/* old_path NULL: none. Fails the test where they cannot be opened. */
struct answerer *open_traces(const char *path, const char *old_path);
/* A refusal is in the text's r and err. */
struct text ask(struct asker *k, const char *name, const char *query);
