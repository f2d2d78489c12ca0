/* SPDX-License-Identifier: MIT */
/* Temporary trace files for the tests of this folder. Everything fails the test that calls it. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "trace/reader.h"
#include "trace/testing/trace_fake.h"
#include "trace/writer.h"
#include "verify/verify.h"

/* A limit on memory can be set: a sanitizer's own memory would count against it, too. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { FILE_HAS_LIMIT = 0 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
enum { FILE_HAS_LIMIT = 0 };
#else
enum { FILE_HAS_LIMIT = 1 };
#endif
#else
enum { FILE_HAS_LIMIT = 1 };
#endif

static char file_path[64];

/* Tens of thousands of small files: in memory where there is such a place. */
static inline int file_setup(void **state) {
        int fd;

        snprintf(file_path, sizeof(file_path), "%s/silt-trace-test-XXXXXX",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        fd = mkstemp(file_path);
        return fd < 0 ? -1 : close(fd);
}

static inline int file_teardown(void **state) {
        return unlink(file_path);
}

static inline struct trace_writer *file_writer(uint32_t flags) {
        struct trace_meta meta = trace_fake_meta;
        struct trace_writer *w = NULL;
        struct err err = {0};
        int fd = open(file_path, O_RDWR | O_CREAT | O_TRUNC, 0600);

        meta.flags = flags;
        assert_true(fd >= 0);
        if (trace_writer_open(fd, &meta, &w, &err) < 0)
                fail_msg("%s", err.text);
        return w;
}

static inline struct trace_reader *file_reader(void) {
        struct trace_reader *t = NULL;
        struct err err = {0};

        if (trace_reader_open(file_path, &t, &err) < 0)
                fail_msg("%s", err.text);
        return t;
}

/* A whole, finished trace of a made-up program. */
static inline void file_write(struct trace_fake *f, const struct trace_fake_options *o) {
        struct trace_writer *w = file_writer(o->flags);
        struct err err = {0};

        trace_fake_run(f, o, w);
        if (trace_writer_finish(w, &err) < 0)
                fail_msg("%s", err.text);
        trace_writer_free(w);
}

static inline size_t file_load(uint8_t **ret) {
        struct stat st;
        int fd = open(file_path, O_RDONLY);

        assert_int_equal(fstat(fd, &st), 0);
        *ret = malloc((size_t)st.st_size + 1);
        assert_int_equal(fs_read_at(fd, *ret, (size_t)st.st_size, 0), st.st_size);
        close(fd);
        return (size_t)st.st_size;
}

static inline void file_store(const uint8_t *p, size_t n) {
        int fd = open(file_path, O_WRONLY | O_TRUNC);

        assert_true(fd >= 0);
        assert_int_equal(fs_write_all(fd, p, n), 0);
        close(fd);
}

/* Reads everything there is; errors are fine, crashes are not. Events read. */
static inline uint64_t file_read_all(struct trace_reader *t) {
        const struct trace_event *events;
        const struct trace_site *sites;
        const struct trace_counts *counts;
        const struct trace_sample *samples;
        const struct trace_residency *residency;
        const struct trace_mapping *mappings;
        uint64_t n_events = 0;
        size_t n, n2, slice;

        for (size_t i = 0; i < trace_n_tick_spans(t); i++) {
                const struct trace_tick *ticks;

                trace_read_ticks(t, i, &ticks, &n, NULL);
        }
        for (size_t i = 0; i < trace_view(t)->n_slices; i++) {
                if (trace_read_events(t, i, &events, &n, NULL) == 0)
                        n_events += n;
                trace_read_sites(t, i, &sites, &n, NULL);
                trace_read_counts(t, i, &counts, &n, NULL);
                trace_read_checkpoint(t, i, &slice, &sites, &n, &counts, &n2, NULL);
        }
        trace_read_samples(t, &samples, &n, NULL);
        trace_read_residency(t, &residency, &n, NULL);
        trace_read_mappings(t, &mappings, &n, NULL);
        return n_events;
}

/* What `silt verify` says, and its status. */
static inline int file_verify(char *ret_text, size_t cap) {
        FILE *out = tmpfile();
        struct err err = {0};
        int r;
        size_t n;

        assert_non_null(out);
        r = trace_verify(file_path, out, &err);
        rewind(out);
        n = fread(ret_text, 1, cap - 1, out);
        ret_text[n] = 0;
        fclose(out);
        if (r < 0)
                fail_msg("%s", err.text);
        return r;
}

static inline void file_expect_valid(void) {
        char text[4096];

        if (file_verify(text, sizeof(text)) != 0)
                fail_msg("%s", text);
}
