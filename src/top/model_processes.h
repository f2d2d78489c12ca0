/* SPDX-License-Identifier: MIT */
/* The processes of a frame of silt top, those with most live bytes first. Inside top/ only. */
#pragma once

#include "top/top_model.h"

/* m has its answer and the moment. */
void model_fill_processes(struct model *m);
