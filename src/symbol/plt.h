/* SPDX-License-Identifier: MIT */
/* Names for PLT stubs: each is read to find the slot it jumps through, and the slot's relocation
 * names the function. So neither the linker nor its layout matters. Inside symbol/ only. */
#pragma once

#include "symbol/functions.h"

void plt_load(struct functions *f, Elf *elf, GElf_Addr bias);
