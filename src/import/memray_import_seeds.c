/* SPDX-License-Identifier: MIT */
/* Writes the seeds of memray_import_fuzz: captures with all kinds of records, with native frames and without, of old and new Python, plain and
 * packed.
 * usage: memray_import_seeds DIRECTORY */
#include <lz4frame.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "import/testing/import_fuzzing.h"

struct head {
        char magic[7];
        uint32_t version, python_version;
        uint8_t is_native, is_aggregated;
        uint64_t stats[4];
} __attribute__((packed));

struct rest {
        uint32_t pid;
        uint64_t main_handle, n_skipped;
        uint8_t flags[3];
} __attribute__((packed));

static void put(bytes_buf *b, const void *p, size_t n) {
        vec_reserve(b, n);
        memcpy(b->items + b->n, p, n);
        b->n += n;
}

static void put_byte(bytes_buf *b, uint8_t byte) {
        put(b, &byte, 1);
}

static void put_varint(bytes_buf *b, uint64_t v) {
        for (; v > 127; v >>= 7)
                put_byte(b, (uint8_t)(v & 127) | 128);
        put_byte(b, (uint8_t)v);
}

static void put_text(bytes_buf *b, const char *text) {
        put(b, text, strlen(text) + 1);
}

static void put_head(bytes_buf *b, uint32_t python_version, bool is_native) {
        struct head head = {"memray",  13, python_version,
                            is_native, 0,  {4, 2, 1700000000000, 1700000000500}};
        struct rest rest = {77, 0x7f00, 1, {1, 0, 0}};

        put(b, &head, sizeof(head));
        put_text(b, "python a.py");
        put(b, &rest, sizeof(rest));
        put_text(b, "/lib/python");
        put_text(b, "/site");
        put_text(b, "");
        put_text(b, "");
}

static void put_thread(bytes_buf *b, uint64_t handle, const char *name) {
        put_byte(b, 12);
        put(b, &handle, sizeof(handle));
        put_byte(b, 10);
        put_text(b, name);
}

static void put_code(bytes_buf *b, uint64_t id) {
        static const uint8_t table[] = {0xf7, 5, 1,    2, 3,    0xe8, 4,   0xd1,
                                        1,    2, 0x80, 7, 0xf8, 1,    200, 3};

        put_byte(b, 14);
        put_varint(b, id);
        put_text(b, "work");
        put_text(b, "a.py");
        put_varint(b, 20);
        put_varint(b, sizeof(table));
        put(b, table, sizeof(table));
}

static void put_modules(bytes_buf *b) {
        uint64_t bias = 0x1000, begin = 0x10;

        put_byte(b, 6);
        put_byte(b, 7);
        put_text(b, "/lib/x.so");
        put_varint(b, 1);
        put(b, &bias, sizeof(bias));
        put_byte(b, 8);
        put(b, &begin, sizeof(begin));
        put_varint(b, 0x100);
        for (int i = 0; i < 2; i++) {
                put_byte(b, 5);
                put_varint(b, 0x1020 * 2);
                put_varint(b, i ? 2 : 0);
        }
}

/* which 15: a new address, its difference to the last one. */
static void put_event(bytes_buf *b, uint8_t allocator, uint8_t which, uint64_t step, bool is_native,
                      uint64_t size) {
        bool is_free = allocator == 1 || allocator == 5;

        put_byte(b, (uint8_t)(128 | which << 3 | (allocator < 8 ? allocator : 0)));
        if (which == 15)
                put_varint(b, step * 2);
        if (allocator >= 8)
                put_byte(b, allocator);
        if (is_native && !is_free)
                put_varint(b, 0);
        if (!is_free)
                put_varint(b, size);
}

static void put_body(bytes_buf *b, bool is_native) {
        put_modules(b);
        put_thread(b, 0x7f00, "main");
        put_code(b, 1);
        put_event(b, 6, 15, 100, is_native, 10);
        for (uint64_t i = 0; i < 6; i++) {
                put_byte(b, 65);
                put_varint(b, 1 + i % 2);
                put_varint(b, i * 12);
        }
        put_event(b, 6, 15, 100, is_native, 1000);
        put_event(b, 5, 0, 0, is_native, 0);
        put_event(b, 8, 15, 100, is_native, 70000);
        put_byte(b, 2);
        put_varint(b, 1 << 20);
        put_varint(b, 20);
        put_byte(b, 32 | 15 << 1 | 1);
        put_varint(b, 2);
        if (is_native)
                put_varint(b, 0);
        put_thread(b, 0x7f01, "helper");
        put_event(b, 14, 15, 512, is_native, 8192);
        put_event(b, 15, 0, 0, is_native, 4096);
        put_event(b, 15, 0, 0, is_native, 8192);
        put_event(b, 2, 15, 4, is_native, 5);
        put_event(b, 1, 0, 0, is_native, 0);
        put_byte(b, 12);
        put(b, &(uint64_t){0x7f00}, 8);
        put_byte(b, 16 | 2);
        put_byte(b, 0);
        put_byte(b, 1);
}

/* Before version 12. */
static void put_old(bytes_buf *b, uint32_t version, bool is_native) {
        struct rest rest = {77, 0x7f00, 1, {1, 0, 0}};
        uint64_t stats[4] = {4, 2, 1700000000000, 1700000000500};

        put(b, "memray", 7);
        put(b, &version, sizeof(version));
        put_byte(b, is_native);
        if (version > 9)
                put_byte(b, 0);
        put(b, stats, sizeof(stats));
        put_text(b, "python a.py");
        put(b, &rest, sizeof(rest) - (version > 10 ? 1 : 2));
        put_modules(b);
        put_thread(b, 0x7f00, "main");
        for (uint8_t i = 0; i < 2; i++) {
                put_byte(b, 3 | i << 4);
                put_varint(b, 2);
                put_text(b, "work");
                put_text(b, "a.py");
                put_varint(b, 22);
                put_byte(b, 4);
                put_varint(b, 0);
        }
        for (uint8_t allocator = 1; allocator < 16; allocator++) {
                bool is_free = allocator == 2 || allocator == 15;

                put_byte(b, (uint8_t)(allocator << 4 | (is_native && !is_free ? 2 : 1)));
                put_varint(b, allocator == 2 || allocator == 11 ? 0 : 4096);
                if (!is_free)
                        put_varint(b, allocator * 100u);
                if (is_native && !is_free)
                        put_varint(b, 0);
        }
        put_byte(b, 11);
        put_varint(b, 1 << 20);
        put_varint(b, 20);
        put_byte(b, 9 | 1 << 4);
        put_byte(b, 16);
}

static void put_seed(const char *directory, const char *name, const bytes_buf *b) {
        uint8_t packed[16384];
        char packed_name[64];
        size_t n = LZ4F_compressFrame(packed, sizeof(packed), b->items, b->n, NULL);

        import_fuzz_put_seed(directory, name, b->items, b->n);
        if (LZ4F_isError(n))
                abort();
        snprintf(packed_name, sizeof(packed_name), "%s.lz4", name);
        import_fuzz_put_seed(directory, packed_name, packed, n);
}

int main(int argc, char **argv) {
        static const uint32_t versions[] = {0x030b07f0, 0x030a00f0, 0x030900f0};
        char name[32];

        if (argc != 2)
                return 2;
        for (size_t i = 0; i < 6; i++) {
                bytes_buf b = {0};

                put_head(&b, versions[i / 2], i % 2);
                put_body(&b, i % 2);
                snprintf(name, sizeof(name), "%zu", i);
                put_seed(argv[1], name, &b);
                vec_free(&b);
        }
        for (uint32_t i = 0; i < 6; i++) {
                bytes_buf b = {0};

                put_old(&b, 9 + i / 2, i % 2);
                snprintf(name, sizeof(name), "old-%u", i);
                put_seed(argv[1], name, &b);
                vec_free(&b);
        }
        return 0;
}
