/* SPDX-License-Identifier: MIT */
#include "base/bytes.h"

/* At most ten bytes, and the tenth may only carry the one bit that is left: anything else is no number. */
uint64_t bytes_varint_slow(struct bytes_reader *r) {
        uint64_t v = 0;

        for (unsigned shift = 0; shift < 64; shift += 7) {
                uint8_t b = bytes_u8(r);

                if (r->bad || (shift == 63 && b > 1))
                        break;
                v |= (uint64_t)(b & 0x7f) << shift;
                if (b < 0x80)
                        return v;
        }
        r->bad = true;
        return 0;
}

const char *bytes_string(struct bytes_reader *r, size_t *ret_len) {
        uint64_t len = bytes_varint(r);
        const uint8_t *p;

        if (r->bad || len > bytes_left(r)) {
                r->bad = true;
                return NULL;
        }
        p = bytes_take(r, (size_t)len);
        *ret_len = (size_t)len;
        return (const char *)p;
}

void buf_bytes(bytes_buf *b, const void *p, size_t n) {
        if (!n)
                return;
        vec_reserve(b, n);
        memcpy(b->items + b->n, p, n);
        b->n += n;
}

void buf_u32(bytes_buf *b, uint32_t v) {
        uint8_t raw[4];

        buf_put_le32(raw, v);
        buf_bytes(b, raw, sizeof(raw));
}

void buf_u64(bytes_buf *b, uint64_t v) {
        uint8_t raw[8];

        buf_put_le64(raw, v);
        buf_bytes(b, raw, sizeof(raw));
}
