/* SPDX-License-Identifier: MIT */
/* The machine this silt was built for, as ELF headers name it. */
#pragma once

#include <elf.h>

#if defined(__aarch64__)
enum { OWN_MACHINE = EM_AARCH64 };
#elif defined(__x86_64__)
enum { OWN_MACHINE = EM_X86_64 };
#else
#error "silt records on aarch64 and x86_64"
#endif
