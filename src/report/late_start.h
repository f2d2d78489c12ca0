/* SPDX-License-Identifier: MIT */
/* Recordings that began while the program ran: since when, and what it had by then.
 * Inside report/ only. */
#pragma once

#include "report/gather.h"

/* It ran already when the recording began. */
bool late_start_is_there(const struct report *r);

/* Appends sentences. Nothing where all was seen from the start. */
void late_start_add_sentences(const struct report *r, struct str *to);

/* "prior": null where all was seen from the start. */
void late_start_put(struct json *j, const struct report *r);
