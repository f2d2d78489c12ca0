/* SPDX-License-Identifier: MIT */
/* Snapshots as OpenTelemetry's profiles: one request for each, with a profile for each of the four figures, as a profile there has one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/destination.h"
#include "fleet/gzip.h"
#include "fleet/otlp.pb-c.h"
#include "fleet/profile_client.h"

/* ---- what all of it names ------------------------------------------------------------------------ */

/* The first entry of each table stands for nothing. Texts: "", types and units, "space", functions. Function and location n + 1 are
 * the batch's text n, stack n + 1 is its path n. */
enum { TEXT_SPACE = 1 + 2 * PROFILE_N_VALUES, TEXT_BYTES, N_OWN_TEXTS };

struct dictionary {
        struct arena *arena;
        Otlp__Dictionary d;
};

#define NEW(a, Type, INIT)                                                                         \
        ({                                                                                         \
                Type *_new = arena_alloc(a, sizeof(Type));                                         \
                *_new = (Type)INIT;                                                                \
                _new;                                                                              \
        })

static void fill_texts(struct dictionary *t, const struct fleet_batch *b) {
        char **texts = arena_alloc(t->arena, (N_OWN_TEXTS + b->texts.n) * sizeof(*texts));
        size_t n = 0;

        texts[n++] = (char *)"";
        for (size_t i = 0; i < PROFILE_N_VALUES; i++) {
                texts[n++] = (char *)profile_values[i].type;
                texts[n++] = (char *)profile_values[i].unit;
        }
        texts[n++] = (char *)"space";
        texts[n++] = (char *)"bytes";
        for (size_t i = 0; i < b->texts.n; i++)
                texts[n++] = (char *)b->texts.items[i];
        t->d.string_table = texts;
        t->d.n_string_table = n;
}

static void fill_functions(struct dictionary *t, size_t n) {
        t->d.function_table = arena_alloc(t->arena, (n + 1) * sizeof(*t->d.function_table));
        t->d.location_table = arena_alloc(t->arena, (n + 1) * sizeof(*t->d.location_table));
        for (size_t i = 0; i <= n; i++) {
                Otlp__Function *f = NEW(t->arena, Otlp__Function, OTLP__FUNCTION__INIT);
                Otlp__Location *l = NEW(t->arena, Otlp__Location, OTLP__LOCATION__INIT);

                if (i) {
                        l->lines = arena_alloc(t->arena, sizeof(*l->lines));
                        l->lines[0] = NEW(t->arena, Otlp__Line, OTLP__LINE__INIT);
                        l->lines[0]->function_index = (int32_t)i;
                        l->n_lines = 1;
                        f->name_strindex = (int32_t)(N_OWN_TEXTS + i - 1);
                }
                t->d.function_table[i] = f;
                t->d.location_table[i] = l;
        }
        t->d.n_function_table = t->d.n_location_table = n + 1;
}

static void fill_stacks(struct dictionary *t, const struct fleet_batch *b) {
        t->d.stack_table = arena_alloc(t->arena, (b->paths.n + 1) * sizeof(*t->d.stack_table));
        t->d.stack_table[0] = NEW(t->arena, Otlp__Stack, OTLP__STACK__INIT);
        for (size_t i = 0; i < b->paths.n; i++) {
                const struct fleet_path *p = &b->paths.items[i];
                Otlp__Stack *s = NEW(t->arena, Otlp__Stack, OTLP__STACK__INIT);

                s->location_indices =
                        arena_alloc(t->arena, MAX(p->n_frames, (size_t)1) * sizeof(int32_t));
                for (size_t k = 0; k < p->n_frames; k++)
                        s->location_indices[k] = (int32_t)(p->frames[k] + 1);
                s->n_location_indices = p->n_frames;
                t->d.stack_table[i + 1] = s;
        }
        t->d.n_stack_table = b->paths.n + 1;
}

static void fill_dictionary(struct dictionary *t, const struct fleet_batch *b) {
        fill_texts(t, b);
        fill_functions(t, b->texts.n);
        fill_stacks(t, b);
        t->d.mapping_table = arena_alloc(t->arena, sizeof(*t->d.mapping_table));
        t->d.mapping_table[0] = NEW(t->arena, Otlp__Mapping, OTLP__MAPPING__INIT);
        t->d.link_table = arena_alloc(t->arena, sizeof(*t->d.link_table));
        t->d.link_table[0] = NEW(t->arena, Otlp__Link, OTLP__LINK__INIT);
        t->d.attribute_table = arena_alloc(t->arena, sizeof(*t->d.attribute_table));
        t->d.attribute_table[0] = NEW(t->arena, Otlp__Attribute, OTLP__ATTRIBUTE__INIT);
        t->d.n_mapping_table = t->d.n_link_table = t->d.n_attribute_table = 1;
}

/* ---- whose it is --------------------------------------------------------------------------------- */

static Otlp__KeyValue *attribute(struct arena *a, const char *key, size_t n_key,
                                 const char *value) {
        Otlp__KeyValue *kv = NEW(a, Otlp__KeyValue, OTLP__KEY_VALUE__INIT);

        kv->key = arena_strndup(a, key, n_key);
        kv->value = NEW(a, Otlp__AnyValue, OTLP__ANY_VALUE__INIT);
        kv->value->value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
        kv->value->string_value = (char *)value;
        return kv;
}

static Otlp__Resource *resource_of(struct arena *a, const struct fleet_run *run) {
        const struct {
                const char *key, *value;
        } rows[] = {
                {"service.name", run->service},
                {"host.name", run->host},
                {"process.executable.name", run->program},
                {"process.executable.build_id.gnu", run->build},
        };
        Otlp__Resource *r = NEW(a, Otlp__Resource, OTLP__RESOURCE__INIT);

        r->attributes =
                arena_alloc(a, (ARRAY_SIZE(rows) + 1 + run->n_labels) * sizeof(*r->attributes));
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                if (rows[i].value[0])
                        r->attributes[r->n_attributes++] =
                                attribute(a, rows[i].key, strlen(rows[i].key), rows[i].value);
        r->attributes[r->n_attributes] = attribute(a, "process.pid", 11, "");
        r->attributes[r->n_attributes]->value->value_case = OTLP__ANY_VALUE__VALUE_INT_VALUE;
        r->attributes[r->n_attributes++]->value->int_value = run->pid;
        for (size_t i = 0; i < run->n_labels; i++) {
                size_t n = strcspn(run->labels[i], "=");

                r->attributes[r->n_attributes++] =
                        attribute(a, run->labels[i], n,
                                  run->labels[i][n] ? run->labels[i] + n + 1 : "");
        }
        return r;
}

/* ---- one figure ---------------------------------------------------------------------------------- */

/* The same for the same moment: whoever gets it twice can tell. */
static void set_id(struct arena *a, Otlp__Profile *p, const struct fleet_run *run,
                   const struct fleet_snapshot *s, size_t value) {
        p->profile_id.data = arena_memdup(a, run->id.bytes, FLEET_ID_BYTES);
        p->profile_id.len = FLEET_ID_BYTES;
        buf_put_le64(p->profile_id.data,
                     bytes_le64(run->id.bytes) ^ (s->recording_ms * PROFILE_N_VALUES + value));
}

static Otlp__Profile *profile_of(struct arena *a, const struct fleet_batch *b,
                                 const struct fleet_snapshot *s, size_t value) {
        Otlp__Profile *p = NEW(a, Otlp__Profile, OTLP__PROFILE__INIT);

        p->sample_type = NEW(a, Otlp__ValueType, OTLP__VALUE_TYPE__INIT);
        p->sample_type->type_strindex = (int32_t)(1 + 2 * value);
        p->sample_type->unit_strindex = (int32_t)(2 + 2 * value);
        p->period_type = NEW(a, Otlp__ValueType, OTLP__VALUE_TYPE__INIT);
        p->period_type->type_strindex = TEXT_SPACE;
        p->period_type->unit_strindex = TEXT_BYTES;
        p->period = s->sample_bytes ? (int64_t)s->sample_bytes : 1;
        p->time_unix_nano = (s->unix_ms - MIN(s->period_ms, s->unix_ms)) * 1000000;
        p->duration_nano = s->period_ms * 1000000;
        set_id(a, p, &b->run, s, value);
        p->samples = arena_alloc(a, MAX(s->n_sites, (size_t)1) * sizeof(*p->samples));
        for (size_t i = 0; i < s->n_sites; i++) {
                const struct fleet_site *site = &b->sites.items[s->first_site + i];
                int64_t values[PROFILE_N_VALUES];
                Otlp__Sample *sample;

                profile_site_values(site, values);
                if (!values[value])
                        continue;
                sample = NEW(a, Otlp__Sample, OTLP__SAMPLE__INIT);
                sample->stack_index = (int32_t)(site->path_idx + 1);
                sample->values = arena_memdup(a, &values[value], sizeof(values[value]));
                sample->n_values = 1;
                p->samples[p->n_samples++] = sample;
        }
        return p;
}

/* ---- a request ----------------------------------------------------------------------------------- */

static void pack_request(const struct fleet_batch *b, const struct fleet_snapshot *s,
                         bytes_buf *to) {
        struct dictionary t = {.arena = arena_new(), .d = OTLP__DICTIONARY__INIT};
        Otlp__Request request = OTLP__REQUEST__INIT;
        Otlp__ResourceProfiles of = OTLP__RESOURCE_PROFILES__INIT;
        Otlp__ScopeProfiles scoped = OTLP__SCOPE_PROFILES__INIT;
        Otlp__Scope scope = OTLP__SCOPE__INIT;
        Otlp__Profile *profiles[PROFILE_N_VALUES];
        bytes_buf raw = {0};

        fill_dictionary(&t, b);
        for (size_t i = 0; i < PROFILE_N_VALUES; i++)
                profiles[i] = profile_of(t.arena, b, s, i);
        scope.name = (char *)"silt";
        scoped.scope = &scope;
        scoped.profiles = profiles;
        scoped.n_profiles = PROFILE_N_VALUES;
        of.resource = resource_of(t.arena, &b->run);
        of.scope_profiles = (Otlp__ScopeProfiles *[]){&scoped};
        of.n_scope_profiles = 1;
        request.resource_profiles = (Otlp__ResourceProfiles *[]){&of};
        request.n_resource_profiles = 1;
        request.dictionary = &t.d;
        vec_reserve(&raw, otlp__request__get_packed_size(&request));
        raw.n = otlp__request__pack(&request, raw.items);
        gzip_pack(raw.items, raw.n, to);
        vec_free(&raw);
        arena_free(t.arena);
}

/* What a receiver rejects in part is not to be sent again: that is said. */
static void note_rejected(struct destination *d, const struct str *answer) {
        Otlp__Response *r =
                answer->n ? otlp__response__unpack(NULL, answer->n, (const uint8_t *)answer->bytes)
                          : NULL;

        if (r && r->partial_success && r->partial_success->rejected_profiles > 0) {
                snprintf(d->note, sizeof(d->note), "the receiver rejected %lld profiles: %.200s",
                         (long long)r->partial_success->rejected_profiles,
                         r->partial_success->error_message ? r->partial_success->error_message
                                                           : "");
                err_make_one_line(d->note);
        }
        if (r)
                otlp__response__free_unpacked(r, NULL);
}

static int send_snapshot(struct destination *d, const struct fleet_batch *b,
                         const struct fleet_snapshot *s, struct err *reterr) {
        struct str answer = {0};
        bytes_buf body = {0};
        int r;

        pack_request(b, s, &body);
        r = profile_client_post(d->ctx, "",
                                &(struct http_request){.content_type = "application/x-protobuf",
                                                       .is_gzip = true,
                                                       .body = body.items,
                                                       .n_body = body.n},
                                &answer, reterr);
        if (r >= 0)
                note_rejected(d, &answer);
        vec_free(&body);
        str_done(&answer);
        return r;
}

static int otlp_send(struct destination *d, struct fleet_batch *const *batches, size_t n,
                     struct err *reterr) {
        int r = 0;

        for (size_t i = 0; i < n; i++)
                for (size_t k = 0; k < batches[i]->snapshots.n && r >= 0; k++)
                        r = send_snapshot(d, batches[i], &batches[i]->snapshots.items[k], reterr);
        return r;
}

int otlp_open(const struct server_url *url, const struct http_client_options *o,
              struct destination *ret, struct err *reterr) {
        struct profile_client *c;
        int r = profile_client_new(url, o, &c, reterr);

        if (r >= 0)
                *ret = (struct destination){.max_batches = 1,
                                            .send = otlp_send,
                                            .free = profile_client_free,
                                            .ctx = c};
        return r;
}
