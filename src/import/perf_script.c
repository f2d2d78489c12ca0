/* SPDX-License-Identifier: MIT */
/* What `perf script` prints, with call graphs and without:
 *
 *   server  4711/4712 [002]  1234.567890:     250000 cpu-clock:u:
 *           401136 hot+0x20 (/usr/bin/server)
 *           401180 main+0x10 (/usr/bin/server)
 *
 *            server  4712  1234.567890:     250000 cpu-clock:u:     401136 hot+0x20 (/usr/bin/server)
 *
 * A sample ends with an empty line, or where the next begins. The file is read twice: to see which events and processes there are
 * (sample_events.h), then for the call paths; samples of time wait for others to be sorted. Addresses are those of memory and perf does not say
 * where files lay: places are known by function. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/kernel_id.h"
#include "base/macros.h"
#include "base/map.h"
#include "import/import_format.h"
#include "import/import_frames.h"
#include "import/import_hash.h"
#include "import/import_order.h"
#include "import/perf_script_head.h"
#include "import/sample_events.h"

enum { PERF_MAX_FRAMES = 4096, PERF_MAX_EVENTS = 1024 };

struct script_process {
        uint32_t pid;
        uint64_t n_samples;
        const char *name; /* of its first thread, if that has samples */
};

/* A sample of time on its way to its place. */
struct script_tick {
        uint64_t weight_ns;
        const char *name;
        struct import_task task;
        uint32_t stack;
        enum sample_kind kind;
};

struct perf_script {
        struct import_input *in;
        struct import_trace *t;
        struct import_frames frames;
        struct arena *arena;
        struct map texts, event_of, process_of;
        struct sample_events events;
        VEC(struct script_process) processes;
        struct import_order *order; /* NULL: another event than time */
        uint64_t start_ns;
        uint32_t first_tid;
        bool has_samples, has_threads,
                lacks_pids;      /* several threads; some samples tell no process */
        struct script_head head; /* of the sample at hand */
        const struct sample_event *event;
        const char *name;
        bool is_in_sample;
};

static bool matches(const uint8_t *head, size_t n) {
        char *text = strndup((const char *)head, n), *rest = text, *line;
        struct script_head h;
        bool is_it = false;

        if (!text)
                abort();
        while ((line = strsep(&rest, "\n")))
                if (line[0] && line[0] != '#') {
                        is_it = perf_script_head_parse(line, &h);
                        break;
                }
        free(text);
        return is_it;
}

/* Names are few, and each is kept once. */
static const char *keep_text(struct perf_script *p, struct text_part part) {
        bool is_new;
        uint64_t *kept = map_put(&p->texts, hash_bytes(1, part.text, part.n), 0, &is_new);
        const char *text = (const char *)(uintptr_t)*kept;

        if (is_new)
                *kept = (uintptr_t)(text = arena_strndup(p->arena, part.text, part.n));
        return strlen(text) == part.n && memcmp(text, part.text, part.n) == 0
                       ? text
                       : arena_strndup(p->arena, part.text, part.n);
}

/* ---- first: what there is ------------------------------------------------------------------------ */

static struct sample_event *event_of(struct perf_script *p, struct text_part name) {
        uint64_t hash = hash_bytes(2, name.text, name.n), *idx;
        bool is_new;

        if (p->events.list.n == PERF_MAX_EVENTS && !map_get(&p->event_of, hash, &(uint64_t){0}))
                return NULL;
        idx = map_put(&p->event_of, hash, p->events.list.n, &is_new);
        if (is_new) {
                const char *kept = keep_text(p, name);

                vec_push(&p->events.list,
                         (struct sample_event){.name = kept, .kind = sample_kind_of(kept)});
        }
        return &p->events.list.items[*idx];
}

static void survey_task(struct perf_script *p, const struct script_head *h) {
        bool is_new;
        uint64_t *idx = map_put(&p->process_of, h->task.pid, p->processes.n, &is_new);
        struct script_process *x;

        if (is_new)
                vec_push(&p->processes, (struct script_process){.pid = h->task.pid, .name = ""});
        x = &p->processes.items[*idx];
        x->n_samples++;
        if (!x->name[0] ||
            h->task.tid == h->task.pid) /* the last one: of a process that began as another */
                x->name = keep_text(p, h->command);
        p->has_threads |= p->has_samples && h->task.tid != p->first_tid;
        p->first_tid = p->has_samples ? p->first_tid : h->task.tid;
        p->has_samples = true;
        p->lacks_pids |= !h->has_pid;
}

static int survey_line(struct perf_script *p, const char *line, struct err *reterr) {
        struct script_head h;
        struct sample_event *e;

        if (line[0] == '#' || !perf_script_head_parse(line, &h) || h.is_record)
                return 0;
        e = event_of(p, h.event);
        if (!e || (h.has_period && h.period > PERF_SCRIPT_MAX_NS - e->weight))
                return import_input_refuse(p->in, reterr, "too many events, or too large ones");
        if (h.has_task)
                survey_task(p, &h);
        e->n_samples++;
        e->weight += h.has_period ? h.period : 0;
        e->lacks_weight |= !h.has_period;
        e->lacks_task |= !h.has_task;
        if (e->kind != SAMPLE_OF_OTHER && h.has_period)
                p->start_ns = MIN(p->start_ns, h.time_ns - MIN(h.time_ns, h.period));
        return 0;
}

/* ---- then: call paths ---------------------------------------------------------------------------- */

/* perf's word for where a function is, as silt has it; names in brackets are the kernel's and its modules', but for a few. */
static const char *module_of(const char *place) {
        static const char *const others[] = {"[unknown]", "[vdso]",     "[heap]",
                                             "[stack",    "[vsyscall]", "[anon"};

        if (strcmp(place, "inlined") == 0)
                return "";
        if (place[0] != '[')
                return place;
        for (size_t i = 0; i < ARRAY_SIZE(others); i++)
                if (strncmp(place, others[i], strlen(others[i])) == 0)
                        return "";
        return KERNEL_ID_PATH;
}

/* "401136 hot+0x20 (/usr/bin/server)". Other lines within a sample are what somebody wanted to see beside it. */
static int take_frame(struct perf_script *p, const char *line, struct err *reterr) {
        struct import_frame frame = {.module = "", .function = {"", "", 0}};
        char *text, *end, *place, *name, *offset;

        frame.address = strtoull(line, &end, 16);
        if (end == line || *end != ' ')
                return 0;
        if (p->frames.list.n == PERF_MAX_FRAMES)
                return import_input_refuse(p->in, reterr, "more than %d frames", PERF_MAX_FRAMES);
        text = strdup(perf_script_skip_blanks(end));
        if (!text)
                abort();
        name = text;
        /* names have brackets of their own: the module is in the last ones */
        for (place = NULL, end = text; (end = strstr(end, "(")); end++)
                if (end == text || end[-1] == ' ')
                        place = end;
        if (place && place[strlen(place) - 1] == ')') {
                place[strlen(place) - 1] = '\0';
                *place = '\0';
                frame.is_inlined = strcmp(place + 1, "inlined") == 0;
                frame.module = module_of(place + 1);
                if (place > text && place[-1] == ' ')
                        place[-1] = '\0';
        }
        offset = strrchr(name, '+');
        if (offset && strncmp(offset, "+0x", 3) == 0)
                *offset = '\0';
        if (strcmp(name, "[unknown]") != 0 && name[0])
                frame.function.name = name, frame.address = 0;
        else if (strcmp(frame.module, KERNEL_ID_PATH) != 0)
                frame.module = "";                   /* an address in memory, and no file's */
        if (frame.address || frame.function.name[0]) /* 0 is what a walk ended at */
                import_frames_add(&p->frames, &frame);
        free(text);
        return 0;
}

static int end_sample(struct perf_script *p, struct err *reterr) {
        struct script_tick tick = {.weight_ns = p->head.period, .name = p->name};
        uint64_t weight = p->events.unit == TRACE_UNIT_SAMPLES ? 1 : p->head.period;
        int r;

        if (!p->is_in_sample)
                return 0;
        p->is_in_sample = false;
        if (!p->event->is_taken)
                return 0;
        r = import_frames_stack(&p->frames, p->t, &tick.stack, reterr);
        if (r < 0)
                return r;
        if (!p->order)
                return import_trace_total(p->t, tick.stack,
                                          &(struct import_total){1, weight, 0, 0});
        tick.kind = p->event->kind;
        tick.task = p->head.task;
        if (p->lacks_pids)
                tick.task.pid = p->first_tid;
        r = import_order_add(p->order, p->head.time_ns - MIN(p->head.time_ns, p->start_ns), &tick);
        return r < 0 ? err_set_errno(reterr, r, "cannot sort the samples of '%s'", p->in->path) : 0;
}

static int begin_sample(struct perf_script *p, const struct script_head *h, struct err *reterr) {
        int r = end_sample(p, reterr);

        if (r < 0)
                return r;
        p->head = *h;
        p->event = event_of(p, h->event);
        if (!p->event) /* the file is another than a moment ago */
                return import_input_refuse(p->in, reterr, "too many events");
        p->name = keep_text(p, h->command);
        p->is_in_sample = true;
        import_frames_clear(&p->frames);
        return h->rest[0] ? take_frame(p, h->rest, reterr) : 0;
}

static int take_line(struct perf_script *p, const char *line, struct err *reterr) {
        struct script_head h;

        if (line[0] == '#')
                return 0;
        if (!perf_script_skip_blanks(line)[0])
                return end_sample(p, reterr);
        if (perf_script_head_parse(line, &h))
                return h.is_record ? end_sample(p, reterr) : begin_sample(p, &h, reterr);
        line = perf_script_skip_blanks(line);
        if (!p->is_in_sample)
                return import_input_refuse(p->in, reterr, "'%.40s' is not a sample", line);
        return take_frame(p, line, reterr);
}

/* ---- samples of time, in their order ------------------------------------------------------------- */

/* The one that has most samples, but not the idle one. */
static const struct script_process *find_main(const struct perf_script *p) {
        const struct script_process *found = p->processes.items;

        for (size_t i = 1; i < p->processes.n; i++) {
                const struct script_process *x = &p->processes.items[i];

                if (x->pid && (!found->pid || x->n_samples > found->n_samples))
                        found = x;
        }
        return found;
}

static int begin(struct perf_script *p, struct err *reterr) {
        const struct script_process *main = p->processes.n ? find_main(p) : NULL;
        struct import_begin b = sample_events_begin(&p->events);

        if (main) {
                bool is_one = !p->has_threads ||
                              (!p->lacks_pids && (p->events.are_ticks || p->processes.n == 1));

                b.pid = p->lacks_pids ? p->first_tid : main->pid;
                b.command = is_one ? main->name : "";
        }
        if (p->events.are_ticks)
                p->order = import_order_new(sizeof(struct script_tick), 0);
        return import_trace_begin(p->t, &b, reterr);
}

static int put_ticks(struct perf_script *p, struct err *reterr) {
        const struct script_process *main = find_main(p);
        struct import_ticks *k = import_ticks_new(p->t, p->lacks_pids ? p->first_tid : main->pid);
        struct script_tick tick;
        uint64_t time_ns;
        int r = 0;

        for (size_t i = 0; !p->lacks_pids && i < p->processes.n; i++)
                import_ticks_name(k,
                                  (struct import_task){p->processes.items[i].pid,
                                                       p->processes.items[i].pid},
                                  p->processes.items[i].name);
        while (r >= 0 && (r = import_order_next(p->order, &time_ns, &tick)) > 0) {
                if (tick.task.tid != tick.task.pid || p->lacks_pids)
                        import_ticks_name(k, tick.task, tick.name);
                r = import_ticks_put(k,
                                     &(struct import_tick){.time_ns = time_ns,
                                                           .weight_ns = tick.weight_ns,
                                                           .task = tick.task,
                                                           .stack = tick.stack,
                                                           .state = sample_kind_state(tick.kind)},
                                     reterr);
        }
        import_ticks_tell(k);
        import_ticks_free(k);
        if (r >= 0 && p->lacks_pids && p->has_threads)
                import_trace_limit(
                        p->t,
                        "Threads count as those of one process: perf script tells which with -F +pid");
        return r;
}

/* ---- all of it ----------------------------------------------------------------------------------- */

typedef int (*line_fn)(struct perf_script *p, const char *line, struct err *reterr);

static int each_line(struct perf_script *p, line_fn fn, struct err *reterr) {
        char *line;
        size_t n;
        int r = 0;

        while (r >= 0 && (r = import_input_line(p->in, &line, &n, reterr)) > 0)
                r = fn(p, line, reterr);
        return r;
}

static int read_paths(struct perf_script *p, struct err *reterr) {
        struct import_input again, *first = p->in;
        int r = import_input_open(&again, first->fd, first->path, reterr);

        p->in = &again;
        if (r >= 0)
                r = each_line(p, take_line, reterr);
        if (r >= 0)
                r = end_sample(p, reterr);
        p->in = first;
        import_input_done(&again);
        return r;
}

static int read_all(struct perf_script *p, struct err *reterr) {
        int r = each_line(p, survey_line, reterr);

        if (r >= 0)
                r = sample_events_choose(&p->events, p->t, p->in->path, reterr);
        if (r >= 0)
                r = begin(p, reterr);
        if (r >= 0)
                r = read_paths(p, reterr);
        if (r >= 0)
                r = p->order ? put_ticks(p, reterr) : import_trace_moment(p->t, 0, reterr);
        if (r >= 0)
                sample_events_tell(&p->events, p->t);
        return r;
}

static int read_perf_script(struct import_input *in, struct import_trace *t, struct err *reterr) {
        struct perf_script p = {.in = in, .t = t, .arena = arena_new(), .start_ns = UINT64_MAX};
        int r;

        import_frames_init(&p.frames);
        r = read_all(&p, reterr);
        import_frames_done(&p.frames);
        import_order_free(p.order);
        map_done(&p.texts);
        map_done(&p.event_of);
        map_done(&p.process_of);
        vec_free(&p.events.list);
        vec_free(&p.processes);
        arena_free(p.arena);
        return r;
}

const struct import_format import_perf_script = {
        .name = "perf-script",
        .title = "samples that perf script printed",
        .ends_with_line = true,
        .lacks = "samples, but not what was live in memory",
        .has_types = true,
        .matches = matches,
        .read = read_perf_script,
};
