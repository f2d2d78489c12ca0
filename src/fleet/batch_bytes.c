/* SPDX-License-Identifier: MIT */
/* A batch as the bytes of a file: docs/fleet.md, "Files of the spool". */
#include <errno.h>
#include <math.h>
#include <string.h>

#include <xxhash.h>
#include <zstd.h>

#include "base/str.h"
#include "fleet/batch.h"

enum {
        BATCH_VERSION = 1,
        BATCH_HEAD_BYTES = 40,
        BATCH_LEVEL = 3, /* of zstd */
        /* of a snapshot */
        BATCH_IS_LAST = 1,
        BATCH_IS_DAMAGED = 2,
        BATCH_IS_LATE = 4,
};

static const uint8_t batch_magic[8] = {'S', 'I', 'L', 'T', 'P', 'U', 'S', 'H'};

/* ---- writing ------------------------------------------------------------------------------------- */

static void put_text(bytes_buf *to, const char *text) {
        buf_varint(to, strlen(text));
        buf_bytes(to, text, strlen(text));
}

static void put_signed(bytes_buf *to, int64_t v) {
        buf_varint(to, bytes_zigzag(v));
}

static void put_real(bytes_buf *to, double v) {
        uint64_t bits;

        memcpy(&bits, &v, sizeof(bits));
        buf_u64(to, bits);
}

static void put_id(bytes_buf *to, const struct fleet_id *id) {
        buf_bytes(to, id->bytes, sizeof(id->bytes));
}

static void put_run(bytes_buf *to, const struct fleet_run *run) {
        put_id(to, &run->id);
        put_text(to, run->service);
        put_text(to, run->host);
        put_text(to, run->program);
        put_text(to, run->build);
        buf_varint(to, run->pid);
        buf_varint(to, run->n_labels);
        for (size_t i = 0; i < run->n_labels; i++)
                put_text(to, run->labels[i]);
}

static void put_paths(bytes_buf *to, const struct fleet_batch *b) {
        buf_varint(to, b->texts.n);
        for (size_t i = 0; i < b->texts.n; i++)
                put_text(to, b->texts.items[i]);
        buf_varint(to, b->paths.n);
        for (size_t i = 0; i < b->paths.n; i++) {
                buf_varint(to, b->paths.items[i].n_frames);
                for (size_t k = 0; k < b->paths.items[i].n_frames; k++)
                        buf_varint(to, b->paths.items[i].frames[k]);
        }
}

static void put_snapshot(bytes_buf *to, const struct fleet_snapshot *s) {
        buf_varint(to, s->recording_ms);
        buf_varint(to, s->unix_ms);
        buf_varint(to, s->period_ms);
        put_signed(to, s->live_bytes);
        put_signed(to, s->live_blocks);
        buf_varint(to, s->peak_bytes);
        buf_varint(to, s->rss_bytes);
        buf_varint(to, s->alloc_bytes);
        buf_varint(to, s->n_allocs);
        buf_varint(to, s->n_frees);
        buf_varint(to, s->n_failed);
        buf_varint(to, s->n_lost);
        buf_varint(to, s->sample_bytes);
        put_real(to, s->error_bytes);
        buf_u8(to,
               (uint8_t)((s->is_last ? BATCH_IS_LAST : 0) | (s->is_damaged ? BATCH_IS_DAMAGED : 0) |
                         (s->is_late ? BATCH_IS_LATE : 0)));
        buf_varint(to, s->n_sites);
}

static void put_site(bytes_buf *to, const struct fleet_site *s) {
        buf_varint(to, s->path_idx);
        put_signed(to, s->live_bytes);
        put_signed(to, s->live_blocks);
        buf_varint(to, s->alloc_bytes);
        buf_varint(to, s->n_allocs);
        put_real(to, s->error_bytes);
}

static void put_loss(bytes_buf *to, const struct fleet_loss *l) {
        put_id(to, &l->id);
        put_id(to, &l->run);
        put_text(to, l->service);
        put_text(to, l->host);
        put_text(to, l->why);
        buf_varint(to, l->from_unix_ms);
        buf_varint(to, l->to_unix_ms);
        buf_varint(to, l->n_snapshots);
        buf_varint(to, l->n_bytes);
}

static struct fleet_id hash_of(const void *bytes, size_t n) {
        struct fleet_id id;
        XXH128_canonical_t c;

        XXH128_canonicalFromHash(&c, XXH3_128bits(bytes, n));
        memcpy(id.bytes, c.digest, sizeof(id.bytes));
        return id;
}

/* Head: magic, version, bytes unpacked and packed, and the hash of those unpacked. */
static void put_packed(bytes_buf *to, const bytes_buf *raw, const struct fleet_id *id) {
        size_t cap = ZSTD_compressBound(raw->n), head = to->n, n;

        buf_bytes(to, batch_magic, sizeof(batch_magic));
        buf_u32(to, BATCH_VERSION);
        buf_u32(to, (uint32_t)raw->n);
        buf_u64(to, 0);
        put_id(to, id);
        vec_reserve(to, cap);
        n = ZSTD_compress(to->items + to->n, cap, raw->items, raw->n, BATCH_LEVEL);
        if (ZSTD_isError(n))
                abort(); /* the bound is what it needs at most, and memory is not asked for */
        to->n += n;
        buf_put_le64(to->items + head + 16, n);
}

void fleet_batch_pack(struct fleet_batch *b, bytes_buf *to) {
        bytes_buf raw = {0};

        put_run(&raw, &b->run);
        put_paths(&raw, b);
        buf_varint(&raw, b->snapshots.n);
        for (size_t i = 0; i < b->snapshots.n; i++) {
                const struct fleet_snapshot *s = &b->snapshots.items[i];

                put_snapshot(&raw, s);
                for (size_t k = 0; k < s->n_sites; k++)
                        put_site(&raw, &b->sites.items[s->first_site + k]);
        }
        buf_varint(&raw, b->losses.n);
        for (size_t i = 0; i < b->losses.n; i++)
                put_loss(&raw, &b->losses.items[i]);
        b->id = hash_of(raw.items, raw.n);
        put_packed(to, &raw, &b->id);
        vec_free(&raw);
}

/* ---- reading ------------------------------------------------------------------------------------- */

static const char *take_text(struct bytes_reader *r, struct arena *a) {
        size_t n;
        const char *text = bytes_string(r, &n), *kept;

        if (!text || n > FLEET_MAX_TEXT || memchr(text, 0, n)) {
                r->bad = true;
                return "";
        }
        kept = arena_strndup(a, text, n);
        for (const char *p = kept; *p && !r->bad;) {
                size_t len = str_utf8_len(p);

                r->bad = len == 0;
                p += len;
        }
        return kept;
}

/* A number of things that take at least so many bytes each, and are at most max. */
static size_t take_count(struct bytes_reader *r, size_t min_bytes, uint64_t max) {
        uint64_t n = bytes_varint(r);

        if (r->bad || n > max || n > bytes_left(r) / min_bytes) {
                r->bad = true;
                return 0;
        }
        return (size_t)n;
}

static int64_t take_signed(struct bytes_reader *r) {
        return bytes_unzigzag(bytes_varint(r));
}

static double take_real(struct bytes_reader *r) {
        uint64_t bits = bytes_u64(r);
        double v;

        memcpy(&v, &bits, sizeof(v));
        if (!isfinite(v) || v < 0)
                r->bad = true;
        return r->bad ? 0 : v;
}

static struct fleet_id take_id(struct bytes_reader *r) {
        const uint8_t *p = bytes_take(r, FLEET_ID_BYTES);
        struct fleet_id id = {0};

        if (p)
                memcpy(id.bytes, p, sizeof(id.bytes));
        return id;
}

static void take_run(struct bytes_reader *r, struct fleet_batch *b) {
        struct fleet_run *run = &b->run;
        uint64_t pid;

        run->id = take_id(r);
        run->service = take_text(r, b->arena);
        run->host = take_text(r, b->arena);
        run->program = take_text(r, b->arena);
        run->build = take_text(r, b->arena);
        pid = bytes_varint(r);
        if (pid > UINT32_MAX)
                r->bad = true;
        run->pid = (uint32_t)pid;
        run->n_labels = take_count(r, 1, FLEET_MAX_LABELS);
        for (size_t i = 0; i < run->n_labels; i++)
                run->labels[i] = take_text(r, b->arena);
}

static void take_paths(struct bytes_reader *r, struct fleet_batch *b) {
        VEC(const char *) texts = {0}, frames = {0};
        size_t n = take_count(r, 1, UINT32_MAX), n_paths;

        for (size_t i = 0; i < n && !r->bad; i++)
                vec_push(&texts, take_text(r, b->arena));
        n_paths = take_count(r, 1, FLEET_MAX_PATHS);
        for (size_t i = 0; i < n_paths && !r->bad; i++) {
                size_t n_frames = take_count(r, 1, FLEET_MAX_FRAMES);

                vec_clear(&frames);
                for (size_t k = 0; k < n_frames && !r->bad; k++) {
                        uint64_t text = bytes_varint(r);

                        if (text >= texts.n)
                                r->bad = true;
                        else
                                vec_push(&frames, texts.items[text]);
                }
                /* each once, or the numbers that sites have would mean others */
                if (!r->bad && fleet_batch_path(b, frames.items, frames.n) != i)
                        r->bad = true;
        }
        vec_free(&texts);
        vec_free(&frames);
}

static void take_site(struct bytes_reader *r, struct fleet_batch *b) {
        struct fleet_site s = {0};
        uint64_t path = bytes_varint(r);

        if (path >= b->paths.n)
                r->bad = true;
        s.path_idx = (uint32_t)path;
        s.live_bytes = take_signed(r);
        s.live_blocks = take_signed(r);
        s.alloc_bytes = bytes_varint(r);
        s.n_allocs = bytes_varint(r);
        s.error_bytes = take_real(r);
        if (!r->bad)
                fleet_batch_add_site(b, &s);
}

static void take_snapshot(struct bytes_reader *r, struct fleet_batch *b) {
        struct fleet_snapshot *s = fleet_batch_add_snapshot(b);
        unsigned flags;
        size_t n;

        s->recording_ms = bytes_varint(r);
        s->unix_ms = bytes_varint(r);
        s->period_ms = bytes_varint(r);
        s->live_bytes = take_signed(r);
        s->live_blocks = take_signed(r);
        s->peak_bytes = bytes_varint(r);
        s->rss_bytes = bytes_varint(r);
        s->alloc_bytes = bytes_varint(r);
        s->n_allocs = bytes_varint(r);
        s->n_frees = bytes_varint(r);
        s->n_failed = bytes_varint(r);
        s->n_lost = bytes_varint(r);
        s->sample_bytes = bytes_varint(r);
        s->error_bytes = take_real(r);
        flags = bytes_u8(r);
        if (flags & ~(unsigned)(BATCH_IS_LAST | BATCH_IS_DAMAGED | BATCH_IS_LATE))
                r->bad = true;
        s->is_last = flags & BATCH_IS_LAST;
        s->is_damaged = flags & BATCH_IS_DAMAGED;
        s->is_late = flags & BATCH_IS_LATE;
        n = take_count(r, 13, FLEET_MAX_PATHS);
        for (size_t i = 0; i < n && !r->bad; i++)
                take_site(r, b);
}

static void take_loss(struct bytes_reader *r, struct fleet_batch *b) {
        struct fleet_loss *l = vec_add(&b->losses);

        l->id = take_id(r);
        l->run = take_id(r);
        l->service = take_text(r, b->arena);
        l->host = take_text(r, b->arena);
        l->why = take_text(r, b->arena);
        l->from_unix_ms = bytes_varint(r);
        l->to_unix_ms = bytes_varint(r);
        l->n_snapshots = bytes_varint(r);
        l->n_bytes = bytes_varint(r);
}

static bool take_all(struct bytes_reader *r, struct fleet_batch *b) {
        size_t n;

        take_run(r, b);
        take_paths(r, b);
        n = take_count(r, 1, FLEET_MAX_SNAPSHOTS);
        for (size_t i = 0; i < n && !r->bad; i++)
                take_snapshot(r, b);
        n = take_count(r, 1, FLEET_MAX_LOSSES);
        for (size_t i = 0; i < n && !r->bad; i++)
                take_loss(r, b);
        return !r->bad && bytes_left(r) == 0;
}

static int unpack(struct bytes_reader *file, uint32_t n_raw, const struct fleet_id *id,
                  bytes_buf *ret, struct err *reterr) {
        size_t n;

        vec_reserve(ret, MAX(n_raw, 1u));
        n = ZSTD_decompress(ret->items, n_raw, file->pos, bytes_left(file));
        if (ZSTD_isError(n) || n != n_raw)
                return err_set(reterr, -EBADMSG, "its packed bytes are damaged");
        ret->n = n;
        if (memcmp(hash_of(ret->items, n).bytes, id->bytes, FLEET_ID_BYTES) != 0)
                return err_set(reterr, -EBADMSG, "its checksum does not match");
        return 0;
}

int fleet_batch_unpack(const void *bytes, size_t n_bytes, struct fleet_batch **ret,
                       struct err *reterr) {
        _cleanup_(fleet_batch_freep) struct fleet_batch *b = NULL;
        struct bytes_reader file = bytes_reader_of(bytes, n_bytes), r;
        const uint8_t *magic = bytes_take(&file, sizeof(batch_magic));
        uint32_t version = bytes_u32(&file), n_raw = bytes_u32(&file);
        uint64_t n_packed = bytes_u64(&file);
        struct fleet_id id = take_id(&file);
        bytes_buf raw = {0};
        int result;

        if (file.bad || memcmp(magic, batch_magic, sizeof(batch_magic)) != 0)
                return err_set(reterr, -EBADMSG, "it is no batch of silt push");
        if (version != BATCH_VERSION)
                return err_set(reterr, -EBADMSG, "it is of version %u: a newer silt wrote it",
                               version);
        if (n_raw > FLEET_MAX_BATCH_BYTES || n_packed != bytes_left(&file))
                return err_set(reterr, -EBADMSG, "it is cut short or too long");
        result = unpack(&file, n_raw, &id, &raw, reterr);
        if (result >= 0) {
                b = fleet_batch_new(
                        &(struct fleet_run){.service = "", .host = "", .program = "", .build = ""});
                b->id = id;
                r = bytes_reader_of(raw.items, raw.n);
                if (!take_all(&r, b))
                        result = err_set(reterr, -EBADMSG, "what it holds contradicts itself");
        }
        vec_free(&raw);
        if (result >= 0)
                *ret = TAKE_PTR(b);
        return result;
}
