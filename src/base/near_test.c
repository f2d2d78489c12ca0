/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "base/near.h"

static const char *const words[] = {"run",    "attach", "snapshot", "report", "flame",
                                    "source", "diff",   "check",    "verify", "not-function"};

static const char *nearest(const char *word) {
        struct near n;

        near_init(&n, word, strlen(word));
        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                near_offer(&n, words[i]);
        return near_best(&n) ? near_best(&n) : "";
}

static void test_slips(void **state) {
        static const char *const pairs[][2] = {
                {"reprot", "report"},
                {"repot", "report"},
                {"rn", "run"},
                {"dif", "diff"},
                {"fame", "flame"},
                {"flam", "flame"},
                {"chekc", "check"},
                {"not-fuction", "not-function"},
                {"ver", "verify"},
                {"snapshots", "snapshot"},
                {"", ""},
                {"x", ""},
                {"zzzzzz", ""},
                {"ls", ""},
                {"a", ""},
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
                assert_string_equal(nearest(pairs[i][0]), pairs[i][1]);
}

/* One letter changed, left out, doubled or swapped in a word of four letters or more: the word is found, whatever the letter. */
static void test_any_slip(void **state) {
        (void)state;
        srand(11);
        for (int round = 0; round < 20000; round++) {
                const char *word = words[(size_t)rand() % ARRAY_SIZE(words)];
                size_t n = strlen(word), at = (size_t)rand() % n;
                char slip[64];

                if (n < 4)
                        continue;
                strcpy(slip, word);
                switch (rand() % 4) {
                case 0: slip[at] = (char)('a' + rand() % 26); break;
                case 1: memmove(slip + at, slip + at + 1, n - at); break;
                case 2: memmove(slip + at + 1, slip + at, n - at + 1); break;
                default:
                        if (at + 1 < n) {
                                char c = slip[at];

                                slip[at] = slip[at + 1];
                                slip[at + 1] = c;
                        }
                }
                assert_true(near_distance(slip, strlen(slip), word, n) <= 1);
                assert_string_equal(nearest(slip), word);
        }
}

static void test_others(void **state) {
        static const struct near_other others[] = {{"record", "run"}, {"compare", "diff"}};
        struct near n;

        (void)state;
        near_init(&n, "record", 6);
        near_offer_other(&n, &others[0]);
        near_offer_other(&n, &others[1]);
        assert_string_equal(near_best(&n), "run");
        near_init(&n, "recorder", 8);
        near_offer_other(&n, &others[0]);
        assert_null(near_best(&n));
}

/* Words of any length and bytes. */
static void test_long(void **state) {
        char word[200];
        struct near n;

        (void)state;
        memset(word, 'r', sizeof(word));
        for (size_t len = 0; len < sizeof(word); len++) {
                near_init(&n, word, len);
                near_offer(&n, "report");
                assert_true(len != 0 || !near_best(&n));
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_slips),
                cmocka_unit_test(test_any_slip),
                cmocka_unit_test(test_others),
                cmocka_unit_test(test_long),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
