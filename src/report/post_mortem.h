/* SPDX-License-Identifier: MIT */
/* What is told first of a recording that the kernel ended for lack of memory: whom it killed, what the limit was, who held what, how fast it grew, what it would
 * have needed, and the kernel's own line (docs/lab.md, "The black box"). Inside report/ only. */
#pragma once

#include "base/json.h"
#include "report/gather.h"
#include "show/style.h"

/* The first paragraph; nothing where nobody was killed, or where a part of the recording was asked for. */
void post_mortem_print(const struct style *s, const struct report *r);
/* "post_mortem": null where nobody was killed. */
void post_mortem_put(struct json *j, const struct report *r);
