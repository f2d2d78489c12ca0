/* SPDX-License-Identifier: MIT */
/* perfetto: a trace of packets, each written as it is made. A heap profile (what was allocated and released by call path, with the names it
 * needs as interned data before it), and live and resident memory as counters. */
#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "base/map.h"
#include "base/str.h"
#include "export/export_job.h"
#include "export/frame_table.h"
#include "export/perfetto.pb-c.h"
#include "export/text_table.h"

enum {
        PERFETTO_N_COLUMNS = 1000,
        PERFETTO_MAX_EVENTS = 4000000, /* that are read to refine the curve */
        PERFETTO_UNIT_BYTES = 3,
        PERFETTO_TYPE_COUNTER = 4,
        PERFETTO_STATE_CLEARED = 1,
        PERFETTO_NEEDS_STATE = 2,
        PERFETTO_SEQUENCE = 1,
        PERFETTO_PROCESS_TRACK = 1,
        PERFETTO_LIVE_TRACK = 2,
        PERFETTO_RSS_TRACK = 3,
        PERFETTO_CLOCK_REALTIME = 1,
        PERFETTO_CLOCK_MONOTONIC_COARSE = 4, /* of heap profiles */
        PERFETTO_CLOCK_BOOTTIME = 6,         /* of all else */
};

struct perfetto {
        struct export_job *job;
        const struct trace_view *view;
        struct frame_table frames;
        struct text_table texts;
        size_t n_texts, n_frames; /* that are written */
        struct map mappings;      /* module → 1 */
        bytes_buf bytes;
        uint64_t end_ns;
        uint32_t pid;
        bool is_begun;
};

static void set_time(Perfetto__TracePacket *packet, uint64_t time_ns) {
        packet->optional_timestamp_case = PERFETTO__TRACE_PACKET__OPTIONAL_TIMESTAMP_TIMESTAMP;
        packet->timestamp = time_ns;
}

static void put_packet(struct perfetto *p, Perfetto__TracePacket *packet) {
        Perfetto__Trace trace = PERFETTO__TRACE__INIT;

        packet->trusted_packet_sequence_id = PERFETTO_SEQUENCE;
        packet->sequence_flags = p->is_begun ? PERFETTO_NEEDS_STATE : PERFETTO_STATE_CLEARED;
        p->is_begun = true;
        trace.packet = (Perfetto__TracePacket *[]){packet};
        trace.n_packet = 1;
        vec_clear(&p->bytes);
        vec_reserve(&p->bytes, perfetto__trace__get_packed_size(&trace));
        p->bytes.n = perfetto__trace__pack(&trace, p->bytes.items);
        fwrite(p->bytes.items, 1, p->bytes.n, p->job->out);
}

/* ---- clocks ------------------------------------------------------------------------------------ */

/* Times are those of the recording, which begins at 0. Readers leave out heap profiles whose clock they cannot turn into that of the trace. */
static void put_clocks(struct perfetto *p) {
        Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
        Perfetto__ClockSnapshot snapshot = PERFETTO__CLOCK_SNAPSHOT__INIT;
        Perfetto__Clock boot = PERFETTO__CLOCK__INIT, coarse = PERFETTO__CLOCK__INIT,
                        real = PERFETTO__CLOCK__INIT;

        boot.clock_id = PERFETTO_CLOCK_BOOTTIME;
        coarse.clock_id = PERFETTO_CLOCK_MONOTONIC_COARSE;
        real.clock_id = PERFETTO_CLOCK_REALTIME;
        real.timestamp = p->view->meta.started_unix_ns;
        snapshot.clocks = (Perfetto__Clock *[]){&boot, &coarse, &real};
        snapshot.n_clocks = real.timestamp ? 3 : 2;
        snapshot.primary_trace_clock = PERFETTO_CLOCK_BOOTTIME;
        packet.clock_snapshot = &snapshot;
        put_packet(p, &packet);
}

/* ---- counters ---------------------------------------------------------------------------------- */

static void put_track(struct perfetto *p, uint64_t uuid, const char *name, bool is_counter) {
        Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
        Perfetto__TrackDescriptor track = PERFETTO__TRACK_DESCRIPTOR__INIT;
        Perfetto__ProcessDescriptor process = PERFETTO__PROCESS_DESCRIPTOR__INIT;
        Perfetto__CounterDescriptor counter = PERFETTO__COUNTER_DESCRIPTOR__INIT;
        /* a number names the text so that what is no UTF-8 is made so */
        char *text = p->texts.texts.items[text_table_number(&p->texts, name)];

        counter.unit = PERFETTO_UNIT_BYTES;
        process.pid = (int32_t)p->pid;
        process.process_name = text;
        track.uuid = uuid;
        if (is_counter) {
                track.name = text;
                track.parent_uuid = PERFETTO_PROCESS_TRACK;
                track.counter = &counter;
        } else {
                track.process = &process;
        }
        packet.track_descriptor = &track;
        put_packet(p, &packet);
}

static void put_counter(struct perfetto *p, uint64_t track, uint64_t time_ns, uint64_t value) {
        Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
        Perfetto__TrackEvent event = PERFETTO__TRACK_EVENT__INIT;

        event.type = PERFETTO_TYPE_COUNTER;
        event.track_uuid = track;
        event.counter_value_field_case = PERFETTO__TRACK_EVENT__COUNTER_VALUE_FIELD_COUNTER_VALUE;
        event.counter_value = (int64_t)value;
        set_time(&packet, time_ns);
        packet.track_event = &event;
        put_packet(p, &packet);
}

static int put_counters(struct perfetto *p, struct err *reterr) {
        struct query_column *columns = calloc(PERFETTO_N_COLUMNS, sizeof(*columns));
        struct query_scope scope = p->job->scope;
        int r;

        if (!columns)
                abort();
        if (p->view->meta.flags & TRACE_LACKS_TIME) {
                free(columns);
                snprintf(p->job->told->note, sizeof(p->job->told->note),
                         "live memory over time was left out: the recording has no times");
                return 0;
        }
        scope.to_ns = p->end_ns;
        r = query_timeline(p->job->q, &scope, PERFETTO_N_COLUMNS, PERFETTO_MAX_EVENTS, columns,
                           reterr);
        for (size_t i = 0; i < PERFETTO_N_COLUMNS && r >= 0; i++) {
                put_counter(p, PERFETTO_LIVE_TRACK, columns[i].begin_ns, columns[i].live_bytes);
                if (columns[i].has_rss)
                        put_counter(p, PERFETTO_RSS_TRACK, columns[i].begin_ns,
                                    columns[i].rss_bytes);
        }
        free(columns);
        return r;
}

/* ---- names ------------------------------------------------------------------------------------- */

static void put_interned(struct perfetto *p, Perfetto__InternedData *data) {
        Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

        packet.interned_data = data;
        put_packet(p, &packet);
}

/* A text's number is one behind that of the table, as 0 is none. The same text may be a name, a path or a build-id: each kind has its own. */
static uint64_t text_id(struct perfetto *p, const char *text) {
        uint32_t number = text_table_number(&p->texts, text);

        while (p->n_texts < p->texts.texts.n) {
                Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;
                Perfetto__InternedString string = PERFETTO__INTERNED_STRING__INIT, *list = &string;
                char *bytes = p->texts.texts.items[p->n_texts];

                string.iid = ++p->n_texts;
                string.str = (ProtobufCBinaryData){strlen(bytes), (uint8_t *)bytes};
                data.function_names = data.mapping_paths = data.source_paths = &list;
                data.n_function_names = data.n_mapping_paths = data.n_source_paths = 1;
                put_interned(p, &data);
        }
        return number + 1u;
}

static uint64_t build_id_of(struct perfetto *p, const struct trace_module *m, uint64_t iid) {
        Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;
        Perfetto__InternedString string = PERFETTO__INTERNED_STRING__INIT, *list = &string;
        uint8_t build_id[sizeof(m->build_id)];

        if (!m->build_id_len)
                return 0;
        memcpy(build_id, m->build_id, sizeof(build_id));
        string.iid = iid;
        string.str = (ProtobufCBinaryData){m->build_id_len, build_id};
        data.build_ids = &list;
        data.n_build_ids = 1;
        put_interned(p, &data);
        return iid;
}

/* Readers drop frames without a mapping: code in no file has one too. */
static uint64_t mapping_id(struct perfetto *p, uint32_t location) {
        static const struct trace_module unknown = {.path = "[unknown]"};
        const struct trace_view *v = p->view;
        uint32_t module = location < v->n_locations ? v->locations[location].module : UINT32_MAX;
        const struct trace_module *m = module < v->n_modules ? &v->modules[module] : &unknown;
        uint64_t iid = m == &unknown ? v->n_modules + 1 : module + 1u;
        Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;
        Perfetto__Mapping mapping = PERFETTO__MAPPING__INIT, *list = &mapping;
        uint64_t path;
        bool is_new;

        map_put(&p->mappings, iid, 1, &is_new);
        if (!is_new)
                return iid;
        path = text_id(p, m->path);
        mapping.iid = iid;
        mapping.build_id = build_id_of(p, m, iid);
        mapping.end = m->size_bytes;
        mapping.path_string_ids = &path;
        mapping.n_path_string_ids = 1;
        data.mappings = &list;
        data.n_mappings = 1;
        put_interned(p, &data);
        return iid;
}

static void put_new_frames(struct perfetto *p) {
        while (p->n_frames < p->frames.frames.n) {
                const struct frame_entry *f = &p->frames.frames.items[p->n_frames];
                Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;
                Perfetto__Frame frame = PERFETTO__FRAME__INIT, *list = &frame;

                frame.iid = ++p->n_frames;
                frame.function_name_id = text_id(p, f->name);
                frame.mapping_id = mapping_id(p, f->frame.location);
                frame.rel_pc = f->frame.offset;
                frame.source_path_iid = f->frame.file[0] ? text_id(p, f->frame.file) : 0;
                frame.line_number = f->frame.line;
                data.frames = &list;
                data.n_frames = 1;
                put_interned(p, &data);
        }
}

static void put_path(struct perfetto *p, uint32_t stack, uint64_t iid) {
        Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;
        Perfetto__Callstack callstack = PERFETTO__CALLSTACK__INIT, *list = &callstack;
        size_t n;
        const uint32_t *path = frame_table_path(&p->frames, stack, &n);
        VEC(uint64_t) ids = {0};

        put_new_frames(p);
        while (n-- > 0)
                vec_push(&ids, path[n] + 1u);
        callstack.iid = iid;
        callstack.frame_ids = ids.items;
        callstack.n_frame_ids = ids.n;
        data.callstacks = &list;
        data.n_callstacks = 1;
        put_interned(p, &data);
        vec_free(&ids);
}

/* ---- the heap profile -------------------------------------------------------------------------- */

static uint64_t released(uint64_t had, int64_t left) {
        return left <= 0 ? had : had > (uint64_t)left ? had - (uint64_t)left : 0;
}

/* What the window began with counts as allocated: what was allocated minus what was released is live at its end. */
static Perfetto__HeapSample sample_of(const struct query_figures *f, uint64_t iid) {
        Perfetto__HeapSample s = PERFETTO__HEAP_SAMPLE__INIT;

        s.callstack_id = iid;
        s.self_allocated = f->alloc_bytes + (uint64_t)MAX(f->begin_bytes, (int64_t)0);
        s.alloc_count = f->n_allocs + (uint64_t)MAX(f->begin_blocks, (int64_t)0);
        s.self_freed = released(s.self_allocated, f->end_bytes);
        s.free_count = released(s.alloc_count, f->end_blocks);
        return s;
}

static void put_profile(struct perfetto *p, const struct query_answer *a) {
        for (size_t i = 0; i < a->n_sites; i++) {
                Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
                Perfetto__ProfilePacket profile = PERFETTO__PROFILE_PACKET__INIT;
                Perfetto__ProcessHeapSamples dump = PERFETTO__PROCESS_HEAP_SAMPLES__INIT;
                Perfetto__HeapSample sample = sample_of(&a->sites[i].f, i + 1);

                if (p->view->meta.flags & TRACE_LACKS_TRAFFIC) { /* what is live is known alone */
                        sample.self_allocated -= sample.self_freed;
                        sample.alloc_count -= sample.free_count;
                        sample.self_freed = sample.free_count = 0;
                }
                if (p->view->meta.flags & TRACE_LACKS_BLOCKS)
                        sample.alloc_count = sample.free_count = 0;
                put_path(p, a->sites[i].stack, i + 1);
                dump.pid = p->pid;
                dump.from_startup = true;
                dump.start_timestamp = a->scope.from_ns;
                dump.timestamp = p->end_ns;
                dump.heap_name = (char *)"malloc";
                dump.sampling_interval_bytes = MAX(query_estimate_bytes(p->job->q), (uint64_t)1);
                dump.samples = (Perfetto__HeapSample *[]){&sample};
                dump.n_samples = 1;
                profile.process_dumps = (Perfetto__ProcessHeapSamples *[]){&dump};
                profile.n_process_dumps = 1;
                profile.continued = i + 1 < a->n_sites;
                profile.index = i;
                set_time(&packet, p->end_ns);
                packet.profile_packet = &profile;
                put_packet(p, &packet);
                p->job->told->n_rows++;
        }
}

int export_perfetto(struct export_job *job, struct err *reterr) {
        struct perfetto p = {.job = job, .view = job->view};
        uint32_t process =
                job->scope.process == QUERY_ALL ? query_main_process(job->q) : job->scope.process;
        struct query_answer *a = NULL;
        struct str name = {0};
        int r;

        if (job->view->meta.unit != TRACE_UNIT_BYTES)
                return err_set(reterr, -EINVAL,
                               "'%s' does not count memory: choose pprof or speedscope", job->path);
        r = query_ask(job->q, &job->scope, &a, reterr);
        if (r < 0)
                return r;
        job->told->rows = "call paths";
        frame_table_init(&p.frames, job->q);
        text_table_init(&p.texts);
        p.end_ns = MIN(a->scope.to_ns, query_run_end_ns(job->q, a->scope.process));
        p.pid = export_pid(job, process);
        query_add_process_name(job->q, process, &name);
        put_clocks(&p);
        put_track(&p, PERFETTO_PROCESS_TRACK, str_text(&name), false);
        put_track(&p, PERFETTO_LIVE_TRACK, "live memory", true);
        put_track(&p, PERFETTO_RSS_TRACK, "resident memory", true);
        r = put_counters(&p, reterr);
        if (r >= 0)
                put_profile(&p, a);
        frame_table_done(&p.frames);
        text_table_done(&p.texts);
        map_done(&p.mappings);
        vec_free(&p.bytes);
        str_done(&name);
        query_answer_free(a);
        return r;
}
