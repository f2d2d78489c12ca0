/* SPDX-License-Identifier: MIT */
/* Asks the recorder for the arena, once per image (wire/hello.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* value: of the environment variable WIRE_ENV. 0: runtime.header, .process_idx, .process and
 * .clock are set, and nothing stays open. -errno: there is no recorder for this image. */
int join_recorder(const char *value);

/* Objects were opened: asks for a plan to patch them, and applies it. -errno: nobody answers. */
int join_plan_again(const char *value);

/* False when nobody listens there any more. Waits for nothing. */
bool join_is_open(const char *value);

#pragma GCC visibility pop
