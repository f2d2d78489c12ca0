/* SPDX-License-Identifier: MIT */
#include "import/testing/import_fuzzing.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/heap_peak.h"
#include "base/macros.h"
#include "query/query.h"
#include "verify/verify.h"

enum {
        FUZZ_BASE_BYTES = 96 << 20,    /* the columns of a slice, tables of the ledger */
        FUZZ_WINDOW_BYTES = 144 << 20, /* of zstd */
        FUZZ_BYTES_PER_BYTE = 2048,    /* a line of two bytes may be an event or a call path */
};

static int memory_file(const void *bytes, size_t n) {
        int fd = memfd_create("fuzz", MFD_CLOEXEC);

        if (fd < 0 || (n && fs_write_all(fd, bytes, n) < 0))
                abort();
        return fd;
}

static void check_error(int r, const struct err *err) {
        if (r < 0 && (!err->text[0] || strchr(err->text, '\n'))) {
                fprintf(stderr, "%d is told as '%s'\n", r, err->text);
                abort();
        }
}

/* As import.c does it with a file, but without the files of this machine. */
static int make_trace(const struct import_format *f, const char *type, int in_fd, int out_fd) {
        struct import_trace *t = import_trace_new(out_fd, 1);
        struct import_input in;
        struct err err = {0};
        int r = import_input_open(&in, in_fd, "fuzz", &err);
        const uint8_t *head;
        size_t n_head;

        import_trace_leave_unnamed(t);
        import_trace_choose_type(t, type);
        if (r >= 0)
                r = import_input_head(&in, &head, &n_head, &err);
        if (r >= 0 && (!n_head || !f->matches(head, n_head)))
                r = err_set(&err, -1, "another format");
        if (r >= 0)
                r = f->read(&in, t, &err);
        if (r >= 0 && !import_trace_is_begun(t))
                r = err_set(&err, -1, "nothing in it");
        if (r >= 0) {
                import_trace_tell_limits(t, f->title);
                r = import_trace_finish(t, &err);
        }
        check_error(r, &err);
        import_input_done(&in);
        import_trace_free(t);
        return r;
}

static void check_trace(int fd) {
        struct query_answer *answer = NULL;
        struct query *q = NULL;
        struct query_scope scope;
        struct err err = {0};
        char path[32];

        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        if (trace_verify(path, stderr, &err) != 0 || query_open(path, &q, &err) < 0) {
                fprintf(stderr, "%s\n", err.text);
                abort();
        }
        scope = query_whole(q);
        check_error(query_ask(q, &scope, &answer, &err), &err);
        query_answer_free(answer);
        query_free(q);
}

void import_fuzz_one(const struct import_format *f, const uint8_t *data, size_t n) {
        /* --sample-type, drawn by the last byte: mostly none */
        static const char *const types[] = {NULL, NULL,          NULL,     "cpu-clock",
                                            NULL, "alloc_space", "nothing"};
        bool is_zstd =
                f == &import_perf_data || (n >= 4 && memcmp(data, "\x28\xb5\x2f\xfd", 4) == 0);
        const char *type = f->has_types && n ? types[data[n - 1] % ARRAY_SIZE(types)] : NULL;
        int in = memory_file(data, n), out = memory_file(NULL, 0), r;

        heap_peak_begin();
        r = make_trace(f, type, in, out);
        if (heap_peak_bytes() >
            FUZZ_BASE_BYTES + (is_zstd ? FUZZ_WINDOW_BYTES : 0) + FUZZ_BYTES_PER_BYTE * n) {
                fprintf(stderr, "%zu bytes of memory for a file of %zu\n", heap_peak_bytes(), n);
                abort();
        }
        if (r >= 0)
                check_trace(out);
        close(in);
        close(out);
}

void import_fuzz_put_seed(const char *directory, const char *name, const void *bytes, size_t n) {
        char path[4096];
        int fd;

        snprintf(path, sizeof(path), "%s/%s", directory, name);
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        if (fd < 0 || fs_write_all(fd, bytes, n) < 0)
                abort();
        close(fd);
}

int import_fuzz_put_texts(const char *directory, const char *const *texts, size_t n) {
        char name[24];

        for (size_t i = 0; i < n; i++) {
                snprintf(name, sizeof(name), "%zu", i);
                import_fuzz_put_seed(directory, name, texts[i], strlen(texts[i]));
        }
        return 0;
}
