/* SPDX-License-Identifier: MIT */
/* Writes the seeds of pprof_import_fuzz: profiles of memory with all four values, with what is in use alone, with bytes alone, and of CPU time.
 * usage: pprof_import_seeds DIRECTORY */
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "import/testing/import_fuzzing.h"

enum { SEED_MAX_VALUES = 4 };

static const struct seed {
        const char *types[SEED_MAX_VALUES], *units[SEED_MAX_VALUES];
        uint64_t values[2][SEED_MAX_VALUES]; /* of two samples */
        bool has_addresses_alone, is_packed;
} seeds[] = {
        {{"alloc_objects", "alloc_space", "inuse_objects", "inuse_space"},
         {"count", "bytes", "count", "bytes"},
         {{10, 1000, 4, 400}, {3, 60, 3, 50}},
         false,
         true},
        {{"alloc_objects", "alloc_space", "inuse_objects", "inuse_space"},
         {"count", "bytes", "count", "bytes"},
         {{1, 10, 4, 400}, {0, 60, 0, 0}},
         true,
         false},
        {{"inuse_objects", "inuse_space"}, {"count", "bytes"}, {{1, 8}, {0, 16}}, true, true},
        {{"alloc_objects", "alloc_space"}, {"count", "bytes"}, {{1, 8}, {2, 16}}, false, true},
        {{"space"}, {"bytes"}, {{8}, {16}}, false, true},
        {{"alloc_space"}, {"megabytes"}, {{8}, {16}}, false, true},
        {{"samples", "cpu"}, {"count", "nanoseconds"}, {{1, 10000000}, {2, 20000000}}, false, true},
        {{"contentions"}, {"count"}, {{1}, {2}}, false, false},
};

static void put_number(bytes_buf *b, unsigned field, uint64_t v) {
        buf_varint(b, field << 3);
        buf_varint(b, v);
}

static void put_bytes(bytes_buf *b, unsigned field, const void *bytes, size_t n) {
        buf_varint(b, field << 3 | 2);
        buf_varint(b, n);
        buf_bytes(b, bytes, n);
}

/* A message of numbers: field, value, field, value, …, 0. */
static void put_message(bytes_buf *b, unsigned field, const uint64_t *pairs) {
        bytes_buf m = {0};

        for (; pairs[0]; pairs += 2)
                put_number(&m, (unsigned)pairs[0], pairs[1]);
        put_bytes(b, field, m.items ? (void *)m.items : (void *)"", m.n);
        vec_free(&m);
}

static void put_numbers(bytes_buf *b, unsigned field, const uint64_t *v, size_t n, bool is_packed) {
        bytes_buf m = {0};

        for (size_t i = 0; i < n; i++)
                if (is_packed)
                        buf_varint(&m, v[i]);
                else
                        put_number(b, field, v[i]);
        if (is_packed)
                put_bytes(b, field, m.items, m.n);
        vec_free(&m);
}

static void put_sample(bytes_buf *b, const struct seed *s, size_t sample, size_t n_values) {
        static const uint64_t paths[2][3] = {{1, 2, 3}, {2, 3, 3}};
        bytes_buf m = {0};

        put_numbers(&m, 1, paths[sample], sample ? 2 : 3, s->is_packed);
        put_numbers(&m, 2, s->values[sample], n_values, s->is_packed);
        put_bytes(b, 2, m.items, m.n);
        vec_free(&m);
}

static void put_location(bytes_buf *b, const struct seed *s, uint64_t id) {
        bytes_buf m = {0};

        put_number(&m, 1, id);
        put_number(&m, 2, id == 3 ? 0 : 1);
        put_number(&m, 3, 0x400000 + id * 0x1000);
        if (!s->has_addresses_alone) {
                put_message(&m, 4, (uint64_t[]){1, 1, 2, 10 + id, 0});
                if (id == 1)
                        put_message(&m, 4, (uint64_t[]){1, 2, 2, 20, 0});
        }
        put_bytes(b, 4, m.items, m.n);
        vec_free(&m);
}

/* Texts: "", two functions, their file, the program, its build-id, a comment, then those of types. */
static void put_texts(bytes_buf *b, const struct seed *s, size_t n_values) {
        static const char *const texts[] = {"",          "main",   "_ZN3foo3barEv",  "main.c",
                                            "/bin/true", "0a1b2c", "command: true 1"};

        for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
                put_bytes(b, 6, texts[i], strlen(texts[i]));
        for (size_t i = 0; i < n_values; i++) {
                put_bytes(b, 6, s->types[i], strlen(s->types[i]));
                put_bytes(b, 6, s->units[i], strlen(s->units[i]));
        }
        put_bytes(b, 6, "space", strlen("space"));
}

static void make(bytes_buf *b, const struct seed *s) {
        size_t n_values = 0;

        for (; n_values < SEED_MAX_VALUES && s->types[n_values]; n_values++)
                put_message(b, 1, (uint64_t[]){1, 7 + 2 * n_values, 2, 8 + 2 * n_values, 0});
        for (size_t i = 0; i < 2; i++)
                put_sample(b, s, i, n_values);
        put_message(b, 3, (uint64_t[]){1, 1, 2, 0x400000, 3, 0x500000, 4, 0, 5, 4, 6, 5, 7, 1, 0});
        for (uint64_t id = 1; id <= 3; id++)
                put_location(b, s, id);
        put_message(b, 5, (uint64_t[]){1, 1, 2, 1, 4, 3, 0});
        put_message(b, 5, (uint64_t[]){1, 2, 3, 2, 0});
        put_texts(b, s, n_values);
        put_number(b, 9, 1700000000000000000ull);
        put_number(b, 10, s->is_packed ? 5000000000ull : 0);
        put_message(b, 11, (uint64_t[]){1, 7 + 2 * n_values, 2, 8, 0});
        put_number(b, 12, 524288);
        put_number(b, 13, 6);
        put_number(b, 14, 7); /* by default: the first */
}

int main(int argc, char **argv) {
        char name[16];

        if (argc != 2)
                return 2;
        for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
                bytes_buf b = {0};

                make(&b, &seeds[i]);
                snprintf(name, sizeof(name), "%zu", i);
                import_fuzz_put_seed(argv[1], name, b.items, b.n);
                vec_free(&b);
        }
        return 0;
}
