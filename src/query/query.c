/* SPDX-License-Identifier: MIT */
/* Choosing processes and metrics, names of frames, when to stop. */
#include "query/query.h"

#include <errno.h>
#include <string.h>

#include "base/system_clock.h"
#include "query/chosen.h"
#include "query/pick.h"
#include "query/query_internal.h"

const struct trace_view *query_view(const struct query *q) {
        return q->view;
}

uint64_t query_bytes_read(const struct query *q) {
        return trace_bytes_read(q->reader);
}

void query_set_progress(struct query *q, query_progress_fn fn, void *ctx) {
        q->progress = fn;
        q->progress_ctx = ctx;
}

void query_set_deadline(struct query *q, uint64_t monotonic_ns) {
        q->deadline_ns = monotonic_ns;
}

static bool is_late(const struct query *q) {
        return q->deadline_ns && clock_now_ns() >= q->deadline_ns;
}

bool query_go_on(struct query *q, uint64_t done, uint64_t total) {
        if (q->stopped)
                return false;
        if (q->progress && !q->progress(q->progress_ctx, done, total))
                q->stopped = -ECANCELED;
        else if (is_late(q))
                q->stopped = -ETIME;
        return !q->stopped;
}

int query_end(struct query *q, struct err *reterr) {
        int r = q->stopped;

        q->stopped = 0;
        if (r == -ETIME)
                return err_set(
                        reterr, r,
                        "no answer in time: ask about less of the trace, or allow more time");
        return r ? err_set(reterr, r, "cancelled before the answer was ready") : 0;
}

int query_tell_progress(struct query *q, uint64_t done, uint64_t total, struct err *reterr) {
        return query_go_on(q, done, total) ? 0 : query_end(q, reterr);
}

void query_set_names(struct query *q, struct names *names) {
        if (q->owns_names)
                names_free(q->names);
        q->owns_names = false;
        q->names = names;
        free(q->looks); /* they point into the names */
        q->looks = NULL;
        q->pick = pick_free(q->pick); /* who asked depends on them */
        chosen_free(q->chosen);
        q->chosen = NULL;
}

struct names *query_names(struct query *q) {
        if (!q->names) {
                if (names_load(&(struct name_sources){0}, &q->names, NULL) < 0)
                        abort(); /* the built-in rules are right: a test says so */
                q->owns_names = true;
        }
        return q->names;
}

uint64_t query_run_end_ns(const struct query *q, uint32_t process) {
        uint64_t end_ns = process == QUERY_ALL ? q->last_end_ns : query_process_end_ns(q, process);

        return end_ns ? MIN(end_ns, q->view->end_ns) : q->view->end_ns;
}

const char *query_damage(const struct query *q) {
        return q->damage[0] ? q->damage : q->view->damage;
}

void query_note_damage(struct query *q, const struct err *e) {
        if (!q->damage[0])
                memcpy(q->damage, e->text, sizeof(q->damage));
}

static bool read_slice(struct query *q, size_t slice_idx, bool only_allocs,
                       const struct trace_event **ret, size_t *ret_n) {
        const struct trace_slice_info *info = trace_slice(q->reader, slice_idx);
        struct err e = {0};

        *ret = NULL;
        *ret_n = 0;
        if (!info->has_events)
                return info->n_events == 0;
        q->n_event_reads++;
        if ((only_allocs ? trace_read_allocs : trace_read_events)(q->reader, slice_idx, ret, ret_n,
                                                                  &e) >= 0)
                return true;
        query_note_damage(q, &e);
        return false;
}

bool query_read_events(struct query *q, size_t slice_idx, const struct trace_event **ret,
                       size_t *ret_n) {
        return read_slice(q, slice_idx, false, ret, ret_n);
}

bool query_read_allocs(struct query *q, size_t slice_idx, const struct trace_event **ret,
                       size_t *ret_n) {
        return read_slice(q, slice_idx, true, ret, ret_n);
}

size_t query_slice_of_seq(const struct query *q, uint64_t seq) {
        size_t low = 0, high = q->view->n_slices;

        while (low < high) {
                size_t mid = low + (high - low) / 2;
                const struct trace_slice_info *s = trace_slice(q->reader, mid);

                if (s->first_seq + s->n_allocs <= seq)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low;
}

size_t query_slice_at(const struct query *q, uint64_t time_ns) {
        size_t low = 0, high = q->view->n_slices;

        if (time_ns == UINT64_MAX)
                return high;
        while (low < high) {
                size_t mid = low + (high - low) / 2;

                if (trace_slice(q->reader, mid)->end_ns <= time_ns)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low;
}

/* ---- scope ----------------------------------------------------------------------------------- */

static bool find_last_image(const struct trace_view *v, uint32_t pid, uint32_t *ret) {
        bool found = false;

        for (size_t i = 0; i < v->n_processes; i++)
                if (v->processes[i].start.pid == pid) {
                        *ret = (uint32_t)i;
                        found = true;
                }
        return found;
}

int query_samples(struct query *q, const struct trace_sample **ret, size_t *ret_n,
                  struct err *reterr) {
        return trace_read_samples(q->reader, ret, ret_n, reterr);
}

uint64_t query_sample_bytes(const struct query *q) {
        const struct trace_meta *m = &q->view->meta;

        return m->flags & TRACE_IS_SAMPLED ? MAX(m->sample_bytes, (uint64_t)1) : 0;
}

uint64_t query_estimate_bytes(const struct query *q) {
        const struct trace_meta *m = &q->view->meta;

        return m->flags & TRACE_IS_TOTALS ? m->sample_bytes : query_sample_bytes(q);
}

uint32_t query_main_process(const struct query *q) {
        uint32_t process = 0;

        find_last_image(q->view, q->view->processes[0].start.pid, &process);
        return process;
}

struct query_scope query_whole(const struct query *q) {
        return (struct query_scope){.process = query_main_process(q), .to_ns = UINT64_MAX};
}

int query_find_process(const struct query *q, uint32_t pid, uint32_t *ret_process,
                       struct err *reterr) {
        if (!find_last_image(q->view, pid, ret_process))
                return err_about(reterr, "process",
                                 err_set(reterr, -ESRCH, "'%u': no such process", pid));
        return 0;
}

static const char *const metric_names[QUERY_N_METRICS] = {
        [QUERY_PEAK] = "peak",           [QUERY_END] = "end",
        [QUERY_ALLOCATED] = "allocated", [QUERY_COUNT] = "count",
        [QUERY_TEMPORARY] = "temporary", [QUERY_GROWTH] = "growth",
        [QUERY_MAPPED] = "mapped",       [QUERY_CPU] = "cpu",
        [QUERY_BLOCKED] = "blocked",
};

const char *query_metric_name(enum query_metric m) {
        return metric_names[m];
}

uint64_t query_metric_whole(const struct query_totals *t, enum query_metric m) {
        switch (m) {
        case QUERY_PEAK: return t->peak_bytes;
        case QUERY_END: return t->end_bytes;
        case QUERY_ALLOCATED: return t->is_tallied ? t->alloc_bytes_est : t->alloc_bytes;
        case QUERY_COUNT: return t->is_tallied ? t->n_allocs_est : t->n_allocs;
        case QUERY_TEMPORARY: return t->n_temporary;
        case QUERY_GROWTH: return t->end_bytes > t->begin_bytes ? t->end_bytes - t->begin_bytes : 0;
        case QUERY_MAPPED: return t->peak_bytes;
        case QUERY_CPU:
        case QUERY_BLOCKED: return t->alloc_bytes;
        case QUERY_N_METRICS: break;
        }
        return 0;
}

int query_metric_parse(const char *name, enum query_metric *ret, struct err *reterr) {
        if (!name) {
                *ret = QUERY_PEAK;
                return 0;
        }
        for (unsigned m = 0; m < QUERY_N_METRICS; m++)
                if (strcmp(name, metric_names[m]) == 0) {
                        *ret = (enum query_metric)m;
                        return 0;
                }
        return err_set(
                reterr, -EINVAL,
                "'%s' is not a metric: use peak, end, allocated, count, temporary, growth, mapped, cpu or blocked",
                name);
}

const char *query_unit_name(const struct query *q) {
        static const char *const names[TRACE_N_UNITS] = {
                [TRACE_UNIT_BYTES] = "bytes",
                [TRACE_UNIT_SAMPLES] = "samples",
                [TRACE_UNIT_NS] = "nanoseconds",
                [TRACE_UNIT_OTHER] = "unknown",
        };
        uint32_t unit = q->view->meta.unit;

        return names[unit < TRACE_N_UNITS ? unit : TRACE_UNIT_OTHER];
}

/* ---- frames ---------------------------------------------------------------------------------- */

void query_frame_settle(struct query_frame *f, const struct trace_symbol *symbol) {
        if (!f->guess || !trace_symbol_begin(symbol, &f->offset))
                return;
        f->function = "";
        f->guess = false;
}

static struct query_frame frame_of(const struct query *q, uint32_t location,
                                   const struct trace_symbol *symbol) {
        const struct trace_location *l = &q->view->locations[location];
        struct query_frame f = {.function = "",
                                .file = "",
                                .module = "",
                                .offset = l->offset,
                                .location = location};

        if (l->module < q->view->n_modules)
                f.module = q->view->modules[l->module].path;
        if (symbol) {
                f.function = symbol->function;
                f.file = symbol->file;
                f.line = symbol->line;
                f.inlined = symbol->inlined;
                f.guess = symbol->guess;
                query_frame_settle(&f, symbol);
        }
        return f;
}

struct query_frame query_location_frame(const struct query *q, uint32_t location,
                                        size_t frame_idx) {
        uint32_t begin = q->symbol_begin[location], end = q->symbol_begin[location + 1];

        return frame_of(q, location, begin < end ? &q->view->symbols[begin + frame_idx] : NULL);
}

size_t query_location_frames(const struct query *q, uint32_t location, struct query_frame *ret,
                             size_t cap) {
        uint32_t begin, end;

        if (location >= q->view->n_locations)
                return 0;
        begin = q->symbol_begin[location], end = q->symbol_begin[location + 1];
        if (begin == end) {
                if (cap > 0)
                        ret[0] = frame_of(q, location, NULL);
                return 1;
        }
        for (uint32_t i = begin; i < end && i - begin < cap; i++)
                ret[i - begin] = frame_of(q, location, &q->view->symbols[i]);
        return end - begin;
}

size_t query_known_frames(const struct query *q, uint32_t location, struct query_frame *ret,
                          size_t cap) {
        size_t n = query_location_frames(q, location, ret, cap);

        for (size_t i = 0; i < n && i < cap; i++)
                if (ret[i].guess)
                        ret[i].function = "";
        return n;
}

void query_each_frame(const struct query *q, uint32_t stack, query_frame_fn fn, void *ctx) {
        while (stack != 0 && stack < q->view->n_stacks) {
                uint32_t location = q->view->stacks[stack].location;
                uint32_t begin = q->symbol_begin[location], end = q->symbol_begin[location + 1];
                struct query_frame f;

                for (uint32_t i = begin; i < MAX(end, begin + 1); i++) {
                        f = frame_of(q, location, i < end ? &q->view->symbols[i] : NULL);
                        if (!fn(ctx, &f))
                                return;
                }
                stack = q->view->stacks[stack].parent;
        }
}
