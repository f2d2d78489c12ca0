/* SPDX-License-Identifier: MIT */
/* Loss records beside suppressions: which of them are suppressed, and entries that would suppress one. */
#pragma once

#include <stdio.h>

#include "base/str.h"
#include "keep/loss_records.h"
#include "keep/suppression.h"

/* Adds up in each suppression what it has suppressed. */
void suppressed_find(struct suppressions *s, const struct query *q, loss_record_list *records);

/* Appends an entry for valgrind's format that fits the record's class and call path; nothing where the path is unknown. */
void suppressed_add_entry(struct str *to, const struct query *q, const struct loss_record *r);
