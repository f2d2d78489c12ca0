/* SPDX-License-Identifier: MIT */
#include "import/memray_bytes.h"

enum { MEMRAY_MAX_STRING = 1 << 16 };

int memray_take_bytes(struct memray_bytes *b, void *to, size_t n) {
        ssize_t r = import_input_read(b->in, to, n, b->reterr);

        return r < 0 ? (int)r : (size_t)r == n;
}

int memray_take_varint(struct memray_bytes *b, uint64_t *ret) {
        uint8_t byte;
        int r;

        *ret = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
                r = import_input_byte(b->in, &byte, b->reterr);
                if (r <= 0)
                        return r;
                *ret |= (uint64_t)(byte & 0x7f) << shift;
                if (!(byte & 0x80))
                        return 1;
        }
        return import_input_refuse(b->in, b->reterr, "a number is too long");
}

int memray_take_signed(struct memray_bytes *b, int64_t *ret) {
        uint64_t v = 0;
        int r = memray_take_varint(b, &v);

        *ret = (int64_t)(v >> 1 ^ (~(v & 1) + 1));
        return r;
}

int memray_take_delta(struct memray_bytes *b, uint64_t *last) {
        int64_t delta = 0;
        int r = memray_take_signed(b, &delta);

        *last += (uint64_t)delta;
        return r;
}

int memray_take_string(struct memray_bytes *b) {
        uint8_t byte;
        int r;

        str_clear(&b->text);
        while ((r = import_input_byte(b->in, &byte, b->reterr)) > 0 && byte) {
                str_addn(&b->text, (const char *)&byte, 1);
                if (b->text.n > MEMRAY_MAX_STRING)
                        return import_input_refuse(b->in, b->reterr,
                                                   "a name is longer than 64 KiB");
        }
        return r;
}
