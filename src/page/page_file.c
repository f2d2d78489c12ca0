/* SPDX-License-Identifier: MIT */
#include "page/page_file.h"

#include <errno.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "page/page_assets.h"
#include "query/spent_time.h"
#include "request/request.h"

enum {
        N_PATHS = 3000, /* told one by one, at first */
        MIN_PATHS = 50, /* a file with fewer would tell nothing */
        N_SOURCES = 20, /* functions whose source is in it */
        N_TASKS = 200, /* groups of tasks, of sources of GLib and of threads: each has call paths */
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

/* ---- what is asked --------------------------------------------------------------------------- */

/* Pieces of URLs' queries, each pair with a '&' in front. */
struct wanted {
        struct str fixed;             /* process and filters: the page cannot take them away */
        struct str process;           /* of these the process alone */
        struct str window, by, drawn; /* how it is opened */
        struct request_resolved resolved;
        FILE *pairs; /* the fixed ones as JSON */
        bool is_first;
};

static void add_pair(struct str *to, const char *key, const char *value) {
        str_addf(to, "&%s=", key);
        request_add_encoded(to, value ? value : "1");
}

static bool is_filter(const char *key) {
        size_t n;
        const struct request_key *keys = request_keys(&n);

        for (size_t i = 0; i < n; i++)
                if (strcmp(keys[i].name, key) == 0)
                        return keys[i].is_filter;
        return false;
}

static int take_pair(void *ctx, const char *key, const char *value, struct err *reterr) {
        struct wanted *w = ctx;
        struct json j;

        (void)reterr;
        if (strcmp(key, "process") == 0 || is_filter(key)) {
                add_pair(&w->fixed, key, value);
                if (strcmp(key, "process") == 0)
                        add_pair(&w->process, key, value);
                fputs(w->is_first ? "[" : ",[", w->pairs);
                w->is_first = false;
                json_init(&j, w->pairs);
                json_string(&j, key);
                fputc(',', w->pairs);
                json_init(&j, w->pairs);
                json_string(&j, value ? value : "1");
                fputc(']', w->pairs);
        } else if (strcmp(key, "from") == 0 || strcmp(key, "to") == 0 || strcmp(key, "at") == 0) {
                add_pair(&w->window, key, value);
        } else if (strcmp(key, "full") == 0 || strcmp(key, "min-share") == 0) {
                add_pair(&w->drawn, key, value);
        }
        return 0;
}

static void wanted_done(struct wanted *w) {
        str_done(&w->fixed);
        str_done(&w->process);
        str_done(&w->window);
        str_done(&w->by);
        str_done(&w->drawn);
        request_resolved_done(&w->resolved);
}

/* wanted_done() in every case. Writes the fixed pairs as a list of lists. */
static int wanted_find(struct wanted *w, struct asker *k, const struct page_file_options *o,
                       FILE *pairs, struct err *reterr) {
        struct str url = {0};
        int r;

        *w = (struct wanted){.pairs = pairs, .is_first = true};
        r = request_resolve(o->request, asker_query(k), REQUEST_ALL, &w->resolved, reterr);
        if (r >= 0 && w->resolved.scope.of_mappings)
                r = err_about(
                        reterr, "by",
                        err_set(reterr, -EINVAL,
                                "files hold blocks, not mappings: use silt view, or silt flame --by mapped"));
        request_add_url(o->request, &url);
        fputc('[', pairs);
        if (r >= 0)
                r = request_each_url_pair(str_text(&url), url.n, take_pair, w, reterr);
        fputc(']', pairs);
        if (r >= 0)
                add_pair(&w->by, "by", query_metric_name(w->resolved.metric));
        if (o->is_reversed)
                str_add(&w->drawn, "&reverse=1");
        str_done(&url);
        return r;
}

/* ---- the answers ----------------------------------------------------------------------------- */

/* What is the same however many call paths are told. */
struct kept {
        struct memory answers;
        struct memory missing; /* pairs of JSON: what could not be answered, and why */
        char left_out[256];
        bool is_known;
};

struct writing {
        struct kept *kept;
        struct memory *to;
        struct asker *asker;
        const struct page_file_options *o;
        struct wanted wanted;
};

/* For the reader of the file, and of the command. */
static void tell_missing(struct kept *kept, const char *name, struct err *e) {
        FILE *to = kept->missing.file;
        char *why = e->text, *fix;
        struct json j;

        /* "what is wrong: what to do" (docs/words.md): here nothing can be done any more */
        while ((fix = strstr(why, ": ")))
                *fix = 0;
        fputs(",\n", to);
        json_init(&j, to);
        json_string(&j, name);
        fputc(':', to);
        json_init(&j, to);
        json_string(&j, why);
        if (strcmp(name, "heat") == 0)
                snprintf(kept->left_out, sizeof(kept->left_out),
                         "blocks by size and lifetime: %.200s", why);
}

/* Appends `"KEY": ANSWER`, the query being the pieces up to the first NULL. One that cannot be given is left out, and the page says
 * so where it is looked for. */
static int put_answer(struct writing *w, const char *key, const char *name, bool must,
                      const char *const *pieces, struct err *reterr) {
        struct str query = {0};
        struct err e = {0};
        struct memory one;
        struct json j;
        int r = memory_open(&one, reterr);

        if (r < 0)
                return r;
        for (; *pieces; pieces++)
                str_add(&query, query.n ? *pieces : *pieces + (**pieces == '&'));
        r = answer(w->asker, name, str_text(&query), query.n, one.file, &e);
        if (r >= 0 && fflush(one.file) == 0) {
                fputs(",\n", w->to->file);
                json_init(&j, w->to->file);
                json_string(&j, key);
                fputc(':', w->to->file);
                fwrite(one.bytes, 1, one.n, w->to->file);
        } else if (must || r == -ECANCELED) {
                *reterr = e;
        } else {
                tell_missing(w->kept, name, &e);
                r = 0;
        }
        memory_done(&one);
        str_done(&query);
        return r < 0 ? r : 0;
}
#define PIECES(...) ((const char *const[]){__VA_ARGS__, NULL})

static int put_source(struct writing *w, const char *function, struct err *reterr) {
        struct str key = {0}, what = {0};
        int r;

        str_addf(&key, "source?what=%s", function);
        add_pair(&what, "what", function);
        r = put_answer(w, str_text(&key), "source", false,
                       PIECES(str_text(&w->wanted.fixed), str_text(&w->wanted.window),
                              str_text(&w->wanted.by), str_text(&what)),
                       reterr);
        str_done(&key);
        str_done(&what);
        return r;
}

static int put_sources(struct writing *w, struct err *reterr) {
        _cleanup_(query_groups_freep) struct query_groups *g = NULL;
        const struct query_group_options by = {.by = QUERY_BY_FUNCTION,
                                               .metric = w->wanted.resolved.metric};
        int r = query_group(asker_query(w->asker), &w->wanted.resolved.scope, &by, &g, reterr);

        for (size_t i = 0, n = 0; r >= 0 && i < g->n && n < N_SOURCES; i++) {
                const struct query_frame *f = &g->rows[i].frame;

                if (!f->function[0] || !f->file[0])
                        continue;
                r = put_source(w, f->function, reterr);
                n++;
        }
        return r;
}

/* Pictures by the weights that it was not written for: who chooses one of them sees the same colours as everywhere. */
static int put_other_flames(struct writing *w, struct err *reterr) {
        const enum query_metric own = w->wanted.resolved.metric,
                                metrics[] = {QUERY_CPU, QUERY_BLOCKED, QUERY_PEAK};
        size_t n = !query_has_ticks(asker_query(w->asker))                              ? 0
                   : !query_metric_time(own) || query_is_of_time(asker_query(w->asker)) ? 2
                                                                                        : 3;
        int r = 0;

        for (size_t i = 0; r >= 0 && i < n; i++) {
                struct str by = {0}, key = {0};

                if (metrics[i] == own)
                        continue;
                add_pair(&by, "by", query_metric_name(metrics[i]));
                str_addf(&key, "flame?%s", str_text(&by) + 1);
                r = put_answer(w, str_text(&key), "flame", false,
                               PIECES(str_text(&w->wanted.fixed), str_text(&w->wanted.window),
                                      str_text(&by), str_text(&w->wanted.drawn)),
                               reterr);
                str_done(&by);
                str_done(&key);
        }
        return r;
}

/* With the older trace: by the metric that was asked for, and by the two most look at. */
static int put_differences(struct writing *w, struct err *reterr) {
        bool is_of_time = query_is_of_time(asker_query(w->asker));
        const enum query_metric metrics[] = {w->wanted.resolved.metric,
                                             is_of_time ? QUERY_CPU : QUERY_PEAK,
                                             is_of_time ? QUERY_BLOCKED : QUERY_END};
        int r = 0;

        for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(metrics); i++) {
                struct str by = {0}, key = {0};

                if (i && metrics[i] == metrics[0])
                        continue;
                add_pair(&by, "by", query_metric_name(metrics[i]));
                str_addf(&key, "diff?%s", str_text(&by) + 1);
                r = put_answer(w, str_text(&key), "diff", i == 0,
                               PIECES(str_text(&w->wanted.fixed), str_text(&w->wanted.window),
                                      str_text(&by), "&against=1&top=500"),
                               reterr);
                for (int is_reversed = 0; r >= 0 && is_reversed < 2; is_reversed++) {
                        const char *reverse = is_reversed ? "&reverse=1" : "";

                        str_clear(&key);
                        str_addf(&key, "against?%s%s", str_text(&by) + 1, reverse);
                        r = put_answer(w, str_text(&key), "flame", i == 0,
                                       PIECES(str_text(&w->wanted.fixed),
                                              str_text(&w->wanted.window), str_text(&by),
                                              "&against=1", reverse),
                                       reterr);
                }
                str_done(&by);
                str_done(&key);
        }
        return r;
}

/* Of the newest graph, or of what samples tell: filters and windows do not divide them. */
static int put_tasks(struct writing *w, struct err *reterr) {
        const struct query *q = asker_query(w->asker);
        struct str top = {0};
        int r = 0;

        str_addf(&top, "&top=%d", N_TASKS);
        if (query_n_graphs(q) || query_has_ticks(q))
                r = put_answer(w, "tasks", "tasks", false,
                               PIECES(str_text(&w->wanted.process), str_text(&top)), reterr);
        str_done(&top);
        return r;
}

static int put_kept(struct writing *w, struct err *reterr) {
        const char *fixed = str_text(&w->wanted.fixed), *window = str_text(&w->wanted.window);
        const char *process = str_text(&w->wanted.process), *by = str_text(&w->wanted.by);
        const char *drawn = str_text(&w->wanted.drawn);
        int r = put_answer(w, "trace", "trace", true, PIECES(""), reterr);

        if (r >= 0)
                r = put_answer(w, "report", "report", true, PIECES(fixed, window, by, "&top=20"),
                               reterr);
        if (r >= 0)
                r = put_answer(w, "timeline", "timeline", true, PIECES(fixed, "&columns=600"),
                               reterr);
        if (r >= 0)
                r = put_answer(w, "flame", "flame", true, PIECES(fixed, window, by, drawn), reterr);
        if (r >= 0)
                r = put_other_flames(w, reterr);
        if (r >= 0)
                r = put_answer(w, "threads", "threads", false, PIECES(fixed, window), reterr);
        if (r >= 0 && !query_is_of_time(asker_query(w->asker))) /* else there are no blocks */
                r = put_answer(w, "heat", "heat", false, PIECES(fixed, window), reterr);
        if (r >= 0)
                r = put_answer(w, "bill", "bill", false, PIECES(process, window), reterr);
        if (r >= 0)
                r = put_answer(w, "heap", "heap", false, PIECES(process, window), reterr);
        if (r >= 0)
                r = put_tasks(w, reterr);
        if (r >= 0)
                r = put_sources(w, reterr);
        if (r >= 0 && w->o->is_compared)
                r = put_differences(w, reterr);
        if (r >= 0 && (fflush(w->to->file) != 0 || fflush(w->kept->missing.file) != 0))
                r = err_set(reterr, -ENOMEM, "out of memory");
        w->kept->is_known = r >= 0;
        return r;
}

static int put_answers(struct writing *w, size_t n_paths, struct err *reterr) {
        struct memory *to = w->to;
        struct str rows = {0};
        int r = 0;

        w->to = &w->kept->answers;
        if (!w->kept->is_known)
                r = put_kept(w, reterr);
        w->to = to;
        if (r < 0)
                return r;
        fwrite(w->kept->answers.bytes, 1, w->kept->answers.n, to->file);
        str_addf(&rows, "&rows=%zu", n_paths);
        r = put_answer(w, "columns", "columns", true,
                       PIECES(str_text(&w->wanted.fixed), str_text(&w->wanted.window),
                              str_text(&rows)),
                       reterr);
        str_done(&rows);
        return r;
}

static void put_seconds(FILE *to, const char *key, uint64_t ns, uint64_t none) {
        if (ns == none)
                fprintf(to, ",\"%s\":null", key);
        else
                fprintf(to, ",\"%s\":%.9f", key, (double)ns / 1e9);
}

/* What it was written for, and the answers. */
static int put_document(struct writing *w, size_t n_paths, struct err *reterr) {
        const struct request_resolved *x = &w->wanted.resolved;
        FILE *to = w->to->file;
        struct json j;
        int r;

        fputs("{\"schema\":\"silt.file/1\",\"title\":", to);
        json_init(&j, to);
        if (w->o->title)
                json_string(&j, w->o->title);
        else
                json_null(&j);
        fputs(",\"fixed\":", to);
        r = wanted_find(&w->wanted, w->asker, w->o, to, reterr);
        if (r < 0)
                return r;
        put_seconds(to, "from_s", x->scope.from_ns, 0);
        put_seconds(to, "to_s", x->scope.to_ns, UINT64_MAX);
        fprintf(to, ",\"by\":\"%s\",\"reversed\":%s,\"full\":%s", query_metric_name(x->metric),
                w->o->is_reversed ? "true" : "false", w->o->request->full ? "true" : "false");
        fputs(",\"answers\":{\"version\":1", to);
        r = put_answers(w, n_paths, reterr);
        fputs("},\"missing\":{\"\":\"\"", to);
        fwrite(w->kept->missing.bytes, 1, w->kept->missing.n, to);
        fputs("}}", to);
        return r < 0 ? r : fflush(to) == 0 ? 0 : err_set(reterr, -errno, "out of memory");
}

/* What is chosen when it is opened, as the page's address has it. */
static void add_start(struct str *to, const struct writing *w) {
        const struct request_resolved *x = &w->wanted.resolved;

        str_addf(to, "%s?", w->o->view);
        if (x->metric != (query_is_of_time(asker_query(w->asker)) ? QUERY_CPU : QUERY_PEAK) ||
            x->is_at)
                str_addf(to, "&by=%s", query_metric_name(x->metric));
        if (x->scope.from_ns)
                str_addf(to, "&from=%.9fs", (double)x->scope.from_ns / 1e9);
        if (x->scope.to_ns != UINT64_MAX)
                str_addf(to, "&%s=%.9fs", x->is_at ? "at" : "to", (double)x->scope.to_ns / 1e9);
        str_addf(to, "%s%s", w->o->is_reversed ? "&reverse=1" : "",
                 w->o->request->full ? "&full=1" : "");
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
                     struct kept *kept, size_t n_paths, struct err *reterr) {
        struct memory answers;
        struct writing w = {.kept = kept, .to = &answers, .asker = k, .o = o};
        int r = memory_open(&answers, reterr);

        if (r < 0)
                return r;
        r = put_document(&w, n_paths, reterr);
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
                add_start(to, &w);
                str_add(to, "</script>\n<script type=\"text/plain\" id=\"silt-data\">");
                r = add_packed(to, &answers, reterr);
        }
        str_add(to, "</script>\n<script>\n");
        str_addn(to, page_script().bytes, page_script().n);
        str_add(to, "</script>\n</body>\n</html>\n");
        memory_done(&answers);
        wanted_done(&w.wanted);
        return r;
}

/* So many that the file would have the size it may have, and a little less: asking all windows again takes long. */
static size_t fewer_paths(size_t n_paths, size_t have_bytes) {
        double fixed_bytes = (double)(page_script().n + page_sheet().n);
        double part = ((double)PAGE_MAX_BYTES - fixed_bytes) / ((double)have_bytes - fixed_bytes);

        return (size_t)((double)n_paths * 0.9 * (part < 0.1 ? 0.1 : part > 1 ? 1 : part));
}

int page_file_write(FILE *out, struct asker *k, const struct page_file_options *o,
                    struct page_file_result *ret, struct err *reterr) {
        struct str file = {0};
        struct kept kept = {0};
        size_t n_paths = N_PATHS;
        int r;

        r = memory_open(&kept.answers, reterr);
        if (r >= 0)
                r = memory_open(&kept.missing, reterr);
        while (r >= 0) {
                str_clear(&file);
                r = make_file(&file, k, o, &kept, n_paths, reterr);
                if (r < 0 || file.n <= PAGE_MAX_BYTES || fewer_paths(n_paths, file.n) < MIN_PATHS)
                        break;
                n_paths = fewer_paths(n_paths, file.n);
        }
        if (r >= 0 && fwrite(file.bytes, 1, file.n, out) != file.n)
                r = err_set(reterr, -errno, "cannot write the page");
        *ret = (struct page_file_result){.bytes = file.n, .n_max_paths = n_paths};
        memcpy(ret->left_out, kept.left_out, sizeof(ret->left_out));
        memory_done(&kept.answers);
        memory_done(&kept.missing);
        str_done(&file);
        return r;
}
