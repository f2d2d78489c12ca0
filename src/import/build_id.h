/* SPDX-License-Identifier: MIT */
/* A build-id as profiles write it: hexadecimal digits. Inside import/ only. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* How many bytes were written, cap at most; 0: it is not one. */
size_t build_id_parse(const char *text, uint8_t *ret, size_t cap);
