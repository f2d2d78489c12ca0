/* SPDX-License-Identifier: MIT */
#include "export/export.h"

#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "export/export_job.h"
#include "export/unseen_part.h"
#include "query/spent_time.h"
#include "query/trace_origin.h"
#include "show/opened.h"

static const struct export_writer {
        struct export_format format;
        export_fn write;
} writers[] = {
        {{"callgrind", ".callgrind.out", "open it with KCachegrind or callgrind_annotate",
          "sums by line and call, no time; recursive functions count once on a call path",
          EXPORTS_WINDOW | EXPORTS_FILTER, false},
         export_callgrind},
        {{"csv", ".csv", "open it with a spreadsheet, or read it with a script",
          "sums by call path, no single events", EXPORTS_METRIC | EXPORTS_WINDOW | EXPORTS_FILTER,
          false},
         export_csv},
        {{"dhat", ".dhat.json", "open it with dh_view.html or at profiler.firefox.com",
          "one process, sums by call path, no accesses to the blocks",
          EXPORTS_WINDOW | EXPORTS_FILTER | EXPORTS_EVENTS, false},
         export_dhat},
        {{"firefox", ".firefox.json", "open it at profiler.firefox.com",
          "one process, its threads as one",
          EXPORTS_WINDOW | EXPORTS_FILTER | EXPORTS_EVENTS | EXPORTS_TIME, false},
         export_firefox},
        {{"folded", ".folded", "draw it with flamegraph.pl or open it in speedscope",
          "one metric, no lines of source, no time",
          EXPORTS_METRIC | EXPORTS_WINDOW | EXPORTS_FILTER | EXPORTS_TIME, false},
         export_folded},
        {{"gperftools", ".gperftools.heap", "read it with google-pprof PROGRAM FILE",
          "sums by call path, addresses instead of names, no time and no peak beside what is live",
          EXPORTS_METRIC | EXPORTS_WINDOW | EXPORTS_FILTER, false},
         export_gperftools},
        {{"heaptrack", ".heaptrack.zst", "open it with heaptrack_gui or heaptrack_print",
          "one process, no threads, no call paths of frees, and times in milliseconds",
          EXPORTS_WINDOW | EXPORTS_FILTER | EXPORTS_EVENTS, true},
         export_heaptrack},
        {{"jeprof", ".heap", "read it with jeprof PROGRAM FILE",
          "sums by call path, addresses instead of names, no time and no peak beside what is live",
          EXPORTS_METRIC | EXPORTS_WINDOW | EXPORTS_FILTER, false},
         export_jeprof},
        {{"json", ".jsonl", "read it line by line, with jq or a script", "",
          EXPORTS_METRIC | EXPORTS_WINDOW | EXPORTS_FILTER, false},
         export_json},
        {{"massif", ".massif.out", "read it with ms_print or massif-visualizer",
          "bytes without numbers of blocks, at some 70 moments, by call path at a few",
          EXPORTS_WINDOW | EXPORTS_FILTER, false},
         export_massif},
        {{"perf-script", ".perf.txt",
          "open it at profiler.firefox.com, or fold it with stackcollapse-perf.pl",
          "allocations without frees, and a number of bytes for each",
          EXPORTS_WINDOW | EXPORTS_FILTER | EXPORTS_EVENTS | EXPORTS_TIME, false},
         export_perf_script},
        {{"perfetto", ".pftrace", "open it at ui.perfetto.dev",
          "the sums of one heap profile and two curves, no single events",
          EXPORTS_WINDOW | EXPORTS_FILTER, true},
         export_perfetto},
        {{"pprof", ".pb.gz", "open it with go tool pprof -http=: FILE",
          "no time, no sizes of single blocks, no temporary allocations",
          EXPORTS_METRIC | EXPORTS_WINDOW | EXPORTS_FILTER | EXPORTS_TIME, true},
         export_pprof},
        {{"speedscope", ".speedscope.json",
          "open it at speedscope.app, or with the command speedscope", "sums by call path, no time",
          EXPORTS_METRIC | EXPORTS_WINDOW | EXPORTS_FILTER | EXPORTS_TIME, false},
         export_speedscope},
        {{"sqlite", ".sqlite", "ask it with sqlite3", "", EXPORTS_WINDOW | EXPORTS_FILTER, true},
         export_sqlite},
};

void export_add_names(struct str *to) {
        for (size_t i = 0; i < ARRAY_SIZE(writers); i++)
                str_addf(to, "%s%s", i ? ", " : "", writers[i].format.name);
}

int export_format_find(const char *name, const struct export_format **ret, struct err *reterr) {
        struct str names = {0};

        for (size_t i = 0; i < ARRAY_SIZE(writers); i++)
                if (strcmp(writers[i].format.name, name) == 0) {
                        *ret = &writers[i].format;
                        return 0;
                }
        export_add_names(&names);
        err_set(reterr, -EINVAL, "'%.40s' is not a format: choose from %s", name, str_text(&names));
        str_done(&names);
        return -EINVAL;
}

/* ---- what the format cannot carry ------------------------------------------------------------ */

static int refuse(const struct export_format *f, const char *key, const char *what,
                  struct err *reterr) {
        return err_about(reterr, key,
                         err_set(reterr, -EINVAL, "%s files cannot carry %s: leave it out", f->name,
                                 what));
}

static int check_time(const struct export_format *f, struct err *reterr) {
        if (f->carries & EXPORTS_TIME)
                return 0;
        return err_about(
                reterr, "by",
                err_set(reterr, -EINVAL,
                        "%s files carry memory, not time: choose firefox, folded, perf-script, pprof or speedscope",
                        f->name));
}

static int check_metric(const struct export_options *o, struct err *reterr) {
        const struct export_format *f = o->format;
        const struct request *r = o->request;

        if (r->has_metric && query_metric_time(r->metric))
                return check_time(f, reterr);
        if (r->has_metric && !(f->carries & EXPORTS_METRIC))
                return refuse(f, "by", "one metric alone", reterr);
        if (r->has_metric && r->metric == QUERY_MAPPED && strcmp(f->name, "folded") != 0 &&
            strcmp(f->name, "pprof") != 0 && strcmp(f->name, "speedscope") != 0)
                return err_about(
                        reterr, "by",
                        err_set(reterr, -EINVAL,
                                "%s files carry blocks, not mappings: choose folded, pprof or speedscope",
                                f->name));
        if (r->has_metric && r->metric == QUERY_GROWTH && strcmp(f->name, "speedscope") == 0)
                return err_about(
                        reterr, "by",
                        err_set(reterr, -EINVAL,
                                "speedscope files cannot carry growth, which may be below 0: choose peak, end, allocated, count or temporary"));
        return 0;
}

static int check_part(const struct export_options *o, struct err *reterr) {
        const struct export_format *f = o->format;
        const struct request *r = o->request;
        bool has_filter = r->filter && !query_filter_is_empty(r->filter);

        if (!(f->carries & EXPORTS_WINDOW) && (r->from.is_set || r->to.is_set || r->at.is_set))
                return refuse(f,
                              r->from.is_set ? "from"
                              : r->to.is_set ? "to"
                                             : "at",
                              "a part of the time", reterr);
        if (has_filter && !(f->carries & EXPORTS_FILTER))
                return refuse(f, query_filter_condition(r->filter, 0).kind, "a part of the blocks",
                              reterr);
        return 0;
}

/* DHAT's files are made of events, and of sums that have all that is in them. */
static int check_totals(const struct export_job *job, const struct export_format *f,
                        struct err *reterr) {
        uint64_t flags = job->view->meta.flags;
        const char *what = flags & TRACE_LACKS_LIVE      ? "sums of what was live"
                           : flags & TRACE_LACKS_BLOCKS  ? "numbers of blocks"
                           : flags & TRACE_LACKS_TRAFFIC ? "sums of what was allocated"
                           : flags & TRACE_LACKS_PEAK    ? "peak"
                                                         : NULL;

        if (strcmp(f->name, "dhat") != 0)
                return err_set(
                        reterr, -ENODATA,
                        "'%s' has totals and no single events: choose a format of totals, such as pprof",
                        job->path);
        return !what ? 0
                     : err_set(reterr, -ENODATA,
                               "'%s' has no %s, which dhat files carry: choose pprof", job->path,
                               what);
}

static bool is_heap_profile(const struct export_format *f) {
        return strcmp(f->name, "jeprof") == 0 || strcmp(f->name, "gperftools") == 0;
}

/* Events that are gone leave their sums behind, which single events cannot be made of. */
static int check_events(const struct export_job *job, const struct export_format *f,
                        struct err *reterr) {
        const struct trace_view *v = job->view;

        if (job->scope.of_time)
                return check_time(f, reterr);
        if (v->meta.unit != TRACE_UNIT_BYTES &&
            (strcmp(f->name, "callgrind") == 0 || is_heap_profile(f) ||
             strcmp(f->name, "massif") == 0))
                return err_set(reterr, -ENODATA,
                               "'%s' does not count memory: choose pprof or speedscope", job->path);
        if (v->meta.flags & TRACE_LACKS_LIVE &&
            (is_heap_profile(f) || strcmp(f->name, "massif") == 0 ||
             strcmp(f->name, "perfetto") == 0))
                return err_set(
                        reterr, -ENODATA,
                        "'%s' has no sums of what was live, which %s files carry: choose pprof",
                        job->path, f->name);
        if (v->meta.flags & TRACE_LACKS_BLOCKS && is_heap_profile(f))
                return err_set(reterr, -ENODATA,
                               "'%s' has no numbers of blocks, which %s files carry: choose pprof",
                               job->path, f->name);
        if (!(f->carries & EXPORTS_EVENTS))
                return 0;
        if (v->meta.flags & TRACE_IS_TOTALS)
                return check_totals(job, f, reterr);
        if (v->meta.flags & TRACE_LACKS_TIME && strcmp(f->name, "dhat") != 0)
                return err_set(
                        reterr, -ENODATA,
                        "'%s' has no times, which %s files carry: choose json, or a format of totals, such as pprof",
                        job->path, f->name);
        if (v->detail_from_ns > job->scope.from_ns)
                return err_set(
                        reterr, -ENODATA,
                        "'%s' no longer has the events before %.3f s: choose a format of totals, such as pprof",
                        job->path, (double)v->detail_from_ns / 1e9);
        return 0;
}

uint32_t export_pid(const struct export_job *job, uint32_t process) {
        const struct trace_view *v = job->view;

        return !origin_knows_pids(&v->meta) ? 1
               : process < v->n_processes   ? v->processes[process].start.pid
                                            : v->meta.pid;
}

void export_tell_events_left_out(struct export_job *job) {
        if (!(job->view->meta.flags & TRACE_IS_TOTALS))
                snprintf(
                        job->told->note, sizeof(job->told->note),
                        "single events were left out: the trace no longer has those before %.3f s; with --from %.3fs the others are written",
                        (double)job->view->detail_from_ns / 1e9,
                        (double)job->view->detail_from_ns / 1e9 + 0.001);
}

struct query_scope export_time_scope(const struct export_job *job, enum query_time time) {
        struct query_scope scope = job->scope;

        if (!job->request->has_metric)
                scope.of_time = time;
        return scope;
}

static int write_opened(struct export_job *job, const struct export_options *o,
                        struct err *reterr) {
        const struct export_writer *w = (const struct export_writer *)o->format;
        struct request_resolved at = {0};
        int r = request_resolve(o->request, job->q, REQUEST_ALL, &at, reterr);

        job->scope = at.scope;
        job->metric = at.metric;
        if (r >= 0)
                r = check_events(job, o->format, reterr);
        if (r >= 0)
                r = w->write(job, reterr);
        if (r >= 0 && (fflush(job->out) != 0 || ferror(job->out)))
                r = err_set_errno(reterr, -(errno ? errno : EIO), "cannot write");
        if (r >= 0 && at.note[0] && !job->told->note[0])
                snprintf(job->told->note, sizeof(job->told->note), "%s", at.note);
        if (r >= 0)
                r = unseen_part_note_empty(job, reterr);
        if (r >= 0) {
                unseen_part_note_time(job, o->format);
                r = unseen_part_add(job, &job->told->unseen, reterr);
        }
        snprintf(job->told->damage, sizeof(job->told->damage), "%s",
                 query_damage(job->q)[0] ? query_damage(job->q)
                 : !job->view->finished  ? "it is still being written, or its recorder died"
                                         : "");
        request_resolved_done(&at);
        return r;
}

int export_write(FILE *out, const struct export_options *o, struct export_told *ret,
                 struct err *reterr) {
        struct opened t;
        int r = check_metric(o, reterr);

        *ret = (struct export_told){.rows = "rows", .lacks = o->format->lacks};
        if (r >= 0)
                r = check_part(o, reterr);
        if (r < 0)
                return r;
        r = opened_init(&t, o->path, &o->request->rules, reterr);
        if (r >= 0) {
                struct export_job job = {.q = t.q,
                                         .names = t.names,
                                         .view = query_view(t.q),
                                         .request = o->request,
                                         .path = o->path,
                                         .output = o->output,
                                         .out = out,
                                         .told = ret};

                r = write_opened(&job, o, reterr);
        }
        opened_done(&t);
        return r;
}

void export_told_done(struct export_told *told) {
        str_done(&told->unseen);
}
