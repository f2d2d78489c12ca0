/* SPDX-License-Identifier: MIT */
/* The recorder of `silt cpu`: takes what the ticker tells and writes the trace. It is a process of its own, as that of `silt run`
 * (recorder.h), and says the same words to the same supervisor. Nothing of silt is in the target. */
#pragma once

#include "record/recorder.h"

void cpu_recorder_main(const struct recorder_config *config) __attribute__((noreturn));
