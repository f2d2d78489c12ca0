/* SPDX-License-Identifier: MIT */
/* What a program carries in its bytes whether it has symbols or not: messages of allocators with their versions, signs of the
 * C library and language it was made with. A message proves less than a name: it says what is inside, not where. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum imprint_mark {
        IMPRINT_JEMALLOC = 1 << 0,
        IMPRINT_MIMALLOC = 1 << 1,
        IMPRINT_GPERFTOOLS = 1 << 2,
        IMPRINT_TCMALLOC = 1 << 3,
        IMPRINT_MUSL = 1 << 4,
        IMPRINT_GLIBC = 1 << 5, /* linked in */
        IMPRINT_PYTHON = 1 << 6,
        IMPRINT_GO = 1 << 7,
        /* sanitizers that have a malloc of their own, inside or as a shared library */
        IMPRINT_ASAN = 1 << 8,
        IMPRINT_HWASAN = 1 << 9,
        IMPRINT_TSAN = 1 << 10,
        IMPRINT_MSAN = 1 << 11,
        IMPRINT_LSAN = 1 << 12,
};

struct imprint {
        unsigned marks;              /* of enum imprint_mark */
        char jemalloc_version[16];   /* "5.3.0"; "" not said */
        char gperftools_version[16]; /* "2.10" */
        char library[64];            /* an allocator that comes as a shared library; "" none */
        uint8_t build_id[32];
        uint32_t build_id_bytes;
};

/* All that is loaded of the file. 0, also when it says nothing; -errno: it cannot be read as an ELF file. */
int imprint_read(const char *path, struct imprint *ret, struct err *reterr);

/* The same in steps, for whoever reads other things in the same child (isolated.h): path stays until the end, which frees. */
struct imprint_reading;
struct imprint_reading *imprint_reading_new(const char *path); /* NULL: no memory; ok below */
void imprint_reading_do(struct imprint_reading *r);            /* in the child */
/* -ENODATA: it was not read. */
int imprint_reading_end(struct imprint_reading *r, bool is_done, bool is_in_time,
                        struct imprint *ret, struct err *reterr);

/* What an allocator of the family (patch/allocator_family.h) that was found by its functions really is: the C functions of a program
 * that says it has jemalloc are jemalloc's. */
const char *imprint_name(const struct imprint *i, const char *family);
const char *imprint_version(const struct imprint *i, const char *family); /* "" not known */

/* A number that a function gives: 209 is "2.0.9". Anything else leaves the text alone. */
void imprint_say_version(uint32_t number, char *ret, size_t cap);

/* The sanitizer that the program was built with; NULL: none that is known. */
const char *imprint_sanitizer(const struct imprint *i);

/* The k-th allocator whose messages are there, k from 0; NULL: there are no more. */
const char *imprint_allocator(const struct imprint *i, unsigned k);
