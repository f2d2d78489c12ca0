/* SPDX-License-Identifier: MIT */
/* Bodies of requests, packed. Inside fleet/ only. */
#pragma once

#include "base/bytes.h"

void gzip_pack(const void *bytes, size_t n, bytes_buf *to); /* appended */
