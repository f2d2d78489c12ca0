/* SPDX-License-Identifier: MIT */
#include "keep/json_sum.h"

void json_put_sum(struct json *j, const char *key, uint64_t bytes, uint64_t blocks) {
        json_key(j, key);
        json_object(j);
        json_put_uint(j, "bytes", bytes);
        json_put_uint(j, "blocks", blocks);
        json_end(j);
}
