/* SPDX-License-Identifier: MIT */
/* perf's own file, perf.data (perf_file.h), in two steps: as it is read, samples are counted, to choose an event and the process that
 * comes first; then records are taken in the order of times, which is not that of the file. Samples of time become ticks, those of another
 * event are added up by call path. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/macros.h"
#include "base/units.h"
#include "import/import_format.h"
#include "import/import_ticks.h"
#include "import/perf_file.h"
#include "import/perf_sample.h"
#include "import/perf_space.h"
#include "import/sample_events.h"
#include "remote/remote_walk.h"

enum {
        PERF_MISC_EXEC = 1 << 13, /* a name that a new program has */
        PERF_NAME_BYTES = 256,
        PERF_MAX_FRAMES = 4096,
};

#define PERF_CONTEXT_MAX ((uint64_t)-4095) /* from here on numbers are marks within call chains */
#define PERF_CONTEXT_USER ((uint64_t)-512)
#define PERF_MAX_NS ((uint64_t)1 << 62)

/* What an event's samples of one process come to. */
struct perf_part {
        uint32_t event, pid;
        uint64_t weight, first_ns, first_weight;
};

struct perf_name {
        uint64_t time_ns, at;
        uint32_t pid;
};

struct perf_data {
        struct import_input *in;
        struct import_trace *t;
        struct perf_file file;
        struct perf_space *space;
        struct import_ticks *ticks; /* NULL: another event than time */
        struct sample_events events;
        VEC(struct perf_part) parts;
        VEC(struct perf_name) names; /* of processes */
        struct map part_of;
        uint64_t start_ns, last_ns, n_unknown;
        uint64_t n_copies, n_cut; /* of stacks; whose call paths are not whole */
        uint64_t *pcs;
};

static bool matches(const uint8_t *head, size_t n) {
        return n >= 16 && memcmp(head, "PERFILE2", 8) == 0;
}

/* ---- first: what there is ------------------------------------------------------------------------ */

static enum sample_kind kind_of(const struct perf_event *e) {
        if (e->type == 1 && e->config < 2) /* whatever it is named */
                return SAMPLE_OF_CPU_TIME;
        return e->type == 1 && sample_kind_of(e->name) == SAMPLE_OF_BLOCKED_TIME
                       ? SAMPLE_OF_BLOCKED_TIME
                       : SAMPLE_OF_OTHER;
}

static struct perf_part *part_of(struct perf_data *p, uint32_t event, uint32_t pid) {
        bool is_new;
        uint64_t *idx = map_put(&p->part_of, (uint64_t)event << 32 | pid, p->parts.n, &is_new);

        if (is_new)
                vec_push(&p->parts, (struct perf_part){event, pid, 0, UINT64_MAX, 0});
        return &p->parts.items[*idx];
}

static int survey_sample(struct perf_data *p, uint64_t time_ns, const struct perf_record *r,
                         struct err *reterr) {
        int event = perf_file_event(&p->file, r);
        struct sample_event *e;
        struct perf_sample s;
        struct perf_part *part;

        if (event < 0) {
                p->n_unknown++;
                return 0;
        }
        while (p->events.list.n < p->file.events.n)
                vec_add(&p->events.list);
        e = &p->events.list.items[event];
        if (!perf_sample_parse(&p->file.events.items[event], r, &s))
                return perf_file_refuse(&p->file, r->at, reterr, "a sample is cut off");
        if (s.period > PERF_MAX_NS - e->weight || time_ns > PERF_MAX_NS)
                return perf_file_refuse(&p->file, r->at, reterr, "a sample is too large");
        e->n_samples++;
        e->weight += s.period;
        e->lacks_weight |= !s.period;
        e->lacks_time |= !time_ns;
        e->lacks_task |= !(p->file.events.items[event].sample_type & PERF_HAS_TID);
        part = part_of(p, (uint32_t)event, s.pid);
        part->weight += s.period;
        if (time_ns < part->first_ns) {
                part->first_ns = time_ns;
                part->first_weight = s.period;
        }
        p->last_ns = MAX(p->last_ns, time_ns);
        return 0;
}

/* Records of names have pid, tid and the name. */
static bool parse_name(const struct perf_record *r, struct import_task *ret_task, char *ret,
                       size_t cap) {
        if (r->n < 24)
                return false;
        *ret_task = (struct import_task){bytes_le32(r->bytes + 8), bytes_le32(r->bytes + 12)};
        snprintf(ret, cap, "%.*s", (int)(r->n - 16), (const char *)r->bytes + 16);
        return true;
}

static int survey(void *ctx, uint64_t time_ns, const struct perf_record *r, struct err *reterr) {
        struct perf_data *p = ctx;
        char name[PERF_NAME_BYTES];
        struct import_task task;

        if (r->type == PERF_SAMPLE)
                return survey_sample(p, time_ns, r, reterr);
        if (r->type == PERF_COMM && parse_name(r, &task, name, sizeof(name)) &&
            task.pid == task.tid)
                vec_push(&p->names, (struct perf_name){time_ns, r->at, task.pid});
        return 0;
}

/* ---- then: for whom ------------------------------------------------------------------------------ */

/* The process that perf started; of a whole machine that which took most, but not the idle one. */
static const struct perf_part *find_main(const struct perf_data *p) {
        const struct perf_part *found = NULL;

        for (size_t i = 0; i < p->parts.n; i++) {
                const struct perf_part *x = &p->parts.items[i];
                bool is_first = p->file.events.items[x->event].begins_on_exec;

                if (!p->events.list.items[x->event].is_taken)
                        continue;
                if (!found ||
                    (is_first ? x->first_ns < found->first_ns
                              : (x->pid && !found->pid) || (x->pid && x->weight > found->weight)))
                        found = x;
        }
        return found;
}

/* As it was when its first sample was taken; of what perf starts, when it is no more perf itself. */
static void find_name(const struct perf_data *p, const struct perf_part *x, char *ret, size_t cap) {
        const struct perf_name *found = NULL;
        struct perf_record r;
        struct import_task task;

        snprintf(ret, cap, "%s", x->pid ? "" : "swapper");
        for (size_t i = 0; i < p->names.n; i++) {
                const struct perf_name *n = &p->names.items[i];

                if (n->pid != x->pid ||
                    (n->time_ns > x->first_ns && strcmp(ret, "perf-exec") != 0) ||
                    (found && n->time_ns < found->time_ns))
                        continue;
                found = n;
                perf_file_record(&p->file, n->at, &r);
                parse_name(&r, &task, ret, cap);
        }
}

static bool has_one_process(const struct perf_data *p) {
        size_t n = 0;

        for (size_t i = 0; i < p->parts.n; i++)
                n += p->events.list.items[p->parts.items[i].event].is_taken;
        return n == 1;
}

/* perf does not keep the time of day: the file was written last when the recording ended. */
static uint64_t find_start_unix_ns(const struct perf_data *p) {
        uint64_t end_ns, n_ns = p->last_ns - p->start_ns;
        struct stat st;

        if (fstat(p->in->fd, &st) < 0 || !p->last_ns || !p->events.are_ticks)
                return 0;
        end_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000ull + (uint64_t)st.st_mtim.tv_nsec;
        return end_ns > n_ns ? end_ns - n_ns : 0;
}

static int begin(struct perf_data *p, struct err *reterr) {
        const struct perf_part *main = find_main(p);
        struct import_begin b = sample_events_begin(&p->events);
        char name[PERF_NAME_BYTES] = "";
        int r;

        p->start_ns = UINT64_MAX;
        for (size_t i = 0; i < p->parts.n; i++) {
                const struct perf_part *x = &p->parts.items[i];

                if (p->events.list.items[x->event].is_taken)
                        p->start_ns =
                                MIN(p->start_ns, x->first_ns - MIN(x->first_ns, x->first_weight));
        }
        if (main) {
                find_name(p, main, name, sizeof(name));
                b.pid = main->pid;
                b.command = p->events.are_ticks || has_one_process(p) ? name : "";
        }
        b.started_unix_ns = find_start_unix_ns(p);
        b.names_made_code =
                perf_space_is_here(p->space) && (p->events.are_ticks || has_one_process(p));
        r = import_trace_begin(p->t, &b, reterr);
        if (r >= 0 && p->events.are_ticks && main) {
                p->ticks = import_ticks_new(p->t, main->pid);
                import_ticks_name(p->ticks, (struct import_task){0, 0}, "swapper");
        }
        return r;
}

/* ---- call paths ---------------------------------------------------------------------------------- */

static int add_frame(struct perf_data *p, uint32_t pid, uint64_t ip, bool is_leaf, bool is_kernel,
                     uint32_t *stack, struct err *reterr) {
        struct import_place place;

        ip += is_leaf; /* the leaf is no return address: that would be behind it */
        if (is_kernel)
                perf_space_kernel_place(p->space, ip, &place);
        else
                perf_space_place(p->space, pid, ip, &place);
        return import_trace_call(p->t, &place, stack, reterr);
}

/* Marks stand before the part of a chain they are about, which is innermost first. */
static bool is_in_kernel(const struct perf_sample *s, uint64_t i) {
        while (i-- > 0) {
                uint64_t mark = bytes_le64(s->chain + i * 8);

                if (mark >= PERF_CONTEXT_MAX)
                        return mark != PERF_CONTEXT_USER;
        }
        return s->is_in_kernel;
}

/* The program's part, from a copy of its stack. */
static int add_copy(struct perf_data *p, const struct perf_event *e, const struct perf_sample *s,
                    uint32_t *ret, struct err *reterr) {
        bool is_whole;
        size_t n = perf_space_walk(p->space, e, s, p->pcs, PERF_MAX_FRAMES, &is_whole);
        int r = 0;

        p->n_copies++;
        p->n_cut += !is_whole;
        for (size_t i = n; i-- > 0 && r >= 0;)
                r = p->pcs[i] == REMOTE_PC_OMITTED
                            ? 0
                            : add_frame(p, s->pid, p->pcs[i], false, false, ret, reterr);
        return r < 0 ? r : n > 0;
}

static int make_stack(struct perf_data *p, const struct perf_event *e, const struct perf_sample *s,
                      uint32_t *ret, struct err *reterr) {
        bool was_kernel = false, has_copy = false;
        uint64_t first = 0;
        int r = 0;

        *ret = 0;
        if (s->regs && s->stack) {
                r = add_copy(p, e, s, ret, reterr);
                has_copy = r > 0;
        }
        while (first < s->n_chain && bytes_le64(s->chain + first * 8) >= PERF_CONTEXT_MAX)
                first++;
        for (uint64_t i = s->n_chain; i-- > first && r >= 0;) {
                uint64_t ip = bytes_le64(s->chain + i * 8);

                if (ip >= PERF_CONTEXT_MAX || (!ip && i > first)) /* 0: what a walk ended at */
                        continue;
                if (i + 1 == s->n_chain || bytes_le64(s->chain + (i + 1) * 8) >= PERF_CONTEXT_MAX)
                        was_kernel = is_in_kernel(s, i);
                if (was_kernel || !has_copy)
                        r = add_frame(p, s->pid, ip, i == first, was_kernel, ret, reterr);
        }
        if (r >= 0 && first >= s->n_chain && e->sample_type & PERF_HAS_IP &&
            (s->is_in_kernel || !has_copy))
                r = add_frame(p, s->pid, s->ip, true, s->is_in_kernel, ret, reterr);
        return r;
}

static int take_sample(struct perf_data *p, uint64_t time_ns, const struct perf_record *r,
                       struct err *reterr) {
        int event = perf_file_event(&p->file, r);
        const struct sample_event *e;
        struct perf_sample s;
        uint32_t stack;
        uint64_t weight;
        int x;

        if (event < 0 || !p->events.list.items[event].is_taken)
                return 0;
        e = &p->events.list.items[event];
        if (!perf_sample_parse(&p->file.events.items[event], r, &s))
                return perf_file_refuse(&p->file, r->at, reterr, "a sample is cut off");
        x = make_stack(p, &p->file.events.items[event], &s, &stack, reterr);
        if (x < 0)
                return x;
        if (p->ticks)
                return import_ticks_put(p->ticks,
                                        &(struct import_tick){.time_ns = time_ns,
                                                              .weight_ns = s.period,
                                                              .task = {s.pid, s.tid},
                                                              .stack = stack,
                                                              .state = sample_kind_state(e->kind)},
                                        reterr);
        weight = p->events.unit == TRACE_UNIT_SAMPLES ? 1 : s.period;
        return import_trace_total(p->t, stack, &(struct import_total){1, weight, 0, 0});
}

/* ---- records in the order of times --------------------------------------------------------------- */

static int take_fork(struct perf_data *p, uint64_t time_ns, const struct perf_record *r,
                     struct err *reterr) {
        struct import_task child, parent;

        if (r->n < 24)
                return perf_file_refuse(&p->file, r->at, reterr, "a fork is cut off");
        child = (struct import_task){bytes_le32(r->bytes + 8), bytes_le32(r->bytes + 16)};
        parent = (struct import_task){bytes_le32(r->bytes + 12), bytes_le32(r->bytes + 20)};
        if (p->ticks)
                import_ticks_fork(p->ticks, child, parent, time_ns);
        return child.pid == parent.pid
                       ? 0
                       : perf_space_fork(p->space, child.pid, parent.pid, r->at, reterr);
}

static void take_name(struct perf_data *p, uint64_t time_ns, const struct perf_record *r) {
        char name[PERF_NAME_BYTES];
        struct import_task task;

        if (!parse_name(r, &task, name, sizeof(name)))
                return;
        if (r->misc & PERF_MISC_EXEC) {
                perf_space_exec(p->space, task.pid);
                if (p->ticks)
                        import_ticks_exec(p->ticks, task.pid, time_ns);
        }
        if (p->ticks)
                import_ticks_name(p->ticks, task, name);
}

static int take_record(struct perf_data *p, uint64_t time_ns, const struct perf_record *r,
                       struct err *reterr) {
        time_ns -= MIN(time_ns, p->start_ns);
        switch (r->type) {
        case PERF_MMAP:
        case PERF_MMAP2: return perf_space_map(p->space, r, reterr);
        case PERF_FORK: return take_fork(p, time_ns, r, reterr);
        case PERF_COMM: take_name(p, time_ns, r); return 0;
        case PERF_EXIT:
                if (p->ticks && r->n >= 24 && bytes_le32(r->bytes + 8) == bytes_le32(r->bytes + 16))
                        import_ticks_exit(p->ticks, bytes_le32(r->bytes + 8), time_ns);
                return 0;
        default: return take_sample(p, time_ns, r, reterr);
        }
}

static void tell(const struct perf_data *p) {
        struct unit_text n;
        char text[120];

        sample_events_tell(&p->events, p->t);
        if (p->ticks)
                import_ticks_tell(p->ticks);
        if (p->file.n_lost || p->n_unknown) {
                snprintf(text, sizeof(text), "perf lost %s samples or more",
                         unit_count(&n, p->file.n_lost + p->n_unknown));
                import_trace_limit(p->t, text);
        }
        if (p->file.hardware_bytes) {
                snprintf(text, sizeof(text),
                         "A trace of the hardware, such as Intel PT (%s), is left out",
                         unit_bytes(&n, p->file.hardware_bytes));
                import_trace_limit(p->t, text);
        }
        if (p->n_cut) {
                snprintf(text, sizeof(text),
                         "%.0f %% of the call paths from copies of stacks are cut short",
                         100.0 * (double)p->n_cut / (double)p->n_copies);
                import_trace_limit(p->t, text);
        }
}

static int read_all(struct perf_data *p, struct err *reterr) {
        struct perf_record record;
        uint64_t time_ns;
        int r;

        for (size_t i = 0; i < p->events.list.n; i++) {
                p->events.list.items[i].name = p->file.events.items[i].name;
                p->events.list.items[i].kind = kind_of(&p->file.events.items[i]);
        }
        r = sample_events_choose(&p->events, p->t, p->in->path, reterr);
        if (r < 0)
                return r;
        p->space = perf_space_new(&p->file, import_trace_asks_files(p->t));
        p->pcs = malloc(PERF_MAX_FRAMES * sizeof(*p->pcs));
        if (!p->pcs)
                abort();
        r = begin(p, reterr);
        while (r >= 0 && (r = perf_file_next(&p->file, &time_ns, &record, reterr)) > 0)
                r = take_record(p, time_ns, &record, reterr);
        if (r >= 0)
                tell(p);
        return r < 0 || p->events.are_ticks ? r : import_trace_moment(p->t, 0, reterr);
}

static int read_perf_data(struct import_input *in, struct import_trace *t, struct err *reterr) {
        struct perf_data p = {.in = in, .t = t};
        int r = perf_file_open(&p.file, in, survey, &p, reterr);

        if (r >= 0)
                r = read_all(&p, reterr);
        import_ticks_free(p.ticks);
        perf_space_free(p.space);
        free(p.pcs);
        perf_file_done(&p.file);
        vec_free(&p.events.list);
        vec_free(&p.parts);
        vec_free(&p.names);
        map_done(&p.part_of);
        return r;
}

const struct import_format import_perf_data = {
        .name = "perf",
        .title = "a recording of perf",
        .lacks = "samples, but nothing about memory",
        .has_types = true,
        .matches = matches,
        .read = read_perf_data,
};
