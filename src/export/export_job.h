/* SPDX-License-Identifier: MIT */
/* What every format is handed. Inside export/ only. */
#pragma once

#include "export/export.h"
#include "query/query.h"

struct names;

struct export_job {
        struct query *q;
        struct names *names;
        const struct trace_view *view;
        const struct request *request;
        struct query_scope scope; /* process, window and filter, resolved */
        enum query_metric metric; /* for formats with EXPORTS_METRIC */
        const char *path;         /* of the trace */
        const char *output;       /* NULL: no file with a name */
        FILE *out;                /* write errors are looked for at the end, by export_write */
        struct export_told *told;
};

/* Of a job about time: the part that was asked for by name, or all of it. */
struct query_scope export_time_scope(const struct export_job *job, enum query_time time);
/* For formats whose readers take 0 for the kernel's idle task: 1 if the pid is unknown, as that of most imported traces. */
uint32_t export_pid(const struct export_job *job, uint32_t process);
/* For formats that have sums and events: the note that a recording has no longer all events of the window. */
void export_tell_events_left_out(struct export_job *job);

/* 0 or -errno, with a sentence. */
typedef int (*export_fn)(struct export_job *job, struct err *reterr);

int export_callgrind(struct export_job *job, struct err *reterr);
int export_csv(struct export_job *job, struct err *reterr);
int export_dhat(struct export_job *job, struct err *reterr);
int export_firefox(struct export_job *job, struct err *reterr);
int export_folded(struct export_job *job, struct err *reterr);
int export_heaptrack(struct export_job *job, struct err *reterr);
int export_gperftools(struct export_job *job, struct err *reterr);
int export_jeprof(struct export_job *job, struct err *reterr);
int export_json(struct export_job *job, struct err *reterr);
int export_massif(struct export_job *job, struct err *reterr);
int export_perf_script(struct export_job *job, struct err *reterr);
int export_perfetto(struct export_job *job, struct err *reterr);
int export_pprof(struct export_job *job, struct err *reterr);
int export_speedscope(struct export_job *job, struct err *reterr);
int export_sqlite(struct export_job *job, struct err *reterr);
