/* SPDX-License-Identifier: MIT */
/* Fields of a protobuf message, one after the other, where they lie: a library would first make objects of all of them, many times the
 * file's size, and would not say where the damage is. Inside import/ only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

enum protobuf_type {
        PROTOBUF_VARINT = 0,
        PROTOBUF_FIXED64 = 1,
        PROTOBUF_BYTES = 2,
        PROTOBUF_FIXED32 = 5,
};

struct protobuf_field {
        uint32_t number;
        enum protobuf_type type;
        uint64_t value; /* of a number */
        struct bytes_reader
                bytes; /* of texts and messages; of numbers one behind the other; empty of a number */
};

/* The next field of the message. 1, 0 at its end, -EINVAL: it is damaged, and m is where. */
int protobuf_next(struct bytes_reader *m, struct protobuf_field *ret);
/* The numbers of a repeated field, packed or one in each field: while (protobuf_number(&f, &v)). False at their end, or f->bytes.bad. */
bool protobuf_number(struct protobuf_field *f, uint64_t *ret);
