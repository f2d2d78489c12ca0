/* SPDX-License-Identifier: MIT */
#include "import/bytehound_bytes.h"

#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "import/lz4_block.h"

enum {
        BYTEHOUND_BLOCK_BYTES = 4 << 20, /* it writes 512 KiB */
        BYTEHOUND_MAX_TEXT = 1 << 20,
};

void bytehound_bytes_init(struct bytehound_bytes *b, struct import_input *in, struct err *reterr) {
        *b = (struct bytehound_bytes){.in = in,
                                      .reterr = reterr,
                                      .packed = malloc(BYTEHOUND_BLOCK_BYTES),
                                      .block = malloc(BYTEHOUND_BLOCK_BYTES)};
        if (!b->packed || !b->block)
                abort();
}

void bytehound_bytes_done(struct bytehound_bytes *b) {
        free(b->packed);
        free(b->block);
        str_done(&b->text);
}

static int next_block(struct bytehound_bytes *b) {
        struct {
                uint8_t kind;
                uint32_t n;
        } __attribute__((packed)) head;
        ssize_t got = import_input_read(b->in, &head, sizeof(head), b->reterr);
        ssize_t n;

        b->at = b->n = 0;
        if (got < 0 || (size_t)got < sizeof(head))
                return got < 0 ? (int)got : 0;
        if ((head.kind != 1 && head.kind != 2) || head.n > BYTEHOUND_BLOCK_BYTES)
                return import_input_refuse(b->in, b->reterr,
                                           "no block of a bytehound recording begins here");
        got = import_input_read(b->in, head.kind == 1 ? b->packed : b->block, head.n, b->reterr);
        if (got < 0 || (size_t)got < head.n)
                return got < 0 ? (int)got : 0;
        if (head.kind == 2) {
                b->n = head.n;
                return 1;
        }
        n = lz4_block_unpack(b->packed, head.n, b->block, BYTEHOUND_BLOCK_BYTES);
        if (n < 0)
                return import_input_refuse(b->in, b->reterr,
                                           "a block cannot be unpacked with LZ4: copy it again");
        b->n = (size_t)n;
        return 1;
}

/* to may be NULL: they are passed over. */
int bytehound_take(struct bytehound_bytes *b, void *to, uint64_t n) {
        uint8_t *p = to;
        int r;

        while (n) {
                size_t some = (size_t)MIN(n, (uint64_t)(b->n - b->at));

                if (!some) {
                        r = next_block(b);
                        if (r <= 0)
                                return r;
                        continue;
                }
                if (p) {
                        memcpy(p, b->block + b->at, some);
                        p += some;
                }
                b->at += some;
                n -= some;
        }
        return 1;
}

int bytehound_take_u32(struct bytehound_bytes *b, uint32_t *ret) {
        *ret = 0;
        return bytehound_take(b, ret, sizeof(*ret));
}

int bytehound_take_u64(struct bytehound_bytes *b, uint64_t *ret) {
        *ret = 0;
        return bytehound_take(b, ret, sizeof(*ret));
}

int bytehound_take_short(struct bytehound_bytes *b, uint64_t *ret) {
        uint8_t first = 0;
        unsigned n;
        int r = bytehound_take(b, &first, 1);

        *ret = 0;
        if (r <= 0)
                return r;
        n = first == 0xff ? 8 : (unsigned)__builtin_clz(~((unsigned)first << 24));
        r = bytehound_take(b, ret, n);
        if (n < 8)
                *ret |= (uint64_t)(first & 0xffu >> n) << 8 * n;
        return r;
}

/* n bytes into b->text. */
int bytehound_take_text(struct bytehound_bytes *b, uint64_t n) {
        char *to;
        int r;

        if (n > BYTEHOUND_MAX_TEXT)
                return import_input_refuse(b->in, b->reterr, "a name is longer than 1 MiB");
        str_clear(&b->text);
        to = malloc((size_t)n + 1);
        if (!to)
                abort();
        r = bytehound_take(b, to, n);
        if (r > 0)
                str_addn(&b->text, to, (size_t)n);
        free(to);
        return r;
}

int bytehound_take_counted_text(struct bytehound_bytes *b) {
        uint32_t n;
        int r = bytehound_take_u32(b, &n);

        return r > 0 ? bytehound_take_text(b, n) : r;
}

int bytehound_skip_counted(struct bytehound_bytes *b) {
        uint32_t n;
        int r = bytehound_take_u32(b, &n);

        return r > 0 ? bytehound_take(b, NULL, n) : r;
}
