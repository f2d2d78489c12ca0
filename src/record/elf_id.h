/* SPDX-License-Identifier: MIT */
/* The build-id of an ELF file: what tells two builds with the same path apart. */
#pragma once

#include <stdint.h>

/* Up to 32 bytes into ret; their number, 0 when the file has none or cannot be read. */
uint32_t elf_id_read(const char *path, uint8_t ret[32]);

/* That of the vdso, which the kernel maps into this process as into the others. */
uint32_t elf_id_read_vdso(uint8_t ret[32]);
