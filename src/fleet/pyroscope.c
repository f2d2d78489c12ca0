/* SPDX-License-Identifier: MIT */
/* Snapshots as profiles of pprof for Pyroscope: POST /ingest, a form with the profile and with what its values mean. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/pprof.pb-c.h"
#include "fleet/destination.h"
#include "fleet/gzip.h"
#include "fleet/profile_client.h"

#define FORM_BOUNDARY "silt-7d41c0a5b0e24f2f"
/* What was allocated in a period adds up; what is live does not. */
static const char value_config[] =
        "{\"alloc_objects\":{\"units\":\"objects\",\"aggregation\":\"sum\"},"
        "\"alloc_space\":{\"units\":\"bytes\",\"aggregation\":\"sum\"},"
        "\"inuse_objects\":{\"units\":\"objects\",\"aggregation\":\"average\"},"
        "\"inuse_space\":{\"units\":\"bytes\",\"aggregation\":\"average\"}}";

/* ---- the profile --------------------------------------------------------------------------------- */

/* Repeated fields may be written in parts: each is packed as it comes. Function and location n + 1 are the batch's text n, which is
 * text n + N_OWN_TEXTS of the profile. */
enum { TEXT_SPACE = 1 + 2 * PROFILE_N_VALUES, TEXT_BYTES, N_OWN_TEXTS };

static void put(bytes_buf *to, const Pprof__Profile *part) {
        vec_reserve(to, pprof__profile__get_packed_size(part));
        to->n += pprof__profile__pack(part, to->items + to->n);
}

static void put_head(bytes_buf *to, const struct fleet_snapshot *s) {
        Pprof__Profile part = PPROF__PROFILE__INIT;
        Pprof__ValueType types[PROFILE_N_VALUES], *list[PROFILE_N_VALUES],
                period = PPROF__VALUE_TYPE__INIT;

        for (size_t i = 0; i < PROFILE_N_VALUES; i++) {
                types[i] = (Pprof__ValueType)PPROF__VALUE_TYPE__INIT;
                types[i].type = (int64_t)(1 + 2 * i);
                types[i].unit = (int64_t)(2 + 2 * i);
                list[i] = &types[i];
        }
        period.type = TEXT_SPACE;
        period.unit = TEXT_BYTES;
        part.sample_type = list;
        part.n_sample_type = PROFILE_N_VALUES;
        part.period_type = &period;
        part.period = s->sample_bytes ? (int64_t)s->sample_bytes : 1;
        part.time_nanos = (int64_t)((s->unix_ms - MIN(s->period_ms, s->unix_ms)) * 1000000);
        part.duration_nanos = (int64_t)(s->period_ms * 1000000);
        part.default_sample_type = 1 + 2 * (PROFILE_N_VALUES - 1);
        put(to, &part);
}

static void put_function(bytes_buf *to, size_t text) {
        Pprof__Profile part = PPROF__PROFILE__INIT;
        Pprof__Function function = PPROF__FUNCTION__INIT;
        Pprof__Location location = PPROF__LOCATION__INIT;
        Pprof__Line line = PPROF__LINE__INIT;

        function.id = location.id = line.function_id = text + 1;
        function.name = function.system_name = (int64_t)(text + N_OWN_TEXTS);
        location.line = (Pprof__Line *[]){&line};
        location.n_line = 1;
        part.function = (Pprof__Function *[]){&function};
        part.n_function = 1;
        part.location = (Pprof__Location *[]){&location};
        part.n_location = 1;
        put(to, &part);
}

static void put_sample(bytes_buf *to, const struct fleet_batch *b, const struct fleet_site *s) {
        const struct fleet_path *p = &b->paths.items[s->path_idx];
        Pprof__Profile part = PPROF__PROFILE__INIT;
        Pprof__Sample sample = PPROF__SAMPLE__INIT;
        uint64_t locations[FLEET_MAX_FRAMES];
        int64_t values[PROFILE_N_VALUES];

        profile_site_values(s, values);
        for (size_t i = 0; i < p->n_frames; i++)
                locations[i] = p->frames[i] + 1;
        sample.location_id = locations;
        sample.n_location_id = p->n_frames;
        sample.value = values;
        sample.n_value = PROFILE_N_VALUES;
        part.sample = (Pprof__Sample *[]){&sample};
        part.n_sample = 1;
        put(to, &part);
}

static void put_texts(bytes_buf *to, const struct fleet_batch *b) {
        Pprof__Profile part = PPROF__PROFILE__INIT;
        VEC(char *) texts = {0};

        vec_push(&texts, (char *)"");
        for (size_t i = 0; i < PROFILE_N_VALUES; i++) {
                vec_push(&texts, (char *)profile_values[i].type);
                vec_push(&texts, (char *)profile_values[i].unit);
        }
        vec_push(&texts, (char *)"space");
        vec_push(&texts, (char *)"bytes");
        for (size_t i = 0; i < b->texts.n; i++)
                vec_push(&texts, (char *)b->texts.items[i]);
        part.string_table = texts.items;
        part.n_string_table = texts.n;
        put(to, &part);
        vec_free(&texts);
}

static void pack_profile(const struct fleet_batch *b, const struct fleet_snapshot *s,
                         bytes_buf *to) {
        bytes_buf raw = {0};

        put_head(&raw, s);
        for (size_t i = 0; i < b->texts.n; i++)
                put_function(&raw, i);
        for (size_t i = 0; i < s->n_sites; i++)
                put_sample(&raw, b, &b->sites.items[s->first_site + i]);
        put_texts(&raw, b);
        gzip_pack(raw.items, raw.n, to);
        vec_free(&raw);
}

/* ---- the form ------------------------------------------------------------------------------------ */

static void add_escaped(struct str *to, const char *text) {
        for (; *text; text++)
                if ((*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
                    (*text >= '0' && *text <= '9') || strchr("-_.", *text))
                        str_addn(to, text, 1);
                else
                        str_addf(to, "%%%02X", (unsigned char)*text);
}

/* Names and values of labels stand between braces, commas and equals signs, and have none of their own. */
static void add_plain(struct str *to, const char *text, size_t n, bool is_key) {
        for (size_t i = 0; i < n; i++) {
                char c = text[i];
                bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
                               (c >= '0' && c <= '9' && (!is_key || i > 0));

                str_addf(to, "%c", is_word || (!is_key && !strchr("{},=\"", c)) ? c : '_');
        }
}

static void add_label(struct str *to, const char *key, size_t n_key, const char *value) {
        if (!value[0])
                return;
        str_add(to, to->bytes[to->n - 1] == '{' ? "" : ",");
        add_plain(to, key, n_key, true);
        str_add(to, "=");
        add_plain(to, value, strlen(value), false);
}

/* service{host=…,build=…,zone=…} */
static void add_name(struct str *to, const struct fleet_run *run) {
        struct str name = {0};

        add_plain(&name, run->service, strlen(run->service), false);
        str_add(&name, "{");
        add_label(&name, "host", 4, run->host);
        add_label(&name, "build", 5, run->build);
        for (size_t i = 0; i < run->n_labels; i++) {
                size_t n = strcspn(run->labels[i], "=");

                add_label(&name, run->labels[i], n,
                          run->labels[i][n] ? run->labels[i] + n + 1 : "");
        }
        str_add(&name, "}");
        add_escaped(to, str_text(&name));
        str_done(&name);
}

static void add_parameters(struct str *to, const struct fleet_run *run,
                           const struct fleet_snapshot *s) {
        str_add(to, "name=");
        add_name(to, run);
        str_addf(to, "&from=%llu&until=%llu&format=pprof&spyName=silt",
                 (unsigned long long)((s->unix_ms - MIN(s->period_ms, s->unix_ms)) / 1000),
                 (unsigned long long)(s->unix_ms / 1000));
}

static void add_text(bytes_buf *to, const char *text) {
        buf_bytes(to, text, strlen(text));
}

static void add_form(bytes_buf *to, const struct fleet_batch *b, const struct fleet_snapshot *s) {
        add_text(
                to,
                "--" FORM_BOUNDARY
                "\r\nContent-Disposition: form-data; name=\"profile\"; filename=\"profile.pprof\"\r\n"
                "Content-Type: application/octet-stream\r\n\r\n");
        pack_profile(b, s, to);
        add_text(
                to,
                "\r\n--" FORM_BOUNDARY
                "\r\nContent-Disposition: form-data; name=\"sample_type_config\"; filename=\"sample_type_config.json\"\r\n"
                "Content-Type: application/json\r\n\r\n");
        add_text(to, value_config);
        add_text(to, "\r\n--" FORM_BOUNDARY "--\r\n");
}

static int send_snapshot(struct profile_client *c, const struct fleet_batch *b,
                         const struct fleet_snapshot *s, struct err *reterr) {
        struct str parameters = {0}, answer = {0};
        bytes_buf form = {0};
        int r;

        add_parameters(&parameters, &b->run, s);
        add_form(&form, b, s);
        r = profile_client_post(
                c, str_text(&parameters),
                &(struct http_request){.content_type =
                                               "multipart/form-data; boundary=" FORM_BOUNDARY,
                                       .body = form.items,
                                       .n_body = form.n},
                &answer, reterr);
        vec_free(&form);
        str_done(&parameters);
        str_done(&answer);
        return r;
}

static int pyroscope_send(struct destination *d, struct fleet_batch *const *batches, size_t n,
                          struct err *reterr) {
        int r = 0;

        for (size_t i = 0; i < n; i++)
                for (size_t k = 0; k < batches[i]->snapshots.n && r >= 0; k++)
                        r = send_snapshot(d->ctx, batches[i], &batches[i]->snapshots.items[k],
                                          reterr);
        return r;
}

int pyroscope_open(const struct server_url *url, const struct http_client_options *o,
                   struct destination *ret, struct err *reterr) {
        struct profile_client *c;
        int r = profile_client_new(url, o, &c, reterr);

        if (r >= 0)
                *ret = (struct destination){.max_batches = 1,
                                            .send = pyroscope_send,
                                            .free = profile_client_free,
                                            .ctx = c};
        return r;
}
