/* SPDX-License-Identifier: MIT */
#include "import/pprof_types.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/macros.h"
#include "base/str.h"

static const struct {
        const char *name;
        enum pprof_value value;
} known_types[] = {
        {"alloc_objects", PPROF_N_ALLOCS}, {"alloc_space", PPROF_ALLOC_BYTES},
        {"inuse_objects", PPROF_N_LIVE},   {"inuse_space", PPROF_LIVE_BYTES},
        {"objects", PPROF_N_LIVE},         {"space", PPROF_LIVE_BYTES},
};

/* As pprof reads them: of any case, and one or several. */
static const struct {
        const char *name;
        enum trace_unit unit;
        uint64_t scale;
} known_units[] = {
        {"b", TRACE_UNIT_BYTES, 1},
        {"byte", TRACE_UNIT_BYTES, 1},
        {"kb", TRACE_UNIT_BYTES, 1ull << 10},
        {"kib", TRACE_UNIT_BYTES, 1ull << 10},
        {"kbyte", TRACE_UNIT_BYTES, 1ull << 10},
        {"kilobyte", TRACE_UNIT_BYTES, 1ull << 10},
        {"mb", TRACE_UNIT_BYTES, 1ull << 20},
        {"mib", TRACE_UNIT_BYTES, 1ull << 20},
        {"mbyte", TRACE_UNIT_BYTES, 1ull << 20},
        {"megabyte", TRACE_UNIT_BYTES, 1ull << 20},
        {"gb", TRACE_UNIT_BYTES, 1ull << 30},
        {"gib", TRACE_UNIT_BYTES, 1ull << 30},
        {"gbyte", TRACE_UNIT_BYTES, 1ull << 30},
        {"gigabyte", TRACE_UNIT_BYTES, 1ull << 30},
        {"tb", TRACE_UNIT_BYTES, 1ull << 40},
        {"tbyte", TRACE_UNIT_BYTES, 1ull << 40},
        {"terabyte", TRACE_UNIT_BYTES, 1ull << 40},
        {"ns", TRACE_UNIT_NS, 1},
        {"nanosecond", TRACE_UNIT_NS, 1},
        {"us", TRACE_UNIT_NS, 1000},
        {"μs", TRACE_UNIT_NS, 1000}, /* the Greek letter, and the sign */
        {"µs", TRACE_UNIT_NS, 1000},
        {"microsecond", TRACE_UNIT_NS, 1000},
        {"ms", TRACE_UNIT_NS, 1000000},
        {"millisecond", TRACE_UNIT_NS, 1000000},
        {"s", TRACE_UNIT_NS, 1000000000},
        {"sec", TRACE_UNIT_NS, 1000000000},
        {"second", TRACE_UNIT_NS, 1000000000},
        {"min", TRACE_UNIT_NS, 60000000000},
        {"minute", TRACE_UNIT_NS, 60000000000},
        {"hr", TRACE_UNIT_NS, 3600000000000},
        {"hour", TRACE_UNIT_NS, 3600000000000},
};

/* TRACE_UNIT_OTHER: none of these. */
static enum trace_unit unit_of(const char *name, uint64_t *ret_scale) {
        size_t n = strlen(name);

        *ret_scale = 1;
        for (size_t i = 0; i < ARRAY_SIZE(known_units); i++) {
                size_t known = strlen(known_units[i].name);

                if (strncasecmp(name, known_units[i].name, known) != 0 ||
                    !(n == known || (known > 1 && n == known + 1 && (name[known] | 32) == 's')))
                        continue;
                *ret_scale = known_units[i].scale;
                return known_units[i].unit;
        }
        return TRACE_UNIT_OTHER;
}

/* N_PPROF_VALUES: none of memory. A sum of bytes has a unit of bytes. */
static enum pprof_value value_of(const struct pprof_type *type) {
        uint64_t scale;

        for (size_t i = 0; i < ARRAY_SIZE(known_types); i++) {
                enum pprof_value value = known_types[i].value;
                bool is_bytes = value == PPROF_ALLOC_BYTES || value == PPROF_LIVE_BYTES;

                if (strcmp(known_types[i].name, type->name) == 0 &&
                    is_bytes == (unit_of(type->unit, &scale) == TRACE_UNIT_BYTES))
                        return value;
        }
        return N_PPROF_VALUES;
}

bool pprof_values_has_allocs(const struct pprof_values *v) {
        return v->place_of[PPROF_N_ALLOCS] >= 0 && v->place_of[PPROF_ALLOC_BYTES] >= 0;
}

bool pprof_values_has_live(const struct pprof_values *v) {
        return v->place_of[PPROF_N_LIVE] >= 0 && v->place_of[PPROF_LIVE_BYTES] >= 0;
}

static void take_none(struct pprof_values *v) {
        for (size_t i = 0; i < N_PPROF_VALUES; i++) {
                v->place_of[i] = -1;
                v->scale_of[i] = 1;
        }
}

static void take(struct pprof_values *v, enum pprof_value value, const struct pprof_type *types,
                 size_t place) {
        v->place_of[value] = (int)place;
        unit_of(types[place].unit, &v->scale_of[value]);
}

static void take_memory(struct pprof_values *v, const struct pprof_type *types, size_t n_types) {
        for (size_t i = 0; i < n_types; i++) {
                enum pprof_value value = value_of(&types[i]);

                if (value < N_PPROF_VALUES && v->place_of[value] < 0)
                        take(v, value, types, i);
        }
}

/* Blocks and bytes go together: one without the other is left out. */
static void drop_half(struct pprof_values *v, enum pprof_value blocks, enum pprof_value bytes) {
        if (v->place_of[blocks] < 0 || v->place_of[bytes] < 0)
                v->place_of[blocks] = v->place_of[bytes] = -1;
}

/* A type of "count" in front of another one is how many samples that is made of: samples and cpu, contentions and delay. */
static bool has_samples(const struct pprof_type *types, size_t place) {
        uint64_t scale;

        return place > 0 && strcmp(types[place - 1].unit, "count") == 0 &&
               value_of(&types[place - 1]) == N_PPROF_VALUES &&
               unit_of(types[place].unit, &scale) == TRACE_UNIT_NS;
}

/* Profiles of other things, or of bytes without blocks. */
static void take_one(struct pprof_values *v, const struct pprof_type *types, size_t place) {
        enum pprof_value value = value_of(&types[place]);
        uint64_t scale;

        v->lacks_blocks = true;
        v->is_weight = value != PPROF_LIVE_BYTES && value != PPROF_ALLOC_BYTES;
        take_none(v);
        take(v, v->is_weight ? PPROF_ALLOC_BYTES : value, types, place);
        v->unit = unit_of(types[place].unit, &scale);
        v->counts_samples = v->is_weight && has_samples(types, place);
        if (v->counts_samples)
                take(v, PPROF_N_ALLOCS, types, place - 1);
        if (v->unit == TRACE_UNIT_OTHER && strcmp(types[place].name, "samples") == 0)
                v->unit = TRACE_UNIT_SAMPLES;
}

static int find_type(const struct pprof_type *types, size_t n_types, const char *name) {
        for (size_t i = 0; i < n_types && name[0]; i++)
                if (strcmp(types[i].name, name) == 0)
                        return (int)i;
        return -1;
}

static int refuse_name(const struct pprof_type *types, size_t n_types, const char *name,
                       const char *path, struct err *reterr) {
        struct str names = {0};
        int r;

        for (size_t i = 0; i < n_types; i++)
                str_addf(&names, "%s%.40s", i ? ", " : "", types[i].name);
        r = err_set(reterr, -EINVAL, "'%s' has no sample type '%.40s': choose one of %s", path,
                    name, str_text(&names));
        str_done(&names);
        return r;
}

int pprof_values_choose(struct pprof_values *v, const struct pprof_type *types, size_t n_types,
                        const char *wanted, const char *by_default, const char *path,
                        struct err *reterr) {
        int chosen = find_type(types, n_types, wanted), bytes;

        *v = (struct pprof_values){.unit = TRACE_UNIT_BYTES};
        take_none(v);
        if (n_types == 0)
                return err_set(reterr, -EINVAL, "'%s' does not say what it counts", path);
        if (wanted[0] && chosen < 0)
                return refuse_name(types, n_types, wanted, path, reterr);
        if (chosen < 0)
                chosen = find_type(types, n_types, by_default);
        take_memory(v, types, n_types);
        bytes = v->place_of[v->place_of[PPROF_LIVE_BYTES] >= 0 ? PPROF_LIVE_BYTES
                                                               : PPROF_ALLOC_BYTES];
        if (chosen >= 0 && value_of(&types[chosen]) == N_PPROF_VALUES)
                take_one(v, types, (size_t)chosen);
        else if (!pprof_values_has_allocs(v) && !pprof_values_has_live(v))
                take_one(v, types,
                         chosen >= 0  ? (size_t)chosen
                         : bytes >= 0 ? (size_t)bytes
                                      : n_types - 1); /* what pprof itself shows first */
        if (!v->lacks_blocks) {
                drop_half(v, PPROF_N_ALLOCS, PPROF_ALLOC_BYTES);
                drop_half(v, PPROF_N_LIVE, PPROF_LIVE_BYTES);
        }
        return 0;
}

static bool is_taken(const struct pprof_values *v, size_t type) {
        for (size_t i = 0; i < N_PPROF_VALUES; i++)
                if (v->place_of[i] == (int)type)
                        return true;
        return false;
}

void pprof_values_tell(const struct pprof_values *v, const struct pprof_type *types, size_t n_types,
                       struct import_trace *t) {
        struct str others = {0};
        char text[400];
        size_t n = 0;

        if (v->is_weight) {
                const struct pprof_type *type = &types[v->place_of[PPROF_ALLOC_BYTES]];

                snprintf(text, sizeof(text),
                         v->unit == TRACE_UNIT_OTHER ? "Figures are its %.40s in %.40s"
                                                     : "Figures are its %.40s",
                         type->name, type->unit);
                import_trace_limit(t, text);
        }
        for (size_t i = 0; i < n_types; i++)
                if (!is_taken(v, i))
                        str_addf(&others, "%s%.40s", n++ ? ", " : "", types[i].name);
        if (n) {
                snprintf(text, sizeof(text),
                         "It also has %.200s, which 'silt import --sample-type' reads",
                         str_text(&others));
                import_trace_limit(t, text);
        }
        str_done(&others);
}
