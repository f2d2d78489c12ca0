/* SPDX-License-Identifier: MIT */
#include "trace/foreign.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/macros.h"

#if HAVE_LIBDEFLATE
#include <libdeflate.h>
#endif

enum { HEAD_BYTES = 16 << 10, PLAIN_BYTES = 4096 };

#define RECORD_ONE "record one with 'silt run'"
#define IMPORT_IT "make a trace of it with 'silt import'"

/* ---- by how they begin ----------------------------------------------------------------------- */

static const struct {
        const char *begin;
        size_t n; /* its bytes; 0: up to its end */
        struct foreign is;
} beginnings[] = {
        {"PERFILE2", 0, {"a perf data file", IMPORT_IT}},
        {"2ELIFREP", 0, {"a perf data file", IMPORT_IT}},
        {"heap_v2/", 0, {"a jemalloc heap profile", IMPORT_IT}},
        {"heap profile: ", 0, {"a tcmalloc heap profile", IMPORT_IT}},
        {"{\"dhatFileVersion\"", 0, {"a DHAT profile", IMPORT_IT}},
        {"desc: ", 0, {"a massif profile", IMPORT_IT}},
        {"# callgrind format",
         0,
         {"a callgrind profile", "read it with callgrind_annotate, or " RECORD_ONE}},
        {"memray\0", 7, {"a memray recording", IMPORT_IT}},
        {"{\"snapshot\":",
         0,
         {"a V8 heap snapshot", "open it in the browser's developer tools, or " RECORD_ONE}},
        {"{\"$schema\":\"https://www.speedscope", 0, {"a speedscope profile", RECORD_ONE}},
        {"JAVA PROFILE 1.0", 0, {"a Java heap dump", RECORD_ONE}},
        {"SQLite format 3", 0, {"an SQLite database", "name a trace, or " RECORD_ONE}},
        {"#!", 0, {"a script", "record it with 'silt run'"}},
        {"!<arch>\n", 0, {"a static library", "name a trace, or " RECORD_ONE}},
        {"PK\3\4", 4, {"a zip archive", "unpack it first"}},
        {"\xfd"
         "7zXZ",
         5,
         {"compressed with xz", "unpack it with 'xz -d' first"}},
        {"BZh", 3, {"compressed with bzip2", "unpack it with 'bzip2 -d' first"}},
        {"%PDF", 0, {"a PDF document", "name a trace, or " RECORD_ONE}},
        {"\x89PNG", 4, {"a PNG image", "name a trace, or " RECORD_ONE}},
};

static bool begins(const uint8_t *bytes, size_t n, const char *text, size_t n_text) {
        n_text = n_text ? n_text : strlen(text);
        return n >= n_text && memcmp(bytes, text, n_text) == 0;
}

static bool has(const uint8_t *bytes, size_t n, const char *text) {
        return memmem(bytes, n, text, strlen(text)) != NULL;
}

static size_t skip_digits(const uint8_t *bytes, size_t n, size_t at) {
        while (at < n && bytes[at] >= '0' && bytes[at] <= '9')
                at++;
        return at;
}

/* ==4711== Memcheck, a memory error detector */
static bool is_valgrind_log(const uint8_t *bytes, size_t n) {
        size_t at;

        if (!begins(bytes, n, "==", 0) && !begins(bytes, n, "--", 0))
                return false;
        at = skip_digits(bytes, n, 2);
        return at > 2 && at + 3 <= n && bytes[at] == bytes[0] && bytes[at + 1] == bytes[0] &&
               bytes[at + 2] == ' ';
}

/* "v 10500 3\nX prog\n": the version of heaptrack in hexadecimal, and the command. */
static bool is_heaptrack(const uint8_t *bytes, size_t n) {
        size_t at = 2;

        if (!begins(bytes, n, "v ", 0))
                return false;
        while (at < n && strchr("0123456789abcdef ", bytes[at]) && bytes[at])
                at++;
        return at > 3 && at + 2 < n && bytes[at] == '\n' && bytes[at + 2] == ' ' &&
               (bytes[at + 1] == 'X' || bytes[at + 1] == 'x' || bytes[at + 1] == 'I' ||
                bytes[at + 1] == 'A' || bytes[at + 1] == 's');
}

/* The first field of pprof's message is sample_type, whose own fields are two small numbers. */
static bool is_pprof(const uint8_t *bytes, size_t n) {
        size_t at = 0, n_types = 0;

        while (at + 2 <= n && bytes[at] == 0x0a && bytes[at + 1] >= 2 && bytes[at + 1] <= 12 &&
               at + 3 <= n && (bytes[at + 2] == 0x08 || bytes[at + 2] == 0x10)) {
                at += 2 + (size_t)bytes[at + 1];
                n_types++;
        }
        return n_types > 0 && at + 1 < n &&
               (bytes[at] == 0x12 || bytes[at] == 0x0a || bytes[at] == 0x1a);
}

/* main;f;g 4096: lines that end with a number, with frames between semicolons. */
static bool is_folded(const uint8_t *bytes, size_t n) {
        const uint8_t *end = memchr(bytes, '\n', n);
        size_t len = end ? (size_t)(end - bytes) : 0, at = len;

        while (at > 0 && bytes[at - 1] >= '0' && bytes[at - 1] <= '9')
                at--;
        return len && at < len && at > 1 && bytes[at - 1] == ' ' && memchr(bytes, ';', at) &&
               !memchr(bytes, 0, len);
}

static struct foreign elf_is(const uint8_t *bytes, size_t n) {
        uint16_t type = 0;

        if (n > 17) /* of the other byte order nothing is recorded */
                type = (uint16_t)(bytes[16] | bytes[17] << 8);
        if (type == ET_CORE)
                return (struct foreign){
                        "a core dump",
                        "read it with gdb; silt reads what 'silt run' and 'silt attach' record"};
        if (type == ET_REL)
                return (struct foreign){"an object file", "name a trace, or " RECORD_ONE};
        return (struct foreign){"a program or a library", "record a program with 'silt run'"};
}

/* What silt itself writes beside traces. */
static bool own_is(const uint8_t *bytes, size_t n, struct foreign *ret) {
        if (has(bytes, MIN(n, (size_t)512), "\"silt.")) {
                *ret = (struct foreign){"silt's JSON output", "name the trace it was made from"};
                return true;
        }
        if (!begins(bytes, n, "<?xml", 0) && !begins(bytes, n, "<!DOCTYPE", 0) &&
            !begins(bytes, n, "<!doctype", 0) && !begins(bytes, n, "<svg", 0) &&
            !begins(bytes, n, "<html", 0))
                return false;
        if (has(bytes, MIN(n, (size_t)1024), "written by silt"))
                *ret = (struct foreign){"a page made by silt",
                                        "open it in a browser, or name the trace it was made from"};
        else if (has(bytes, MIN(n, (size_t)1024), "silt"))
                *ret = (struct foreign){"a picture made by silt",
                                        "open it in a browser, or name the trace it was made from"};
        else
                *ret = (struct foreign){"a page or a picture", "name a trace, or " RECORD_ONE};
        return true;
}

/* ---- packed files ---------------------------------------------------------------------------- */

/* The first bytes of what was packed; 0: it cannot be told. */
static size_t unpack_zstd(const uint8_t *bytes, size_t n, uint8_t *to, size_t cap) {
        ZSTD_DStream *s = ZSTD_createDStream();
        ZSTD_inBuffer in = {bytes, n, 0};
        ZSTD_outBuffer out = {to, cap, 0};

        ZSTD_DCtx_setParameter(s, ZSTD_d_windowLogMax, 27); /* 128 MiB of memory at most */
        while (out.pos < out.size && in.pos < in.size) {
                size_t before = in.pos + out.pos;
                size_t r = ZSTD_decompressStream(s, &out, &in);

                if (ZSTD_isError(r) || in.pos + out.pos == before)
                        break;
        }
        ZSTD_freeDStream(s);
        return out.pos;
}

static size_t unpack_gzip(const uint8_t *bytes, size_t n, uint8_t *to, size_t cap) {
#if HAVE_LIBDEFLATE
        struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
        size_t n_out = 0;

        if (!d)
                return 0;
        /* fails, because neither input nor room suffices; what it got so far is there, and 0 behind it */
        if (libdeflate_gzip_decompress(d, bytes, n, to, cap, &n_out) != LIBDEFLATE_SUCCESS)
                for (n_out = cap; n_out && !to[n_out - 1];)
                        n_out--;
        libdeflate_free_decompressor(d);
        return n_out;
#else
        (void)bytes;
        (void)n;
        (void)to;
        (void)cap;
        return 0;
#endif
}

static bool packed_is(const uint8_t *bytes, size_t n, const char *base, struct foreign *ret) {
        bool is_zstd = begins(bytes, n, "\x28\xb5\x2f\xfd", 4),
             is_gzip = begins(bytes, n, "\x1f\x8b", 2);
        uint8_t plain[PLAIN_BYTES] = {0};
        size_t n_plain;

        if (!is_zstd && !is_gzip)
                return false;
        n_plain = is_zstd ? unpack_zstd(bytes, n, plain, sizeof(plain))
                          : unpack_gzip(bytes, n, plain, sizeof(plain));
        /* packed within packed is not looked into */
        if (n_plain && !begins(plain, n_plain, "\x28\xb5\x2f\xfd", 4) &&
            !begins(plain, n_plain, "\x1f\x8b", 2) && foreign_find(plain, n_plain, "", ret) == 0)
                return true;
        if (strncmp(base, "heaptrack.", 10) == 0)
                *ret = (struct foreign){"a heaptrack recording", IMPORT_IT};
        else if (is_zstd)
                *ret = (struct foreign){"compressed with zstd", "unpack it with 'zstd -d' first"};
        else
                *ret = (struct foreign){"compressed with gzip", "unpack it with 'gzip -d' first"};
        return true;
}

/* ---- all ------------------------------------------------------------------------------------- */

int foreign_find(const uint8_t *bytes, size_t n, const char *base, struct foreign *ret) {
        struct foreign f = {0};

        for (size_t i = 0; i < ARRAY_SIZE(beginnings) && !f.what; i++)
                if (begins(bytes, n, beginnings[i].begin, beginnings[i].n))
                        f = beginnings[i].is;
        if (!f.what && begins(bytes, n, ELFMAG, SELFMAG))
                f = elf_is(bytes, n);
        if (!f.what && is_valgrind_log(bytes, n))
                f = (struct foreign){"a valgrind log", IMPORT_IT};
        if (!f.what && is_heaptrack(bytes, n))
                f = (struct foreign){"a heaptrack recording", IMPORT_IT};
        if (!f.what && begins(bytes, n, "{", 0) &&
            has(bytes, MIN(n, (size_t)PLAIN_BYTES), "\"dhatFileVersion\""))
                f = (struct foreign){"a DHAT profile", IMPORT_IT};
        if (!f.what && has(bytes, MIN(n, (size_t)PLAIN_BYTES), "creator: callgrind"))
                f = (struct foreign){"a callgrind profile",
                                     "read it with callgrind_annotate, or " RECORD_ONE};
        if (!f.what && !own_is(bytes, n, &f) && !packed_is(bytes, n, base, &f)) {
                if (is_pprof(bytes, n))
                        f = (struct foreign){"a pprof profile", IMPORT_IT};
                else if (is_folded(bytes, n))
                        f = (struct foreign){"folded stacks", IMPORT_IT};
        }
        if (!f.what)
                return -ENOENT;
        *ret = f;
        return 0;
}

static foreign_import_fn importer; /* NULL: nobody makes traces of others' files */
static foreign_title_fn titler;

int foreign_refuse(int fd, const char *path, struct err *reterr) {
        const char *title = titler ? titler(fd) : NULL;
        uint8_t head[HEAD_BYTES];
        const char *slash = strrchr(path, '/');
        ssize_t n = pread(fd, head, sizeof(head), 0);
        struct foreign f;

        if (title)
                return err_set(reterr, -EINVAL, "'%s' is %s, not a silt trace: " IMPORT_IT, path,
                               title);
        if (n > 0 && foreign_find(head, (size_t)n, slash ? slash + 1 : path, &f) == 0)
                return err_set(reterr, -EINVAL, "'%s' is %s, not a silt trace: %s", path, f.what,
                               f.advice);
        return err_set(
                reterr, -EINVAL,
                "'%s' is not a silt trace: " RECORD_ONE
                "; silt also reads files of other profilers ('silt import --help' lists them)",
                path);
}

/* ---- read all the same ------------------------------------------------------------------------ */

void foreign_set_importer(foreign_import_fn fn, foreign_title_fn title) {
        importer = fn;
        titler = title;
}

int foreign_import(int fd, const char *path, struct err *reterr) {
        int r = importer ? importer(fd, path, reterr) : -ENOENT;

        return r == -ENOENT ? foreign_refuse(fd, path, reterr) : r;
}
