/* SPDX-License-Identifier: MIT */
/* Batches as rows of ClickHouse (docs/fleet.md has the tables): first call paths that the server lacks, then sites, then snapshots, so
 * that whatever is there has all that it names. Rows sent twice are the same in every column and count once. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/map.h"
#include "fleet/clickhouse_client.h"
#include "fleet/destination.h"
#include "fleet/migrate.h"

enum {
        CLICKHOUSE_MAX_BATCHES = 64,
        /* What the server has of call paths is asked again after so long: it may have lost them. */
        KNOWN_S = 3600,
        MAX_KNOWN = 200000,
        MAX_ASKED = 2000,  /* call paths in one question: a statement may have 256 KiB */
        MAX_MOMENTS = 100, /* snapshots in one: a statement may have 10,000 parts */
};

struct clickhouse {
        struct clickhouse_client client;
        bool has_schema;
        struct map known; /* half of a path's id: the server has it */
        time_t known_since;
};

typedef VEC(const struct fleet_path *) path_list;

/* ---- rows ---------------------------------------------------------------------------------------- */

static void put_text(bytes_buf *to, const char *text) {
        buf_varint(to, strlen(text));
        buf_bytes(to, text, strlen(text));
}

static void put_id(bytes_buf *to, const struct fleet_id *id) {
        buf_bytes(to, id->bytes, sizeof(id->bytes));
}

static void put_real(bytes_buf *to, double v) {
        uint64_t bits;

        memcpy(&bits, &v, sizeof(bits));
        buf_u64(to, bits);
}

static uint32_t seconds_of(uint64_t unix_ms) {
        return (uint32_t)MIN(unix_ms / 1000, (uint64_t)UINT32_MAX);
}

static void put_day(bytes_buf *to, uint64_t unix_ms) {
        uint32_t days = seconds_of(unix_ms) / 86400;

        buf_u8(to, (uint8_t)days);
        buf_u8(to, (uint8_t)(days >> 8));
}

#define PATH_COLUMNS "path, frames"
static void put_path(bytes_buf *to, const struct fleet_batch *b, const struct fleet_path *p) {
        put_id(to, &p->id);
        buf_varint(to, p->n_frames);
        for (size_t i = 0; i < p->n_frames; i++)
                put_text(to, b->texts.items[p->frames[i]]);
}

#define SITE_COLUMNS                                                                               \
        "day, service, path, host, run, recording_ms, time, build, live_bytes, live_blocks, alloc_bytes, allocs, error_bytes"
static void put_sites(bytes_buf *to, const struct fleet_batch *b, const struct fleet_snapshot *s) {
        for (size_t i = 0; i < s->n_sites; i++) {
                const struct fleet_site *site = &b->sites.items[s->first_site + i];

                put_day(to, s->unix_ms);
                put_text(to, b->run.service);
                put_id(to, &b->paths.items[site->path_idx].id);
                put_text(to, b->run.host);
                put_id(to, &b->run.id);
                buf_u64(to, s->recording_ms);
                buf_u32(to, seconds_of(s->unix_ms));
                put_text(to, b->run.build);
                buf_u64(to, (uint64_t)site->live_bytes);
                buf_u64(to, (uint64_t)site->live_blocks);
                buf_u64(to, site->alloc_bytes);
                buf_u64(to, site->n_allocs);
                put_real(to, site->error_bytes);
        }
}

/* The same for the same call paths, in whatever order. */
static uint64_t path_set(const struct fleet_batch *b, const struct fleet_snapshot *s) {
        uint64_t set = 0;

        for (size_t i = 0; i < s->n_sites; i++)
                set ^= bytes_le64(
                        b->paths.items[b->sites.items[s->first_site + i].path_idx].id.bytes);
        return set;
}

#define SNAPSHOT_COLUMNS                                                                                                 \
        "day, service, host, run, recording_ms, time, period_ms, build, program, pid, labels, live_bytes, live_blocks, " \
        "peak_bytes, rss_bytes, alloc_bytes, allocs, frees, failed, lost, sample_bytes, error_bytes, sites, path_set, is_last, is_damaged, is_late, batch"
static void put_snapshot(bytes_buf *to, const struct fleet_batch *b,
                         const struct fleet_snapshot *s) {
        put_day(to, s->unix_ms);
        put_text(to, b->run.service);
        put_text(to, b->run.host);
        put_id(to, &b->run.id);
        buf_u64(to, s->recording_ms);
        buf_u32(to, seconds_of(s->unix_ms));
        buf_u64(to, s->period_ms);
        put_text(to, b->run.build);
        put_text(to, b->run.program);
        buf_u32(to, b->run.pid);
        buf_varint(to, b->run.n_labels);
        for (size_t i = 0; i < b->run.n_labels; i++)
                put_text(to, b->run.labels[i]);
        buf_u64(to, (uint64_t)s->live_bytes);
        buf_u64(to, (uint64_t)s->live_blocks);
        buf_u64(to, s->peak_bytes);
        buf_u64(to, s->rss_bytes);
        buf_u64(to, s->alloc_bytes);
        buf_u64(to, s->n_allocs);
        buf_u64(to, s->n_frees);
        buf_u64(to, s->n_failed);
        buf_u64(to, s->n_lost);
        buf_u64(to, s->sample_bytes);
        put_real(to, s->error_bytes);
        buf_u32(to, (uint32_t)s->n_sites);
        buf_u64(to, path_set(b, s));
        buf_u8(to, s->is_last);
        buf_u8(to, s->is_damaged);
        buf_u8(to, s->is_late);
        put_id(to, &b->id);
}

#define LOSS_COLUMNS "day, service, host, id, run, from_time, to_time, snapshots, bytes, why"
static void put_loss(bytes_buf *to, const struct fleet_loss *l) {
        put_day(to, l->from_unix_ms);
        put_text(to, l->service);
        put_text(to, l->host);
        put_id(to, &l->id);
        put_id(to, &l->run);
        buf_u32(to, seconds_of(l->from_unix_ms));
        buf_u32(to, seconds_of(l->to_unix_ms));
        buf_u64(to, l->n_snapshots);
        buf_u64(to, l->n_bytes);
        put_text(to, l->why);
}

/* ---- call paths ---------------------------------------------------------------------------------- */

static uint64_t key_of(const struct fleet_path *p) {
        return bytes_le64(p->id.bytes);
}

static void forget_paths(struct clickhouse *c) {
        map_clear(&c->known);
        c->known_since = time(NULL);
}

static int hex_digit(char ch) {
        return ch >= '0' && ch <= '9' ? ch - '0' : ch >= 'A' && ch <= 'F' ? ch - 'A' + 10 : -1;
}

/* Lines of 32 digits; whatever else it says is not believed. */
static void learn_paths(struct clickhouse *c, const char *answer) {
        for (const char *line = answer; *line;) {
                size_t n = strcspn(line, "\n");
                struct fleet_path p = {0};
                bool is_one = n == 2 * FLEET_ID_BYTES;

                for (size_t i = 0; is_one && i < FLEET_ID_BYTES; i++) {
                        int high = hex_digit(line[2 * i]), low = hex_digit(line[2 * i + 1]);

                        is_one = high >= 0 && low >= 0;
                        p.id.bytes[i] = (uint8_t)(high << 4 | (low & 15));
                }
                if (is_one)
                        *map_put(&c->known, key_of(&p), 1, &is_one) = 1;
                line += line[n] ? n + 1 : n;
        }
}

/* Which of them does the server have? */
static int ask_paths(struct clickhouse *c, const path_list *of, struct err *reterr) {
        struct str sql = {0}, answer = {0};
        char id[2 * FLEET_ID_BYTES + 1];
        int r = 0;

        for (size_t at = 0; at < of->n && r >= 0; at += MAX_ASKED) {
                str_clear(&sql);
                str_add(&sql, "SELECT hex(path) FROM silt_paths WHERE path IN (");
                for (size_t i = at; i < MIN(of->n, at + MAX_ASKED); i++) {
                        fleet_id_text(&of->items[i]->id, id);
                        str_addf(&sql, "%sunhex('%s')", i > at ? "," : "", id);
                }
                str_add(&sql, ") GROUP BY path FORMAT TabSeparated");
                r = clickhouse_client_ask(&c->client, str_text(&sql), NULL, 0, &answer, reterr);
                if (r >= 0)
                        learn_paths(c, str_text(&answer));
        }
        str_done(&sql);
        str_done(&answer);
        return r;
}

static int send_paths(struct clickhouse *c, struct fleet_batch *const *batches, size_t n,
                      struct err *reterr) {
        path_list unknown = {0};
        bytes_buf rows = {0};
        struct map sent = {0};
        int r;

        if (c->known.n > MAX_KNOWN || time(NULL) - c->known_since > KNOWN_S)
                forget_paths(c);
        for (size_t i = 0; i < n; i++)
                for (size_t k = 0; k < batches[i]->paths.n; k++)
                        if (!map_get(&c->known, key_of(&batches[i]->paths.items[k]), NULL))
                                vec_push(&unknown, &batches[i]->paths.items[k]);
        r = ask_paths(c, &unknown, reterr);
        for (size_t i = 0; i < n && r >= 0; i++)
                for (size_t k = 0; k < batches[i]->paths.n; k++) {
                        const struct fleet_path *p = &batches[i]->paths.items[k];
                        bool is_new;

                        if (map_get(&c->known, key_of(p), NULL))
                                continue;
                        map_put(&sent, key_of(p), 1, &is_new);
                        if (is_new)
                                put_path(&rows, batches[i], p);
                }
        if (r >= 0 && rows.n)
                r = clickhouse_client_insert(&c->client, "silt_paths", PATH_COLUMNS, &rows, reterr);
        for (size_t i = 0; r >= 0 && i < unknown.n; i++) {
                bool is_new;

                map_put(&c->known, key_of(unknown.items[i]), 1, &is_new);
        }
        vec_free(&unknown);
        vec_free(&rows);
        map_done(&sent);
        return r;
}

/* ---- what it has already ------------------------------------------------------------------------- */

/* "service IN (…) AND host IN (…) AND the hours from the first on": what the tables are sorted by, so that the server reads little. */
static void add_where(struct str *to, struct fleet_batch *const *batches, size_t n) {
        uint64_t from_ms = UINT64_MAX;

        str_add(to, " WHERE service IN (");
        for (size_t i = 0; i < n; i++) {
                str_add(to, i ? "," : "");
                clickhouse_add_text(to, batches[i]->run.service);
        }
        str_add(to, ") AND host IN (");
        for (size_t i = 0; i < n; i++) {
                str_add(to, i ? "," : "");
                clickhouse_add_text(to, batches[i]->run.host);
                for (size_t k = 0; k < batches[i]->snapshots.n; k++) {
                        const struct fleet_snapshot *s = &batches[i]->snapshots.items[k];

                        from_ms = MIN(from_ms, s->unix_ms - MIN(s->period_ms, s->unix_ms));
                }
        }
        str_addf(to, ") AND intDiv(toUInt32(time), 3600) >= %u", seconds_of(from_ms) / 3600);
}

static uint64_t begin_of(const struct fleet_snapshot *s) {
        return s->recording_ms - MIN(s->period_ms, s->recording_ms);
}

static void add_overlap(struct str *to, const struct fleet_batch *b, uint64_t from_ms,
                        uint64_t to_ms) {
        char run[2 * FLEET_ID_BYTES + 1];

        fleet_id_text(&b->run.id, run);
        str_addf(to,
                 "run = unhex('%s') AND recording_ms > %llu AND recording_ms < %llu + period_ms",
                 run, (unsigned long long)from_ms, (unsigned long long)to_ms);
}

/* Any snapshot of the run that tells of some of the same time. */
static void add_any(struct str *to, const struct fleet_batch *b) {
        uint64_t from_ms = UINT64_MAX, to_ms = 0;

        for (size_t k = 0; k < b->snapshots.n; k++) {
                from_ms = MIN(from_ms, begin_of(&b->snapshots.items[k]));
                to_ms = MAX(to_ms, b->snapshots.items[k].recording_ms);
        }
        str_add(to, "(");
        add_overlap(to, b, from_ms, to_ms);
        str_add(to, ")");
}

/* One that is not the same as this one: its rows would count beside these. */
static void add_other(struct str *to, const struct fleet_batch *b, const struct fleet_snapshot *s) {
        str_add(to, "(");
        add_overlap(to, b, begin_of(s), s->recording_ms);
        str_addf(to, " AND (recording_ms != %llu OR period_ms != %llu OR path_set != %llu))",
                 (unsigned long long)s->recording_ms, (unsigned long long)s->period_ms,
                 (unsigned long long)path_set(b, s));
}

/* 1: there are such rows. */
static int ask_rows(struct clickhouse *c, struct fleet_batch *const *batches, size_t n,
                    struct str *which, struct err *reterr) {
        struct str sql = {0}, answer = {0};
        int r;

        str_add(&sql, "SELECT recording_ms FROM silt_snapshots");
        add_where(&sql, batches, n);
        str_addf(&sql, " AND (%s) LIMIT 1 FORMAT TabSeparated", str_text(which));
        r = clickhouse_client_ask(&c->client, str_text(&sql), NULL, 0, &answer, reterr);
        if (r >= 0)
                r = answer.n > 0;
        str_done(&sql);
        str_done(&answer);
        return r;
}

/* 1: it has the batch's time, told by other snapshots. */
static int ask_others(struct clickhouse *c, struct fleet_batch *b, struct err *reterr) {
        struct str which = {0};
        int r = 0;

        for (size_t k = 0; k < b->snapshots.n && r == 0; k++) {
                str_add(&which, which.n ? " OR " : "");
                add_other(&which, b, &b->snapshots.items[k]);
                if ((k + 1) % MAX_MOMENTS == 0 || k + 1 == b->snapshots.n) {
                        r = ask_rows(c, &b, 1, &which, reterr);
                        str_clear(&which);
                }
        }
        str_done(&which);
        return r;
}

static bool are_others(const struct fleet_batch *of_a, const struct fleet_snapshot *a,
                       const struct fleet_batch *of_b, const struct fleet_snapshot *b) {
        return begin_of(a) < b->recording_ms && begin_of(b) < a->recording_ms &&
               (a->recording_ms != b->recording_ms || a->period_ms != b->period_ms ||
                path_set(of_a, a) != path_set(of_b, b));
}

/* Of one run, and taken differently. */
static bool are_at_odds(const struct fleet_batch *a, const struct fleet_batch *b) {
        if (memcmp(&a->run.id, &b->run.id, sizeof(a->run.id)) != 0 ||
            strcmp(a->run.service, b->run.service) != 0)
                return false;
        for (size_t i = 0; i < a->snapshots.n; i++)
                for (size_t k = 0; k < b->snapshots.n; k++)
                        if (are_others(a, &a->snapshots.items[i], b, &b->snapshots.items[k]))
                                return true;
        return false;
}

static bool is_any_at_odds(struct fleet_batch *const *batches, size_t n) {
        for (size_t i = 0; i < n; i++)
                for (size_t k = 0; k < i; k++)
                        if (are_at_odds(batches[i], batches[k]))
                                return true;
        return false;
}

/* 1: the server has something of their time. That one question is all there is for what is new. */
static int ask_any(struct clickhouse *c, struct fleet_batch *const *batches, size_t n,
                   struct err *reterr) {
        struct str which = {0};
        int r = 0;

        for (size_t i = 0; i < n; i++)
                if (batches[i]->snapshots.n) {
                        str_add(&which, which.n ? " OR " : "");
                        add_any(&which, batches[i]);
                }
        if (which.n)
                r = ask_rows(c, batches, n, &which, reterr);
        str_done(&which);
        return r;
}

/* Snapshots of a recording that was sent before, now taken at other moments or with other call paths, have keys of their own: sums would
 * be too large. What is there stays, and these are refused: -EEXIST. */
static int refuse_others(struct clickhouse *c, struct fleet_batch *const *batches, size_t n,
                         struct err *reterr) {
        int r = is_any_at_odds(batches, n) ? 1 : 0;

        if (r == 0 && (r = ask_any(c, batches, n, reterr)) > 0) {
                r = 0;
                for (size_t i = 0; i < n && r == 0; i++)
                        r = ask_others(c, batches[i], reterr);
        }
        return r <= 0 ? r
                      : err_set(reterr, -EEXIST,
                                "%s has this recording with other moments or call paths",
                                c->client.url.shown);
}

/* ---- whether it came ----------------------------------------------------------------------------- */

/* Moments of a batch; 1 where they do not follow each other. */
static size_t count_moments(const struct fleet_batch *b) {
        for (size_t k = 1; k < b->snapshots.n; k++)
                if (b->snapshots.items[k].recording_ms <= b->snapshots.items[k - 1].recording_ms)
                        return 1;
        return b->snapshots.n;
}

static bool is_counted(const struct fleet_batch *b, const char *answer) {
        char id[2 * FLEET_ID_BYTES + 1];
        const char *line;

        fleet_id_text(&b->id, id);
        line = strstr(answer, id);
        return line && line[2 * FLEET_ID_BYTES] == '\t' &&
               strtoull(line + 2 * FLEET_ID_BYTES + 1, NULL, 10) >= count_moments(b);
}

/* 200 alone is not believed: anything says it. Snapshots go last, so they are what is asked for. */
static int check_came(struct clickhouse *c, struct fleet_batch *const *batches, size_t n,
                      struct err *reterr) {
        struct str sql = {0}, answer = {0};
        char id[2 * FLEET_ID_BYTES + 1];
        int r;

        str_add(&sql, "SELECT lower(hex(batch)), uniqExact(recording_ms) FROM silt_snapshots");
        add_where(&sql, batches, n);
        for (size_t i = 0; i < n; i++) {
                fleet_id_text(&batches[i]->id, id);
                str_addf(&sql, "%sunhex('%s')", i ? "," : " AND batch IN (", id);
        }
        str_add(&sql, ") GROUP BY batch FORMAT TabSeparated");
        r = clickhouse_client_ask(&c->client, str_text(&sql), NULL, 0, &answer, reterr);
        for (size_t i = 0; i < n && r >= 0; i++)
                if (batches[i]->snapshots.n && !is_counted(batches[i], str_text(&answer)))
                        r = err_set(reterr, -EIO,
                                    "%s says that it took a batch, and does not have it when asked",
                                    c->client.url.shown);
        str_done(&sql);
        str_done(&answer);
        return r;
}

/* ---- all of it ----------------------------------------------------------------------------------- */

static int send_rows(struct clickhouse *c, struct fleet_batch *const *batches, size_t n,
                     struct err *reterr) {
        bytes_buf sites = {0}, snapshots = {0}, losses = {0};
        int r = 0;

        for (size_t i = 0; i < n; i++) {
                const struct fleet_batch *b = batches[i];

                for (size_t k = 0; k < b->snapshots.n; k++) {
                        put_sites(&sites, b, &b->snapshots.items[k]);
                        put_snapshot(&snapshots, b, &b->snapshots.items[k]);
                }
                for (size_t k = 0; k < b->losses.n; k++)
                        put_loss(&losses, &b->losses.items[k]);
        }
        if (sites.n)
                r = clickhouse_client_insert(&c->client, "silt_sites", SITE_COLUMNS, &sites,
                                             reterr);
        if (r >= 0 && snapshots.n)
                r = clickhouse_client_insert(&c->client, "silt_snapshots", SNAPSHOT_COLUMNS,
                                             &snapshots, reterr);
        if (r >= 0 && losses.n)
                r = clickhouse_client_insert(&c->client, "silt_losses", LOSS_COLUMNS, &losses,
                                             reterr);
        vec_free(&sites);
        vec_free(&snapshots);
        vec_free(&losses);
        return r;
}

static int clickhouse_send(struct destination *d, struct fleet_batch *const *batches, size_t n,
                           struct err *reterr) {
        struct clickhouse *c = d->ctx;
        int r = c->has_schema ? 0 : fleet_migrate(&c->client, reterr);

        if (r >= 0) {
                c->has_schema = true;
                r = refuse_others(c, batches, n, reterr);
        }
        if (r >= 0)
                r = send_paths(c, batches, n, reterr);
        if (r >= 0)
                r = send_rows(c, batches, n, reterr);
        if (r >= 0)
                r = check_came(c, batches, n, reterr);
        /* whoever emptied the server may have taken the tables as well */
        if (r < 0 && r != -EBADMSG && r != -EEXIST) {
                c->has_schema = false;
                forget_paths(c);
        }
        return r;
}

static void clickhouse_free(void *ctx) {
        struct clickhouse *c = ctx;

        clickhouse_client_done(&c->client);
        map_done(&c->known);
        free(c);
}

int clickhouse_open(const struct server_url *url, const struct http_client_options *o,
                    struct destination *ret, struct err *reterr) {
        struct clickhouse *c = calloc(1, sizeof(*c));
        int r;

        if (!c)
                abort();
        r = clickhouse_client_init(&c->client, url, o, reterr);
        if (r < 0) {
                free(c);
                return r;
        }
        forget_paths(c);
        *ret = (struct destination){.max_batches = CLICKHOUSE_MAX_BATCHES,
                                    .send = clickhouse_send,
                                    .free = clickhouse_free,
                                    .ctx = c};
        return 0;
}
