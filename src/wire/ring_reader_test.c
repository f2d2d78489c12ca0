/* SPDX-License-Identifier: MIT */
/* Both ends of a ring at once: a thread writes, another lends and reads. Every record must arrive, in order, whole.
 * Run under ThreadSanitizer this is the proof that the positions order everything else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>

#include "wire/ring_reader.h"
#include "wire/ring_writer.h"

enum { N_CHUNKS = 8, N_RECORDS = 200000 };

struct ring {
        struct wire_header *header;
        struct wire_slot *slot;
        struct ring_reader reader;
        struct ring_clock clock;
        struct wire_patience patience;
        uint64_t next_chunk;
};

static void ring_init(struct ring *r) {
        size_t chunk_off = 4096 + sizeof(struct wire_slot);

        memset(r, 0, sizeof(*r));
        r->header =
                aligned_alloc(4096, (chunk_off + N_CHUNKS * WIRE_CHUNK_BYTES + 4095) / 4096 * 4096);
        assert_non_null(r->header);
        memset(r->header, 0, chunk_off + N_CHUNKS * WIRE_CHUNK_BYTES);
        r->header->chunk_off = chunk_off;
        r->header->n_chunks = N_CHUNKS;
        atomic_init(&r->header->recording, 1);
        r->slot = (struct wire_slot *)((uint8_t *)r->header + 4096);
        r->reader = (struct ring_reader){.slot = r->slot,
                                         .chunks = (uint8_t *)r->header + chunk_off,
                                         .n_chunks = N_CHUNKS};
        r->clock = (struct ring_clock){.kind = WIRE_CLOCK_COUNTER, .ns_per_tick_q16 = 65536};
        atomic_init(&r->patience.left_ns, 60000000000u);
}

static void ring_lend(struct ring *r, uint64_t n) {
        while (r->reader.limit_pos / WIRE_CHUNK_BYTES < r->reader.read_pos / WIRE_CHUNK_BYTES + n) {
                uint64_t no = r->reader.limit_pos / WIRE_CHUNK_BYTES;
                uint32_t chunk = (uint32_t)(no % N_CHUNKS);

                r->reader.lent[no % WIRE_N_LENT] = chunk;
                atomic_store_explicit(&r->slot->lent[no % WIRE_N_LENT], chunk,
                                      memory_order_relaxed);
                r->reader.limit_pos += WIRE_CHUNK_BYTES;
                atomic_store_explicit(&r->slot->limit_pos, r->reader.limit_pos,
                                      memory_order_release);
                atomic_fetch_add_explicit(&r->slot->lent_seq, 1, memory_order_release);
                if (atomic_load_explicit(&r->slot->waiting, memory_order_seq_cst))
                        sys_futex_wake((void *)&r->slot->lent_seq, 1);
        }
}

/* Records of changing length, each full of its own number. */
static void *write_records(void *arg) {
        struct ring *r = arg;
        struct ring_writer w;

        ring_writer_init(&w, r->header, r->slot, &r->clock, &r->patience, false);
        for (uint64_t i = 0; i < N_RECORDS; i++) {
                uint32_t n_new = (uint32_t)(i % 37);
                uint64_t *words = ring_writer_reserve(&w, 4 + n_new);

                if (!words)
                        break;
                words[0] = wire_word0(ring_writer_time(&w), WIRE_ALLOC);
                words[1] = i;
                words[2] = i;
                words[3] = wire_stack_word(0, n_new, 0, 0);
                for (uint32_t k = 0; k < n_new; k++)
                        words[4 + k] = i;
                ring_writer_commit(&w, words + 4 + n_new);
        }
        return NULL;
}

/* The number of the next record, after those in the copy; fails on anything that is not as written. */
static uint64_t check_copy(const uint64_t *words, size_t n, uint64_t pos, uint64_t next) {
        for (size_t i = 0; i < n;) {
                size_t in_chunk = RING_CHUNK_WORDS - (pos / 8 + i) % RING_CHUNK_WORDS;
                uint32_t n_words =
                        ring_record_words(words + i, n - i < in_chunk ? n - i : in_chunk);

                assert_int_not_equal(n_words, 0);
                if ((words[i] & 0xff) == WIRE_ALLOC) {
                        assert_int_equal(n_words, 4 + next % 37);
                        assert_int_equal(words[i + 1], next);
                        for (uint32_t k = 4; k < n_words; k++)
                                assert_int_equal(words[i + k], next);
                        next++;
                } else {
                        assert_int_equal(words[i] & 0xff, WIRE_PAD);
                }
                i += n_words;
        }
        return next;
}

static void test_both_ends(void **state) {
        static uint64_t words[4 * RING_CHUNK_WORDS];
        const uint64_t max_lent = SILT_TINY ? WIRE_N_LENT : N_CHUNKS;
        struct ring r;
        pthread_t writer;
        uint64_t next = 0;

        (void)state;
        ring_init(&r);
        ring_lend(&r, 1);
        assert_int_equal(pthread_create(&writer, NULL, write_records, &r), 0);
        while (next < N_RECORDS) {
                int64_t available = ring_reader_available(&r.reader);
                uint64_t pos = r.reader.read_pos;
                size_t n;

                assert_true(available >= 0);
                n = ring_reader_copy(&r.reader, words, 4 * RING_CHUNK_WORDS, (uint64_t)available);
                next = check_copy(words, n, pos, next);
                /* now generous, now mean */
                ring_lend(&r, 1 + next % max_lent);
        }
        pthread_join(writer, NULL);
        assert_int_equal(atomic_load(&r.slot->n_lost_events), 0);
        free(r.header);
}

static void test_impossible_positions(void **state) {
        struct ring r;

        (void)state;
        ring_init(&r);
        ring_lend(&r, 1);
        atomic_store(&r.slot->write_pos, 12);
        assert_int_equal(ring_reader_available(&r.reader), -1); /* no whole words */
        atomic_store(&r.slot->write_pos, WIRE_CHUNK_BYTES + 8);
        assert_int_equal(ring_reader_available(&r.reader), -1); /* beyond what was lent */
        atomic_store(&r.slot->write_pos, 16);
        assert_int_equal(ring_reader_available(&r.reader), 16);
        r.reader.read_pos = 24;
        assert_int_equal(ring_reader_available(&r.reader), -1); /* backwards */
        free(r.header);
}

static void test_record_lengths(void **state) {
        uint64_t words[16] = {wire_word0(1, WIRE_FREE), 2};

        (void)state;
        assert_int_equal(ring_record_words(words, 0), 0);
        assert_int_equal(ring_record_words(words, 1), 0);
        assert_int_equal(ring_record_words(words, 2), 2);
        words[0] = wire_word0(1, WIRE_ALLOC);
        words[3] = wire_stack_word(3, 2, 0, WIRE_END_CUT);
        assert_int_equal(ring_record_words(words, 5), 0);
        assert_int_equal(ring_record_words(words, 16), 6);
        words[3] = wire_stack_word(WIRE_MAX_FRAMES, 1, 0, 0);
        assert_int_equal(ring_record_words(words, 16), 0);
        words[3] = wire_stack_word(0, 0, 0, WIRE_END_NONE + 1);
        assert_int_equal(ring_record_words(words, 16), 0);
        words[0] = wire_word0(1, WIRE_MODULE);
        words[4] = 9;
        assert_int_equal(ring_record_words(words, 6), 0);
        assert_int_equal(ring_record_words(words, 7), 7);
        words[4] = WIRE_MAX_NAME + 1;
        assert_int_equal(ring_record_words(words, 16), 0);
        words[0] = wire_word0(1, WIRE_MARK);
        words[1] = 17;
        assert_int_equal(ring_record_words(words, 4), 0);
        assert_int_equal(ring_record_words(words, 5), 5);
        words[1] = WIRE_MAX_MARK + 1;
        assert_int_equal(ring_record_words(words, 16), 0);
        words[0] = wire_word0(1, WIRE_FREE_RANGE);
        assert_int_equal(ring_record_words(words, 2), 0);
        assert_int_equal(ring_record_words(words, 3), 3);
        words[0] = wire_word0(1, WIRE_POOL_ALLOC);
        words[3] = wire_stack_word(3, 2, 0, WIRE_END_CUT);
        assert_int_equal(ring_record_words(words, 16), 6);
        words[0] = wire_word0(1, WIRE_N_KINDS);
        assert_int_equal(ring_record_words(words, 16), 0);
        words[0] = wire_word0(0, WIRE_PAD);
        assert_int_equal(ring_record_words(words, 11), 11);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_both_ends),
                cmocka_unit_test(test_impossible_positions),
                cmocka_unit_test(test_record_lengths),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
