/* SPDX-License-Identifier: MIT */
/* The kernel as a module of a trace. Its addresses mean something on this machine and until it is started again: that is what the
 * build-id of the module says. */
#pragma once

#include <stdint.h>

#define KERNEL_ID_PATH "[kernel]"

/* The place in it, and its name, of time that was not sampled there. */
enum { KERNEL_UNSAMPLED_ADDRESS = 0 };
#define KERNEL_UNSAMPLED_NAME "[not sampled]"

/* Which start of which machine this is. Its length, at most 32; 0: unknown. */
uint32_t kernel_id_read(uint8_t ret[32]);
