/* SPDX-License-Identifier: MIT */
/* pprof's profiles (profile.proto): Go's heap profiles, those of libraries for Rust and C++, silt's own.
 *
 * One reading collects where things lie, as they may come in any order; a second one takes the samples. Of memory a profile says what
 * was allocated, what is in use, or both. Samples of one call path are added up first: Go has one for each size of blocks. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/str.h"
#include "base/units.h"
#include "base/vec.h"
#include "import/build_id.h"
#include "import/import_format.h"
#include "import/import_maps.h"
#include "import/pprof_types.h"
#include "import/protobuf_reader.h"

enum {
        PPROF_MAX_TEXT_BYTES = 64 << 10, /* of a name; what is longer is cut */
        PPROF_MAX_MAPPINGS = 65536,
        PPROF_MAX_FRAMES = 65536,
        PPROF_MAX_TYPES = 64,
        PPROF_MAX_TYPE_BYTES = 48,
        PPROF_MAX_LABELS = 8, /* that are told */
};

#define PPROF_SECOND_NS 1000000000ull

/* Numbers of fields of a profile. */
enum {
        PROFILE_SAMPLE_TYPE = 1,
        PROFILE_SAMPLE = 2,
        PROFILE_MAPPING = 3,
        PROFILE_LOCATION = 4,
        PROFILE_FUNCTION = 5,
        PROFILE_TEXT = 6,
        PROFILE_TIME_NS = 9,
        PROFILE_DURATION_NS = 10,
        PROFILE_PERIOD_TYPE = 11,
        PROFILE_PERIOD = 12,
        PROFILE_COMMENT = 13,
        PROFILE_DEFAULT_TYPE = 14,
        PROFILE_MAX_FIELD = 15,
};

struct pprof_type_numbers {
        uint64_t type, unit; /* texts */
};

struct pprof_text {
        struct bytes_reader bytes;
        const char *text; /* NULL: not needed yet */
};

struct pprof_mapping {
        uint64_t id, begin, end, offset, file, build_id;
};

struct pprof_function {
        uint64_t name, system_name, file;
};

struct pprof_location {
        struct bytes_reader bytes;
        uint32_t location; /* of the trace + 1; 0: not needed yet */
};

struct pprof_path {
        uint32_t stack;
        uint64_t values[N_PPROF_VALUES];
};

struct pprof_in {
        struct import_input *in;
        struct import_trace *trace;
        struct err *err;
        struct arena *arena;
        bytes_buf bytes;
        VEC(struct pprof_type_numbers) types;
        VEC(struct pprof_type) type_names;
        VEC(struct pprof_text) texts;
        VEC(struct pprof_mapping) mappings;
        VEC(struct pprof_function) functions;
        VEC(struct pprof_location) locations;
        VEC(uint64_t) comments;
        VEC(uint64_t) labels;                            /* texts of their keys, each once */
        struct map mapping_of, function_of, location_of; /* id → index */
        struct pprof_type_numbers period_type;
        uint64_t period, time_ns, duration_ns, default_type;
        struct import_maps maps;
        struct pprof_values v;
        VEC(uint64_t) ids; /* of one sample */
        VEC(uint64_t) values;
        VEC(struct import_function) lines;
        VEC(struct pprof_path) paths;
        struct map path_of; /* stack → index */
};

static int refuse(struct pprof_in *p, const uint8_t *at, const char *why) {
        p->in->taken_bytes = (uint64_t)(at - p->bytes.items);
        return import_input_refuse(p->in, p->err, "%s", why);
}

static int refuse_damage(struct pprof_in *p, const struct bytes_reader *at) {
        return refuse(p, at->pos, "a field is cut off, or none of a profile");
}

static const char *text_of(struct pprof_in *p, uint64_t number) {
        struct pprof_text *t;

        if (number >= p->texts.n)
                return "";
        t = &p->texts.items[number];
        if (!t->text)
                t->text = arena_strndup(p->arena, (const char *)t->bytes.pos,
                                        MIN(bytes_left(&t->bytes), (size_t)PPROF_MAX_TEXT_BYTES));
        return t->text;
}

/* ---- first reading ----------------------------------------------------------------------------- */

/* A message of nothing but numbers, by the numbers of their fields. */
static int take_numbers(struct pprof_in *p, struct bytes_reader m, uint64_t *values, size_t n) {
        struct protobuf_field f;
        int r;

        while ((r = protobuf_next(&m, &f)) > 0)
                if (f.number <= n && f.type == PROTOBUF_VARINT)
                        values[f.number - 1] = f.value;
        return r < 0 ? refuse_damage(p, &m) : 0;
}

static int take_type(struct pprof_in *p, struct bytes_reader m, struct pprof_type_numbers *ret) {
        uint64_t v[2] = {0};
        int r = take_numbers(p, m, v, ARRAY_SIZE(v));

        *ret = (struct pprof_type_numbers){v[0], v[1]};
        return r;
}

static int take_mapping(struct pprof_in *p, struct bytes_reader m) {
        uint64_t v[6] = {0};
        int r = take_numbers(p, m, v, ARRAY_SIZE(v));

        if (r < 0)
                return r;
        if (p->mappings.n == PPROF_MAX_MAPPINGS)
                return refuse(p, m.pos, "it has more than 65,536 mappings");
        map_put(&p->mapping_of, v[0], p->mappings.n, NULL);
        vec_push(&p->mappings, (struct pprof_mapping){v[0], v[1], v[2], v[3], v[4], v[5]});
        return 0;
}

static int take_function(struct pprof_in *p, struct bytes_reader m) {
        uint64_t v[4] = {0};
        int r = take_numbers(p, m, v, ARRAY_SIZE(v));

        map_put(&p->function_of, v[0], p->functions.n, NULL);
        vec_push(&p->functions, (struct pprof_function){v[1], v[2], v[3]});
        return r;
}

static int take_location(struct pprof_in *p, struct bytes_reader m) {
        uint64_t id = 0;
        int r = take_numbers(p, m, &id, 1);

        map_put(&p->location_of, id, p->locations.n, NULL);
        vec_push(&p->locations, (struct pprof_location){.bytes = m});
        return r;
}

static int take_message(struct pprof_in *p, const struct protobuf_field *f) {
        struct pprof_type_numbers type;
        int r = 0;

        switch (f->number) {
        case PROFILE_SAMPLE_TYPE:
                r = take_type(p, f->bytes, &type);
                if (r >= 0 && p->types.n == PPROF_MAX_TYPES)
                        return refuse(p, f->bytes.pos, "it has more than 64 types of samples");
                vec_push(&p->types, type);
                break;
        case PROFILE_MAPPING: return take_mapping(p, f->bytes);
        case PROFILE_LOCATION: return take_location(p, f->bytes);
        case PROFILE_FUNCTION: return take_function(p, f->bytes);
        case PROFILE_TEXT: vec_push(&p->texts, (struct pprof_text){.bytes = f->bytes}); break;
        case PROFILE_PERIOD_TYPE: return take_type(p, f->bytes, &p->period_type);
        default: break;
        }
        return r;
}

static int take_field(struct pprof_in *p, struct protobuf_field *f) {
        uint64_t v;

        if (f->number == PROFILE_COMMENT) {
                while (protobuf_number(f, &v))
                        vec_push(&p->comments, v);
                return f->bytes.bad ? refuse_damage(p, &f->bytes) : 0;
        }
        if (f->type == PROTOBUF_BYTES)
                return take_message(p, f);
        if (f->number == PROFILE_TIME_NS)
                p->time_ns = f->value;
        else if (f->number == PROFILE_DURATION_NS)
                p->duration_ns = f->value;
        else if (f->number == PROFILE_PERIOD)
                p->period = f->value;
        else if (f->number == PROFILE_DEFAULT_TYPE)
                p->default_type = f->value;
        return 0;
}

static int collect(struct pprof_in *p) {
        struct bytes_reader m = bytes_reader_of(p->bytes.items, p->bytes.n);
        struct protobuf_field f;
        int r, taken = 0;

        while (taken >= 0 && (r = protobuf_next(&m, &f)) > 0)
                taken = take_field(p, &f);
        if (taken < 0)
                return taken;
        return r < 0 ? refuse_damage(p, &m) : 0;
}

/* ---- places in code ---------------------------------------------------------------------------- */

static int take_line(struct pprof_in *p, struct bytes_reader m) {
        uint64_t v[2] = {0}, idx;
        int r = take_numbers(p, m, v, ARRAY_SIZE(v));
        const struct pprof_function *f;
        const char *name;

        if (r < 0)
                return r;
        if (!map_get(&p->function_of, v[0], &idx))
                return refuse(p, m.pos, "a line is in a function that is not there");
        f = &p->functions.items[idx];
        name = text_of(p, f->name);
        if (!name[0])
                name = text_of(p, f->system_name);
        vec_push(&p->lines, (struct import_function){name, text_of(p, f->file),
                                                     v[1] <= UINT32_MAX ? (uint32_t)v[1] : 0});
        return 0;
}

/* A profile has the address of the call, a trace that behind it. */
static void find_module(struct pprof_in *p, uint64_t mapping, uint64_t address,
                        struct import_place *place, uint8_t *build_id, size_t cap) {
        const struct pprof_mapping *m;
        uint64_t idx;

        place->address = address && address < UINT64_MAX ? address + 1 : 0;
        if (!mapping || !map_get(&p->mapping_of, mapping, &idx))
                return;
        m = &p->mappings.items[idx];
        place->module = text_of(p, m->file);
        place->n_build_id = build_id_parse(text_of(p, m->build_id), build_id, cap);
        place->build_id = place->n_build_id ? build_id : NULL;
        if (address >= m->begin && address < m->end)
                import_maps_find(&p->maps, place->address, &place->address);
}

static int take_place(struct pprof_in *p, struct bytes_reader m, uint32_t *ret) {
        uint64_t mapping = 0, address = 0;
        struct import_place place = {0};
        struct protobuf_field f;
        uint8_t build_id[32];
        int r = 0;

        vec_clear(&p->lines);
        while (r >= 0 && protobuf_next(&m, &f) > 0) {
                if (f.number == 2 && f.type == PROTOBUF_VARINT)
                        mapping = f.value;
                else if (f.number == 3 && f.type == PROTOBUF_VARINT)
                        address = f.value;
                else if (f.number == 4 && f.type == PROTOBUF_BYTES)
                        r = take_line(p, f.bytes);
        }
        if (r < 0)
                return r;
        find_module(p, mapping, address, &place, build_id, sizeof(build_id));
        place.functions = p->lines.items;
        place.n_functions = p->lines.n;
        return import_trace_place(p->trace, &place, ret, p->err);
}

static int place_of(struct pprof_in *p, uint64_t id, const uint8_t *at, uint32_t *ret) {
        struct pprof_location *l;
        uint64_t idx;
        int r;

        if (!map_get(&p->location_of, id, &idx))
                return refuse(p, at, "a sample is at a location that is not there");
        l = &p->locations.items[idx];
        if (!l->location) {
                r = take_place(p, l->bytes, ret);
                if (r < 0)
                        return r;
                l->location = *ret + 1;
        }
        *ret = l->location - 1;
        return 0;
}

/* ---- second reading ---------------------------------------------------------------------------- */

static int stack_of(struct pprof_in *p, const uint8_t *at, uint32_t *ret) {
        int r = 0;

        *ret = 0;
        if (p->ids.n > PPROF_MAX_FRAMES)
                return refuse(p, at, "a call path has more than 65,536 frames");
        for (size_t i = p->ids.n; i-- > 0 && r >= 0;) {
                uint32_t location;

                r = place_of(p, p->ids.items[i], at, &location);
                if (r >= 0 && (r = import_trace_stack(p->trace, *ret, location, ret)) < 0)
                        r = err_set_errno(p->err, r, "too many call paths");
        }
        return r;
}

static int add_values(struct pprof_in *p, uint32_t stack, const uint8_t *at) {
        bool is_new;
        uint64_t idx = *map_put(&p->path_of, stack, p->paths.n, &is_new);

        if (is_new)
                vec_push(&p->paths, (struct pprof_path){.stack = stack});
        for (size_t v = 0; v < N_PPROF_VALUES; v++) {
                uint64_t *sum = &p->paths.items[idx].values[v], n;

                if (p->v.place_of[v] < 0)
                        continue;
                n = p->values.items[p->v.place_of[v]];
                if ((int64_t)n < 0)
                        return refuse(
                                p, at,
                                "a sample is below 0: it is the difference of two profiles, read these");
                if (__builtin_mul_overflow(n, p->v.scale_of[v], &n) ||
                    __builtin_add_overflow(*sum, n, sum) || *sum > INT64_MAX)
                        return refuse(p, at, "the samples of a call path add up to too much");
        }
        return 0;
}

static int take_label(struct pprof_in *p, struct bytes_reader m) {
        uint64_t key = 0;
        int r = take_numbers(p, m, &key, 1);

        for (size_t i = 0; i < p->labels.n; i++)
                if (p->labels.items[i] == key)
                        return r;
        if (p->labels.n < PPROF_MAX_LABELS)
                vec_push(&p->labels, key);
        return r;
}

static int take_sample(struct pprof_in *p, struct bytes_reader m) {
        const uint8_t *at = m.pos;
        struct protobuf_field f;
        uint32_t stack;
        uint64_t v;
        int r;

        vec_clear(&p->ids);
        vec_clear(&p->values);
        while ((r = protobuf_next(&m, &f)) > 0) {
                while (f.number == 1 && protobuf_number(&f, &v))
                        vec_push(&p->ids, v);
                while (f.number == 2 && protobuf_number(&f, &v))
                        vec_push(&p->values, v);
                if (f.number == 3 && f.type == PROTOBUF_BYTES && take_label(p, f.bytes) < 0)
                        return -EINVAL;
                if (f.bytes.bad)
                        return refuse_damage(p, &f.bytes);
        }
        if (r < 0)
                return refuse_damage(p, &m);
        if (p->values.n != p->types.n)
                return refuse(p, at, "a sample has more or fewer values than there are types");
        r = stack_of(p, at, &stack);
        return r < 0 ? r : add_values(p, stack, at);
}

static int take_samples(struct pprof_in *p) {
        struct bytes_reader m = bytes_reader_of(p->bytes.items, p->bytes.n);
        struct protobuf_field f;
        int r = 0;

        while (r >= 0 && protobuf_next(&m, &f) > 0)
                if (f.number == PROFILE_SAMPLE && f.type == PROTOBUF_BYTES)
                        r = take_sample(p, f.bytes);
        return r;
}

/* ---- into the trace ---------------------------------------------------------------------------- */

struct pprof_misfits {
        uint64_t n_paths; /* with more in use than allocated */
        uint64_t n_bytes_alone;
};

/* Estimates of samples need not fit together. What is in use is kept: it is what profiles are read for. */
static struct import_total total_of(const uint64_t *v, struct pprof_misfits *misfits) {
        uint64_t n_allocs = MAX(v[PPROF_N_ALLOCS], v[PPROF_N_LIVE]);
        uint64_t bytes = MAX(v[PPROF_ALLOC_BYTES], v[PPROF_LIVE_BYTES]);
        struct import_total t = {n_allocs, bytes, n_allocs - v[PPROF_N_LIVE],
                                 bytes - v[PPROF_LIVE_BYTES]};

        misfits->n_paths += n_allocs > v[PPROF_N_ALLOCS] || bytes > v[PPROF_ALLOC_BYTES];
        if ((t.free_bytes && !t.n_frees) || (t.alloc_bytes && !t.n_allocs)) {
                t.n_allocs++, t.n_frees += t.free_bytes > 0;
                misfits->n_bytes_alone++;
        }
        return t;
}

static void tell_misfits(struct pprof_in *p, const struct pprof_misfits *misfits) {
        struct unit_text n;
        char text[200];

        import_trace_tell_larger(p->trace, misfits->n_paths);
        if (misfits->n_bytes_alone) {
                snprintf(text, sizeof(text),
                         "%s call paths have bytes without blocks: a block is counted for them",
                         unit_count(&n, misfits->n_bytes_alone));
                import_trace_limit(p->trace, text);
        }
}

static int put_path(struct pprof_in *p, const struct pprof_path *path,
                    struct pprof_misfits *misfits) {
        const uint64_t *v = path->values;
        struct import_total t;

        if (p->v.lacks_blocks && p->v.place_of[PPROF_LIVE_BYTES] >= 0)
                return import_trace_live(p->trace, path->stack, v[PPROF_LIVE_BYTES] > 0,
                                         v[PPROF_LIVE_BYTES]);
        if (p->v.lacks_blocks) { /* a sum has at least one */
                uint64_t n = MAX(v[PPROF_N_ALLOCS], (uint64_t)(v[PPROF_ALLOC_BYTES] > 0));

                return import_trace_total(p->trace, path->stack,
                                          &(struct import_total){n, v[PPROF_ALLOC_BYTES], 0, 0});
        }
        if (!pprof_values_has_allocs(&p->v)) {
                misfits->n_bytes_alone += v[PPROF_LIVE_BYTES] && !v[PPROF_N_LIVE];
                return import_trace_live(p->trace, path->stack,
                                         v[PPROF_LIVE_BYTES] ? MAX(v[PPROF_N_LIVE], (uint64_t)1)
                                                             : v[PPROF_N_LIVE],
                                         v[PPROF_LIVE_BYTES]);
        }
        t = total_of(v, misfits);
        if (!pprof_values_has_live(&p->v))
                t.n_frees = t.free_bytes = 0;
        return import_trace_total(p->trace, path->stack, &t);
}

static void tell_labels(struct pprof_in *p) {
        struct str names = {0};

        for (size_t i = 0; i < p->labels.n; i++)
                str_addf(&names, "%s%.40s", i ? ", " : "Labels of its samples are left out: ",
                         text_of(p, p->labels.items[i]));
        if (p->labels.n == PPROF_MAX_LABELS)
                str_addf(&names, " and others");
        if (p->labels.n)
                import_trace_limit(p->trace, str_text(&names));
        str_done(&names);
}

static uint64_t sample_bytes(struct pprof_in *p) {
        return strcmp(text_of(p, p->period_type.type), "space") == 0 ? p->period : 0;
}

/* Sums of what was allocated alone. */
static bool lacks_live(const struct pprof_in *p) {
        return p->v.unit == TRACE_UNIT_BYTES && p->v.place_of[PPROF_LIVE_BYTES] < 0;
}

static void tell_limits(struct pprof_in *p, const struct pprof_misfits *misfits) {
        pprof_values_tell(&p->v, p->type_names.items, p->type_names.n, p->trace);
        if (!p->v.is_weight && lacks_live(p))
                import_trace_limit(p->trace,
                                   "It does not say what was freed: what was live is unknown");
        if (sample_bytes(p))
                import_trace_estimates(p->trace, sample_bytes(p));
        tell_labels(p);
        tell_misfits(p, misfits);
}

static const char *command_of(struct pprof_in *p) {
        static const char key[] = "command: ";

        for (size_t i = 0; i < p->comments.n; i++) {
                const char *text = text_of(p, p->comments.items[i]);

                if (strncmp(text, key, strlen(key)) == 0)
                        return text + strlen(key);
        }
        return p->mappings.n ? text_of(p, p->mappings.items[0].file) : "";
}

/* Many have no duration: they are taken for the first second of their program. */
static uint64_t started_unix_ns(const struct pprof_in *p) {
        if (p->time_ns > INT64_MAX || p->time_ns <= PPROF_SECOND_NS)
                return 0;
        return p->duration_ns ? p->time_ns : p->time_ns - PPROF_SECOND_NS;
}

/* A heap profile says when it was taken, which tells nothing of how long the program ran. */
static bool lacks_time(const struct pprof_in *p) {
        return !started_unix_ns(p) || (!p->duration_ns && import_trace_n_files(p->trace) == 1);
}

/* Profiles of one program tell its moments by the clock on the wall; those without one are a second apart, in their order. */
static uint64_t moment_of(const struct pprof_in *p) {
        uint64_t begun_ns = import_trace_started_unix_ns(p->trace), end_ns;

        if (!begun_ns || !p->time_ns ||
            __builtin_add_overflow(p->time_ns, p->duration_ns, &end_ns) || end_ns > INT64_MAX)
                return (import_trace_n_moments(p->trace) + 1) * PPROF_SECOND_NS;
        return end_ns > begun_ns ? end_ns - begun_ns : 1;
}

static int put_profile(struct pprof_in *p) {
        struct pprof_misfits misfits = {0};
        int r = 0;

        for (size_t i = 0; i < p->paths.n && r >= 0; i++)
                r = put_path(p, &p->paths.items[i], &misfits);
        if (r < 0)
                return err_set(p->err, r, "'%s': its samples add up to too much", p->in->path);
        tell_limits(p, &misfits);
        if (import_trace_n_moments(p->trace) && moment_of(p) < import_trace_last_ns(p->trace))
                return err_set(
                        p->err, -EINVAL,
                        "'%s' was taken before the file before it: give the files in the order they were taken",
                        p->in->path);
        return import_trace_moment(p->trace, moment_of(p), p->err);
}

static int read_parts(struct pprof_in *p) {
        int r = collect(p);

        for (size_t i = 0; i < p->types.n && r >= 0; i++)
                vec_push(&p->type_names, (struct pprof_type){text_of(p, p->types.items[i].type),
                                                             text_of(p, p->types.items[i].unit)});
        if (r >= 0)
                r = pprof_values_choose(&p->v, p->type_names.items, p->type_names.n,
                                        import_trace_sample_type(p->trace),
                                        text_of(p, p->default_type), p->in->path, p->err);
        if (r < 0)
                return r;
        for (size_t i = 0; i < p->mappings.n; i++) {
                const struct pprof_mapping *m = &p->mappings.items[i];

                if (m->end > m->begin)
                        import_maps_add(&p->maps, m->begin, m->end, m->offset, text_of(p, m->file));
        }
        r = import_trace_begin(p->trace,
                               &(struct import_begin){.is_totals = true,
                                                      .has_no_time = lacks_time(p),
                                                      .has_no_peak =
                                                              import_trace_n_files(p->trace) == 1 &&
                                                              p->v.unit == TRACE_UNIT_BYTES,
                                                      .has_no_live = lacks_live(p),
                                                      .sample_bytes = sample_bytes(p),
                                                      .has_no_blocks = p->v.lacks_blocks,
                                                      .has_no_traffic =
                                                              p->v.place_of[PPROF_ALLOC_BYTES] < 0,
                                                      .unit = p->v.unit,
                                                      .counts_samples = p->v.counts_samples,
                                                      .command = command_of(p),
                                                      .started_unix_ns = started_unix_ns(p)},
                               p->err);
        if (r >= 0)
                r = take_samples(p);
        return r < 0 ? r : put_profile(p);
}

static int read_profile(struct import_input *in, struct import_trace *t, struct err *reterr) {
        struct pprof_in p = {.in = in, .trace = t, .err = reterr, .arena = arena_new()};
        int r = import_input_all(in, &p.bytes, reterr);

        import_maps_init(&p.maps);
        if (r >= 0)
                r = read_parts(&p);
        import_maps_done(&p.maps);
        map_done(&p.mapping_of);
        map_done(&p.function_of);
        map_done(&p.location_of);
        map_done(&p.path_of);
        vec_free(&p.types);
        vec_free(&p.type_names);
        vec_free(&p.texts);
        vec_free(&p.mappings);
        vec_free(&p.functions);
        vec_free(&p.locations);
        vec_free(&p.comments);
        vec_free(&p.labels);
        vec_free(&p.ids);
        vec_free(&p.values);
        vec_free(&p.lines);
        vec_free(&p.paths);
        vec_free(&p.bytes);
        arena_free(p.arena);
        return r;
}

static bool is_type(struct bytes_reader m) {
        struct protobuf_field f;

        if (bytes_left(&m) == 0 || bytes_left(&m) > PPROF_MAX_TYPE_BYTES)
                return false;
        while (protobuf_next(&m, &f) > 0)
                if (f.type != PROTOBUF_VARINT || f.number > 2)
                        return false;
        return !m.bad;
}

/* The first bytes are fields of a profile, among them its types, which are a few numbers. */
static bool matches(const uint8_t *head, size_t n) {
        static const unsigned messages = 1u << PROFILE_SAMPLE_TYPE | 1u << PROFILE_SAMPLE |
                                         1u << PROFILE_MAPPING | 1u << PROFILE_LOCATION |
                                         1u << PROFILE_FUNCTION | 1u << PROFILE_TEXT |
                                         1u << PROFILE_PERIOD_TYPE;
        struct bytes_reader m = bytes_reader_of(head, n);
        struct protobuf_field f;
        bool has_type = false;

        while (protobuf_next(&m, &f) > 0) {
                bool is_type_field =
                        f.number == PROFILE_SAMPLE_TYPE || f.number == PROFILE_PERIOD_TYPE;

                if (f.number > PROFILE_MAX_FIELD || f.type == PROTOBUF_FIXED32 ||
                    f.type == PROTOBUF_FIXED64 ||
                    (f.number != PROFILE_COMMENT &&
                     (f.type == PROTOBUF_BYTES) != ((messages >> f.number & 1) != 0)) ||
                    (is_type_field && !is_type(f.bytes)))
                        return false;
                has_type |= f.number == PROFILE_SAMPLE_TYPE;
        }
        return has_type;
}

const struct import_format import_pprof = {
        .name = "pprof",
        .title = "a pprof profile",
        .lacks = "sums by call path, but no single blocks and no threads",
        .is_dump = true,
        .has_types = true,
        .matches = matches,
        .read = read_profile,
};
