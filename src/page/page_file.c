/* SPDX-License-Identifier: MIT */
#include "page/page_file.h"

#include <errno.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "page/page_assets.h"
#include "request/request.h"

enum {
        N_PATHS = 3000, /* told one by one, at first */
        MIN_PATHS = 50, /* a file with fewer would tell nothing */
        N_SOURCES = 20, /* functions whose source is in it */
        DEFLATE_LEVEL = 9,
};

/* A document that is being written into memory. */
struct memory {
        char *bytes;
        size_t n;
        FILE *file;
};

static int memory_open(struct memory *m, struct err *reterr) {
        *m = (struct memory){0};
        m->file = open_memstream(&m->bytes, &m->n);
        return m->file ? 0 : err_set(reterr, -errno, "out of memory");
}

static void memory_done(struct memory *m) {
        if (m->file)
                fclose(m->file);
        free(m->bytes);
        *m = (struct memory){0};
}

/* ---- the answers ----------------------------------------------------------------------------- */

/* Appends `"KEY": ANSWER`. One that cannot be given is left out, and the page says so where it is looked for. */
static int put_answer(struct memory *to, struct asker *k, const char *key, const char *name,
                      const char *query, bool must, struct err *reterr) {
        struct err e = {0};
        struct memory one;
        struct json j;
        int r = memory_open(&one, reterr);

        if (r < 0)
                return r;
        r = answer(k, name, query, strlen(query), one.file, &e);
        if (r >= 0 && fflush(one.file) == 0) {
                fputs(",\n", to->file);
                json_init(&j, to->file);
                json_string(&j, key);
                fputc(':', to->file);
                fwrite(one.bytes, 1, one.n, to->file);
        } else if (must || r == -ECANCELED) {
                *reterr = e;
        } else {
                r = 0;
        }
        memory_done(&one);
        return r < 0 ? r : 0;
}

static int put_sources(struct memory *to, struct asker *k, struct err *reterr) {
        _cleanup_(query_groups_freep) struct query_groups *g = NULL;
        const struct query_group_options by = {.by = QUERY_BY_FUNCTION, .metric = QUERY_PEAK};
        struct query *q = asker_query(k);
        struct query_scope scope = query_whole(q);
        int r;

        scope.process = QUERY_ALL;
        r = query_group(q, &scope, &by, &g, reterr);
        for (size_t i = 0, n = 0; r >= 0 && i < g->n && n < N_SOURCES; i++) {
                const struct query_frame *f = &g->rows[i].frame;
                struct str key = {0}, query = {0};

                if (!f->function[0] || !f->file[0])
                        continue;
                str_addf(&key, "source?what=%s", f->function);
                str_add(&query, "what=");
                request_add_encoded(&query, f->function);
                r = put_answer(to, k, str_text(&key), "source", str_text(&query), false, reterr);
                str_done(&key);
                str_done(&query);
                n++;
        }
        return r;
}

static int put_answers(struct memory *to, struct asker *k, size_t n_paths, struct err *reterr) {
        static const struct {
                const char *name, *query;
                bool must;
        } wanted[] = {
                {"report", "top=20", true}, {"timeline", "columns=600", true},
                {"flame", "by=peak", true}, {"threads", "", false},
                {"heat", "", false},
        };
        struct str query = {0};
        int r;

        fputs("{\"schema\":\"silt.file/1\",\"answers\":{\"version\":1", to->file);
        r = put_answer(to, k, "trace", "trace", "", true, reterr);
        for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(wanted); i++)
                r = put_answer(to, k, wanted[i].name, wanted[i].name, wanted[i].query,
                               wanted[i].must, reterr);
        str_addf(&query, "rows=%zu", n_paths);
        if (r >= 0)
                r = put_answer(to, k, "columns", "columns", str_text(&query), true, reterr);
        str_done(&query);
        if (r >= 0)
                r = put_sources(to, k, reterr);
        fputs("}}", to->file);
        return r < 0 ? r : fflush(to->file) == 0 ? 0 : err_set(reterr, -errno, "out of memory");
}

/* ---- the file -------------------------------------------------------------------------------- */

static void add_base64(struct str *to, const uint8_t *bytes, size_t n) {
        static const char digits[] =
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

        for (size_t i = 0; i < n; i += 3) {
                uint32_t three = (uint32_t)bytes[i] << 16 |
                                 (i + 1 < n ? (uint32_t)bytes[i + 1] << 8 : 0) |
                                 (i + 2 < n ? (uint32_t)bytes[i + 2] : 0);
                char four[4] = {digits[three >> 18], digits[three >> 12 & 63],
                                i + 1 < n ? digits[three >> 6 & 63] : '=',
                                i + 2 < n ? digits[three & 63] : '='};

                str_addn(to, four, sizeof(four));
        }
}

static int add_packed(struct str *to, const struct memory *m, struct err *reterr) {
        struct libdeflate_compressor *c = libdeflate_alloc_compressor(DEFLATE_LEVEL);
        size_t cap = c ? libdeflate_gzip_compress_bound(c, m->n) : 0, n = 0;
        uint8_t *packed = c ? malloc(cap) : NULL;

        if (packed)
                n = libdeflate_gzip_compress(c, m->bytes, m->n, packed, cap);
        if (n)
                add_base64(to, packed, n);
        free(packed);
        if (c)
                libdeflate_free_compressor(c);
        return n ? 0 : err_set(reterr, -ENOMEM, "out of memory");
}

/* Base64 and the bundle have no '<' that could end an element, but for the bundle's own strings, in which esbuild escapes it. */
static int make_file(struct str *to, struct asker *k, const struct page_file_options *o,
                     size_t n_paths, struct err *reterr) {
        struct memory answers;
        int r = memory_open(&answers, reterr);

        if (r < 0)
                return r;
        r = put_answers(&answers, k, n_paths, reterr);
        if (r >= 0) {
                str_add(to,
                        "<!doctype html>\n<!-- " PAGE_FILE_MARK
                        " -->\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                        "<meta name=\"color-scheme\" content=\"light dark\">\n"
                        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                        "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">\n"
                        "<title>silt</title>\n<style>\n");
                str_addn(to, page_sheet().bytes, page_sheet().n);
                str_add(to,
                        "</style>\n</head>\n<body>\n<div id=\"page\"><noscript>This page needs "
                        "JavaScript.</noscript></div>\n<script type=\"text/plain\" id=\"silt-start\">");
                str_add(to, o->start); /* percent-encoded: no '<' is in it */
                str_add(to, "</script>\n<script type=\"text/plain\" id=\"silt-data\">");
                r = add_packed(to, &answers, reterr);
        }
        str_add(to, "</script>\n<script>\n");
        str_addn(to, page_script().bytes, page_script().n);
        str_add(to, "</script>\n</body>\n</html>\n");
        memory_done(&answers);
        return r;
}

int page_file_write(FILE *out, struct asker *k, const struct page_file_options *o,
                    struct page_file_result *ret, struct err *reterr) {
        struct str file = {0};
        size_t n_paths = N_PATHS;
        int r;

        for (;; n_paths /= 2) {
                str_clear(&file);
                r = make_file(&file, k, o, n_paths, reterr);
                if (r < 0 || file.n <= PAGE_MAX_BYTES || n_paths / 2 < MIN_PATHS)
                        break;
        }
        if (r >= 0 && fwrite(file.bytes, 1, file.n, out) != file.n)
                r = err_set(reterr, -errno, "cannot write the page");
        *ret = (struct page_file_result){.bytes = file.n, .n_max_paths = n_paths};
        str_done(&file);
        return r;
}
