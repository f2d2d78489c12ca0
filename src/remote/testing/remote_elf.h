/* SPDX-License-Identifier: MIT */
/* A small ELF file of this machine: 256 bytes of code in two functions, a build-id, and the unwind tables that are asked for. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
        REMOTE_ELF_VADDR = 0x400000,
        REMOTE_ELF_CODE_OFF = 0x200,
        REMOTE_ELF_SECOND_OFF = 128, /* of the second function, in the code */
        REMOTE_ELF_MAX_BYTES = 4096,
        /* the first function: from its byte 4 on the CFA is so far from sp */
        REMOTE_ELF_FIRST_CFA = 32,
        REMOTE_ELF_SECOND_CFA = 64,
};

enum remote_elf_tables {
        REMOTE_ELF_HDR,      /* .eh_frame_hdr and .eh_frame */
        REMOTE_ELF_FRAMES,   /* .eh_frame alone */
        REMOTE_ELF_DEBUG,    /* .debug_frame alone */
        REMOTE_ELF_DEFLATED, /* the same, compressed */
        REMOTE_ELF_NONE,
        REMOTE_ELF_REALIGNED, /* as the first, but the second function's CFA is where fp points to, and fp there, too */
        REMOTE_ELF_N_TABLES,
};

/* Returns its size. code: 256 bytes of it. */
size_t remote_elf_make(uint8_t ret[REMOTE_ELF_MAX_BYTES], enum remote_elf_tables tables,
                       const uint8_t *code);
