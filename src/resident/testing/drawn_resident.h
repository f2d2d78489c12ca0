/* SPDX-License-Identifier: MIT */
/* A struct resident whose figures are drawn by lot, and add up. */
#pragma once

#include "resident/resident.h"

void drawn_resident(struct resident *r, uint64_t seed);
