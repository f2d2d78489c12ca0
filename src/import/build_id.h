/* SPDX-License-Identifier: MIT */
/* Build-ids: as profiles write them, in hexadecimal digits, and those of files. Inside import/ only. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* How many bytes were written, cap at most; 0: it is not one. */
size_t build_id_parse(const char *text, uint8_t *ret, size_t cap);

/* Of an ELF file. 0: it has none, or is no such file. */
size_t build_id_of_file(int fd, uint8_t *ret, size_t cap);
/* Of notes as they lie in a file. 0: there is none. */
size_t build_id_of_notes(const uint8_t *notes, size_t n, uint8_t *ret, size_t cap);
