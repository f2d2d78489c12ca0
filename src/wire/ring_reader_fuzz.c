/* SPDX-License-Identifier: MIT */
/* A slot and its chunks as a hostile target may leave them: whatever is there, only lent bytes are read, and every
 * record that is accepted lies inside its chunk.
 *
 * covers: src/wire/ring_reader.c src/wire/ring_reader.h */
#include <stdlib.h>
#include <string.h>

#include "wire/ring_reader.h"

enum { N_CHUNKS = 3, MAX_LENT = SILT_TINY ? 2 : 3 };

/* input: write_pos (8 bytes), chunks lent (1), which (3), then the chunks' bytes */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_read(struct ring_reader *r, uint64_t *words) {
        int64_t available = ring_reader_available(r);

        while (available > 0) {
                uint64_t pos = r->read_pos;
                size_t n = ring_reader_copy(r, words, RING_CHUNK_WORDS, (uint64_t)available);

                for (size_t i = 0; i < n;) {
                        size_t in_chunk = RING_CHUNK_WORDS - (pos / 8 + i) % RING_CHUNK_WORDS;
                        size_t left = n - i < in_chunk ? n - i : in_chunk;
                        uint32_t n_words = ring_record_words(words + i, left);

                        if (n_words > left)
                                abort();
                        if (n_words == 0)
                                return;
                        i += n_words;
                }
                available = ring_reader_available(r);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static struct wire_slot slot;
        struct ring_reader r = {.slot = &slot, .n_chunks = N_CHUNKS};
        uint8_t *chunks;
        uint64_t write_pos, *words;

        if (size < 12)
                return 0;
        chunks = calloc(N_CHUNKS, WIRE_CHUNK_BYTES);
        words = malloc(WIRE_CHUNK_BYTES);
        if (!chunks || !words)
                abort();
        memcpy(&write_pos, data, 8);
        memcpy(chunks, data + 12,
               size - 12 < N_CHUNKS * WIRE_CHUNK_BYTES ? size - 12 : N_CHUNKS * WIRE_CHUNK_BYTES);
        atomic_store(&slot.write_pos, write_pos);
        r.chunks = chunks;
        r.limit_pos = (uint64_t)(data[8] % (MAX_LENT + 1)) * WIRE_CHUNK_BYTES;
        for (int i = 0; i < MAX_LENT; i++)
                r.lent[i] = data[9 + i] % N_CHUNKS;
        fuzz_read(&r, words);
        free(chunks);
        free(words);
        return 0;
}
