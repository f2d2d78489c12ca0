/* SPDX-License-Identifier: MIT */
#include "import/lz4_block.h"

#include <stdbool.h>
#include <string.h>

enum { LZ4_MIN_MATCH = 4, LZ4_LONG = 15 };

struct reader {
        const uint8_t *at, *end;
};

/* A length of 15 goes on: bytes are added up to one that is not 255. False: the block ends before, or no file has so much. */
static bool read_length(struct reader *r, size_t *length) {
        uint8_t more;

        if (*length != LZ4_LONG)
                return true;
        do {
                if (r->at == r->end)
                        return false;
                more = *r->at++;
                *length += more;
        } while (more == 255);
        return true;
}

/* A match may reach into what it writes: a pattern that repeats. */
static void repeat(uint8_t *to, size_t distance, size_t n) {
        if (distance >= n)
                memcpy(to, to - distance, n);
        else
                for (size_t i = 0; i < n; i++)
                        to[i] = to[i - distance];
}

ssize_t lz4_block_unpack(const uint8_t *packed, size_t n, uint8_t *to, size_t cap) {
        struct reader r = {packed, packed + n};
        size_t n_to = 0;

        while (r.at < r.end) {
                size_t n_literals = *r.at >> 4, n_match = *r.at & LZ4_LONG, distance;

                r.at++;
                if (!read_length(&r, &n_literals) || n_literals > (size_t)(r.end - r.at) ||
                    n_literals > cap - n_to)
                        return -1;
                memcpy(to + n_to, r.at, n_literals);
                n_to += n_literals;
                r.at += n_literals;
                if (r.at == r.end)
                        break;
                if (r.end - r.at < 2)
                        return -1;
                distance = r.at[0] | (size_t)r.at[1] << 8;
                r.at += 2;
                if (!read_length(&r, &n_match))
                        return -1;
                n_match += LZ4_MIN_MATCH;
                if (!distance || distance > n_to || n_match > cap - n_to)
                        return -1;
                repeat(to + n_to, distance, n_match);
                n_to += n_match;
        }
        return (ssize_t)n_to;
}
