/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <zstd.h>

#include "base/macros.h"
#include "trace/foreign.h"
#include "trace/reader.h"

static const char path[] = "foreign_test.file";

#define FILE_OF(text) text, sizeof(text) - 1

static const struct {
        const char *bytes;
        size_t n;
        const char *what; /* "" nobody knows */
} files[] = {
        {FILE_OF("v 10500 3\nX ./server --port 80\nI 1000 10\n"), "a heaptrack recording"},
        {FILE_OF("v 10400 2\nx 6 server\n"), "a heaptrack recording"},
        {FILE_OF("v for vendetta\n"), ""},
        {FILE_OF("desc: --time-unit=B\ncmd: ./server\ntime_unit: B\n"), "a massif profile"},
        {FILE_OF("\x0a\x04\x08\x01\x10\x02\x0a\x04\x08\x03\x10\x04\x12\x07\x0a\x02\x01\x02"),
         "a pprof profile"},
        {FILE_OF("\x0a\x04\x08\x01"), ""},
        {FILE_OF("\n\nsome text"), ""},
        {FILE_OF("PERFILE2\x68\0\0\0\0\0\0\0"), "a perf data file"},
        {FILE_OF("{\"dhatFileVersion\":2,\"mode\":\"heap\"}"), "a DHAT profile"},
        {FILE_OF("{ \"verb\": \"Allocated\", \"dhatFileVersion\": 2}"), "a DHAT profile"},
        {FILE_OF("heap_v2/524288\n  t*: 28106: 56637512 [0: 0]\n"), "a jemalloc heap profile"},
        {FILE_OF("heap profile: 1: 2 [ 3: 4] @ heapprofile\n"), "a tcmalloc heap profile"},
        {FILE_OF("==4711== Memcheck, a memory error detector\n"), "a valgrind log"},
        {FILE_OF("== 4711\n"), ""},
        {FILE_OF("version: 1\ncreator: callgrind-3.19.0\n"), "a callgrind profile"},
        {FILE_OF("\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0\x3e\0"), "a program or a library"},
        {FILE_OF("\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\4\0\x3e\0"), "a core dump"},
        {FILE_OF("\177ELF"), "a program or a library"},
        {FILE_OF("#!/bin/sh\nexec ./server\n"), "a script"},
        {FILE_OF("main;serve;parse 4096\nmain;serve 12\n"), "folded stacks"},
        {FILE_OF("a list; of 4096 things\n"), ""},
        {FILE_OF("{\n  \"schema\": \"silt.report/1\",\n"), "silt's JSON output"},
        {FILE_OF("<?xml version=\"1.0\"?>\n<svg class=\"silt\">"), "a picture made by silt"},
        {FILE_OF("<!doctype html>\n<!-- written by silt html -->"), "a page made by silt"},
        {FILE_OF("<!DOCTYPE html>\n<html>"), "a page or a picture"},
        {FILE_OF("SQLite format 3\0"), "an SQLite database"},
        {FILE_OF("hello"), ""},
        {FILE_OF(""), ""},
};

static const char *what_of(const void *bytes, size_t n, const char *base) {
        struct foreign f = {"", ""};

        foreign_find(bytes, n, base, &f);
        return f.what;
}

static void test_known(void **state) {
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(files); i++)
                assert_string_equal(what_of(files[i].bytes, files[i].n, ""), files[i].what);
}

/* As heaptrack writes them: what is inside counts; where it is nothing that is known, the packing. */
static void test_packed(void **state) {
        char packed[512];

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
                size_t n = ZSTD_compress(packed, sizeof(packed), files[i].bytes, files[i].n, 3);

                assert_string_equal(what_of(packed, n, ""),
                                    files[i].what[0] ? files[i].what : "compressed with zstd");
        }
        /* gzip -n of "desc: x\n" */
        assert_string_equal(
                what_of(FILE_OF("\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\x4b\x49\x2d\x4e\xb6\x52"
                                "\xa8\xe0\x02\x00\x5d\x24\xc1\x1b\x08\x00\x00\x00"),
                        ""),
                HAVE_LIBDEFLATE ? "a massif profile" : "compressed with gzip");
        assert_string_equal(what_of(FILE_OF("\x1f\x8b\x08"), "x.gz"), "compressed with gzip");
        assert_string_equal(what_of(FILE_OF("\x1f\x8b\x08"), "heaptrack.x.1.gz"),
                            "a heaptrack recording");
}

static void test_refusal(void **state) {
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
                struct trace_reader *t = NULL;
                struct err e = {0};
                FILE *f = fopen(path, "w");

                assert_non_null(f);
                fwrite(files[i].bytes, 1, files[i].n, f);
                fclose(f);
                assert_true(trace_reader_open(path, &t, &e) < 0);
                assert_null(strchr(e.text, '\n'));
                assert_non_null(strstr(e.text, files[i].n == 0    ? "empty"
                                               : files[i].what[0] ? files[i].what
                                                                  : "not a silt trace"));
                assert_non_null(strstr(e.text, files[i].n ? "silt trace: " : ""));
        }
        unlink(path);
}

/* Beginnings of known files, cut and changed anywhere. */
static void test_any(void **state) {
        (void)state;
        srand(3);
        for (int round = 0; round < 20000; round++) {
                size_t i = (size_t)rand() % ARRAY_SIZE(files), n = files[i].n;
                char packed[512], *bytes = NULL;

                if (round % 2) {
                        n = ZSTD_compress(packed, sizeof(packed), files[i].bytes, n, 1);
                } else {
                        memcpy(packed, files[i].bytes, n);
                }
                for (int k = rand() % 4; n && k > 0; k--)
                        packed[(size_t)rand() % n] = (char)rand();
                if (n && rand() % 2)
                        n = (size_t)rand() % n;
                bytes = malloc(n ? n : 1); /* so that a sanitizer sees a byte too far */
                assert_non_null(bytes);
                memcpy(bytes, packed, n);
                what_of(bytes, n, "");
                free(bytes);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_known),
                cmocka_unit_test(test_packed),
                cmocka_unit_test(test_refusal),
                cmocka_unit_test(test_any),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
