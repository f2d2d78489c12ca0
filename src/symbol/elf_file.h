/* SPDX-License-Identifier: MIT */
/* What identifies an ELF file: its build-id and its links to other files. Inside symbol/ only. */
#pragma once

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ELF_FILE_MAX_ID = 64 };

struct elf_file_id {
        uint8_t bytes[ELF_FILE_MAX_ID];
        size_t n;            /* 0: none */
        bool has_debug_info; /* a section of that name, whether it can be read or not */
};

/* The alternate file that dwz moved common parts to (.gnu_debugaltlink). */
struct elf_file_alt {
        char name[4096]; /* "" none */
        struct elf_file_id id;
};

/* Opens a regular file for reading; never waits for a pipe or a device. A descriptor above 0, or
 * -errno (-EINVAL: not a regular file). */
int elf_file_open(const char *path);

/* -ENOEXEC: it is no ELF file, or cut off. ret_alt may be NULL. */
int elf_file_identify(int fd, struct elf_file_id *ret, struct elf_file_alt *ret_alt);

/* Whether the id of a file is the wanted one, of which a trace keeps 32 bytes at most. */
bool elf_file_id_is(const struct elf_file_id *id, const uint8_t *wanted, size_t n_wanted);

/* The checksum that .gnu_debuglink has of the debug file. */
int elf_file_crc32(int fd, uint32_t *ret);

/* The first section of this name, or NULL. */
Elf_Scn *elf_file_section(Elf *elf, const char *name);
