/* SPDX-License-Identifier: MIT */
/* What is known about a function. Inside name/ only. */
#pragma once

#include "name/name.h"

struct name_entry {
        const char *function; /* as it was asked for */
        const char *full, *text, *plain, *trait, *crate;
        enum name_kind kind;   /* in a module and file of no name */
        bool kind_is_by_place; /* may be another elsewhere */
        bool is_driver;
        bool says_allocator; /* by the last part of its path */
        bool is_rust;        /* by its form: what its file says counts more */
        uint64_t idx;        /* of the entries */
        uint64_t next;       /* another entry with the same hash: its place and 1; 0: none */
};

/* Room for n of them, until the next call. */
bool *names_flags(struct names *n, size_t n_flags);

const struct name_entry *names_entry(struct names *n, const char *function);
