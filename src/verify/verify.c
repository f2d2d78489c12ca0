/* SPDX-License-Identifier: MIT */
#include "verify/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>
#include <zstd.h>

#include "base/fs.h"
#include "base/units.h"
#include "base/visible.h"
#include "verify/verify_state.h"

enum { VERIFY_MAX_LINES = 20 };

static const char *kind_text(uint32_t kind, char text[5]) {
        for (int i = 0; i < 4; i++) {
                char c = (char)(kind >> (8 * i));

                text[i] = (char)(c >= 'A' && c <= 'Z' ? c : '?');
        }
        text[4] = 0;
        return text;
}

bool verify_bad(struct verify *v, enum trace_error error, const char *fmt, ...) {
        char kind[5], what[320];
        va_list args;

        v->n_problems++;
        if (v->n_problems > VERIFY_MAX_LINES)
                return false;
        va_start(args, fmt);
        vsnprintf(what, sizeof(what), fmt, args);
        va_end(args);
        fprintf(v->out, "T%d chunk %llu %s at offset %llu: %s\n", (int)error,
                (unsigned long long)v->n_chunks, v->kind ? kind_text(v->kind, kind) : "-",
                (unsigned long long)v->off, what);
        return false;
}

/* ---- one chunk ------------------------------------------------------------------------------- */

/* True when the header may be believed: the next chunk is where it says. */
static bool verify_header(struct verify *v) {
        const uint8_t *h = v->header;
        uint8_t checked[20 + TRACE_MAX_HEAD_BYTES];
        uint64_t left = v->file_bytes - v->off - TRACE_HEADER_BYTES;

        v->kind = bytes_le32(h + 4);
        v->head_bytes = (uint32_t)h[10] | (uint32_t)h[11] << 8;
        v->stored_bytes = bytes_le32(h + 12);
        v->raw_bytes = bytes_le32(h + 16);
        if (bytes_le32(h) != TRACE_CHUNK_MAGIC)
                return verify_bad(v, TRACE_E_BAD_HEADER, "no chunk begins here");
        if (v->head_bytes > TRACE_MAX_HEAD_BYTES || v->head_bytes % 8 ||
            v->head_bytes > v->stored_bytes)
                return verify_bad(v, TRACE_E_BAD_HEADER, "a head of %u bytes", v->head_bytes);
        if (v->stored_bytes > left)
                return verify_bad(v, TRACE_E_CUT_OFF,
                                  "%u bytes long, but the file ends %llu bytes after its header",
                                  v->stored_bytes, (unsigned long long)left);
        if (fs_read_at(v->fd, v->head, v->head_bytes, v->off + TRACE_HEADER_BYTES) !=
            (ssize_t)v->head_bytes)
                return verify_bad(v, TRACE_E_CUT_OFF, "its head cannot be read");
        memcpy(checked, h, 20);
        memcpy(checked + 20, v->head, v->head_bytes);
        if ((uint32_t)XXH3_64bits(checked, 20 + v->head_bytes) != bytes_le32(h + 20))
                return verify_bad(v, TRACE_E_BAD_CHECK, "the header's checksum is wrong");
        if (h[9] & ~(TRACE_FLAG_ZSTD | TRACE_FLAG_REQUIRED))
                verify_bad(v, TRACE_E_BAD_HEADER, "unknown flags %#x", h[9]);
        if (v->raw_bytes > (uint64_t)TRACE_MAX_RATIO * v->stored_bytes || v->raw_bytes > INT32_MAX)
                return verify_bad(v, TRACE_E_TOO_LARGE, "claims to hold %u bytes in %u",
                                  v->raw_bytes, v->stored_bytes);
        if (!(h[9] & TRACE_FLAG_ZSTD) && v->raw_bytes != v->stored_bytes - v->head_bytes)
                return verify_bad(v, TRACE_E_BAD_HEADER,
                                  "a plain body of %u bytes, but raw_bytes is %u",
                                  v->stored_bytes - v->head_bytes, v->raw_bytes);
        return true;
}

static void verify_gap(struct verify *v, uint64_t end) {
        uint8_t gap[8];
        uint64_t next = MIN(ALIGN_UP(end, 8), v->file_bytes);

        if (fs_read_at(v->fd, gap, (size_t)(next - end), end) != (ssize_t)(next - end))
                verify_bad(v, TRACE_E_BAD_GAP, "the gap behind it cannot be read");
        for (uint64_t i = 0; i < next - end; i++)
                if (gap[i]) {
                        verify_bad(v, TRACE_E_BAD_GAP, "the gap behind it is not zero");
                        return;
                }
}

static bool verify_unpack(struct verify *v, const uint8_t *body, size_t body_bytes) {
        size_t frame_bytes = body_bytes, got = v->raw_bytes;

        vec_clear(&v->raw);
        vec_reserve(&v->raw, v->raw_bytes + (size_t)1);
        v->raw.n = v->raw_bytes;
        if (v->header[9] & TRACE_FLAG_ZSTD) {
                frame_bytes = ZSTD_findFrameCompressedSize(body, body_bytes);
                if (ZSTD_isError(frame_bytes))
                        return verify_bad(v, TRACE_E_BAD_BODY, "not a zstd frame");
                got = ZSTD_decompress(v->raw.items, v->raw_bytes, body, frame_bytes);
        } else if (v->raw_bytes)
                memcpy(v->raw.items, body, v->raw_bytes);
        if (ZSTD_isError(got) || got != v->raw_bytes)
                return verify_bad(v, TRACE_E_BAD_BODY, "does not decompress to %u bytes",
                                  v->raw_bytes);
        for (size_t i = frame_bytes; i < body_bytes; i++)
                if (body[i])
                        return verify_bad(v, TRACE_E_BAD_BODY,
                                          "what follows the frame is not zero");
        return true;
}

static bool verify_body(struct verify *v) {
        size_t body_bytes = v->stored_bytes - v->head_bytes;
        ssize_t got;

        vec_clear(&v->stored);
        vec_reserve(&v->stored, body_bytes + 1);
        got = fs_read_at(v->fd, v->stored.items, body_bytes,
                         v->off + TRACE_HEADER_BYTES + v->head_bytes);
        if (got != (ssize_t)body_bytes)
                return verify_bad(v, TRACE_E_CUT_OFF, "its body cannot be read");
        if (XXH3_64bits_withSeed(v->stored.items, body_bytes, bytes_le32(v->header + 20)) !=
            bytes_le64(v->header + 24))
                return verify_bad(v, TRACE_E_BAD_SUM, "the body's checksum is wrong");
        return verify_unpack(v, v->stored.items, body_bytes);
}

/* ---- index and trailer ----------------------------------------------------------------------- */

static void verify_note_entry(struct verify *v) {
        buf_u64(&v->entries, v->off);
        buf_bytes(&v->entries, v->header + 4, 16);
        buf_bytes(&v->entries, v->head, v->head_bytes);
        v->n_entries++;
}

static bool verify_index(struct verify *v) {
        uint64_t n = bytes_le32(v->head), flags = bytes_le32(v->head + 4);

        if (v->head_bytes != TRACE_INDX_HEAD_BYTES)
                return verify_bad(v, TRACE_E_BAD_PAYLOAD, "a head of %u bytes", v->head_bytes);
        if (flags & ~(uint64_t)TRACE_INDX_REBUILT)
                return verify_bad(v, TRACE_E_BAD_PAYLOAD, "unknown flags");
        if (!(flags & TRACE_INDX_REBUILT) && bytes_le64(v->head + 8))
                return verify_bad(v, TRACE_E_BAD_INDEX,
                                  "reports damaged bytes, but was not rebuilt");
        if (n != v->n_entries)
                return verify_bad(v, TRACE_E_BAD_INDEX, "names %llu chunks, the file has %llu",
                                  (unsigned long long)n, (unsigned long long)v->n_entries);
        for (size_t i = 0; i < MIN(v->entries.n, v->raw.n); i++)
                if (v->entries.items[i] != v->raw.items[i])
                        return verify_bad(v, TRACE_E_BAD_INDEX,
                                          "differs from the file's chunks at its byte %zu", i);
        if (v->raw.n != v->entries.n)
                return verify_bad(v, TRACE_E_BAD_INDEX, "is %zu bytes long, not %zu", v->raw.n,
                                  v->entries.n);
        v->index_off = v->off;
        v->has_index = true;
        v->is_finished = !(flags & TRACE_INDX_REBUILT);
        return true;
}

static bool verify_trailer(struct verify *v) {
        const uint8_t *h = v->header;

        v->kind = 0;
        if (bytes_le64(h + 24) != XXH3_64bits(h, 24))
                return verify_bad(v, TRACE_E_BAD_CHECK, "the trailer's checksum is wrong");
        if (bytes_le32(h + 4))
                verify_bad(v, TRACE_E_BAD_HEADER, "the trailer's reserved bytes are not zero");
        if (!v->has_index || bytes_le64(h + 8) != v->index_off)
                verify_bad(v, TRACE_E_BAD_INDEX, "the trailer points to no index");
        if (bytes_le64(h + 16) != v->off + TRACE_TRAILER_BYTES)
                verify_bad(v, TRACE_E_BAD_INDEX, "the trailer gives the wrong end of the file");
        return true;
}

/* ---- the chain ------------------------------------------------------------------------------- */

static bool kind_is_known(uint32_t kind) {
        static const uint32_t known[] = {TRACE_META, TRACE_MODS, TRACE_LOCS, TRACE_STKS,
                                         TRACE_PROC, TRACE_PEND, TRACE_THRD, TRACE_TNAM,
                                         TRACE_NOTE, TRACE_COST, TRACE_SMPL, TRACE_MAPS,
                                         TRACE_SITE, TRACE_EVTS, TRACE_SLIC, TRACE_CKPT,
                                         TRACE_SYMS, TRACE_NSRC, TRACE_INDX, TRACE_SKIP,
                                         TRACE_MOVE, TRACE_RESI, TRACE_ALOC, TRACE_PRIO,
                                         TRACE_TALY, TRACE_TITL, TRACE_GRPH, TRACE_ROOM,
                                         TRACE_BILL, TRACE_TICK};

        for (size_t i = 0; i < ARRAY_SIZE(known); i++)
                if (known[i] == kind)
                        return true;
        return false;
}

static bool version_is_known(const struct verify *v) {
        uint8_t version = v->header[TRACE_VERSION_OFF];

        return version == TRACE_KIND_VERSION ||
               (version == TRACE_SLIC_VERSION && v->kind == TRACE_SLIC) ||
               (version == TRACE_EVTS_VERSION && v->kind == TRACE_EVTS) ||
               (version == TRACE_MAPS_VERSION && v->kind == TRACE_MAPS) ||
               (version == TRACE_GRPH_VERSION && v->kind == TRACE_GRPH) ||
               (version == TRACE_ROWS_VERSION && (v->kind == TRACE_SITE || v->kind == TRACE_CKPT));
}

static bool verify_payload(struct verify *v) {
        switch (v->kind) {
        case TRACE_SITE: return verify_site_chunk(v);
        case TRACE_MOVE: return verify_move_chunk(v);
        case TRACE_GRPH: return verify_graph_part(v);
        case TRACE_BILL: return verify_bill_chunk(v);
        case TRACE_TICK: return verify_tick_chunk(v);
        case TRACE_EVTS: return verify_evts_chunk(v);
        case TRACE_SLIC: return verify_slic_chunk(v);
        case TRACE_CKPT: return verify_ckpt_chunk(v);
        case TRACE_INDX: return verify_index(v);
        default: return verify_definitions(v);
        }
}

static void verify_chunk(struct verify *v) {
        bool required = v->header[9] & TRACE_FLAG_REQUIRED;

        verify_gap(v, v->off + TRACE_HEADER_BYTES + v->stored_bytes);
        if (!v->n_entries && v->kind != TRACE_META)
                verify_bad(v, TRACE_E_BAD_ORDER, "the first chunk is not META");
        if (v->kind == TRACE_SKIP) {
                verify_note_entry(v);
                return;
        }
        if (verify_body(v)) {
                if (kind_is_known(v->kind) && version_is_known(v))
                        verify_payload(v);
                else if (required)
                        verify_bad(v, TRACE_E_TOO_NEW,
                                   "version %u of this kind is required and unknown", v->header[8]);
        }
        if (v->kind != TRACE_INDX)
                verify_note_entry(v);
        else
                v->has_index = v->index_off == v->off;
}

/* True while the chain goes on; *ended_in_trailer tells how it ended. */
static bool verify_step(struct verify *v, bool *ret_is_trailer) {
        v->kind = 0;
        *ret_is_trailer = false;
        if (v->file_bytes - v->off < TRACE_HEADER_BYTES)
                return verify_bad(v, TRACE_E_CUT_OFF, "%llu bytes are left, too few for a chunk",
                                  (unsigned long long)(v->file_bytes - v->off));
        if (fs_read_at(v->fd, v->header, TRACE_HEADER_BYTES, v->off) != TRACE_HEADER_BYTES)
                return verify_bad(v, TRACE_E_CUT_OFF, "cannot be read");
        if (bytes_le32(v->header) == TRACE_TRAILER_MAGIC) {
                *ret_is_trailer = true;
                if (!verify_trailer(v))
                        return false;
                v->off += TRACE_TRAILER_BYTES;
                return true;
        }
        if (!verify_header(v))
                return false;
        verify_chunk(v);
        v->off += TRACE_HEADER_BYTES + ALIGN_UP((uint64_t)v->stored_bytes, 8);
        v->n_chunks++;
        return true;
}

static void verify_chain(struct verify *v) {
        bool is_trailer = false;

        while (v->off < v->file_bytes)
                if (!verify_step(v, &is_trailer))
                        return; /* where the next chunk begins is not known */
        v->off = v->file_bytes;
        v->kind = 0;
        if (!is_trailer)
                verify_bad(
                        v, TRACE_E_NO_INDEX,
                        "no index at the end: the trace is still being written, or its recorder died");
        if (v->has_site || v->has_move || v->has_evts)
                verify_bad(v, TRACE_E_BAD_ORDER, "the last slice has no SLIC chunk");
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void verify_done(struct verify *v) {
        vec_free(&v->stored);
        vec_free(&v->raw);
        vec_free(&v->graph);
        vec_free(&v->thread_process);
        vec_free(&v->processes);
        vec_free(&v->sites);
        map_done(&v->site_by_key);
        vec_free(&v->totals);
        vec_free(&v->released);
        map_done(&v->total_by_key);
        verify_live_done(&v->live);
        verify_moves_done(v);
        vec_free(&v->last_seq);
        vec_free(&v->entries);
}

static void verify_conclude(struct verify *v, const char *path) {
        struct str shown = {0};

        if (v->n_problems > VERIFY_MAX_LINES)
                fprintf(v->out, "… and %llu more\n",
                        (unsigned long long)(v->n_problems - VERIFY_MAX_LINES));
        visible_add(&shown, path);
        fprintf(v->out, "%s: %llu chunk%s, %llu slice%s, %llu event%s: ", str_text(&shown),
                (unsigned long long)v->n_chunks, unit_s(v->n_chunks),
                (unsigned long long)v->n_slices, unit_s(v->n_slices),
                (unsigned long long)v->n_events, unit_s(v->n_events));
        str_done(&shown);
        if (v->n_problems)
                fprintf(v->out, "%llu problem%s", (unsigned long long)v->n_problems,
                        v->n_problems == 1 ? "" : "s");
        else
                fputs("nothing wrong", v->out);
        if (!v->n_problems && v->meta_flags & TRACE_IS_TOTALS)
                fputs("; totals without events", v->out);
        else if (!v->n_problems && v->n_without_events)
                fprintf(v->out, "; %llu slice%s without events",
                        (unsigned long long)v->n_without_events,
                        v->n_without_events == 1 ? "" : "s");
        if (v->has_index && !v->is_finished)
                fputs("; the recorder died before the recording ended", v->out);
        fputc('\n', v->out);
}

int trace_verify(const char *path, FILE *out, struct err *reterr) {
        _cleanup_close_ int fd = fs_open(path, O_RDONLY, 0);
        struct verify v = {.out = out, .n_stacks = 1};
        struct stat st;
        uint8_t magic[4] = {0};

        if (fd < 0)
                return err_set(reterr, fd, "cannot open '%s': %s: check the path", path,
                               strerror(-fd));
        if (fstat(fd, &st) < 0)
                return err_set(reterr, -errno, "cannot read '%s': %s: check the disk", path,
                               strerror(errno));
        if (!S_ISREG(st.st_mode))
                return err_set(reterr, -EINVAL, "'%s' is not a file: name a trace", path);
        v.fd = fd;
        v.file_bytes = (uint64_t)st.st_size;
        if (fs_read_at(fd, magic, sizeof(magic), 0) < 0)
                return err_set(reterr, -EIO, "cannot read '%s': %s: check the disk", path,
                               strerror(EIO));
        if (bytes_le32(magic) != TRACE_CHUNK_MAGIC)
                verify_bad(&v, TRACE_E_NOT_A_TRACE, "this is not the beginning of a silt trace");
        else
                verify_chain(&v);
        verify_conclude(&v, path);
        verify_done(&v);
        return v.n_problems ? 1 : 0;
}
