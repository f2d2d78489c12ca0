/* SPDX-License-Identifier: MIT */
/* Whether somebody writes a trace at this moment: its writer holds a lock on it. */
#pragma once

#include <stdbool.h>

/* Looks from outside. Taking the lock would tell as well, and turn away a writer, or names, that come at that moment. */
bool trace_is_being_written(const char *path);
