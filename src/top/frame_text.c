/* SPDX-License-Identifier: MIT */
#include "top/frame_text.h"

#include <math.h>

#include "base/units.h"
#include "query/trace_times.h"
#include "show/style.h"

enum { N_ROWS = 10, MAX_NAME_CELLS = 60, TASK_INDENT = 36 };

static void write_head(FILE *out, const struct model *m) {
        const struct follower_now *now = &m->now;
        struct unit_text time, live, peak, rss, rate, allocs;

        if (m->is_of_time) {
                fprintf(out, "at %s: %.1f CPUs busy  %s %s\n",
                        query_moment_text(m->q, &time, now->time_ns), model_all_cpus(m),
                        model_resident_label(m),
                        now->has_rss ? unit_bytes(&rss, now->rss_bytes) : "unknown");
                return;
        }
        fprintf(out, "at %s: heap %s (peak %s)  %s %s",
                query_moment_text(m->q, &time, now->time_ns),
                model_totals(m)->lacks_live ? "unknown" : unit_bytes(&live, now->live_bytes),
                model_totals(m)->lacks_peak ? "unknown" : unit_bytes(&peak, now->peak_bytes),
                model_resident_label(m),
                now->has_rss ? unit_bytes(&rss, now->rss_bytes) : "unknown");
        if (model_has_rates(m))
                fprintf(out, "  allocates %s/s in %s/s calls",
                        unit_bytes(&rate, unit_nearest(now->alloc_bytes_per_s)),
                        unit_count(&allocs, unit_nearest(now->allocs_per_s)));
        fputc('\n', out);
}

static void write_row(FILE *out, const struct model *m, const struct style *s, size_t at) {
        const struct query_group *g = &m->groups->rows[at];
        struct unit_text live, growth, rate;
        bool has_rates = model_has_rates(m);
        char cpu[16] = "";
        struct str name = {0}, text = {0};

        model_add_name(m, g, s->utf8, &name);
        style_add_cut(s, &text, str_text(&name), MAX_NAME_CELLS);
        if (m->cpu_ns)
                snprintf(cpu, sizeof(cpu), " %6.1f %%", 100 * model_cpus(m, at));
        fprintf(out, "%10s %10s %12s%s  %s\n",
                g->self.lacks_live || m->is_of_time
                        ? "-"
                        : unit_bytes(&live, (uint64_t)MAX(g->self.end_bytes, (int64_t)0)),
                has_rates ? unit_bytes_signed(&growth, g->self.end_bytes - g->self.begin_bytes)
                          : "-",
                has_rates
                        ? unit_count(&rate, unit_nearest(model_per_s(m, (double)g->self.n_allocs)))
                        : "-",
                cpu, str_text(&text));
        str_done(&name);
        str_done(&text);
}

static void write_task(FILE *out, const struct style *s, const struct task_brief_row *x) {
        struct unit_text alive, finished, bytes;
        struct str line = {0};

        str_add(&line, x->kind == TASK_OWN ? "the runtime itself: " : "");
        str_add(&line, x->runs);
        if (x->spawned[0])
                str_addf(&line, ", %s", x->spawned);
        if (x->kept_by[0])
                str_addf(&line, "; kept by %s", x->kept_by);
        fprintf(out, "%10s %10s %12s  ", unit_count(&alive, x->n - x->n_in[TASK_FINISHED]),
                unit_count(&finished, x->n_in[TASK_FINISHED]), unit_bytes(&bytes, x->bytes));
        style_wrap(s, str_text(&line), TASK_INDENT);
        str_done(&line);
}

static void write_source(FILE *out, const struct style *s, const struct source_brief_row *x) {
        struct unit_text alive, removed, bytes;
        struct str line = {0};

        str_add(&line, x->what);
        if (x->added[0])
                str_addf(&line, ", %s", x->added);
        fprintf(out, "%10s %10s %12s  ", unit_count(&alive, x->n - x->n_removed),
                unit_count(&removed, x->n_removed), unit_bytes(&bytes, x->bytes));
        style_wrap(s, str_text(&line), TASK_INDENT);
        str_done(&line);
}

static void write_tasks(FILE *out, const struct style *s, const struct model *m) {
        if (m->tasks.n_rows)
                fprintf(out, "%10s %10s %12s  %s\n", "alive", "finished", "bytes", "tasks");
        for (size_t i = 0; i < MIN(m->tasks.n_rows, (size_t)N_ROWS); i++)
                write_task(out, s, &m->tasks.rows[i]);
        if (m->tasks.n_sources)
                fprintf(out, "%10s %10s %12s  %s\n", "alive", "removed", "bytes",
                        "sources of GLib");
        for (size_t i = 0; i < MIN(m->tasks.n_sources, (size_t)N_ROWS); i++)
                write_source(out, s, &m->tasks.sources[i]);
        fputc('\n', out);
}

void frame_text_write(FILE *out, const struct model *m) {
        struct str sentence = {0};
        struct style s;

        style_init(&s, out);
        if (m->ask.of_tasks)
                model_add_task_sentence(m, false, &sentence);
        else
                model_add_sentence(m, &sentence);
        style_wrap(&s, str_text(&sentence), 0);
        fputc('\n', out);
        str_done(&sentence);
        write_head(out, m);
        if (m->ask.of_tasks) {
                write_tasks(out, &s, m);
                return;
        }
        fprintf(out, "%10s %10s %12s%s  %s\n", m->mapped ? "mapped" : "live", "growth",
                m->mapped ? "calls/s" : "allocs/s", m->cpu_ns ? "      CPU" : "",
                m->cpu_ns   ? "function"
                : m->mapped ? "mapped by"
                            : "allocated by");
        for (size_t i = 0; i < MIN(m->groups->n, (size_t)N_ROWS); i++)
                write_row(out, m, &s, i);
        fputc('\n', out);
}
