/* SPDX-License-Identifier: MIT */
#include "wire/ring_reader.h"

#include <string.h>

int64_t ring_reader_available(const struct ring_reader *r) {
        /* acquire: the words before write_pos must be read after it. Pairs with the writer's release. */
        uint64_t write_pos = atomic_load_explicit(&r->slot->write_pos, memory_order_acquire);

        if (write_pos < r->read_pos || write_pos > r->limit_pos || write_pos % 8 != 0)
                return -1;
        return (int64_t)(write_pos - r->read_pos);
}

size_t ring_reader_copy(struct ring_reader *r, uint64_t *words, size_t max_words,
                        uint64_t available) {
        size_t n = 0;

        while (available > 0) {
                uint64_t chunk_off = r->read_pos % WIRE_CHUNK_BYTES;
                uint64_t take = WIRE_CHUNK_BYTES - chunk_off;
                uint32_t chunk = r->lent[r->read_pos / WIRE_CHUNK_BYTES % WIRE_N_LENT];

                if (take > available)
                        take = available;
                if (n > 0 && n + take / 8 > max_words)
                        break;
                memcpy(words + n, r->chunks + (uint64_t)chunk * WIRE_CHUNK_BYTES + chunk_off, take);
                n += take / 8;
                r->read_pos += take;
                available -= take;
        }
        return n;
}
