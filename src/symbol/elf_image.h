/* SPDX-License-Identifier: MIT */
/* A small ELF file made in memory, for libdw to read: sections and nothing else. Inside symbol/
 * only. */
#pragma once

#include <elf.h>
#include <stddef.h>

struct elf_image_section {
        const char *name;
        const void *bytes;
        size_t n;
};

/* The descriptor of an unnamed file, or -errno. Sections without
 * bytes are left out. */
int elf_image_make(unsigned machine, const struct elf_image_section *sections, size_t n_sections);
