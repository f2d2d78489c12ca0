/* SPDX-License-Identifier: MIT */
/* Any bytes as a source file, and as a trace whose source is asked for. No crash, no hang, no more memory than both justify; an
 * error is one line, and nothing was printed then; nothing that moves a cursor reaches the output.
 *
 * The last byte chooses: bit 0 a trace (its checksums made right), else a source file; bits 1 and 2 what is asked for; bit 3 JSON;
 * bit 4 every line; bit 5 a narrow output; bit 6 all processes.
 *
 * seeds: src/source/source_seeds
 * covers: src/source/function_lines.c src/source/source_file.c src/source/source_json.c src/source/source_page.c src/source/line_cells.c src/source/source.c
 * covers: src/source/subject.c src/source/line_table.c src/source/source_text.c src/query/lines.c */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/heap_peak.h"
#include "query/testing/fabric.h"
#include "request/testing/request_made.h"
#include "source/source.h"
#include "source/source_file.h"
#include "trace/rehash.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int make_file(const uint8_t *data, size_t n, bool is_trace) {
        int fd = memfd_create("fuzz", MFD_CLOEXEC);
        uint8_t *copy = malloc(n + 1);

        if (n)
                memcpy(copy, data, n);
        if (is_trace)
                trace_rehash(copy, n);
        if (fd < 0 || fs_write_all(fd, copy, n) < 0)
                abort();
        free(copy);
        return fd;
}

static char path_of_own[] = "/tmp/silt-source-fuzz-XXXXXX";

static void remove_own(void) {
        unlink(path_of_own);
}

/* A trace of a few functions in "/f.cc", once. */
static const char *own_trace(void) {
        char *path = path_of_own;
        static bool is_made;
        struct fabric_options o = {.seed = 1,
                                   .n_stacks = 1,
                                   .slice_events = 100,
                                   .max_processes = 1,
                                   .max_threads = 1,
                                   .max_step_us = 10};
        uint32_t stack = 0, thread;
        struct fabric *f;

        if (is_made)
                return path;
        is_made = true;
        close(mkstemp(path));
        atexit(remove_own);
        f = fabric_new(path, &o);
        thread = fabric_thread(f, 0, "main");
        for (uint32_t line = 1; line < 40; line += 3) {
                stack = fabric_frame(f, line % 4 ? stack : 0, "/bin/x",
                                     line % 2 ? "a::insert(int)" : "main", "/f.cc", line);
                fabric_alloc(f, 0, thread, stack, 100 * line);
        }
        fabric_end(f);
        return path;
}

/* Text has lines and characters that can be seen, and nothing else. */
static void check_text(const char *text, size_t n, bool is_json) {
        for (size_t i = 0; i < n; i++)
                if (((unsigned char)text[i] < 0x20 && text[i] != '\n') || text[i] == 0x7f ||
                    (!is_json && (unsigned char)text[i] == 0xc2 && i + 1 < n &&
                     (unsigned char)text[i + 1] < 0xa0))
                        abort();
}

static void print(const struct source_options *o) {
        struct err err = {0};
        char *text = NULL;
        size_t n = 0;
        FILE *out = open_memstream(&text, &n);
        int r = source_print(out, o, &err);

        fclose(out);
        if (r < 0 && (n || !err.text[0] || strchr(err.text, '\n')))
                abort();
        check_text(text, n, o->view.json);
        free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        static const char *const whats[] = {"insert", "main", "f.cc", "f.cc:7"};
        static const char *const trace_whats[] = {"main", "a.c", "f", "a.c:9"};
        struct source_options o = SOURCE_OPTIONS_DEFAULT;
        struct request request = REQUEST_DEFAULT;
        uint8_t choice = n ? data[n - 1] : 0;
        bool is_trace = choice & 1;
        char path[64];
        int fd;

        if (n == 0)
                return 0;
        fd = make_file(data, n - 1, is_trace);
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        o.what = (is_trace ? trace_whats : whats)[choice >> 1 & 3];
        o.view.path = is_trace ? path : own_trace();
        o.view.json = choice & 8;
        o.is_full = choice & 16;
        request_ask(&request, choice & 64 ? "process=all" : "");
        o.view.request = &request;
        setenv("COLUMNS", choice & 32 ? "60" : "150", 1);
        if (!is_trace) {
                o.maps[0] = (struct source_map){"/f.cc", 5, path};
                o.n_maps = 1;
        } else {
                o.dirs[0] = "/nowhere";
                o.n_dirs = 1;
        }
        heap_peak_begin();
        print(&o);
        if (heap_peak_bytes() > (size_t)(64 << 20) + n * 1024)
                abort();
        request_done(&request);
        close(fd);
        return 0;
}
