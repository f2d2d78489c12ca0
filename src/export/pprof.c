/* SPDX-License-Identifier: MIT */
/* pprof: profile.proto packed with gzip, sums by call path. Repeated fields of protobuf may be written in parts, so that each sample,
 * location and function is packed as soon as it is known; the texts they name come last. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <libdeflate.h>

#include "base/bytes.h"
#include "base/macros.h"
#include "base/map.h"
#include "export/export_job.h"
#include "export/pprof.pb-c.h"
#include "export/text_table.h"
#include "query/spent_time.h"

enum {
        PPROF_MAX_INLINED = 256,
        PPROF_N_VALUES = 4,
        PPROF_LEVEL = 6, /* of gzip */
};

/* Where files of code are said to lie: the program, then libraries, one behind the other. Traces do not know where they lay. */
#define PPROF_PROGRAM_ADDRESS 0x555555554000ull
#define PPROF_LIBRARY_ADDRESS 0x7f0000000000ull
/* Offsets from here on are not of code: an importer made them up for places without an address. */
#define PPROF_NO_ADDRESS (1ull << 62)

struct pprof_module {
        uint64_t min_offset, max_offset; /* of its locations */
        uint64_t begin, end;             /* as written */
        uint64_t bias;
        uint64_t id; /* 0: no call path comes through it */
        bool has_functions, has_files, has_lines, has_inlined;
};

enum pprof_value { PPROF_N_ALLOCS, PPROF_ALLOC_BYTES, PPROF_N_LIVE, PPROF_LIVE_BYTES };

static const struct pprof_type {
        enum pprof_value value;
        const char *type, *unit;
} memory_types[PPROF_N_VALUES] = {
        {PPROF_N_ALLOCS, "alloc_objects", "count"},
        {PPROF_ALLOC_BYTES, "alloc_space", "bytes"},
        {PPROF_N_LIVE, "inuse_objects", "count"},
        {PPROF_LIVE_BYTES, "inuse_space", "bytes"},
};
/* What an importer took from a profile of something else than memory. */
static const struct pprof_type weight_types[TRACE_N_UNITS] = {
        [TRACE_UNIT_BYTES] = {PPROF_ALLOC_BYTES, "alloc_space", "bytes"},
        [TRACE_UNIT_SAMPLES] = {PPROF_ALLOC_BYTES, "samples", "count"},
        [TRACE_UNIT_NS] = {PPROF_ALLOC_BYTES, "time", "nanoseconds"}, /* running or waiting */
        [TRACE_UNIT_OTHER] = {PPROF_ALLOC_BYTES, "weight", "count"},
};

/* Where the time went: of both states where no metric is asked for. */
static const struct pprof_type time_types[PPROF_N_VALUES] = {
        {PPROF_N_ALLOCS, "samples", "count"},
        {PPROF_ALLOC_BYTES, "cpu", "nanoseconds"},
        {PPROF_N_LIVE, "waits", "count"},
        {PPROF_LIVE_BYTES, "blocked", "nanoseconds"},
};

struct pprof {
        struct export_job *job;
        const struct trace_view *view;
        struct pprof_type types[PPROF_N_VALUES]; /* those the trace knows */
        size_t n_types;
        bytes_buf bytes;
        struct text_table texts;
        struct map functions; /* name and file → id */
        struct map locations; /* of the trace → id */
        struct pprof_module *modules;
        uint64_t n_libraries; /* that call paths come through */
        bool has_program;
        VEC(uint64_t) path;
};

static void put(struct pprof *p, const Pprof__Profile *part) {
        vec_reserve(&p->bytes, pprof__profile__get_packed_size(part));
        p->bytes.n += pprof__profile__pack(part, p->bytes.items + p->bytes.n);
}

/* ---- files of code ----------------------------------------------------------------------------- */

static uint64_t page_floor(uint64_t address) {
        return address & ~0xfffull;
}

static uint64_t page_ceil(uint64_t address) {
        return page_floor(address + 0xfff);
}

/* Programs that are not relocatable lie where they say; their addresses are larger than they are. */
static void place_module(struct pprof_module *m, const struct trace_module *module,
                         uint64_t *next_address) {
        uint64_t size = page_ceil(MAX(module->size_bytes, (uint64_t)1));
        uint64_t n = page_ceil(m->max_offset + 1);

        if (module->size_bytes && m->min_offset >= size) {
                m->begin = page_floor(m->min_offset);
                m->end = n;
                return;
        }
        m->begin = m->bias = *next_address;
        m->end = m->begin + MAX(size, n);
        *next_address = m->end + 0x10000;
}

static const char *program_of(const struct pprof *p) {
        const struct query_scope *scope = &p->job->scope;
        uint32_t process =
                scope->process == QUERY_ALL ? query_main_process(p->job->q) : scope->process;

        return process < p->view->n_processes && p->view->processes[process].start.exe
                       ? p->view->processes[process].start.exe
                       : "";
}

static void place_modules(struct pprof *p) {
        const struct trace_view *v = p->view;
        uint64_t library = PPROF_LIBRARY_ADDRESS, program = PPROF_PROGRAM_ADDRESS;
        const char *exe = program_of(p);

        p->modules = calloc(v->n_modules + 1, sizeof(*p->modules));
        if (!p->modules)
                abort();
        for (size_t i = 0; i < v->n_modules; i++)
                p->modules[i].min_offset = UINT64_MAX;
        for (size_t i = 0; i < v->n_locations; i++) {
                const struct trace_location *l = &v->locations[i];
                struct pprof_module *m;

                if (l->module >= v->n_modules || l->offset >= PPROF_NO_ADDRESS)
                        continue;
                m = &p->modules[l->module];
                m->min_offset = MIN(m->min_offset, l->offset);
                m->max_offset = MAX(m->max_offset, l->offset);
        }
        for (size_t i = 0; i < v->n_modules; i++)
                place_module(&p->modules[i], &v->modules[i],
                             strcmp(v->modules[i].path, exe) == 0 ? &program : &library);
}

static void put_mapping(struct pprof *p, size_t i) {
        const struct trace_module *module = &p->view->modules[i];
        const struct pprof_module *m = &p->modules[i];
        Pprof__Profile part = PPROF__PROFILE__INIT;
        Pprof__Mapping mapping = PPROF__MAPPING__INIT;
        char build_id[2 * sizeof(module->build_id) + 1] = "";

        for (uint32_t k = 0; k < module->build_id_len; k++)
                snprintf(build_id + 2 * k, 3, "%02x", module->build_id[k]);
        mapping.id = m->id;
        mapping.memory_start = m->begin;
        mapping.memory_limit = m->end;
        mapping.filename = text_table_number(&p->texts, module->path);
        mapping.build_id = text_table_number(&p->texts, build_id);
        mapping.has_functions = m->has_functions;
        mapping.has_filenames = m->has_files;
        mapping.has_line_numbers = m->has_lines;
        mapping.has_inline_frames = m->has_inlined;
        part.mapping = (Pprof__Mapping *[]){&mapping};
        part.n_mapping = 1;
        put(p, &part);
}

static int compare_ids(const void *x, const void *y) {
        const struct pprof_module *a = *(struct pprof_module *const *)x,
                                  *b = *(struct pprof_module *const *)y;

        return a->id < b->id ? -1 : a->id > b->id;
}

/* Readers take the first for the program: it has the number 1 (number_module). */
static void put_mappings(struct pprof *p) {
        VEC(struct pprof_module *) used = {0};

        for (size_t i = 0; i < p->view->n_modules; i++)
                if (p->modules[i].id)
                        vec_push(&used, &p->modules[i]);
        if (used.n)
                qsort(used.items, used.n, sizeof(used.items[0]), compare_ids);
        for (size_t i = 0; i < used.n; i++)
                put_mapping(p, (size_t)(used.items[i] - p->modules));
        vec_free(&used);
}

static uint64_t number_module(struct pprof *p, uint32_t module) {
        struct pprof_module *m = &p->modules[module];

        if (m->id)
                return m->id;
        m->id = 1;
        if (p->has_program || strcmp(p->view->modules[module].path, program_of(p)) != 0)
                m->id = 2 + p->n_libraries++;
        p->has_program |= m->id == 1;
        return m->id;
}

/* ---- places in code ---------------------------------------------------------------------------- */

static uint64_t function_id(struct pprof *p, const struct query_frame *f) {
        Pprof__Profile part = PPROF__PROFILE__INIT;
        Pprof__Function function = PPROF__FUNCTION__INIT;
        uint64_t name = text_table_number(&p->texts, f->function);
        uint64_t file = text_table_number(&p->texts, f->file);
        bool is_new;
        uint64_t *id = map_put(&p->functions, name << 32 | file, p->functions.n + 1, &is_new);

        if (!is_new)
                return *id;
        function.id = *id;
        function.name = function.system_name = (int64_t)name;
        function.filename = (int64_t)file;
        part.function = (Pprof__Function *[]){&function};
        part.n_function = 1;
        put(p, &part);
        return function.id;
}

/* The call's last byte: what is traced is where it returns to. */
static uint64_t address_of(const struct pprof *p, const struct trace_location *l) {
        if (l->offset >= PPROF_NO_ADDRESS || l->offset == 0)
                return 0;
        return l->offset - 1 + (l->module < p->view->n_modules ? p->modules[l->module].bias : 0);
}

static void put_location(struct pprof *p, uint32_t location, uint64_t id) {
        const struct trace_location *l = &p->view->locations[location];
        struct query_frame frames[PPROF_MAX_INLINED];
        Pprof__Line lines[PPROF_MAX_INLINED], *list[PPROF_MAX_INLINED];
        size_t n = MIN(query_known_frames(p->job->q, location, frames, PPROF_MAX_INLINED),
                       (size_t)PPROF_MAX_INLINED);
        struct pprof_module none = {0},
                            *m = l->module < p->view->n_modules ? &p->modules[l->module] : &none;
        Pprof__Profile part = PPROF__PROFILE__INIT;
        Pprof__Location place = PPROF__LOCATION__INIT;

        place.id = id;
        place.mapping_id = m == &none ? 0 : number_module(p, l->module);
        place.address = address_of(p, l);
        place.line = list;
        for (size_t i = 0; i < n; i++) {
                if (!frames[i].function[0] && n == 1)
                        continue; /* its address says all there is */
                m->has_functions = true;
                m->has_files |= frames[i].file[0] != '\0';
                m->has_lines |= frames[i].line != 0;
                m->has_inlined |= frames[i].inlined;
                lines[place.n_line] = (Pprof__Line)PPROF__LINE__INIT;
                lines[place.n_line].function_id = function_id(p, &frames[i]);
                lines[place.n_line].line = frames[i].line;
                list[place.n_line] = &lines[place.n_line];
                place.n_line++;
        }
        part.location = (Pprof__Location *[]){&place};
        part.n_location = 1;
        put(p, &part);
}

/* Stands for a call path that is not known: readers drop samples without one, and sums would differ. */
static void put_no_location(struct pprof *p, uint64_t id) {
        Pprof__Line line = PPROF__LINE__INIT;
        Pprof__Profile part = PPROF__PROFILE__INIT;
        Pprof__Location place = PPROF__LOCATION__INIT;

        line.function_id =
                function_id(p, &(struct query_frame){.function = "(no stack)", .file = ""});
        place.id = id;
        place.line = (Pprof__Line *[]){&line};
        place.n_line = 1;
        part.location = (Pprof__Location *[]){&place};
        part.n_location = 1;
        put(p, &part);
}

/* UINT32_MAX: none is known. */
static uint64_t location_id(struct pprof *p, uint32_t location) {
        bool is_new;
        uint64_t id = *map_put(&p->locations, location, p->locations.n + 1, &is_new);

        if (is_new && location == UINT32_MAX)
                put_no_location(p, id);
        else if (is_new)
                put_location(p, location, id);
        return id;
}

/* ---- call paths -------------------------------------------------------------------------------- */

static void put_sample(struct pprof *p, const struct query_site *s, enum query_metric in_use) {
        struct query_figure live = query_figure_of(&s->f, in_use);
        bool is_of_blocked = in_use == QUERY_BLOCKED; /* its figures are those of "allocations" */
        const int64_t all[PPROF_N_VALUES] = {is_of_blocked ? 0 : (int64_t)s->f.n_allocs,
                                             is_of_blocked ? 0 : (int64_t)s->f.alloc_bytes,
                                             in_use == QUERY_CPU ? 0 : live.blocks,
                                             in_use == QUERY_CPU ? 0 : live.bytes};
        int64_t values[PPROF_N_VALUES];
        bool is_empty = true;
        Pprof__Profile part = PPROF__PROFILE__INIT;
        Pprof__Sample sample = PPROF__SAMPLE__INIT;

        for (size_t i = 0; i < p->n_types; i++) {
                values[i] = all[p->types[i].value];
                is_empty &= values[i] == 0;
        }
        if (is_empty)
                return;
        vec_clear(&p->path);
        for (uint32_t stack = s->stack; stack && stack < p->view->n_stacks;
             stack = p->view->stacks[stack].parent)
                vec_push(&p->path, location_id(p, p->view->stacks[stack].location));
        if (p->path.n == 0)
                vec_push(&p->path, location_id(p, UINT32_MAX));
        sample.location_id = p->path.items;
        sample.n_location_id = p->path.n;
        sample.value = values;
        sample.n_value = p->n_types;
        part.sample = (Pprof__Sample *[]){&sample};
        part.n_sample = 1;
        put(p, &part);
        p->job->told->n_rows++;
}

/* ---- what it is -------------------------------------------------------------------------------- */

static const char *in_use_text(enum query_metric in_use) {
        switch (in_use) {
        case QUERY_PEAK: return "inuse: live when live memory was highest";
        case QUERY_CPU: return "cpu: time that threads ran";
        case QUERY_BLOCKED: return "blocked: time that threads waited";
        case QUERY_MAPPED: return "inuse: mapped by the program itself when that was most";
        case QUERY_GROWTH: return "inuse: live at the end minus live at the start";
        default: return "inuse: live at the end";
        }
}

static void put_comments(struct pprof *p, enum query_metric in_use) {
        const struct trace_view *v = p->view;
        Pprof__Profile part = PPROF__PROFILE__INIT;
        struct str command = {0};
        int64_t comments[2];

        for (uint32_t i = 0; i < v->meta.n_args; i++)
                str_addf(&command, "%s%s", i ? " " : "command: ", v->meta.args[i]);
        if (command.n)
                comments[part.n_comment++] = text_table_number(&p->texts, str_text(&command));
        if (v->meta.unit == TRACE_UNIT_BYTES && !p->job->scope.of_time)
                comments[part.n_comment++] = text_table_number(&p->texts, in_use_text(in_use));
        part.comment = comments;
        put(p, &part);
        str_done(&command);
}

static void choose_types(struct pprof *p) {
        const struct trace_meta *m = &p->view->meta;

        if (p->job->scope.of_time) {
                enum query_time time = export_time_scope(p->job, QUERY_NO_TIME).of_time;

                for (size_t i = 0; i < PPROF_N_VALUES; i++)
                        if (time == QUERY_NO_TIME || (time == QUERY_BLOCKED_TIME) == (i >= 2))
                                p->types[p->n_types++] = time_types[i];
                return;
        }
        if (m->unit != TRACE_UNIT_BYTES && m->unit < TRACE_N_UNITS) {
                if (m->flags & TRACE_COUNTS_SAMPLES)
                        p->types[p->n_types++] = time_types[PPROF_N_ALLOCS];
                p->types[p->n_types++] = weight_types[m->unit];
                return;
        }
        for (size_t i = 0; i < PPROF_N_VALUES; i++) {
                bool is_blocks = i == PPROF_N_ALLOCS || i == PPROF_N_LIVE;
                bool is_traffic = i == PPROF_N_ALLOCS || i == PPROF_ALLOC_BYTES;

                if (!(is_blocks && m->flags & TRACE_LACKS_BLOCKS) &&
                    !(m->flags & (is_traffic ? TRACE_LACKS_TRAFFIC : TRACE_LACKS_LIVE)))
                        p->types[p->n_types++] = memory_types[i];
        }
}

static void put_head(struct pprof *p, const struct query_answer *a) {
        Pprof__Profile part = PPROF__PROFILE__INIT;
        Pprof__ValueType types[PPROF_N_VALUES], *list[PPROF_N_VALUES],
                period = PPROF__VALUE_TYPE__INIT;
        uint64_t to_ns = MIN(a->scope.to_ns, query_run_end_ns(p->job->q, a->scope.process));
        uint64_t sample_bytes = query_estimate_bytes(p->job->q);
        bool has_samples = a->scope.of_time || a->totals.counts_samples;
        bool is_memory = !a->scope.of_time && p->view->meta.unit == TRACE_UNIT_BYTES;
        const char *first = p->job->metric == QUERY_ALLOCATED && p->job->request->has_metric
                                    ? "alloc_space"
                            : p->job->metric == QUERY_COUNT && p->job->request->has_metric
                                    ? "alloc_objects"
                                    : p->types[p->n_types - 1].type;

        for (size_t i = 0; i < p->n_types; i++) {
                types[i] = (Pprof__ValueType)PPROF__VALUE_TYPE__INIT;
                types[i].type = text_table_number(&p->texts, p->types[i].type);
                types[i].unit = text_table_number(&p->texts, p->types[i].unit);
                list[i] = &types[i];
        }
        if (a->scope.of_time)
                first = a->scope.of_time == QUERY_BLOCKED_TIME ? "blocked" : "cpu";
        if (!is_memory)
                sample_bytes = has_samples && a->totals.n_allocs
                                       ? a->totals.alloc_bytes / a->totals.n_allocs
                                       : 0;
        period.type = text_table_number(&p->texts, is_memory ? "space" : first);
        period.unit =
                text_table_number(&p->texts, is_memory ? "bytes" : p->types[p->n_types - 1].unit);
        part.sample_type = list;
        part.n_sample_type = p->n_types;
        part.period_type = &period;
        part.period = sample_bytes ? (int64_t)sample_bytes : 1;
        part.time_nanos = p->view->meta.started_unix_ns
                                  ? (int64_t)(p->view->meta.started_unix_ns +
                                              (a->totals.lacks_time ? 0 : a->scope.from_ns))
                                  : 0;
        part.duration_nanos = to_ns > a->scope.from_ns && !a->totals.lacks_time
                                      ? (int64_t)(to_ns - a->scope.from_ns)
                                      : 0;
        part.default_sample_type = text_table_number(&p->texts, first);
        put(p, &part);
}

static void put_texts(struct pprof *p) {
        Pprof__Profile part = PPROF__PROFILE__INIT;

        part.string_table = p->texts.texts.items;
        part.n_string_table = p->texts.texts.n;
        put(p, &part);
}

static int write_packed(const struct pprof *p, struct err *reterr) {
        struct libdeflate_compressor *c = libdeflate_alloc_compressor(PPROF_LEVEL);
        size_t cap = libdeflate_gzip_compress_bound(c, p->bytes.n);
        uint8_t *packed = malloc(cap);
        size_t n;

        if (!c || !packed)
                abort();
        n = libdeflate_gzip_compress(c, p->bytes.items, p->bytes.n, packed, cap);
        if (n)
                fwrite(packed, 1, n, p->job->out);
        libdeflate_free_compressor(c);
        free(packed);
        return n ? 0 : err_set(reterr, -EIO, "cannot pack the profile");
}

/* What "in use" is: unless another moment is asked for, what is live at the window's end. */
static int choose_in_use(const struct export_job *job, enum query_metric *ret, struct err *reterr) {
        *ret = job->scope.of_time ? job->metric : QUERY_END;
        if (!job->request->has_metric || job->scope.of_time)
                return 0;
        if (job->metric == QUERY_TEMPORARY)
                return err_about(
                        reterr, "by",
                        err_set(reterr, -EINVAL,
                                "pprof files cannot carry temporary allocations: choose peak, end, growth, allocated, count or mapped"));
        if (job->metric == QUERY_PEAK || job->metric == QUERY_GROWTH || job->metric == QUERY_MAPPED)
                *ret = job->metric;
        return 0;
}

static void put_samples(struct pprof *p, struct query_answer *a, enum query_metric in_use) {
        query_sort_sites(a->sites, a->n_sites, in_use);
        for (size_t i = 0; i < a->n_sites; i++)
                put_sample(p, &a->sites[i], in_use);
}

/* Behind the samples of CPU time, if both are wanted. */
static int put_blocked(struct pprof *p, struct err *reterr) {
        struct query_scope scope = export_time_scope(p->job, QUERY_BLOCKED_TIME);
        struct query_answer *a = NULL;
        int r;

        if (!p->job->scope.of_time || p->job->request->has_metric)
                return 0;
        r = query_ask(p->job->q, &scope, &a, reterr);
        if (r < 0)
                return r;
        put_samples(p, a, QUERY_BLOCKED);
        query_answer_free(a);
        return 0;
}

int export_pprof(struct export_job *job, struct err *reterr) {
        struct pprof p = {.job = job, .view = job->view};
        struct query_answer *a = NULL;
        enum query_metric in_use;
        int r = choose_in_use(job, &in_use, reterr);

        if (r >= 0)
                r = query_ask(job->q, &job->scope, &a, reterr);
        if (r < 0)
                return r;
        job->told->rows = "call paths";
        text_table_init(&p.texts);
        place_modules(&p);
        choose_types(&p);
        put_head(&p, a);
        put_samples(&p, a, in_use);
        r = put_blocked(&p, reterr);
        put_mappings(&p);
        put_comments(&p, in_use);
        put_texts(&p);
        if (r >= 0)
                r = write_packed(&p, reterr);
        if (job->scope.of_time)
                job->told->lacks = "no time of single samples, no threads";
        else if (job->view->meta.unit == TRACE_UNIT_BYTES)
                snprintf(job->told->note, sizeof(job->told->note), "%s", in_use_text(in_use));
        text_table_done(&p.texts);
        map_done(&p.functions);
        map_done(&p.locations);
        vec_free(&p.bytes);
        vec_free(&p.path);
        free(p.modules);
        query_answer_free(a);
        return r;
}
