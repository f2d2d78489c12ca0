/* SPDX-License-Identifier: MIT */
/* Findings in text. Inside report/ only. */
#pragma once

#include "report/gather.h"
#include "show/style.h"

/* Numbered, most important first, each with its place and what to do next; then what limits the figures. */
void finding_text_print(const struct style *s, const struct report *r);
