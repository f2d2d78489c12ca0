/* SPDX-License-Identifier: MIT */
#include "import/protobuf_reader.h"

#include <errno.h>

static bool take_value(struct bytes_reader *m, struct protobuf_field *f) {
        uint64_t n;

        f->bytes = bytes_reader_of(m->pos, 0);
        switch (f->type) {
        case PROTOBUF_VARINT: f->value = bytes_varint(m); break;
        case PROTOBUF_FIXED64: f->value = bytes_u64(m); break;
        case PROTOBUF_FIXED32: f->value = bytes_u32(m); break;
        case PROTOBUF_BYTES:
                n = bytes_varint(m);
                if (m->bad || n > bytes_left(m))
                        return false;
                f->bytes = bytes_reader_of(m->pos, (size_t)n);
                m->pos += n;
                break;
        default: return false;
        }
        return !m->bad;
}

int protobuf_next(struct bytes_reader *m, struct protobuf_field *ret) {
        const uint8_t *begin = m->pos;
        uint64_t tag;

        if (m->pos == m->end)
                return 0;
        tag = bytes_varint(m);
        *ret = (struct protobuf_field){.number = (uint32_t)(tag >> 3),
                                       .type = (enum protobuf_type)(tag & 7)};
        if (m->bad || tag >> 3 == 0 || tag >> 3 > UINT32_MAX >> 3 || !take_value(m, ret)) {
                m->pos = begin;
                m->bad = true;
                return -EINVAL;
        }
        return 1;
}

bool protobuf_number(struct protobuf_field *f, uint64_t *ret) {
        if (f->type != PROTOBUF_BYTES) {
                *ret = f->value;
                f->type = PROTOBUF_BYTES; /* and none behind it */
                return true;
        }
        if (f->bytes.pos == f->bytes.end)
                return false;
        *ret = bytes_varint(&f->bytes);
        return !f->bytes.bad;
}
