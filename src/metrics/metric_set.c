/* SPDX-License-Identifier: MIT */
#include "metrics/metric_set.h"

#include "base/visible.h"

/* ---- labels ------------------------------------------------------------------------------------ */

static void add_escaped(struct str *to, const char *shown, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (shown[i] == '\\' || shown[i] == '"')
                        str_addf(to, "\\%c", shown[i]);
                else
                        str_addn(to, &shown[i], 1);
}

void metric_label(struct metric_labels *l, const char *name, const char *value) {
        size_t left = strlen(value), at = 0;

        str_addf(&l->text, "%s%s=\"", l->text.n ? "," : "", name);
        while (at < left && at < METRIC_MAX_LABEL_BYTES) {
                char shown[VISIBLE_MAX];
                size_t n_shown;

                at += visible_first(value + at, left - at, shown, &n_shown);
                add_escaped(&l->text, shown, n_shown);
        }
        str_add(&l->text, at < left ? "…\"" : "\"");
}

void metric_labels_done(struct metric_labels *l) {
        str_done(&l->text);
}

/* ---- values ------------------------------------------------------------------------------------ */

static uint64_t hash_labels(enum metric_id id, const char *text, size_t n) {
        uint64_t hash = map_hash((uint64_t)id + 1);

        for (size_t i = 0; i < n; i++)
                hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3ull;
        return hash;
}

static struct metric_value *value_of(struct metric_set *set, enum metric_id id,
                                     struct metric_labels *l, uint64_t *ret_series) {
        const char *labels = l ? str_text(&l->text) : "";
        size_t n = strlen(labels) + 1;
        uint64_t series = hash_labels(id, labels, n), place;
        bool is_new;
        struct metric_value *v;

        if (ret_series)
                *ret_series = series;
        place = *map_put(&set->places, series, set->values[id].n, &is_new);
        if (!is_new)
                return &set->values[id].items[place];
        v = vec_add(&set->values[id]);
        v->labels = set->text.n;
        vec_reserve(&set->text, n);
        memcpy(set->text.items + set->text.n, labels, n);
        set->text.n += n;
        return v;
}

void metric_put(struct metric_set *set, enum metric_id id, struct metric_labels *l,
                uint64_t value) {
        metric_put_signed(set, id, l, (int64_t)MIN(value, (uint64_t)INT64_MAX));
}

void metric_put_signed(struct metric_set *set, enum metric_id id, struct metric_labels *l,
                       int64_t value) {
        struct metric_value *v = value_of(set, id, l, NULL);

        v->is_whole = true;
        if (__builtin_add_overflow(v->whole, value, &v->whole))
                v->whole = value < 0 ? INT64_MIN : INT64_MAX;
}

void metric_put_real(struct metric_set *set, enum metric_id id, struct metric_labels *l,
                     double value) {
        value_of(set, id, l, NULL)->real += value;
}

void metric_count(struct metric_set *set, enum metric_id id, struct metric_labels *l,
                  uint64_t source, uint64_t value) {
        uint64_t series;
        struct metric_value *v = value_of(set, id, l, &series);
        uint64_t told = counter_keeper_count(set->keeper, series, source, value);

        v->is_whole = strcmp(metric_names[id].unit, "seconds") != 0;
        v->whole = (int64_t)MIN(told, (uint64_t)INT64_MAX);
        v->real = (double)told / 1e9;
}

void metric_set_clear(struct metric_set *set) {
        for (size_t i = 0; i < METRIC_N; i++)
                vec_clear(&set->values[i]);
        vec_clear(&set->text);
        map_clear(&set->places);
}

void metric_set_done(struct metric_set *set) {
        for (size_t i = 0; i < METRIC_N; i++)
                vec_free(&set->values[i]);
        vec_free(&set->text);
        map_done(&set->places);
}
