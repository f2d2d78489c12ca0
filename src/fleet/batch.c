/* SPDX-License-Identifier: MIT */
#include "fleet/batch.h"

#include <stdio.h>
#include <string.h>

#include <xxhash.h>

#include "base/str.h"

/* ---- numbers of things --------------------------------------------------------------------------- */

static struct fleet_id id_of(const void *bytes, size_t n) {
        struct fleet_id id;
        XXH128_canonical_t c;

        XXH128_canonicalFromHash(&c, XXH3_128bits(bytes, n));
        memcpy(id.bytes, c.digest, sizeof(id.bytes));
        return id;
}

void fleet_id_text(const struct fleet_id *id, char ret[2 * FLEET_ID_BYTES + 1]) {
        for (size_t i = 0; i < FLEET_ID_BYTES; i++)
                snprintf(ret + 2 * i, 3, "%02x", id->bytes[i]);
}

struct fleet_id fleet_run_id(const char *host, uint64_t started_unix_ns, uint32_t pid) {
        struct str s = {0};
        struct fleet_id id;

        str_addf(&s, "%s%c%llu%c%u", host, 0, (unsigned long long)started_unix_ns, 0, pid);
        id = id_of(str_text(&s), s.n);
        str_done(&s);
        return id;
}

/* ---- texts --------------------------------------------------------------------------------------- */

/* UTF-8 without what is none, and not too long. */
static void clean_text(const char *text, struct str *ret) {
        str_clear(ret);
        while (*text) {
                size_t n = str_utf8_len(text);

                if (ret->n + MAX(n, (size_t)1) > FLEET_MAX_TEXT)
                        break;
                str_addn(ret, n ? text : "?", n ? n : 1);
                text += n ? n : 1;
        }
}

static const char *keep_text(struct arena *a, const char *text) {
        struct str s = {0};
        const char *kept;

        clean_text(text, &s);
        kept = arena_strdup(a, str_text(&s));
        str_done(&s);
        return kept;
}

static uint32_t text_number(struct fleet_batch *b, const char *text) {
        struct str s = {0};
        uint64_t hash, number;
        bool is_new;

        clean_text(text, &s);
        /* another text of that hash gets the next one */
        for (hash = XXH3_64bits(str_text(&s), s.n);; hash++) {
                number = *map_put(&b->text_by_hash, hash, b->texts.n, &is_new);
                if (is_new)
                        vec_push(&b->texts, arena_strdup(b->arena, str_text(&s)));
                if (is_new || strcmp(b->texts.items[number], str_text(&s)) == 0)
                        break;
        }
        str_done(&s);
        return (uint32_t)number;
}

/* ---- making one ---------------------------------------------------------------------------------- */

static struct fleet_batch *batch_new(void) {
        struct fleet_batch *b = calloc(1, sizeof(*b));

        if (!b)
                abort();
        b->arena = arena_new();
        return b;
}

struct fleet_batch *fleet_batch_new(const struct fleet_run *run) {
        struct fleet_batch *b = batch_new();

        b->run = *run;
        b->run.service = keep_text(b->arena, run->service);
        b->run.host = keep_text(b->arena, run->host);
        b->run.program = keep_text(b->arena, run->program);
        b->run.build = keep_text(b->arena, run->build);
        for (size_t i = 0; i < run->n_labels; i++)
                b->run.labels[i] = keep_text(b->arena, run->labels[i]);
        return b;
}

struct fleet_batch *fleet_batch_free(struct fleet_batch *b) {
        if (!b)
                return NULL;
        arena_free(b->arena);
        map_done(&b->text_by_hash);
        map_done(&b->path_by_hash);
        vec_free(&b->texts);
        vec_free(&b->paths);
        vec_free(&b->snapshots);
        vec_free(&b->sites);
        vec_free(&b->losses);
        free(b);
        return NULL;
}

/* Of its functions, a NUL behind each. */
static struct fleet_id path_id(const struct fleet_batch *b, const uint32_t *frames, size_t n) {
        struct str s = {0};
        struct fleet_id id;

        for (size_t i = 0; i < n; i++)
                str_addn(&s, b->texts.items[frames[i]], strlen(b->texts.items[frames[i]]) + 1);
        id = id_of(str_text(&s), s.n);
        str_done(&s);
        return id;
}

uint32_t fleet_batch_path(struct fleet_batch *b, const char *const *frames, size_t n_frames) {
        size_t n = MIN(n_frames, (size_t)FLEET_MAX_FRAMES);
        uint32_t numbers[FLEET_MAX_FRAMES];
        struct fleet_id id;
        uint64_t *number;
        bool is_new;

        for (size_t i = 0; i < n; i++)
                numbers[i] = text_number(b, frames[i]);
        id = path_id(b, numbers, n);
        /* half of the id: two paths of one batch that share it, and not the rest, are not expected in the life of a star */
        number = map_put(&b->path_by_hash, bytes_le64(id.bytes), b->paths.n, &is_new);
        if (is_new)
                vec_push(&b->paths,
                         (struct fleet_path){.id = id,
                                             .frames = arena_memdup(b->arena, numbers,
                                                                    n * sizeof(numbers[0])),
                                             .n_frames = n});
        return (uint32_t)*number;
}

struct fleet_snapshot *fleet_batch_add_snapshot(struct fleet_batch *b) {
        struct fleet_snapshot *s = vec_add(&b->snapshots);

        s->first_site = b->sites.n;
        return s;
}

void fleet_batch_add_site(struct fleet_batch *b, const struct fleet_site *s) {
        vec_push(&b->sites, *s);
        b->snapshots.items[b->snapshots.n - 1].n_sites++;
}

void fleet_batch_add_loss(struct fleet_batch *b, const struct fleet_loss *loss) {
        struct fleet_loss *last;

        if (b->losses.n < FLEET_MAX_LOSSES) {
                struct fleet_loss kept = *loss;

                kept.service = keep_text(b->arena, loss->service);
                kept.host = keep_text(b->arena, loss->host);
                kept.why = keep_text(b->arena, loss->why);
                vec_push(&b->losses, kept);
                return;
        }
        last = &b->losses.items[b->losses.n - 1];
        for (size_t i = 0; i < FLEET_ID_BYTES; i++)
                last->id.bytes[i] ^= loss->id.bytes[i];
        last->from_unix_ms = MIN(last->from_unix_ms, loss->from_unix_ms);
        last->to_unix_ms = MAX(last->to_unix_ms, loss->to_unix_ms);
        last->n_snapshots += loss->n_snapshots;
        last->n_bytes += loss->n_bytes;
}
