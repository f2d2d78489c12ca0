/* SPDX-License-Identifier: MIT */
/* Any bytes as a trace to draw, or as two to compare: what the reader lets through can be drawn, whatever its names and figures.
 * No crash, no hang; an error is one line, and nothing was written then; a picture is text as XML allows it, and has no
 * script.
 *
 * The last byte chooses: bit 0 makes the checksums right first; bit 1 that the boxes are written for programs instead, with
 * ages; bits 2 to 4 reversed, full, all processes; bit 5 that
 * the trace is compared with its first half; bits 6 and 7 a window. The metric, the width, lines and ages go by the input's length;
 * traces are multiples of eight bytes.
 *
 * seeds: src/report/report_seeds
 * covers: src/flame/colour.c src/flame/text_cut.c src/show/escape.c src/flame/flame.c src/flame/graph.c
 * covers: src/flame/same_functions.c src/flame/svg.c src/show/text_pool.c src/flame/flame_words.c
 * covers: src/flame/flame_json.c src/flame/flame_timeline.c src/flame/process_parts.c src/query/ages.c */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macros.h"
#include "flame/flame.h"
#include "query/query.h"
#include "request/testing/request_made.h"
#include "trace/rehash.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int make_file(const uint8_t *data, size_t n, bool rehash, char *path, size_t cap) {
        int fd = memfd_create("fuzz", MFD_CLOEXEC);
        uint8_t *copy = malloc(n + 1);

        if (n)
                memcpy(copy, data, n);
        if (rehash)
                trace_rehash(copy, n);
        if (fd < 0 || fs_write_all(fd, copy, n) < 0)
                abort();
        free(copy);
        snprintf(path, cap, "/proc/self/fd/%d", fd);
        return fd;
}

static size_t count_of(const char *text, size_t n, const char *part) {
        const char *at = text, *end = text + n;
        size_t found = 0;

        while ((at = memmem(at, (size_t)(end - at), part, strlen(part)))) {
                found++;
                at++;
        }
        return found;
}

static void check_picture(const char *text, size_t n) {
        for (size_t i = 0; i < n; i++)
                if ((unsigned char)text[i] < 0x20 && text[i] != '\n')
                        abort();
        if (count_of(text, n, "<script") || count_of(text, n, "</script") ||
            count_of(text, n, "]]>"))
                abort();
}

/* As flame_draw, for programs. */
static int write_boxes(FILE *out, const struct flame_options *o, size_t n, struct err *reterr) {
        _cleanup_(query_freep) struct query *q = NULL, *old = NULL;
        int r = query_open(o->ask.path, &q, reterr);

        if (r >= 0 && o->old_path)
                r = query_open(o->old_path, &old, reterr);
        if (r < 0)
                return r;
        return flame_write(out,
                           (struct flame_source[]){{q, o->ask.path, o->ask.request},
                                                   {old, o->old_path, o->ask.request}},
                           old ? 2 : 1,
                           &(struct flame_boxes){.is_reversed = o->is_reversed,
                                                 .by_line = n & 1,
                                                 .with_ages = n & 8},
                           reterr);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        struct request request = REQUEST_DEFAULT;
        struct flame_options o = FLAME_OPTIONS_DEFAULT;
        uint8_t choice = n ? data[--n] : 0;
        struct flame_result result;
        char path[32], old_path[32], *text = NULL;
        size_t n_text = 0;
        FILE *out = open_memstream(&text, &n_text);
        struct err err = {0};
        int fd = make_file(data, n, choice & 1, path, sizeof(path));
        int old_fd = make_file(data, n / 2, choice & 1, old_path, sizeof(old_path));

        o.ask.path = path;
        o.ask.request = &request;
        request.has_metric = true;
        request.metric = (enum query_metric)(n % QUERY_N_METRICS);
        o.width_px = FLAME_MIN_WIDTH_PX + (uint32_t)n % 2000;
        o.is_reversed = choice & 4;
        request.full = choice & 8;
        request_ask(&request, choice & 16 ? "process=all" : "");
        o.old_path = choice & 32 ? old_path : NULL;
        request_ask(&request, choice & 64 ? "from=3us" : "");
        request_ask(&request, choice & 128 ? "to=50us" : "");
        if (choice & 2) {
                bool is_written = write_boxes(out, &o, n, &err) >= 0;

                fclose(out);
                if (is_written ? !n_text : !err.text[0] || strchr(err.text, '\n') != NULL)
                        abort();
        } else if (flame_draw(out, &o, &result, &err) < 0) {
                fclose(out);
                if (!err.text[0] || strchr(err.text, '\n') || n_text)
                        abort();
        } else {
                fclose(out);
                check_picture(text, n_text);
        }
        request_done(&request);
        free(text);
        close(fd);
        close(old_fd);
        return 0;
}
