/* SPDX-License-Identifier: MIT */
/* DHAT's JSON, version 2 (valgrind's dh_main.c tells what it has; dh_view.html and the Firefox Profiler read it): for each call path
 * what it allocated, how long that lived, and what of it was live when the call path itself had most, at the peak of the process
 * and at the end. Of totals nobody knows how long blocks lived. A member of silt's own, sampleBytes, says that figures are estimates,
 * each rounded for itself. */
#include <string.h>

#include "base/json.h"
#include "export/block_flow.h"
#include "export/export_job.h"
#include "export/frame_table.h"
#include "export/one_process.h"
#include "export/seq_set.h"

enum { DHAT_SHORT_LIVED_US = 500 };

/* Of a call path, beside its figures. Times are sums, in which what is negative on the way comes out right in the end. */
struct dhat_life {
        uint64_t life_us;
        uint64_t live_bytes, live_blocks, max_bytes, max_blocks;
        uint64_t n_new_live; /* of the live ones those allocated in the window */
};

struct dhat {
        struct export_job *job;
        struct json j;
        struct frame_table frames;
        struct query_answer *a;
        struct dhat_life *lives; /* by stack */
        struct seq_set held;
        uint32_t *first_ids; /* by location: of the first of its frames in ftbl; 0: not there yet */
        uint32_t n_ids;
        VEC(uint32_t) locations; /* in the order of ftbl */
        uint64_t end_ns;
        bool is_totals, has_time;
};

static int add_step(void *ctx, const struct flow_step *s) {
        struct dhat *d = ctx;
        struct dhat_life *l = &d->lives[s->stack < d->job->view->n_stacks ? s->stack : 0];
        bool is_held = s->kind == FLOW_HELD || seq_set_has(&d->held, s->seq);
        uint64_t n = s->n_blocks, us = s->time_ns / 1000;

        if (s->kind == FLOW_FREE) {
                l->live_bytes -= flow_bytes(s);
                l->live_blocks -= n;
                if (is_held)
                        return 0;
                l->life_us += us * n;
                l->n_new_live -= n;
                return 0;
        }
        l->live_bytes += flow_bytes(s);
        l->live_blocks += n;
        if (l->live_bytes > l->max_bytes) {
                l->max_bytes = l->live_bytes;
                l->max_blocks = l->live_blocks;
        }
        if (is_held) {
                seq_set_add(&d->held, s->seq);
                return 0;
        }
        l->life_us -= us * n;
        l->n_new_live += n;
        return 0;
}

/* ---- frames ------------------------------------------------------------------------------------ */

/* Every frame of every location has a number of its own: dh_view takes no two call paths that look the same. */
static uint32_t first_id(struct dhat *d, uint32_t location, size_t *ret_n) {
        frame_table_location(&d->frames, location, ret_n);
        if (!d->first_ids[location]) {
                d->first_ids[location] = d->n_ids;
                d->n_ids += (uint32_t)*ret_n;
                vec_push(&d->locations, location);
        }
        return d->first_ids[location];
}

static void put_path(struct dhat *d, uint32_t stack) {
        const struct trace_view *v = d->job->view;
        size_t n;

        json_key(&d->j, "fs");
        json_array(&d->j);
        if (!stack || stack >= v->n_stacks)
                json_uint(&d->j, 1);
        for (; stack && stack < v->n_stacks; stack = v->stacks[stack].parent) {
                uint32_t id = first_id(d, v->stacks[stack].location, &n);

                for (size_t i = 0; i < n; i++)
                        json_uint(&d->j, id + i);
        }
        json_end(&d->j);
}

static void put_frame(struct dhat *d, const struct frame_entry *f, uint64_t offset,
                      struct str *text) {
        const char *slash = strrchr(f->frame.file, '/');

        str_clear(text);
        str_addf(text, "0x%llX: %s", (unsigned long long)offset,
                 f->frame.function[0] ? f->frame.function : "???");
        if (f->frame.file[0])
                str_addf(text, " (%s:%u)", slash ? slash + 1 : f->frame.file, f->frame.line);
        else if (f->frame.module[0])
                str_addf(text, " (in %s)", f->frame.module);
        json_string(&d->j, str_text(text));
}

static void put_frames(struct dhat *d) {
        struct str text = {0};

        json_key(&d->j, "ftbl");
        json_array(&d->j);
        json_string(&d->j, "[root]");
        json_string(&d->j, "unknown");
        for (size_t i = 0; i < d->locations.n; i++) {
                uint32_t location = d->locations.items[i];
                size_t n;
                const uint32_t *ids = frame_table_location(&d->frames, location, &n);

                for (size_t k = 0; k < n; k++)
                        put_frame(d, &d->frames.frames.items[ids[k]],
                                  d->job->view->locations[location].offset, &text);
        }
        json_end(&d->j);
        str_done(&text);
}

/* ---- call paths -------------------------------------------------------------------------------- */

/* The most that is known. */
static void know_most(struct dhat_life *l, const struct query_figures *f) {
        int64_t bytes = MAX(f->peak_bytes, f->end_bytes), n = MAX(f->peak_blocks, f->end_blocks);

        l->max_bytes = (uint64_t)MAX(bytes, (int64_t)0);
        l->max_blocks = (uint64_t)MAX(n, (int64_t)0);
}

static void put_site(struct dhat *d, const struct query_site *s) {
        struct dhat_life *l = &d->lives[s->stack < d->job->view->n_stacks ? s->stack : 0];
        const struct query_figures *f = &s->f;

        if (d->is_totals)
                know_most(l, f);

        json_object(&d->j);
        json_put_uint(&d->j, "tb", f->alloc_bytes);
        json_put_uint(&d->j, "tbk", f->n_allocs);
        json_put_uint(&d->j, "tl",
                      d->has_time ? l->life_us + l->n_new_live * (d->end_ns / 1000) : 0);
        json_put_uint(&d->j, "mb", l->max_bytes);
        json_put_uint(&d->j, "mbk", l->max_blocks);
        json_put_uint(&d->j, "gb", (uint64_t)MAX(f->peak_bytes, (int64_t)0));
        json_put_uint(&d->j, "gbk", (uint64_t)MAX(f->peak_blocks, (int64_t)0));
        json_put_uint(&d->j, "eb", (uint64_t)MAX(f->end_bytes, (int64_t)0));
        json_put_uint(&d->j, "ebk", (uint64_t)MAX(f->end_blocks, (int64_t)0));
        put_path(d, s->stack);
        json_end(&d->j);
        fputc('\n', d->job->out);
        d->job->told->n_rows++;
}

/* Moments without times are a second apart, and are numbered. */
static void put_times(struct dhat *d) {
        uint64_t unit_ns = d->has_time ? 1000 : 1000000000, from_ns = d->job->scope.from_ns,
                 peak_ns = d->a->totals.peak_ns;

        json_put_string(&d->j, "tu", d->has_time ? "µs" : d->is_totals ? "moments" : "events");
        json_put_string(&d->j, "Mtu", d->has_time ? "s" : d->is_totals ? "Mmoments" : "Mevents");
        json_put_uint(&d->j, "tuth", d->has_time && !d->is_totals ? DHAT_SHORT_LIVED_US : 0);
        json_put_uint(&d->j, "te", (d->end_ns - MIN(from_ns, d->end_ns)) / unit_ns);
        json_put_uint(&d->j, "tg", (peak_ns - MIN(from_ns, peak_ns)) / unit_ns);
}

static void put_head(struct dhat *d) {
        struct json *j = &d->j;
        const struct query_scope *s = &d->job->scope;
        uint64_t sample_bytes = query_estimate_bytes(d->job->q);
        struct str command = {0};

        export_add_command(d->job, &command);
        json_put_uint(j, "dhatFileVersion", 2);
        json_put_string(j, "mode", "heap");
        json_put_string(j, "verb", "Allocated");
        json_key(j, "bklt");
        json_bool(j, true);
        json_key(j, "bkacc");
        json_bool(j, false);
        json_put_string(j, "cmd", str_text(&command));
        json_put_uint(j, "pid", d->job->view->processes[s->process].start.pid);
        put_times(d);
        if (sample_bytes)
                json_put_uint(j, "sampleBytes", sample_bytes);
        str_done(&command);
}

static int write_file(struct dhat *d, struct err *reterr) {
        struct export_job *job = d->job;
        struct flow_told told = {0};
        int r = query_ask(job->q, &job->scope, &d->a, reterr);

        if (r >= 0 && !d->is_totals)
                r = block_flow(job->q, &job->scope, add_step, d, &told, reterr);
        if (r < 0)
                return r;
        json_init(&d->j, job->out);
        json_object(&d->j);
        put_head(d);
        json_key(&d->j, "pps");
        json_array(&d->j);
        query_sort_sites(d->a->sites, d->a->n_sites, QUERY_ALLOCATED);
        for (size_t i = 0; i < d->a->n_sites; i++)
                if (!query_figures_are_idle(&d->a->sites[i].f))
                        put_site(d, &d->a->sites[i]);
        json_end(&d->j);
        put_frames(d);
        json_end(&d->j);
        fputc('\n', job->out);
        if (told.n_held)
                export_note(job, "blocks from before are in what was live, not in the totals");
        if (d->is_totals)
                export_note(
                        job,
                        "the trace has totals: lifetimes are 0, and the most that a call path had is that of the peak or the end");
        return 0;
}

int export_dhat(struct export_job *job, struct err *reterr) {
        const struct trace_view *v = job->view;
        struct dhat d = {.job = job, .n_ids = 2};
        int r = export_choose_process(job, reterr);

        if (r < 0)
                return r;
        job->told->rows = "call paths";
        d.is_totals = v->meta.flags & TRACE_IS_TOTALS;
        d.has_time = !(v->meta.flags & TRACE_LACKS_TIME);
        d.end_ns = MIN(job->scope.to_ns, query_run_end_ns(job->q, job->scope.process));
        d.lives = calloc(v->n_stacks + 1, sizeof(d.lives[0]));
        d.first_ids = calloc(v->n_locations + 1, sizeof(d.first_ids[0]));
        if (!d.lives || !d.first_ids)
                abort();
        frame_table_init(&d.frames, job->q);
        r = write_file(&d, reterr);
        query_answer_free(d.a);
        frame_table_done(&d.frames);
        seq_set_done(&d.held);
        vec_free(&d.locations);
        free(d.lives);
        free(d.first_ids);
        return r;
}
