/* SPDX-License-Identifier: MIT */
/* What kept the recording from seeing all: said before anything else, since every figure behind it is too low.
 * Inside report/ only. */
#pragma once

#include "base/json.h"
#include "report/gather.h"
#include "show/style.h"
#include "trace/limit.h"

/* One sentence a kind, worst first. */
void limits_print(const struct style *s, const struct report *r);

/* "limits": each of them. */
void limits_put(struct json *j, const struct report *r);

/* Blocks may be missing: nobody may say that there is nothing to worry about. */
bool limits_are_material(const struct report *r);

/* It is said that most call paths are cut short. */
bool limits_have_cut_stacks(const struct report *r);

/* LIMIT_N_KINDS notes that stand where limits_print has put them; NULL: none. */
void limits_told_notes(const struct report *r, const struct trace_note **ret);
