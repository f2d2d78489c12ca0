/* SPDX-License-Identifier: MIT */
/* Writes the seeds of bytehound_fuzz: the events of a recording, one of each kind, without the packing, which the fuzzer adds; and one that has it.
 * usage: bytehound_seeds DIRECTORY */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "import/testing/import_fuzzing.h"

static void put(bytes_buf *b, const void *p, size_t n) {
        vec_reserve(b, n);
        memcpy(b->items + b->n, p, n);
        b->n += n;
}

/* Numbers by their widths: '1', '4', '8'; 's' a text with its length in 4 bytes, 'v' one with a short length. All numbers are given as uint64_t. */
static void put_fields(bytes_buf *b, const char *form, ...) {
        va_list args;

        va_start(args, form);
        for (; *form; form++) {
                const char *text = *form == 's' || *form == 'v' ? va_arg(args, const char *) : NULL;
                uint64_t v = text ? strlen(text) : va_arg(args, uint64_t);

                put(b, &v, text ? (*form == 's' ? 4 : 1) : (size_t)(*form - '0'));
                if (text)
                        put(b, text, (size_t)v);
        }
        va_end(args);
}

#define N(x) ((uint64_t)(x))

static void put_header(bytes_buf *b) {
        put_fields(b, "48888884sss81", N(0), N(5), N(6), N(1000), N(1000), N(1700000000), N(5),
                   N(9), "./a -x", "/bin/a", "amd64", N(1), N(8));
}

static void put_body(bytes_buf *b, uint64_t pointer, uint64_t size, uint64_t backtrace,
                     uint64_t thread) {
        put_fields(b, "8884448", pointer, size, backtrace, thread, N(0), N(0), N(0));
}

static void put_modules(bytes_buf *b) {
        put_fields(b, "48ss", N(4), N(1000), "/proc/self/maps",
                   "00001000-00009000 r-xp 00000000 08:01 12 /nowhere/a\n");
        put_fields(b, "48s8", N(23), N(1000), "/bin/a", N(3));
        put(b, "elf", 3);
        put_fields(b, "4818111444v", N(24), N(1), N(7), N(0x20000), N(0x40), N(0), N(3), N(1), N(2),
                   N(5), "/nowhere/b.so");
        put_fields(b, "48181181814", N(25), N(1), N(7), N(0x20000), N(0x40), N(1), N(0x20000),
                   N(0x40), N(2000), N(1), N(9));
        put_fields(b, "48181111111", N(26), N(1), N(7), N(0x20000), N(0x40), N(1), N(2), N(3), N(4),
                   N(5), N(6));
        put_fields(b, "418114441814", N(27), N(7), N(0x20000), N(1), N(2), N(3), N(4), N(5), N(0),
                   N(2000), N(1), N(9));
}

static void put_paths(bytes_buf *b) {
        put_fields(b, "48488", N(5), N(1), N(2), N(0x1234), N(0x20010));
        put_fields(b, "4844488", N(13), N(2), N(9), N(0xffffffff), N(2), N(0x99), N(0x1300));
        put_fields(b, "484448", N(13), N(3), N(9), N(1), N(1), N(0x98));
        put_fields(b, "484444", N(18), N(4), N(9), N(1), N(1), N(0x98));
        put_fields(b, "4844", N(19), N(5), N(1), N(0x98));
}

static void put_events(bytes_buf *b) {
        put_fields(b, "48", N(1), N(2000));
        put_body(b, 0x10, 100, 1, 9);
        put_fields(b, "4888", N(20), N(9), N(1), N(3000));
        put_body(b, 0x20, 200, 2, 9);
        put_fields(b, "48888", N(21), N(9), N(1), N(4000), N(0x20));
        put_body(b, 0x30, 400, 3, 10);
        put_fields(b, "488", N(2), N(4000), N(0x10));
        put_body(b, 0x18, 400, 4, 10);
        put_fields(b, "48884", N(3), N(5000), N(0x18), N(1), N(9));
        put_fields(b, "4888884", N(22), N(9), N(1), N(6000), N(0x30), N(1), N(10));
        put_fields(b, "488s", N(6), N(0x1000), N(3), "abc");
        put_fields(b, "44", N(7), N(1));
        put_fields(b, "4s", N(11), "A=B");
        put_fields(b, "4888", N(12), N(7000), N(1), N(2));
        put_fields(b, "48888888", N(17), N(1), N(2), N(3), N(4), N(5), N(6), N(7));
        put_fields(b, "4884444", N(10), N(7000), N(1), N(9), N(1), N(2), N(3));
}

static void put_decoded(bytes_buf *b) {
        put_fields(b, "44s", N(14), N(1), "work()");
        put_fields(b, "44s", N(14), N(2), "a.cc");
        put_fields(b, "484444441", N(15), N(0x1234), N(2), N(1), N(1), N(2), N(7), N(0xffffffff),
                   N(0));
        put_fields(b, "484444441", N(15), N(0x1235), N(2), N(1), N(0xffffffff), N(9), N(0xffffffff),
                   N(0), N(1));
        put_fields(b, "4444", N(16), N(2), N(0), N(1));
}

int main(int argc, char **argv) {
        bytes_buf b = {0}, stored = {0};

        if (argc != 2)
                return 2;
        put_header(&b);
        put_modules(&b);
        put_paths(&b);
        put_events(&b);
        import_fuzz_put_seed(argv[1], "recorded", b.items, b.n);
        put_fields(&stored, "14", N(1), N(22));
        put(&stored, "\x50\0\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 22);
        put_fields(&stored, "14", N(2), N(b.n));
        put(&stored, b.items, b.n);
        import_fuzz_put_seed(argv[1], "stored", stored.items, stored.n);
        vec_clear(&b);
        put_header(&b);
        put_decoded(&b);
        put_events(&b);
        import_fuzz_put_seed(argv[1], "decoded", b.items, b.n);
        vec_free(&b);
        vec_free(&stored);
        return 0;
}
