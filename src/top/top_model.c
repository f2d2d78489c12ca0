/* SPDX-License-Identifier: MIT */
#include "top/top_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "query/joined_groups.h"
#include "query/spent_time.h"
#include "query/trace_origin.h"
#include "show/view.h"
#include "top/model_processes.h"
#include "trace/limit.h"

#define TIMELINE_NS 600000000000ull /* at most so far back */
#define SILENCE_NS 10000000000ull   /* a recorder that writes nothing for so long cannot */
#define SAME_MOMENT_NS 1000000000ull

enum {
        MAX_TITLE_CELLS = 40,
        SAME_PART = 256, /* resident sums that differ by less than this part are the same */
};

static enum query_metric model_metric(enum model_sort sort) {
        switch (sort) {
        case MODEL_BY_GROWTH: return QUERY_GROWTH;
        case MODEL_BY_CHURN: return QUERY_COUNT;
        case MODEL_BY_BYTES: return QUERY_ALLOCATED;
        case MODEL_BY_CPU: /* of call paths that allocate: what they hold */
        case MODEL_BY_LIVE:
        case MODEL_N_SORTS: break;
        }
        return QUERY_END;
}

double model_cpus(const struct model *m, size_t group_idx) {
        return m->cpu_ns && m->now.window_ns
                       ? (double)m->cpu_ns[group_idx] / (double)m->now.window_ns
                       : 0;
}

double model_path_cpus(const struct model *m, const struct query_figures *f) {
        return m->now.window_ns ? (double)f->alloc_bytes / (double)m->now.window_ns : 0;
}

double model_all_cpus(const struct model *m) {
        return m->now.window_ns ? (double)m->all_cpu_ns / (double)m->now.window_ns : 0;
}

const struct query_totals *model_totals(const struct model *m) {
        return &m->answer->totals;
}

/* What the rows are of: blocks, or what the program mapped itself. */
static const struct query_answer *model_rows(const struct model *m) {
        return m->mapped ? m->mapped : m->answer;
}

bool model_has_time_paths(const struct model *m) {
        return m->ran && m->ask.sort == MODEL_BY_CPU && !m->mapped;
}

const struct query_answer *model_paths(const struct model *m) {
        return model_has_time_paths(m) ? m->ran : model_rows(m);
}

enum query_metric model_paths_metric(const struct model *m) {
        return model_has_time_paths(m) ? QUERY_CPU : model_metric(m->ask.sort);
}

double model_per_s(const struct model *m, double in_window) {
        return m->now.window_ns ? in_window / ((double)m->now.window_ns / 1e9) : 0;
}

/* ---- one frame ----------------------------------------------------------------------------------- */

/* What ran in the newest n columns, which are of this recording. */
static int fill_cpus(struct model *m, const struct query_scope *window, size_t n,
                     struct err *reterr) {
        struct query_scope scope = *window;
        double *ns = m->column_cpus + (m->n_columns - n);
        int r;

        memset(m->column_cpus, 0, sizeof(m->column_cpus));
        if (!n || !m->is_of_time)
                return 0;
        scope.of_time = QUERY_CPU_TIME;
        scope.to_ns = m->now.time_ns;
        r = query_time_columns(m->q, &scope, n, ns, reterr);
        for (size_t i = 0; r >= 0 && i < n; i++)
                ns[i] /= (double)(scope.to_ns - scope.from_ns) / (double)n;
        return r;
}

static int fill_timeline(struct model *m, const struct model_ask *ask, struct err *reterr) {
        static const struct timeline_past none;
        const struct timeline_past *past = ask->past ? ask->past : &none;
        struct query_scope scope = {.process = m->process, .to_ns = UINT64_MAX};
        size_t n = m->now.time_ns ? MIN(ask->n_columns, (size_t)MODEL_MAX_COLUMNS) : 0, n_own;
        int r;

        if (m->now.time_ns > TIMELINE_NS)
                scope.from_ns = m->now.time_ns - TIMELINE_NS;
        n_own = timeline_past_share(past, n, m->now.time_ns, TIMELINE_NS, &m->columns_span_ns);
        r = n ? query_timeline(m->q, &scope, n_own, 0, m->columns + n - n_own, reterr) : 0;
        if (r < 0)
                return r;
        if (n)
                timeline_past_fill(past, m->columns, n, n_own, m->columns_span_ns);
        m->n_columns = n;
        return fill_cpus(m, &scope, n ? n_own : 0, reterr);
}

void model_keep_timeline(const struct model *m, struct timeline_past *ret) {
        *ret = (struct timeline_past){.n = MIN(m->n_columns, (size_t)TIMELINE_PAST_COLUMNS),
                                      .span_ns = m->n_columns ? m->columns_span_ns : 0};
        memcpy(ret->columns, m->columns, ret->n * sizeof(ret->columns[0]));
}

/* Letter for letter, in either case: people type a word, not a regular expression. */
static int make_filter(const char *text, struct query_filter **ret, struct err *reterr) {
        struct str pattern = {0};
        int r;

        *ret = query_filter_new();
        str_add(&pattern, "(?i)");
        for (; *text; text++)
                str_addf(&pattern, "%s%c", strchr("\\^$.[]|()?*+{}", *text) ? "\\" : "", *text);
        r = query_filter_add(*ret, "function", str_text(&pattern), reterr);
        str_done(&pattern);
        return r;
}

static int ask_window(struct model *m, struct follower *f, const struct model_ask *ask,
                      struct err *reterr) {
        _cleanup_(query_filter_freep) struct query_filter *filter = NULL;
        struct query_scope window = follower_window(f);
        int r = 0;

        m->process = window.process;
        m->mapped = NULL;
        if (ask->filter && ask->filter[0]) {
                r = make_filter(ask->filter, &filter, reterr);
                window.filter = filter;
        }
        if (r >= 0)
                r = query_ask(m->q, &window, &m->answer, reterr);
        window.of_mappings = true;
        if (r >= 0 && ask->of_mappings)
                r = query_ask(m->q, &window, &m->mapped, reterr);
        if (r >= 0)
                m->answer->scope.filter = NULL; /* which goes */
        if (r >= 0 && m->mapped)
                m->mapped->scope.filter = NULL;
        return r;
}

/* Those that only stand on call paths of others have nothing of their own. Of sums only what is live is known. */
static void drop_idle(struct query_groups *g) {
        size_t n = 0;

        for (size_t i = 0; i < g->n; i++)
                if (g->rows[i].self.lacks_events ? g->rows[i].self.end_bytes != 0
                                                 : !query_figures_are_idle(&g->rows[i].self))
                        g->rows[n++] = g->rows[i];
        g->n = n;
}

static void add_frame(const struct model *m, const struct query_frame *f, bool is_task, bool utf8,
                      struct str *to) {
        struct name_frame n = frame_of(f);

        frame_add_function(to, &m->names, &n, is_task, false, utf8);
}

/* ---- the CPU ------------------------------------------------------------------------------------- */

struct timed_group {
        struct query_group g;
        uint64_t cpu_ns;
        size_t place; /* in the order of its memory */
};

static int compare_timed(const void *a, const void *b) {
        const struct timed_group *x = a, *y = b;

        if (x->cpu_ns != y->cpu_ns)
                return x->cpu_ns > y->cpu_ns ? -1 : 1;
        return x->place < y->place ? -1 : x->place > y->place;
}

/* Those that only ran come behind those that hold memory. */
static void join_time(struct model *m, const struct query_groups *cpu) {
        const struct query_groups *both[] = {m->groups, cpu};
        struct query_joined *j = query_join_groups(both, ARRAY_SIZE(both));
        struct timed_group *rows = calloc(j->n + 1, sizeof(*rows));
        size_t n = 0;

        if (!rows)
                abort();
        for (size_t i = 0; i < j->n; i++) {
                const struct query_group *memory = j->rows[2 * i], *time = j->rows[2 * i + 1];

                if (!memory && !time->self.alloc_bytes)
                        continue;
                rows[n] = (struct timed_group){.g = memory ? *memory : *time,
                                               .cpu_ns = time ? time->self.alloc_bytes : 0,
                                               .place = n};
                if (!memory)
                        rows[n].g.self = rows[n].g.total = (struct query_figures){0};
                n++;
        }
        query_joined_free(j);
        if (m->ask.sort == MODEL_BY_CPU)
                qsort(rows, n, sizeof(rows[0]), compare_timed);
        free(m->groups->rows);
        m->groups->rows = calloc(n + 1, sizeof(m->groups->rows[0]));
        m->cpu_ns = calloc(n + 1, sizeof(m->cpu_ns[0]));
        if (!m->groups->rows || !m->cpu_ns)
                abort();
        m->groups->n = n;
        for (size_t i = 0; i < n; i++) {
                m->groups->rows[i] = rows[i].g;
                m->cpu_ns[i] = rows[i].cpu_ns;
        }
        free(rows);
}

static void find_hot(struct model *m, const struct query_answer *a) {
        struct query_group_options o = {.by = QUERY_BY_FUNCTION, .metric = QUERY_CPU};
        struct query_groups *g = query_group_answer(m->q, a, &o);

        m->all_cpu_ns = a->totals.alloc_bytes;
        if (g->n && g->rows[0].self.alloc_bytes) {
                m->hot_cpu_ns = g->rows[0].self.alloc_bytes;
                add_frame(m, &g->rows[0].frame, g->rows[0].is_task, true, &m->hot);
        }
        query_groups_free(g);
}

static int fill_time(struct model *m, struct follower *f, const struct model_ask *ask,
                     struct err *reterr) {
        struct query_group_options o = {.by = ask->by, .metric = QUERY_CPU};
        _cleanup_(query_filter_freep) struct query_filter *filter = NULL;
        struct query_scope window = follower_window(f);
        struct query_groups *cpu;
        int r = 0;

        if (!query_has_ticks(m->q))
                return 0;
        window.of_time = QUERY_CPU_TIME;
        if (ask->filter && ask->filter[0]) {
                r = make_filter(ask->filter, &filter, reterr);
                window.filter = filter;
        }
        if (r >= 0)
                r = query_ask(m->q, &window, &m->ran, reterr);
        if (r < 0)
                return r;
        m->ran->scope.filter = NULL; /* which goes */
        if (!ask->of_mappings) {
                cpu = query_group_answer(m->q, m->ran, &o);
                join_time(m, cpu);
                query_groups_free(cpu);
        }
        find_hot(m, m->ran);
        return 0;
}

static void model_clear(struct model *m) {
        query_groups_free(m->groups);
        query_answer_free(m->answer);
        query_answer_free(m->mapped);
        query_answer_free(m->ran);
        free(m->cpu_ns);
        m->groups = NULL;
        m->answer = m->mapped = m->ran = NULL;
        m->cpu_ns = NULL;
        m->all_cpu_ns = m->hot_cpu_ns = 0;
        str_done(&m->hot);
        m->hot = (struct str){0};
        m->n_columns = m->n_processes = m->n_all_processes = 0;
        str_done(&m->filter);
        m->filter = (struct str){0};
}

/* A graph is taken seldom, and takes a while to be read. Where names were missing, they may be there by now. */
static void fill_tasks(struct model *m) {
        size_t n = query_n_graphs(m->q);

        if (n == m->n_graphs && m->process == m->tasks_process &&
            (m->q == m->tasks_of || !m->tasks.is_nameless))
                return;
        m->n_graphs = n;
        m->tasks_process = m->process;
        m->tasks_of = m->q;
        task_brief_done(&m->tasks);
        task_brief_read(&m->tasks, m->q, &m->names, m->process);
}

/* Looks are taken about once a second at most; frames are drawn more often. */
static void fill_brief(struct model *m) {
        size_t n = query_n_bills(m->q);

        if (n == m->n_bills && m->process == m->brief_process)
                return;
        m->n_bills = n;
        m->brief_process = m->process;
        bill_brief_done(&m->brief);
        m->has_brief = bill_brief_read(&m->brief, m->q, m->names.names, m->process, true);
}

int model_fill(struct model *m, struct follower *f, const struct model_ask *ask,
               struct err *reterr) {
        struct query_group_options o = {.by = ask->by, .metric = model_metric(ask->sort)};
        int r;

        model_clear(m);
        m->now = *follower_now(f);
        m->ask = *ask;
        m->ask.filter = NULL;
        str_add(&m->filter, ask->filter ? ask->filter : "");
        m->q = follower_query(f);
        m->names = (struct frame_names){.q = m->q, .names = follower_names(f)};
        m->sample_bytes = query_sample_bytes(m->q);
        m->is_attached_late = query_view(m->q)->n_priors > 0;
        m->is_of_time = query_is_of_time(m->q);
        if (m->is_of_time)
                m->ask.sort = MODEL_BY_CPU;
        r = ask_window(m, f, ask, reterr);
        if (r >= 0)
                r = fill_timeline(m, ask, reterr);
        if (r < 0) {
                model_clear(m);
                return r;
        }
        m->live_error_bytes = sqrt(m->answer->totals.var[QUERY_END]);
        m->groups = query_group_answer(m->q, model_rows(m), &o);
        drop_idle(m->groups);
        r = fill_time(m, f, ask, reterr);
        if (r < 0) {
                model_clear(m);
                return r;
        }
        model_fill_processes(m);
        fill_tasks(m);
        fill_brief(m);
        return 0;
}

void model_done(struct model *m) {
        model_clear(m);
        task_brief_done(&m->tasks);
        m->n_graphs = 0;
        m->tasks_of = NULL;
        bill_brief_done(&m->brief);
        m->has_brief = false;
        m->n_bills = 0;
}

/* ---- names --------------------------------------------------------------------------------------- */

void model_add_name(const struct model *m, const struct query_group *g, bool utf8, struct str *to) {
        switch (m->ask.by) {
        case QUERY_BY_MODULE:
                str_add(to, g->frame.module[0] ? frame_base(g->frame.module) : "(unknown)");
                break;
        case QUERY_BY_COMPONENT: str_add(to, g->name[0] ? g->name : "(unknown)"); break;
        default:
                if (g->n_sites && !g->stack)
                        str_add(to, "(no stack)");
                else
                        add_frame(m, &g->frame, g->is_task, utf8, to);
                break;
        }
}

/* ---- the sentence -------------------------------------------------------------------------------- */

/* Titles may say much, and what matters comes behind them. */
static void add_title(const struct model *m, uint32_t process, struct str *to) {
        struct str title = {0};
        const char *text;
        size_t cells = 0, at = 0, n;

        query_add_process_name(m->q, process, &title);
        text = str_text(&title);
        while (text[at] && cells + str_first_width(text + at, &n) <= MAX_TITLE_CELLS) {
                cells += str_first_width(text + at, &n);
                at += n;
        }
        str_addn(to, text, at);
        if (text[at])
                str_add(to, "...");
        str_done(&title);
}

static size_t count_alive(const struct model *m) {
        size_t n = 0;

        for (size_t i = 0; i < m->n_processes; i++)
                n += m->processes[i].is_alive;
        return n;
}

bool model_has_rates(const struct model *m) {
        const struct query_totals *t = model_totals(m);

        return !t->lacks_events && !t->lacks_time && !m->is_of_time;
}

static bool is_of_many(const struct model *m) {
        return m->process == QUERY_ALL && count_alive(m) > 1;
}

const char *model_resident_label(const struct model *m) {
        return is_of_many(m) ? "resident at most" : "resident";
}

/* "redis-server (pid 4711)", "nginx and 4 more". */
static void add_subject(const struct model *m, struct str *to) {
        uint32_t process = m->process == QUERY_ALL ? query_main_process(m->q) : m->process;

        add_title(m, process, to);
        if (is_of_many(m))
                str_addf(to, " and %zu more", count_alive(m) - 1);
        else if (origin_knows_pids(&query_view(m->q)->meta)) /* most other tools tell none */
                str_addf(to, " (pid %u)", query_view(m->q)->processes[process].start.pid);
}

/* The function that has most of it, " F", and its share of the whole; false: none stands out. */
static bool find_culprit(const struct model *m, enum query_metric metric, double whole,
                         struct str *name, int *ret_pct) {
        struct query_group_options o = {.by = QUERY_BY_FUNCTION, .metric = metric};
        struct query_groups *g = query_group_answer(m->q, m->answer, &o);
        double value = 0;

        if (g->n)
                value = (double)query_figure_of(&g->rows[0].self, metric).value;
        if (whole > 0 && value > 0) {
                *ret_pct = (int)(MIN(value / whole, 1.0) * 100 + 0.5);
                add_frame(m, &g->rows[0].frame, g->rows[0].is_task, true, name);
        } else {
                *ret_pct = 0;
        }
        query_groups_free(g);
        return *ret_pct >= 20;
}

/* Worth a sentence: a hundredth of what is there, or a megabyte, in the window. */
static bool is_growing(const struct model *m, double growth) {
        return growth > 65536 && (growth > (double)m->now.live_bytes / 100 || growth > (1 << 20));
}

/* "; it keeps 0.8 CPUs busy, 61 % of that in find_route" */
static void add_time(const struct model *m, struct str *to) {
        double cpus = model_all_cpus(m);

        if (!m->cpu_ns || cpus < 0.05)
                return;
        str_addf(to, "; it keeps %.1f CPU%s busy", cpus, cpus >= 0.95 && cpus < 1.05 ? "" : "s");
        if (m->hot_cpu_ns)
                str_addf(to, ", %.0f %% of that in %s",
                         100.0 * (double)m->hot_cpu_ns / (double)m->all_cpu_ns,
                         m->hot.n ? m->hot.bytes : "");
}

static bool is_silent(const struct model *m) {
        return m->now.silent_ns >= SILENCE_NS;
}

/* Blocks are less than half of what is resident: they are not what to speak of first. */
static bool is_mostly_no_blocks(const struct model *m) {
        return m->has_brief && m->brief.block_bytes < m->brief.resident_bytes / 2 &&
               m->answer->totals.end_bytes < m->brief.resident_bytes / 2 && !m->now.is_over &&
               !is_silent(m) && !m->filter.n && m->brief.largest.n;
}

static void add_state(const struct model *m, struct str *to) {
        const struct query_totals *t = &m->answer->totals;
        double growth = (double)t->end_bytes - (double)t->begin_bytes,
               /* of what is shown, which may be filtered */
                allocs_per_s = model_per_s(m, (double)t->n_allocs);
        struct unit_text rate, window;
        bool has_rates = model_has_rates(m);
        struct str name = {0};
        int pct = 0;

        unit_duration(&window, m->now.window_ns);
        if (has_rates && is_growing(m, growth)) {
                str_addf(to, ", and grew by %s in %s", unit_bytes(&rate, (uint64_t)growth),
                         window.s);
                if (find_culprit(m, QUERY_GROWTH, growth, &name, &pct))
                        str_addf(to, ", %d %% of it by %s", pct, str_text(&name));
        } else if (has_rates && allocs_per_s >= 10000 &&
                   find_culprit(m, QUERY_COUNT, (double)t->n_allocs, &name, &pct)) {
                str_addf(to, ", steady%s allocates %s times a second, %d %% of it in %s",
                         is_mostly_no_blocks(m) ? "; it" : ", and",
                         unit_count(&rate, (uint64_t)allocs_per_s), pct, str_text(&name));
        } else if (find_culprit(m, QUERY_END, (double)t->end_bytes, &name, &pct)) {
                str_addf(to, "; %d %% of it was allocated by %s", pct, str_text(&name));
        }
        str_done(&name);
        add_time(m, to);
}

/* What kept the recorder from seeing all, as it says itself: the worst. */
static void add_limit(const struct model *m, struct str *to) {
        const struct trace_view *v = query_view(m->q);
        struct trace_limit worst = {.kind = LIMIT_LOST}, l;
        uint32_t pid = m->process == QUERY_ALL ? 0 : v->processes[m->process].start.pid;

        for (size_t i = 0; i < v->n_notes; i++)
                if (trace_limit_parse(v->notes[i].text, &l) && (!pid || !l.pid || l.pid == pid) &&
                    (l.kind < worst.kind || (l.kind == worst.kind && l.bytes > worst.bytes)))
                        worst = l;
        if (worst.kind < LIMIT_LOST) /* losses are counted, here and by figures */
                str_addf(to, " Incomplete: %s.", worst.text);
}

static void add_count(struct str *to, uint64_t n, const char *what) {
        struct unit_text t;

        if (n)
                str_addf(to, " %s event%s %s.", unit_count(&t, n), n == 1 ? "" : "s", what);
}

/* What silt did not see: said at once, and not below. */
static void add_doubts(const struct model *m, struct str *to) {
        const struct trace_view *v = query_view(m->q);
        struct unit_text t;

        if (is_silent(m))
                str_addf(
                        to,
                        " Nothing was written to the trace for %s (is the disk full?): these are the figures of then.",
                        unit_duration(&t, m->now.silent_ns));
        add_count(to, m->now.n_lost, m->now.n_lost == 1 ? "was lost" : "were lost");
        add_count(to, v->n_unwritten_events,
                  "could not be written to the trace (was the disk full?)");
        add_limit(m, to);
        if (model_totals(m)->lacks_events)
                str_add(to,
                        " These are sums that another tool made: growth and rates are unknown.");
        else if (!model_has_rates(m) && !m->is_of_time)
                str_add(to, " The recording has no times: growth and rates are unknown.");
        if (query_damage(m->q)[0]) {
                str_addf(to, " A part of the trace cannot be read: %s.", query_damage(m->q));
        } else if (m->now.is_over && !v->finished) {
                str_add(to, " Incomplete: ");
                view_add_unfinished(v, false, to);
                str_add(to, ".");
        } else if (!m->answer->is_exact) {
                str_add(to, " Parts of the trace that are needed are missing.");
        }
}

static const char *held_word(const struct model *m) {
        if (model_totals(m)->lacks_peak) /* of one moment, which need not be the end */
                return " held ";
        if (!m->now.is_over)
                return is_silent(m) ? " held " : is_of_many(m) ? " hold " : " holds ";
        if (query_view(m->q)->finished)
                return is_of_many(m) ? " are no longer recorded; in the end they held "
                                     : " is no longer recorded; in the end it held ";
        return is_of_many(m) ? " are no longer recorded; when last seen they held "
                             : " is no longer recorded; when last seen it held ";
}

/* The parts are of the sum beside the sentence, which is without silt's buffers: it is the same, as far as one can tell. */
static bool are_parts_of_now(const struct model *m) {
        uint64_t now = m->now.rss_bytes, then = m->brief.resident_bytes, slack = now / SAME_PART;

        return now <= then + slack && now + m->brief.own_bytes + slack >= then &&
               m->brief.largest_bytes <= now;
}

/* " has 201.9 MiB resident, of which 185.0 MiB were mapped by the program itself; its blocks hold ". Parts are looked at more seldom than the
 * sum: where they are not of now, their own sum is told, and when it was. Of several processes it is always told: what they share is
 * counted once in it. */
static void add_resident(const struct model *m, struct str *to) {
        uint64_t age_ns = m->now.time_ns - MIN(m->brief.time_ns, m->now.time_ns);
        bool is_old = age_ns >= SAME_MOMENT_NS, is_many = is_of_many(m),
             has_sum = m->now.has_rss && !is_many, is_now = has_sum ? are_parts_of_now(m) : !is_old;
        struct unit_text sum, age;

        unit_bytes(&sum, is_now && has_sum ? m->now.rss_bytes : m->brief.resident_bytes);
        str_addf(to, " %s %s resident", !is_now ? "had" : is_many ? "have" : "has", sum.s);
        if (!is_now)
                str_addf(to, " %s ago", is_old ? unit_duration(&age, age_ns) : "a moment");
        str_addf(to, ", of which %s; %s blocks hold ", m->brief.largest.bytes,
                 is_many ? "their" : "its");
}

/* Of a recording without memory. */
static void add_time_alone(const struct model *m, struct str *to) {
        double cpus = model_all_cpus(m);
        bool is_many = is_of_many(m);

        if (m->now.is_over)
                str_add(to,
                        is_many ? " are no longer recorded; they" : " is no longer recorded; it");
        str_addf(to, " %s %.1f CPUs busy",
                 m->now.is_over || is_silent(m) ? "kept"
                 : is_many                      ? "keep"
                                                : "keeps",
                 cpus);
        if (m->hot_cpu_ns)
                str_addf(to, ", %.0f %% of that in %s",
                         100.0 * (double)m->hot_cpu_ns / (double)m->all_cpu_ns,
                         m->hot.n ? m->hot.bytes : "");
        str_add(to, ".");
}

/* Of memory, where there was no allocation. */
static const char *nothing_words(const struct model *m) {
        if (query_is_blank(m->q))
                return m->now.is_over ? ": nothing of what it did is in the trace"
                                      : " has no figures yet";
        return m->is_attached_late ? " allocated nothing since silt attached"
                                   : " allocated nothing yet";
}

void model_add_sentence(const struct model *m, struct str *to) {
        const char *late = m->is_attached_late ? " allocated since silt attached" : "";
        uint64_t held = m->answer->totals.end_bytes;
        struct unit_text live;

        add_subject(m, to);
        if (query_is_of_time(m->q)) {
                add_time_alone(m, to);
                add_doubts(m, to);
                return;
        }
        if (!m->now.n_allocs) {
                str_addf(to, "%s.", nothing_words(m));
                add_doubts(m, to);
                return;
        }
        if (m->answer->totals.lacks_live) {
                str_addf(to, " allocated %s.", unit_bytes(&live, m->answer->totals.alloc_bytes));
                add_doubts(m, to);
                return;
        }
        if (is_mostly_no_blocks(m))
                add_resident(m, to);
        else
                str_add(to, held_word(m));
        if (m->sample_bytes && !held)
                str_add(to, "next to nothing (no sample is live)");
        else
                str_addf(to, "%s%s", m->sample_bytes ? "about " : "", unit_bytes(&live, held));
        if (m->sample_bytes && held)
                str_addf(to, " (samples: ±%.0f %%)", m->live_error_bytes / (double)held * 100);
        if (m->filter.n)
                str_addf(to, " through '%s'%s", m->filter.bytes, late[0] ? "," : "");
        str_add(to, late);
        if (!m->now.is_over && !is_silent(m))
                add_state(m, to);
        str_add(to, ".");
        add_doubts(m, to);
        if (m->tasks.has_tasks)
                str_addf(to, " %s", m->tasks.sentence);
}

/* What is there to take a graph of: the recording, while it goes on. */
static void add_way_to_graph(const struct model *m, bool has_key, struct str *to) {
        uint32_t process = m->process == QUERY_ALL ? query_main_process(m->q) : m->process;

        if (m->now.is_over)
                str_add(to, ": record it with 'silt run --graph-every 1m', and they are known.");
        else if (has_key)
                str_add(to,
                        ". Press r to take one now: the program stops while its memory is copied.");
        else
                str_addf(to, ": 'silt snapshot --graph %u' takes one now.",
                         query_view(m->q)->processes[process].start.pid);
}

void model_add_task_sentence(const struct model *m, bool has_key, struct str *to) {
        if (m->tasks.has_graph) {
                str_add(to, m->tasks.sentence);
                return;
        }
        add_subject(m, to);
        str_addf(to, ": %s tasks are unknown, as there is no reference graph",
                 is_of_many(m) ? "their" : "its");
        add_way_to_graph(m, has_key, to);
}
