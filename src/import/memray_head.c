/* SPDX-License-Identifier: MIT */
#include "import/memray_head.h"

#include "import/import_format.h"

static int refuse(struct memray_bytes *b, int r) {
        return r < 0 ? r : import_input_refuse(b->in, b->reterr, "the file ends in its header");
}

/* What the traced process searched for modules: not taken. */
static int skip_paths(struct memray_bytes *b) {
        int r = memray_take_string(b);

        for (int list = 0; list < 2 && r > 0; list++)
                do
                        r = memray_take_string(b);
                while (r > 0 && b->text.n);
        return r;
}

/* Up to the command. */
static int take_begin(struct memray_bytes *b, struct memray_head *h) {
        struct {
                char magic[7];
                uint32_t version;
        } __attribute__((packed)) first;
        struct {
                uint64_t n_allocations, n_frames, start_ms, end_ms;
        } sums;
        uint8_t is_native, is_aggregated = 0;
        int r = memray_take_bytes(b, &first, sizeof(first));

        if (r <= 0)
                return r;
        h->version = first.version;
        if (h->version < MEMRAY_OLDEST || h->version > MEMRAY_NEWEST)
                return import_input_refuse(
                        b->in, b->reterr,
                        "it is of version %u, silt reads versions %d to %d: record with memray 1.4 to 1.20",
                        h->version, MEMRAY_OLDEST, MEMRAY_NEWEST);
        if (h->version >= MEMRAY_HAS_TABLES)
                r = memray_take_bytes(b, &h->python_version, sizeof(h->python_version));
        if (r > 0)
                r = memray_take_bytes(b, &is_native, sizeof(is_native));
        if (r > 0 && h->version >= MEMRAY_HAS_FORM)
                r = memray_take_bytes(b, &is_aggregated, sizeof(is_aggregated));
        if (r > 0 && is_aggregated)
                return import_input_refuse(
                        b->in, b->reterr,
                        "it is aggregated and has no events: record without --aggregate");
        if (r > 0)
                r = memray_take_bytes(b, &sums, sizeof(sums));
        if (r <= 0)
                return r;
        h->is_native = is_native;
        h->start_ms = sums.start_ms;
        h->end_ms = sums.end_ms;
        return 1;
}

int memray_head_take(struct memray_bytes *b, struct memray_head *h, struct arena *arena) {
        struct {
                uint32_t pid;
                uint64_t main_handle, n_skipped;
                uint8_t allocator;
        } __attribute__((packed)) rest;
        uint8_t switches[2]; /* whether Python's allocators were traced, and its objects */
        int r = take_begin(b, h);

        if (r > 0)
                r = memray_take_string(b);
        if (r <= 0)
                return refuse(b, r);
        h->command = arena_strdup(arena, str_text(&b->text));
        r = memray_take_bytes(b, &rest, sizeof(rest));
        if (r > 0)
                r = memray_take_bytes(b, switches,
                                      h->version >= MEMRAY_HAS_TABLES              ? 2
                                      : h->version >= MEMRAY_HAS_PYTHON_ALLOCATORS ? 1
                                                                                   : 0);
        if (r > 0 && h->version >= MEMRAY_HAS_PATHS)
                r = skip_paths(b);
        if (r <= 0)
                return refuse(b, r);
        h->main_handle = rest.main_handle;
        h->n_skipped = rest.n_skipped;
        h->pid = rest.pid;
        return 1;
}
