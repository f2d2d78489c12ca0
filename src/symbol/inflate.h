/* SPDX-License-Identifier: MIT */
/* Debug files come compressed, and inflating them is most of the time that looking up takes. Here it is done by a
 * faster library than libelf's, only for sections that are needed, and also for zstd, which elfutils before
 * 0.189 does not know. Inside symbol/ only. */
#pragma once

/* Takes fd, an ELF file; gives the descriptor of an unnamed file with the same sections, those of debug information
 * inflated, or fd itself where there is nothing to gain or something is odd: libelf judges it then. */
int inflate_open(int fd);
