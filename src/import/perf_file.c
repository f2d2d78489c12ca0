/* SPDX-License-Identifier: MIT */
#include "import/perf_file.h"

#include <errno.h>
#include <string.h>
#include <zstd.h>

#include "base/macros.h"
#include "import/import_hash.h"

enum {
        PERF_HEAD_BYTES = 104,
        PERF_PIPE_HEAD_BYTES = 16,
        PERF_FEATURES_AT = 72, /* a bit for each */
        PERF_N_FEATURES = 256,
        PERF_MIN_ATTR_BYTES = 48,
        PERF_MIN_IDS_ATTR_BYTES = PERF_MIN_ATTR_BYTES + 16,
        PERF_RECORD_HEAD_BYTES = 8,
        PERF_MAX_UNPACKED_FACTOR = 200, /* as import_input_all */
        PERF_MIN_UNPACKED_BYTES = 16 << 20,
        PERF_UNPACK_BYTES = 64 << 10,
        /* records that perf itself writes */
        PERF_ATTR = 64,
        PERF_TRACING_DATA = 66,
        PERF_BUILD_ID = 67,
        PERF_AUXTRACE = 71,
        PERF_EVENT_UPDATE = 78,
        PERF_FEATURE = 80,
        PERF_COMPRESSED = 81,
        PERF_COMPRESSED2 = 83,
        PERF_UPDATE_NAME = 2,
        PERF_MISC_BUILD_ID_SIZE = 1 << 15,
        /* features */
        PERF_FEATURE_BUILD_ID = 2,
        PERF_FEATURE_HOST = 3,
        PERF_FEATURE_OS_RELEASE = 4,
        PERF_FEATURE_EVENTS = 12,
        /* flags of an attribute */
        PERF_ATTR_FREQ = 1 << 10,
        PERF_ATTR_ON_EXEC = 1 << 12,
        PERF_ATTR_IDS_BEHIND = 1 << 18,
};

int perf_file_refuse(const struct perf_file *f, uint64_t at, struct err *reterr, const char *why) {
        return err_set(reterr, -EINVAL, "'%s', byte %llu: %s", f->in->path, (unsigned long long)at,
                       why);
}

static bool is_inside(const struct perf_file *f, uint64_t offset, uint64_t n) {
        return offset <= f->bytes.n && n <= f->bytes.n - offset;
}

void perf_file_record(const struct perf_file *f, uint64_t at, struct perf_record *ret) {
        const uint8_t *b =
                at < f->bytes.n ? f->bytes.items + at : f->unpacked.items + (at - f->bytes.n);

        *ret = (struct perf_record){.at = at,
                                    .bytes = b,
                                    .n = bytes_le32(b + 4) >> 16,
                                    .type = bytes_le32(b),
                                    .misc = bytes_le32(b + 4) & 0xffff};
}

/* ---- attributes ---------------------------------------------------------------------------------- */

static const char *usual_name(uint32_t type, uint64_t config) {
        static const char *const hardware[] = {"cycles",       "instructions", "cache-references",
                                               "cache-misses", "branches",     "branch-misses"};
        static const char *const software[] = {"cpu-clock",        "task-clock",     "page-faults",
                                               "context-switches", "cpu-migrations", "minor-faults",
                                               "major-faults"};

        if (type == 0 && config < ARRAY_SIZE(hardware))
                return hardware[config];
        return type == 1 && config < ARRAY_SIZE(software) ? software[config] : "";
}

/* n: of all bytes, at least PERF_MIN_ATTR_BYTES. */
static void add_event(struct perf_file *f, const uint8_t *a, size_t n) {
        struct perf_event e = {.type = bytes_le32(a),
                               .config = bytes_le64(a + 8),
                               .sample_type = bytes_le64(a + 24),
                               .read_format = bytes_le64(a + 32)};
        uint64_t flags = bytes_le64(a + 40);

        n = MIN(n, bytes_le32(a + 4) ? (size_t)bytes_le32(a + 4) : 64);
        e.period = flags & PERF_ATTR_FREQ ? 0 : bytes_le64(a + 16);
        e.has_ids_behind = flags & PERF_ATTR_IDS_BEHIND;
        e.begins_on_exec = flags & PERF_ATTR_ON_EXEC;
        e.branch_type = n >= 80 ? bytes_le64(a + 72) : 0;
        e.regs_mask = n >= 88 ? bytes_le64(a + 80) : 0;
        e.name = usual_name(e.type, e.config);
        vec_push(&f->events, e);
}

static void add_ids(struct perf_file *f, const uint8_t *ids, size_t n) {
        bool is_new;

        for (size_t i = 0; i + 8 <= n; i += 8)
                map_put(&f->ids, bytes_le64(ids + i), f->events.n - 1, &is_new);
}

static int read_attributes(struct perf_file *f, struct err *reterr) {
        const uint8_t *b = f->bytes.items;
        uint64_t each = bytes_le64(b + 16), at = bytes_le64(b + 24), size = bytes_le64(b + 32);
        uint64_t all_ids_bytes = 0;

        if (each < PERF_MIN_IDS_ATTR_BYTES || size < each || !is_inside(f, at, size))
                return perf_file_refuse(f, 16, reterr,
                                        "the attributes of events are not in the file");
        for (uint64_t end = at + size; end - at >= each; at += each) {
                uint64_t ids_at = bytes_le64(b + at + each - 16);
                uint64_t ids_bytes = bytes_le64(b + at + each - 8);

                if (!is_inside(f, ids_at, ids_bytes))
                        return perf_file_refuse(f, at, reterr,
                                                "the ids of an event are not in the file");
                all_ids_bytes += ids_bytes;
                if (all_ids_bytes > f->bytes.n) /* each event has its own */
                        return perf_file_refuse(f, at, reterr,
                                                "events have more ids than the file has bytes");
                add_event(f, b + at, each - 16);
                add_ids(f, b + ids_at, ids_bytes);
        }
        return 0;
}

/* ---- features ------------------------------------------------------------------------------------ */

const struct perf_build_id *perf_file_build_id(const struct perf_file *f, const char *path) {
        static const struct perf_build_id none;
        uint64_t kept;

        return map_get(&f->build_ids, hash_text(1, path), &kept)
                       ? (const struct perf_build_id *)(uintptr_t)kept
                       : &none;
}

/* A record: head, pid, the id and its length, the path. */
static void take_build_id(struct perf_file *f, const uint8_t *b, size_t n) {
        struct perf_build_id id = {.n = sizeof(id.bytes)};
        char *path;

        if (n <= 36)
                return;
        memcpy(id.bytes, b + 12, sizeof(id.bytes));
        if (bytes_le32(b + 4) & PERF_MISC_BUILD_ID_SIZE)
                id.n = MIN(b[32], sizeof(id.bytes));
        path = arena_strndup(f->arena, (const char *)b + 36, n - 36);
        *map_put(&f->build_ids, hash_text(1, path), 0, NULL) =
                (uintptr_t)arena_memdup(f->arena, &id, sizeof(id));
}

static void take_build_ids(struct perf_file *f, const uint8_t *b, size_t n) {
        while (n >= PERF_RECORD_HEAD_BYTES) {
                size_t each = bytes_le32(b + 4) >> 16;

                if (each < PERF_RECORD_HEAD_BYTES || each > n)
                        return;
                take_build_id(f, b, each);
                b += each;
                n -= each;
        }
}

/* Its length before it, zeros behind. */
static const char *take_text(struct perf_file *f, struct bytes_reader *r) {
        uint32_t n = bytes_u32(r);
        const uint8_t *text = bytes_take(r, n);

        return text ? arena_strndup(f->arena, (const char *)text, n) : "";
}

/* The attributes again, each with its ids and its name: of those that are known already, in their order. */
static void take_names(struct perf_file *f, const uint8_t *b, size_t n) {
        struct bytes_reader r = bytes_reader_of(b, n);
        uint32_t n_events = bytes_u32(&r), attr_bytes = bytes_u32(&r);

        for (uint32_t i = 0; i < n_events && i < f->events.n && !r.bad; i++) {
                uint32_t n_ids;
                const char *name;

                bytes_take(&r, attr_bytes);
                n_ids = bytes_u32(&r);
                name = take_text(f, &r);
                bytes_take(&r, (size_t)n_ids * 8);
                if (name[0] && !r.bad)
                        f->events.items[i].name = name;
        }
}

static void take_feature(struct perf_file *f, uint64_t feature, const uint8_t *b, size_t n) {
        struct bytes_reader r = bytes_reader_of(b, n);

        if (feature == PERF_FEATURE_BUILD_ID)
                take_build_ids(f, b, n);
        else if (feature == PERF_FEATURE_HOST)
                f->host = take_text(f, &r);
        else if (feature == PERF_FEATURE_OS_RELEASE)
                f->os_release = take_text(f, &r);
        else if (feature == PERF_FEATURE_EVENTS)
                take_names(f, b, n);
}

/* Where each is stands behind the data. What is cut off is not missed. */
static void read_features(struct perf_file *f) {
        const uint8_t *b = f->bytes.items;
        uint64_t at = bytes_le64(b + 40) + bytes_le64(b + 48);

        for (uint64_t i = 0; i < PERF_N_FEATURES; i++) {
                if (!(b[PERF_FEATURES_AT + i / 8] & 1 << i % 8))
                        continue;
                if (!is_inside(f, at, 16))
                        return;
                if (is_inside(f, bytes_le64(b + at), bytes_le64(b + at + 8)))
                        take_feature(f, i, b + bytes_le64(b + at), bytes_le64(b + at + 8));
                at += 16;
        }
}

/* ---- samples, as far as they are told apart here --------------------------------------------------- */

int perf_file_event(const struct perf_file *f, const struct perf_record *r) {
        uint64_t type = f->events.items[0].sample_type, at = PERF_RECORD_HEAD_BYTES, idx;

        if (f->events.n == 1)
                return 0;
        if (!(type & PERF_HAS_IDENTIFIER)) /* then all of them carry the same */
                at += 8ull * (!!(type & PERF_HAS_IP) + !!(type & PERF_HAS_TID) +
                              !!(type & PERF_HAS_TIME) + !!(type & PERF_HAS_ADDR));
        if (!(type & (PERF_HAS_IDENTIFIER | PERF_HAS_ID)) || at + 8 > r->n)
                return -1;
        return map_get(&f->ids, bytes_le64(r->bytes + at), &idx) ? (int)idx : -1;
}

/* Samples have it within, other records behind what they tell. 0: unknown, and before all. */
static uint64_t time_of(const struct perf_file *f, const struct perf_record *r) {
        const struct perf_event *e = f->events.items;
        uint64_t type, n_behind;
        int event;

        if (r->type == PERF_SAMPLE) {
                uint64_t at = PERF_RECORD_HEAD_BYTES;

                event = perf_file_event(f, r);
                e += MAX(event, 0);
                if (event < 0 || !(e->sample_type & PERF_HAS_TIME))
                        return 0;
                at += 8ull * (!!(e->sample_type & PERF_HAS_IDENTIFIER) +
                              !!(e->sample_type & PERF_HAS_IP) + !!(e->sample_type & PERF_HAS_TID));
                return at + 8 <= r->n ? bytes_le64(r->bytes + at) : 0;
        }
        type = e->sample_type;
        if (!e->has_ids_behind || !(type & PERF_HAS_TIME))
                return 0;
        n_behind = 8ull * (1 + !!(type & PERF_HAS_ID) + !!(type & PERF_HAS_STREAM_ID) +
                           !!(type & PERF_HAS_CPU) + !!(type & PERF_HAS_IDENTIFIER));
        return r->n >= PERF_RECORD_HEAD_BYTES + n_behind ? bytes_le64(r->bytes + r->n - n_behind)
                                                         : 0;
}

/* ---- records ------------------------------------------------------------------------------------- */

static int walk(struct perf_file *f, const bytes_buf *b, uint64_t base, uint64_t at, uint64_t end,
                uint64_t *ret_at, struct err *reterr);

static int unpack(struct perf_file *f, const struct perf_record *r, struct err *reterr) {
        size_t skip = r->type == PERF_COMPRESSED2 ? 16 : PERF_RECORD_HEAD_BYTES;
        ZSTD_inBuffer in = {.src = r->bytes + skip};
        uint64_t most = MAX((uint64_t)PERF_MIN_UNPACKED_BYTES,
                            (uint64_t)f->bytes.n * PERF_MAX_UNPACKED_FACTOR);
        uint64_t walked = f->n_walked;
        int x;

        if (r->n < skip)
                return perf_file_refuse(f, r->at, reterr, "a packed record is cut off");
        in.size = r->n - skip;
        if (r->type == PERF_COMPRESSED2)
                in.size = MIN(in.size, bytes_le64(r->bytes + 8));
        if (!f->zstd)
                f->zstd = ZSTD_createDStream();
        if (!f->zstd)
                abort();
        for (bool is_full = true; in.pos < in.size || is_full;) {
                uint8_t bytes[PERF_UNPACK_BYTES];
                ZSTD_outBuffer out = {bytes, sizeof(bytes), 0};
                size_t left = ZSTD_decompressStream(f->zstd, &out, &in);

                if (ZSTD_isError(left) || (!out.pos && in.pos < in.size))
                        return perf_file_refuse(f, r->at, reterr, "a packed record is damaged");
                if (f->unpacked.n + out.pos > most)
                        return perf_file_refuse(f, r->at, reterr,
                                                "packed records unpack to more than is plausible");
                buf_bytes(&f->unpacked, bytes, out.pos);
                is_full = out.pos == sizeof(bytes);
        }
        x = walk(f, &f->unpacked, f->bytes.n, walked, f->unpacked.n, &walked, reterr);
        f->n_walked = walked;
        return x;
}

/* A pipe has what a file has before and behind its records. */
static int take_own(struct perf_file *f, const struct perf_record *r, struct err *reterr) {
        const uint8_t *b = r->bytes;
        uint64_t idx;

        if (r->type == PERF_COMPRESSED || r->type == PERF_COMPRESSED2)
                return r->at < f->bytes.n
                               ? unpack(f, r, reterr)
                               : perf_file_refuse(f, r->at, reterr, "a packed record in another");
        if (r->type == PERF_ATTR && r->n >= PERF_RECORD_HEAD_BYTES + PERF_MIN_ATTR_BYTES) {
                size_t n = bytes_le32(b + 12) ? bytes_le32(b + 12) : 64;

                n = MIN(n, r->n - PERF_RECORD_HEAD_BYTES);
                add_event(f, b + PERF_RECORD_HEAD_BYTES, r->n - PERF_RECORD_HEAD_BYTES);
                add_ids(f, b + PERF_RECORD_HEAD_BYTES + n, r->n - PERF_RECORD_HEAD_BYTES - n);
        } else if (r->type == PERF_FEATURE && r->n >= 16) {
                take_feature(f, bytes_le64(b + 8), b + 16, r->n - 16);
        } else if (r->type == PERF_BUILD_ID) {
                take_build_id(f, b, r->n);
        } else if (r->type == PERF_EVENT_UPDATE && r->n > 24 &&
                   bytes_le64(b + 8) == PERF_UPDATE_NAME &&
                   map_get(&f->ids, bytes_le64(b + 16), &idx)) {
                f->events.items[idx].name =
                        arena_strndup(f->arena, (const char *)b + 24, r->n - 24);
        }
        return 0;
}

static int take_record(struct perf_file *f, const struct perf_record *r, struct err *reterr) {
        uint64_t time_ns;
        int x;

        if (r->type >= PERF_ATTR)
                return take_own(f, r, reterr);
        if (r->type == PERF_LOST && r->n >= 24)
                f->n_lost += bytes_le64(r->bytes + 16);
        if (r->type == PERF_LOST_SAMPLES && r->n >= 16)
                f->n_lost += bytes_le64(r->bytes + 8);
        if (r->type != PERF_MMAP && r->type != PERF_MMAP2 && r->type != PERF_COMM &&
            r->type != PERF_FORK && r->type != PERF_EXIT && r->type != PERF_SAMPLE)
                return 0;
        if (!f->events.n)
                return perf_file_refuse(f, r->at, reterr, "a record before what events are");
        time_ns = time_of(f, r);
        x = f->survey(f->ctx, time_ns, r, reterr);
        if (x < 0)
                return x;
        x = import_order_add(f->order, time_ns, &r->at);
        return x < 0 ? err_set_errno(reterr, x, "cannot sort the records of '%s'", f->in->path) : 0;
}

/* What is behind a record and no part of it. */
static int skip_behind(struct perf_file *f, const struct perf_record *r, uint64_t n_left,
                       uint64_t *ret, struct err *reterr) {
        uint64_t n = 0;

        *ret = 0;
        if (r->type == PERF_TRACING_DATA && r->n >= 12)
                *ret = MIN(n_left, ((uint64_t)bytes_le32(r->bytes + 8) + 7) & ~7ull);
        if (r->type != PERF_AUXTRACE)
                return 0;
        if (r->n >= 16)
                n = bytes_le64(r->bytes + 8);
        if (n > n_left)
                return perf_file_refuse(f, r->at, reterr,
                                        "a trace of the hardware is longer than the file");
        f->hardware_bytes += n;
        *ret = n;
        return 0;
}

/* *ret_at: behind the last whole one. */
static int walk(struct perf_file *f, const bytes_buf *b, uint64_t base, uint64_t at, uint64_t end,
                uint64_t *ret_at, struct err *reterr) {
        int x = 0;

        while (end - at >= PERF_RECORD_HEAD_BYTES && x >= 0) {
                struct perf_record r;
                uint64_t n_behind;

                perf_file_record(f, base + at, &r);
                if (r.n < PERF_RECORD_HEAD_BYTES)
                        return perf_file_refuse(f, base + at, reterr,
                                                "a record is shorter than its head");
                if (r.n > end - at)
                        break;
                x = take_record(f, &r, reterr);
                at += r.n;
                if (x >= 0)
                        x = skip_behind(f, &r, end - at, &n_behind, reterr);
                if (x >= 0)
                        at += n_behind;
        }
        *ret_at = at;
        return x;
}

static int read_records(struct perf_file *f, struct err *reterr) {
        const uint8_t *b = f->bytes.items;
        bool is_pipe = bytes_le64(b + 8) == PERF_PIPE_HEAD_BYTES;
        uint64_t at = PERF_PIPE_HEAD_BYTES, end = f->bytes.n;
        int x = 0;

        if (!is_pipe) {
                if (f->bytes.n < PERF_HEAD_BYTES || bytes_le64(b + 8) < PERF_HEAD_BYTES)
                        return perf_file_refuse(f, 8, reterr, "the head is cut off");
                at = bytes_le64(b + 40);
                if (!bytes_le64(b + 48))
                        return perf_file_refuse(f, 48, reterr,
                                                "no data: perf was not ended properly");
                if (!is_inside(f, at, bytes_le64(b + 48)))
                        return perf_file_refuse(f, 40, reterr,
                                                "the records are not in the file: it is cut off");
                end = at + bytes_le64(b + 48);
                x = read_attributes(f, reterr);
                if (x >= 0)
                        read_features(f);
        }
        if (x >= 0)
                x = walk(f, &f->bytes, 0, at, end, &at, reterr);
        if (x >= 0 && end - at >= PERF_RECORD_HEAD_BYTES)
                x = perf_file_refuse(f, at, reterr, "a record is longer than the file");
        if (x >= 0 && !f->events.n)
                x = perf_file_refuse(f, at, reterr, "there are no events");
        return x;
}

int perf_file_open(struct perf_file *f, struct import_input *in, perf_survey_fn survey, void *ctx,
                   struct err *reterr) {
        int r;

        *f = (struct perf_file){.in = in,
                                .survey = survey,
                                .ctx = ctx,
                                .arena = arena_new(),
                                .order = import_order_new(sizeof(uint64_t), 0),
                                .os_release = "",
                                .host = ""};
        r = import_input_all(in, &f->bytes, reterr);
        return r < 0 ? r : read_records(f, reterr);
}

void perf_file_done(struct perf_file *f) {
        ZSTD_freeDCtx(f->zstd);
        import_order_free(f->order);
        vec_free(&f->bytes);
        vec_free(&f->unpacked);
        vec_free(&f->events);
        map_done(&f->ids);
        map_done(&f->build_ids);
        arena_free(f->arena);
}

int perf_file_next(struct perf_file *f, uint64_t *ret_time_ns, struct perf_record *ret,
                   struct err *reterr) {
        uint64_t at;
        int r = import_order_next(f->order, ret_time_ns, &at);

        if (r < 0)
                return err_set_errno(reterr, r, "cannot sort the records of '%s'", f->in->path);
        if (r > 0)
                perf_file_record(f, at, ret);
        return r;
}
