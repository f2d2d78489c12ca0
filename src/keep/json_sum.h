/* SPDX-License-Identifier: MIT */
/* Bytes and blocks as JSON. Inside keep/ only. */
#pragma once

#include "base/json.h"

void json_put_sum(struct json *j, const char *key, uint64_t bytes, uint64_t blocks);
