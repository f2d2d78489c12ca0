/* SPDX-License-Identifier: MIT */
#include "fleet/batch.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "fleet/testing/toy_batch.h"

static void what_is_read_is_what_was_written(void **state) {
        struct fleet_batch *b = toy_batch(7), *again = NULL;
        struct fleet_loss loss = {.service = "checkout",
                                  .host = "web-1",
                                  .why = "the spool was full",
                                  .from_unix_ms = 5,
                                  .to_unix_ms = 9,
                                  .n_snapshots = 3,
                                  .n_bytes = 777};
        bytes_buf bytes = {0}, twice = {0};

        fleet_batch_add_loss(b, &loss);
        fleet_batch_pack(b, &bytes);
        assert_int_equal(fleet_batch_unpack(bytes.items, bytes.n, &again, NULL), 0);
        assert_memory_equal(&again->id, &b->id, sizeof(b->id));
        assert_string_equal(again->run.service, "checkout");
        assert_string_equal(again->run.labels[1], "color=blue");
        assert_int_equal(again->run.pid, 4711);
        assert_int_equal(again->paths.n, 2);
        assert_memory_equal(&again->paths.items[1].id, &b->paths.items[1].id, FLEET_ID_BYTES);
        assert_string_equal(again->texts.items[again->paths.items[0].frames[0]], "Cache::insert");
        assert_memory_equal(again->snapshots.items, b->snapshots.items,
                            sizeof(b->snapshots.items[0]));
        assert_int_equal(again->sites.items[1].live_bytes, -1);
        assert_int_equal(again->sites.items[1].alloc_bytes, 5000);
        assert_int_equal(again->losses.items[0].n_snapshots, 3);
        fleet_batch_pack(again, &twice);
        assert_int_equal(twice.n, bytes.n);
        assert_memory_equal(twice.items, bytes.items, bytes.n);
        vec_free(&bytes);
        vec_free(&twice);
        fleet_batch_free(b);
        fleet_batch_free(again);
}

static void a_damaged_one_is_refused(void **state) {
        struct fleet_batch *b = toy_batch(0), *again = NULL;
        bytes_buf bytes = {0};
        size_t n_refused = 0;

        fleet_batch_pack(b, &bytes);
        for (size_t n = 0; n < bytes.n; n++)
                assert_int_equal(fleet_batch_unpack(bytes.items, n, &again, NULL), -EBADMSG);
        for (size_t i = 0; i < bytes.n * 8; i++) {
                int r;

                bytes.items[i / 8] ^= (uint8_t)(1 << i % 8);
                r = fleet_batch_unpack(bytes.items, bytes.n, &again, NULL);
                /* some bits of zstd's say nothing */
                if (r == 0)
                        assert_memory_equal(&again->id, &b->id, sizeof(b->id));
                else
                        assert_int_equal(r, -EBADMSG);
                n_refused += r < 0;
                again = fleet_batch_free(again);
                bytes.items[i / 8] ^= (uint8_t)(1 << i % 8);
        }
        assert_true(n_refused > bytes.n * 8 - 8);
        vec_free(&bytes);
        fleet_batch_free(b);
}

/* Servers have rows under these numbers: they must not change. */
static void numbers_stay(void **state) {
        struct fleet_batch *b = toy_batch(0);
        char id[2 * FLEET_ID_BYTES + 1];

        fleet_id_text(&b->paths.items[0].id, id);
        assert_string_equal(id, "e8f8fecaef41451283ea5a8a2d07d142");
        fleet_id_text(&b->run.id, id);
        assert_string_equal(id, "31d1677932a2f90a26b7e6863ba9a147");
        fleet_batch_free(b);
}

static void a_path_is_numbered_once(void **state) {
        struct fleet_batch *b = toy_batch(0);

        assert_int_equal(fleet_batch_path(b, (const char *[]){"parse", "serve", "main"}, 3), 1);
        assert_int_equal(fleet_batch_path(b, (const char *[]){"parse", "servemain"}, 2), 2);
        assert_int_equal(fleet_batch_path(b, (const char *[]){"parseserve", "main"}, 2), 3);
        assert_int_equal(fleet_batch_path(b, NULL, 0), 4);
        fleet_batch_free(b);
}

static void texts_are_cut_and_valid(void **state) {
        struct fleet_batch *b = toy_batch(0);
        char text[2000];
        uint32_t path;
        const char *kept;

        memset(text, 'a', sizeof(text));
        text[sizeof(text) - 1] = '\0';
        memcpy(text + FLEET_MAX_TEXT - 1, "\xc3\xa9", 2); /* a letter of two bytes across the end */
        text[3] = '\xff';
        path = fleet_batch_path(b, (const char *[]){text}, 1);
        kept = b->texts.items[b->paths.items[path].frames[0]];
        assert_int_equal(strlen(kept), FLEET_MAX_TEXT - 1);
        assert_int_equal(kept[3], '?');
        fleet_batch_free(b);
}

static void losses_are_bounded(void **state) {
        struct fleet_batch *b = toy_batch(0);
        uint64_t n = 0;

        for (uint64_t i = 1; i <= 1000; i++)
                fleet_batch_add_loss(b,
                                     &(struct fleet_loss){.id = {{(uint8_t)i, (uint8_t)(i >> 8)}},
                                                          .service = "",
                                                          .host = "",
                                                          .why = "",
                                                          .from_unix_ms = i,
                                                          .to_unix_ms = i,
                                                          .n_snapshots = 1});
        assert_int_equal(b->losses.n, FLEET_MAX_LOSSES);
        for (size_t i = 0; i < b->losses.n; i++)
                n += b->losses.items[i].n_snapshots;
        assert_int_equal(n, 1000);
        assert_int_equal(b->losses.items[FLEET_MAX_LOSSES - 1].to_unix_ms, 1000);
        fleet_batch_free(b);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_is_read_is_what_was_written),
                cmocka_unit_test(a_damaged_one_is_refused),
                cmocka_unit_test(numbers_stay),
                cmocka_unit_test(a_path_is_numbered_once),
                cmocka_unit_test(texts_are_cut_and_valid),
                cmocka_unit_test(losses_are_bounded),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
