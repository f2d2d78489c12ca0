/* SPDX-License-Identifier: MIT */
#include "trace/chunk.h"

#include <errno.h>
#include <stdio.h>
#include <xxhash.h>
#include <zstd.h>

#include "base/fs.h"

enum {
        CHUNK_PLAIN_BYTES =
                64, /* smaller bodies are stored as they are: a frame would not be shorter */
        CHUNK_SLACK_BYTES = 16,
        CHUNK_CUT_BYTES = 256, /* shorter columns go with the next: tables take bytes too */
        CHUNK_CHECKED_BYTES = 20,
};

/* How hard a chunk is compressed (docs/overhead.md, "What was tried"). 0: as the level has it for that size. */
struct chunk_effort {
        int level, strategy, min_match, hash_log, chain_log, window_log, search_log, target_length;
        bool cuts; /* a block for each column */
};

/* Events that come faster than there is time for. */
static const struct chunk_effort effort_quick = {.level = 1};

/* The size of level 6 in two thirds of its time and half of its memory. */
static const struct chunk_effort effort_hard = {
        .level = 5,
        .strategy = ZSTD_greedy,
        .min_match = 6,
        .hash_log = 17,
        .chain_log = 17,
        .window_log = 18,
        .search_log = 4,
        .target_length = 4,
        .cuts = true,
};

/* Rows of sites and stacks: cut by columns, they come to the size of level 6 in a third of its time. */
static const struct chunk_effort effort_rows = {
        .level = 1,
        .strategy = ZSTD_dfast,
        .min_match = 5,
        .hash_log = 14,
        .chain_log = 14,
        .cuts = true,
};

struct trace_packer {
        ZSTD_CCtx *cctx;
        const struct chunk_effort *effort; /* that cctx is set to */
        bool is_hard;
        bytes_buf scratch;
};

struct trace_packer *trace_packer_new(void) {
        struct trace_packer *p = calloc(1, sizeof(*p));

        if (!p || !(p->cctx = ZSTD_createCCtx())) {
                fputs("silt: out of memory\n", stderr);
                abort();
        }
        return p;
}

void trace_packer_try_hard(struct trace_packer *p, bool hard) {
        p->is_hard = hard;
}

static void packer_set_effort(struct trace_packer *p, const struct chunk_effort *e) {
        if (p->effort == e)
                return;
        p->effort = e;
        ZSTD_CCtx_reset(p->cctx, ZSTD_reset_session_only); /* a frame that was given up */
        ZSTD_CCtx_setParameter(p->cctx, ZSTD_c_compressionLevel, e->level);
        ZSTD_CCtx_setParameter(p->cctx, ZSTD_c_strategy, e->strategy);
        ZSTD_CCtx_setParameter(p->cctx, ZSTD_c_minMatch, e->min_match);
        ZSTD_CCtx_setParameter(p->cctx, ZSTD_c_hashLog, e->hash_log);
        ZSTD_CCtx_setParameter(p->cctx, ZSTD_c_chainLog, e->chain_log);
        ZSTD_CCtx_setParameter(p->cctx, ZSTD_c_windowLog, e->window_log);
        ZSTD_CCtx_setParameter(p->cctx, ZSTD_c_searchLog, e->search_log);
        ZSTD_CCtx_setParameter(p->cctx, ZSTD_c_targetLength, e->target_length);
}

static const struct chunk_effort *packer_effort(const struct trace_packer *p, uint32_t kind) {
        if (kind == TRACE_SITE || kind == TRACE_CKPT || kind == TRACE_STKS)
                return &effort_rows;
        return p->is_hard ? &effort_hard : &effort_quick;
}

struct trace_packer *trace_packer_free(struct trace_packer *p) {
        if (!p)
                return NULL;
        ZSTD_freeCCtx(p->cctx);
        vec_free(&p->scratch);
        free(p);
        return NULL;
}

const char *trace_kind_name(struct trace_kind_text *t, uint32_t kind) {
        for (unsigned i = 0; i < 4; i++) {
                uint8_t c = (uint8_t)(kind >> (8 * i));

                t->s[i] = (char)(c >= 'A' && c <= 'Z' ? c : '?');
        }
        t->s[4] = 0;
        return t->s;
}

uint8_t trace_kind_version(uint32_t kind) {
        switch (kind) {
        case TRACE_SLIC: return TRACE_SLIC_VERSION;
        case TRACE_EVTS: return TRACE_EVTS_VERSION;
        case TRACE_MAPS: return TRACE_MAPS_VERSION;
        case TRACE_GRPH: return TRACE_GRPH_VERSION;
        case TRACE_SITE:
        case TRACE_CKPT: return TRACE_ROWS_VERSION;
        default: return TRACE_KIND_VERSION;
        }
}

static bool chunk_kind_is_optional(uint32_t kind) {
        return kind == TRACE_TITL || kind == TRACE_NOTE || kind == TRACE_COST ||
               kind == TRACE_ALOC || kind == TRACE_PRIO || kind == TRACE_ROOM ||
               kind == TRACE_TALY || kind == TRACE_SMPL || kind == TRACE_MOVE ||
               kind == TRACE_RESI || kind == TRACE_NSRC || kind == TRACE_SKIP ||
               kind == TRACE_GRPH || kind == TRACE_BILL || kind == TRACE_TICK;
}

/* Low half of the hash over the header's fields and the head, which stand apart in the file. */
static uint32_t chunk_check(const uint8_t *header, const void *head, size_t head_bytes) {
        uint8_t both[CHUNK_CHECKED_BYTES + TRACE_MAX_HEAD_BYTES];

        memcpy(both, header, CHUNK_CHECKED_BYTES);
        if (head_bytes)
                memcpy(both + CHUNK_CHECKED_BYTES, head, head_bytes);
        return (uint32_t)XXH3_64bits(both, CHUNK_CHECKED_BYTES + head_bytes);
}

/* Goes on with the frame to in->size. False: it failed, or takes more room than there is. */
static bool chunk_stream(ZSTD_CCtx *cctx, ZSTD_outBuffer *out, ZSTD_inBuffer *in,
                         ZSTD_EndDirective how) {
        size_t left;

        do
                left = ZSTD_compressStream2(cctx, out, in, how);
        while (left && !ZSTD_isError(left) && out->pos < out->size);
        return !left;
}

/* One frame, with a block that ends at each cut. Its bytes, or 0. */
static size_t chunk_compress_columns(struct trace_packer *p, const void *body, size_t body_bytes,
                                     const struct trace_cuts *cuts) {
        ZSTD_outBuffer out = {p->scratch.items, p->scratch.cap, 0};
        ZSTD_inBuffer in = {body, 0, 0};

        ZSTD_CCtx_reset(p->cctx, ZSTD_reset_session_only);
        ZSTD_CCtx_setPledgedSrcSize(p->cctx, body_bytes);
        for (uint32_t i = 0; i < cuts->n; i++) {
                if (cuts->at[i] < in.size + CHUNK_CUT_BYTES ||
                    cuts->at[i] + CHUNK_CUT_BYTES > body_bytes)
                        continue;
                in.size = cuts->at[i];
                if (!chunk_stream(p->cctx, &out, &in, ZSTD_e_flush))
                        return 0;
        }
        in.size = body_bytes;
        return chunk_stream(p->cctx, &out, &in, ZSTD_e_end) ? out.pos : 0;
}

/* Compresses into p->scratch; false when the body is better stored as it is. */
static bool chunk_compress(struct trace_packer *p, uint32_t kind, const void *body,
                           size_t body_bytes, const struct trace_cuts *cuts) {
        const struct chunk_effort *e = packer_effort(p, kind);
        size_t got;

        if (body_bytes < CHUNK_PLAIN_BYTES)
                return false;
        packer_set_effort(p, e);
        vec_clear(&p->scratch);
        vec_reserve(&p->scratch, ZSTD_compressBound(body_bytes));
        if (cuts && e->cuts)
                got = chunk_compress_columns(p, body, body_bytes, cuts);
        else
                got = ZSTD_compress2(p->cctx, p->scratch.items, p->scratch.cap, body, body_bytes);
        if (!got || ZSTD_isError(got) || got >= body_bytes)
                return false;
        p->scratch.n = got;
        return true;
}

static size_t chunk_append(struct trace_packer *p, bytes_buf *out, uint32_t kind, const void *head,
                           size_t head_bytes, const void *body, size_t body_bytes,
                           const struct trace_cuts *cuts, size_t min_stored_bytes) {
        bool packed = chunk_compress(p, kind, body, body_bytes, cuts);
        size_t data_bytes = packed ? p->scratch.n : body_bytes, span_bytes;
        size_t stored_bytes = head_bytes + data_bytes;
        uint8_t *at;

        if (packed) /* zeros may follow a frame; a plain body is never short of either rule */
                stored_bytes =
                        MAX(stored_bytes, MAX(min_stored_bytes, body_bytes / TRACE_MAX_RATIO + 1));
        span_bytes = TRACE_HEADER_BYTES + ALIGN_UP(stored_bytes, 8);
        vec_reserve(out, span_bytes);
        at = out->items + out->n;
        memset(at, 0, span_bytes);

        buf_put_le32(at, TRACE_CHUNK_MAGIC);
        buf_put_le32(at + 4, kind);
        at[TRACE_VERSION_OFF] = TRACE_KIND_VERSION;
        at[9] = (uint8_t)((packed ? TRACE_FLAG_ZSTD : 0) |
                          (chunk_kind_is_optional(kind) ? 0 : TRACE_FLAG_REQUIRED));
        at[10] = (uint8_t)head_bytes;
        buf_put_le32(at + 12, (uint32_t)stored_bytes);
        buf_put_le32(at + 16, (uint32_t)body_bytes);
        if (head_bytes)
                memcpy(at + TRACE_HEADER_BYTES, head, head_bytes);
        if (data_bytes)
                memcpy(at + TRACE_HEADER_BYTES + head_bytes, packed ? p->scratch.items : body,
                       data_bytes);
        trace_chunk_seal(at);
        out->n += span_bytes;
        return span_bytes;
}

size_t trace_chunk_append(struct trace_packer *p, bytes_buf *out, uint32_t kind, const void *head,
                          size_t head_bytes, const void *body, size_t body_bytes,
                          size_t min_stored_bytes) {
        return chunk_append(p, out, kind, head, head_bytes, body, body_bytes, NULL,
                            min_stored_bytes);
}

size_t trace_chunk_append_columns(struct trace_packer *p, bytes_buf *out, uint32_t kind,
                                  const void *head, size_t head_bytes, const bytes_buf *body,
                                  const struct trace_cuts *cuts, size_t min_stored_bytes) {
        return chunk_append(p, out, kind, head, head_bytes, body->items, body->n, cuts,
                            min_stored_bytes);
}

static uint64_t chunk_sum(const uint8_t *chunk, uint32_t check) {
        size_t head_bytes = chunk[10], stored_bytes = bytes_le32(chunk + 12);

        return XXH3_64bits_withSeed(chunk + TRACE_HEADER_BYTES + head_bytes,
                                    stored_bytes - head_bytes, check);
}

void trace_chunk_seal(uint8_t *chunk) {
        uint32_t check = chunk_check(chunk, chunk + TRACE_HEADER_BYTES, chunk[10]);

        buf_put_le32(chunk + 20, check);
        buf_put_le64(chunk + 24, chunk_sum(chunk, check));
}

void trace_chunk_set_version(uint8_t *chunk, uint8_t version) {
        if (chunk[TRACE_VERSION_OFF] == version)
                return;
        chunk[TRACE_VERSION_OFF] = version;
        trace_chunk_seal(chunk);
}

/* ---- reading --------------------------------------------------------------------------------- */

static int chunk_check_fields(const uint8_t *p, const struct trace_chunk *c) {
        if (c->flags & ~(TRACE_FLAG_ZSTD | TRACE_FLAG_REQUIRED))
                return TRACE_E_BAD_HEADER;
        if (c->head_bytes > TRACE_MAX_HEAD_BYTES || c->head_bytes % 8 ||
            c->head_bytes > c->stored_bytes)
                return TRACE_E_BAD_HEADER;
        for (unsigned i = 4; i < 8; i++)
                if (p[i] < 'A' || p[i] > 'Z')
                        return TRACE_E_BAD_HEADER;
        if (!(c->flags & TRACE_FLAG_ZSTD) && c->raw_bytes != c->stored_bytes - c->head_bytes)
                return TRACE_E_BAD_HEADER;
        if (c->raw_bytes > (uint64_t)c->stored_bytes * TRACE_MAX_RATIO || c->raw_bytes > INT32_MAX)
                return TRACE_E_TOO_LARGE;
        return 0;
}

int trace_chunk_parse(const uint8_t *p, size_t n, uint64_t off, uint64_t file_bytes,
                      struct trace_chunk *ret) {
        struct trace_chunk c = {.off = off};
        int error;

        if (n < TRACE_HEADER_BYTES)
                return TRACE_E_CUT_OFF;
        if (bytes_le32(p) != TRACE_CHUNK_MAGIC)
                return TRACE_E_BAD_HEADER;
        c.kind = bytes_le32(p + 4);
        c.version = p[8];
        c.flags = p[9];
        c.head_bytes = (uint16_t)(p[10] | p[11] << 8);
        c.stored_bytes = bytes_le32(p + 12);
        c.raw_bytes = bytes_le32(p + 16);
        error = chunk_check_fields(p, &c);
        if (error)
                return error;
        if (n < TRACE_HEADER_BYTES + (size_t)c.head_bytes)
                return TRACE_E_CUT_OFF;
        memcpy(c.head, p + TRACE_HEADER_BYTES, c.head_bytes);
        if (chunk_check(p, c.head, c.head_bytes) != bytes_le32(p + 20))
                return TRACE_E_BAD_CHECK;
        if (off + TRACE_HEADER_BYTES + c.stored_bytes > file_bytes)
                return TRACE_E_CUT_OFF;
        *ret = c;
        return 0;
}

int trace_chunk_bad(const struct trace_chunk *c, const char *what, struct err *reterr) {
        struct trace_kind_text kind;

        return err_set(reterr, -EBADMSG, "chunk %s at offset %llu: %s",
                       trace_kind_name(&kind, c->kind), (unsigned long long)c->off, what);
}

void trace_body_done(struct trace_body *b) {
        vec_free(&b->raw);
        vec_free(&b->stored);
        ZSTD_freeDCtx(b->dctx);
        b->dctx = NULL;
}

/* Header, head and body in one piece, and the body's checksum. The header is compared with what the
 * index or the scan saw, so that a file changed since cannot bring new sizes in. */
static int chunk_load(int fd, const struct trace_chunk *c, struct trace_body *b,
                      uint64_t *bytes_read, struct err *reterr) {
        size_t want = TRACE_HEADER_BYTES + (size_t)c->stored_bytes;
        struct trace_chunk now;
        const uint8_t *body;
        ssize_t got;

        vec_clear(&b->stored);
        vec_reserve(&b->stored, want);
        got = fs_read_at(fd, b->stored.items, want, c->off);
        if (got < 0)
                return err_set_errno(reterr, (int)got, "cannot read the trace at offset %llu",
                                     (unsigned long long)c->off);
        *bytes_read += (uint64_t)got;
        if ((size_t)got != want)
                return trace_chunk_bad(c, "the file ends inside it", reterr);
        if (trace_chunk_parse(b->stored.items, want, c->off, UINT64_MAX, &now) ||
            now.kind != c->kind || now.version != c->version || now.flags != c->flags ||
            now.head_bytes != c->head_bytes || now.stored_bytes != c->stored_bytes ||
            now.raw_bytes != c->raw_bytes || memcmp(now.head, c->head, c->head_bytes) != 0)
                return trace_chunk_bad(c, "its header is damaged", reterr);
        body = b->stored.items + TRACE_HEADER_BYTES + c->head_bytes;
        if (XXH3_64bits_withSeed(body, c->stored_bytes - c->head_bytes,
                                 bytes_le32(b->stored.items + 20)) !=
            bytes_le64(b->stored.items + 24))
                return trace_chunk_bad(c, "its checksum is wrong", reterr);
        return 0;
}

static int chunk_decompress(const struct trace_chunk *c, struct trace_body *b, const uint8_t *body,
                            struct err *reterr) {
        size_t body_bytes = c->stored_bytes - c->head_bytes, frame_bytes, got;

        frame_bytes = ZSTD_findFrameCompressedSize(body, body_bytes);
        if (ZSTD_isError(frame_bytes))
                return trace_chunk_bad(c, "it is no zstd frame", reterr);
        if (!b->dctx)
                b->dctx = ZSTD_createDCtx();
        got = ZSTD_decompressDCtx(b->dctx, b->raw.items, c->raw_bytes, body, frame_bytes);
        if (ZSTD_isError(got) || got != c->raw_bytes)
                return trace_chunk_bad(c, "it does not decompress", reterr);
        return 0;
}

int trace_chunk_read(int fd, const struct trace_chunk *c, struct trace_body *b,
                     uint64_t *bytes_read, struct err *reterr) {
        const uint8_t *body;
        int r;

        r = chunk_load(fd, c, b, bytes_read, reterr);
        if (r < 0)
                return r;
        body = b->stored.items + TRACE_HEADER_BYTES + c->head_bytes;
        vec_clear(&b->raw);
        vec_reserve(&b->raw, c->raw_bytes + (size_t)CHUNK_SLACK_BYTES);
        if (c->flags & TRACE_FLAG_ZSTD)
                r = chunk_decompress(c, b, body, reterr);
        else if (c->raw_bytes)
                memcpy(b->raw.items, body, c->raw_bytes);
        if (r < 0)
                return r;
        b->raw.n = c->raw_bytes;
        memset(b->raw.items + b->raw.n, 0, CHUNK_SLACK_BYTES);
        return 0;
}

int trace_chunk_load(int fd, const struct trace_chunk *c, bytes_buf *out) {
        size_t chunk_bytes = (size_t)TRACE_HEADER_BYTES + c->stored_bytes;
        size_t span_bytes = (size_t)trace_chunk_span_bytes(c);
        struct trace_chunk there;
        uint8_t *at;
        ssize_t got;

        vec_reserve(out, span_bytes);
        at = out->items + out->n;
        got = fs_read_at(fd, at, chunk_bytes, c->off);
        if (got < 0)
                return (int)got;
        if ((size_t)got != chunk_bytes ||
            trace_chunk_parse(at, chunk_bytes, c->off, c->off + chunk_bytes, &there) ||
            there.kind != c->kind || there.stored_bytes != c->stored_bytes ||
            bytes_le64(at + 24) != chunk_sum(at, bytes_le32(at + 20)))
                return -EBADMSG;
        memset(at + chunk_bytes, 0, span_bytes - chunk_bytes);
        out->n += span_bytes;
        return 0;
}
