/* SPDX-License-Identifier: MIT */
/* The check of growth: how fast live bytes rise, in whatever rhythm. Inside diff/ only. */
#pragma once

#include "diff/check_measure.h"

int check_measure_growth(struct check *c, struct check_result *r, struct err *reterr);
