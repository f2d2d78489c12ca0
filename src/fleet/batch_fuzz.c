/* SPDX-License-Identifier: MIT */
/* Any bytes as a file of the spool, and as what such a file holds packed: refused in one line, or a batch that is the same when it is
 * written and read again.
 *
 * seeds: src/fleet/batch_seeds
 * covers: src/fleet/batch_bytes.c src/fleet/batch.c */
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>
#include <zstd.h>

#include "fleet/batch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void expect(bool is_so) {
        if (!is_so)
                abort();
}

static void read_it(const void *bytes, size_t n) {
        struct fleet_batch *b = NULL, *again = NULL;
        bytes_buf first = {0}, second = {0};
        struct err err = {0};

        if (fleet_batch_unpack(bytes, n, &b, &err) < 0) {
                expect(err.text[0] && !strchr(err.text, '\n'));
                return;
        }
        for (size_t i = 0; i < b->sites.n; i++)
                expect(b->sites.items[i].path_idx < b->paths.n);
        fleet_batch_pack(b, &first);
        expect(fleet_batch_unpack(first.items, first.n, &again, NULL) == 0);
        fleet_batch_pack(again, &second);
        expect(first.n == second.n && memcmp(first.items, second.items, first.n) == 0);
        fleet_batch_add_loss(b, &(struct fleet_loss){.service = "a", .host = "b", .why = "c"});
        fleet_batch_free(b);
        fleet_batch_free(again);
        vec_free(&first);
        vec_free(&second);
}

/* With the head it would have. */
static void read_packed(const uint8_t *raw, size_t n) {
        size_t cap = ZSTD_compressBound(n), n_packed;
        XXH128_canonical_t hash;
        bytes_buf file = {0};

        XXH128_canonicalFromHash(&hash, XXH3_128bits(raw, n));
        buf_bytes(&file, "SILTPUSH", 8);
        buf_u32(&file, 1);
        buf_u32(&file, (uint32_t)n);
        buf_u64(&file, 0);
        buf_bytes(&file, hash.digest, sizeof(hash.digest));
        vec_reserve(&file, cap);
        n_packed = ZSTD_compress(file.items + file.n, cap, raw, n, 1);
        buf_put_le64(file.items + 16, n_packed);
        file.n += n_packed;
        read_it(file.items, file.n);
        vec_free(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        read_it(data, n);
        read_packed(data, n);
        return 0;
}
