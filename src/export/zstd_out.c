/* SPDX-License-Identifier: MIT */
#include "export/zstd_out.h"

#include <errno.h>
#include <stdlib.h>

#include <zstd.h>

void zstd_out_init(struct zstd_out *z, FILE *to, bool is_packed) {
        *z = (struct zstd_out){.to = to,
                               .context = is_packed ? ZSTD_createCCtx() : NULL,
                               .plain = malloc(ZSTD_OUT_BYTES),
                               .packed = malloc(ZSTD_OUT_BYTES)};
        if ((is_packed && !z->context) || !z->plain || !z->packed)
                abort();
        if (is_packed)
                ZSTD_CCtx_setParameter(z->context, ZSTD_c_checksumFlag, 1);
}

void zstd_out_done(struct zstd_out *z) {
        ZSTD_freeCCtx(z->context);
        free(z->plain);
        free(z->packed);
}

/* Write errors of the file are looked for at its end. */
static void pack(struct zstd_out *z, ZSTD_EndDirective end) {
        ZSTD_inBuffer in = {z->plain, z->n, 0};
        size_t left;

        if (!z->context) {
                fwrite(z->plain, 1, z->n, z->to);
                z->n = 0;
                return;
        }
        do {
                ZSTD_outBuffer out = {z->packed, ZSTD_OUT_BYTES, 0};

                left = ZSTD_compressStream2(z->context, &out, &in, end);
                if (ZSTD_isError(left)) {
                        z->status = -ENOMEM;
                        break;
                }
                fwrite(z->packed, 1, out.pos, z->to);
        } while (end == ZSTD_e_end ? left != 0 : in.pos < in.size);
        z->n = 0;
}

void zstd_out_flush(struct zstd_out *z) {
        pack(z, ZSTD_e_continue);
}

int zstd_out_end(struct zstd_out *z) {
        pack(z, ZSTD_e_end);
        return z->status;
}

void zstd_out_text(struct zstd_out *z, const char *text) {
        for (; *text; text++)
                zstd_out_byte(z, *text);
}

void zstd_out_one_line(struct zstd_out *z, const char *text) {
        for (; *text; text++)
                zstd_out_byte(z, (unsigned char)*text < ' ' ? ' ' : *text);
}

void zstd_out_hex(struct zstd_out *z, uint64_t v, char end) {
        char digits[16];
        size_t n = 0;

        do
                digits[n++] = "0123456789abcdef"[v & 15];
        while (v >>= 4);
        while (n)
                zstd_out_byte(z, digits[--n]);
        zstd_out_byte(z, end);
}
