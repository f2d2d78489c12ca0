/* SPDX-License-Identifier: MIT */
/* Any bytes as a trace: reader and verifier must survive them, and what the verifier finds
 * nothing wrong with the reader must read without an error.
 *
 * The last byte chooses: bit 0 makes the checksums right first, so that what lies behind them is
 * reached. Seeds come from trace_corpus.c, with plain bodies, since a change to a compressed one
 * rarely decompresses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fs.h"
#include "trace/reader.h"
#include "trace/rehash.h"
#include "trace/verify.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* 0 when everything that open promised could be read. */
static int read_all(struct trace_reader *t) {
        const struct trace_event *events;
        const struct trace_site *sites;
        const struct trace_counts *counts;
        const struct trace_sample *samples;
        const struct trace_mapping *mappings;
        size_t n, n2, slice;
        struct err err;
        int r = 0;

        for (size_t i = 0; i < trace_view(t)->n_slices; i++) {
                r |= trace_read_events(t, i, &events, &n, &err);
                r |= trace_read_sites(t, i, &sites, &n, &err);
                r |= trace_read_counts(t, i, &counts, &n, &err);
                r |= trace_read_checkpoint(t, i, &slice, &sites, &n, &counts, &n2, &err);
        }
        trace_read_samples(t, &samples, &n, &err);
        trace_read_mappings(t, &mappings, &n, &err);
        return r | (trace_view(t)->damage[0] != 0);
}

static int read_file(const char *path) {
        struct trace_reader *t = NULL;
        struct err err = {0};
        int r = trace_reader_open(path, &t, &err);

        if (r < 0) {
                if (!err.text[0])
                        abort();
                return r;
        }
        r = read_all(t);
        trace_reader_free(t);
        return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        static FILE *null;
        int fd = memfd_create("fuzz", MFD_CLOEXEC);
        uint8_t *copy = malloc(n + 1);
        struct err err = {0};
        char path[32];
        int verified, r;

        if (!null)
                null = fopen("/dev/null", "w");
        memcpy(copy, data, n);
        if (n && data[n - 1] & 1)
                trace_rehash(copy, n - 1);
        if (fd < 0 || fs_write_all(fd, copy, n ? n - 1 : 0) < 0)
                abort();
        free(copy);
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        verified = trace_verify(path, null, &err);
        r = read_file(path);
        if (verified == 0 && r != 0)
                abort();
        close(fd);
        return 0;
}
