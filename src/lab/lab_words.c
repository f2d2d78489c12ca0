/* SPDX-License-Identifier: MIT */
#include "lab/lab_words.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "base/json.h"
#include "base/macros.h"
#include "base/units.h"

/* "exited with status 3", "was ended by signal 11 (Segmentation fault)" */
static void add_end(struct str *ret, int status) {
        if (WIFSIGNALED(status))
                str_addf(ret, "was ended by signal %d (%s)", WTERMSIG(status),
                         strsignal(WTERMSIG(status)));
        else
                str_addf(ret, "exited with status %d", WEXITSTATUS(status));
}

/* Of page size or a little more: to the KiB where a tenth of a MiB would hide the difference. */
static const char *limit_text(struct unit_text *t, uint64_t bytes) {
        if (bytes >= 100ull << 20 || bytes < 1 << 20)
                return unit_bytes(t, bytes);
        snprintf(t->s, sizeof(t->s), "%.2f MiB", (double)bytes / (1 << 20));
        return t->s;
}

static uint64_t mark_bytes(const struct group *g) {
        return g->limits.memory_bytes ? g->limits.memory_bytes : g->limits.high_bytes;
}

static void add_used(const struct lab_outcome *o, struct str *ret) {
        struct unit_text t;

        if (o->usage.has_peak)
                str_addf(ret, "the group used %s at most", unit_bytes(&t, o->usage.peak_bytes));
        else
                str_add(ret, "how much the group used is unknown");
        if (o->max_rss_bytes)
                str_addf(ret, ", its largest process had %s resident",
                         unit_bytes(&t, o->max_rss_bytes));
}

void lab_words_outcome(const struct group *g, const struct lab_outcome *o, struct str *ret) {
        struct unit_text limit, n;
        bool was_main = o->usage.n_kills && WIFSIGNALED(o->wait_status) &&
                        WTERMSIG(o->wait_status) == SIGKILL;

        if (was_main) {
                str_addf(ret, "the kernel killed it at its limit of %s: ",
                         unit_bytes(&limit, mark_bytes(g)));
        } else if (o->usage.n_kills) {
                str_addf(ret, "the kernel killed %s of its processes at the limit of %s, and it ",
                         unit_count(&n, o->usage.n_kills), unit_bytes(&limit, mark_bytes(g)));
                add_end(ret, o->wait_status);
                str_add(ret, ": ");
        } else {
                if (mark_bytes(g) && g->limits.high_bytes)
                        str_addf(ret, "it ended, throttled above %s, and ",
                                 unit_bytes(&limit, mark_bytes(g)));
                else if (mark_bytes(g))
                        str_addf(ret, "it %s with %s, and ",
                                 o->usage.has_kills ? "survived" : "ran",
                                 unit_bytes(&limit, mark_bytes(g)));
                else
                        str_add(ret, "it ");
                add_end(ret, o->wait_status);
                str_add(ret, ": ");
        }
        add_used(o, ret);
}

void lab_words_limit(const struct group *g, struct str *ret) {
        struct unit_text t;

        group_describe(g, ret);
        if (g->limits.own_bytes && mark_bytes(g))
                str_addf(ret, "; %s more for silt in it", unit_bytes(&t, g->limits.own_bytes));
}

void lab_words_note(const struct group *g, struct str *ret) {
        str_add(ret, "lab: ");
        lab_words_limit(g, ret);
}

static void put_argv(struct json *j, char **argv) {
        json_key(j, "command");
        json_array(j);
        for (char **a = argv; *a; a++)
                json_string(j, *a);
        json_end(j);
}

static void put_end(struct json *j, int status) {
        json_put_known(j, "exit_status", (uint64_t)WEXITSTATUS(status), WIFEXITED(status));
        json_put_known(j, "signal", (uint64_t)WTERMSIG(status), WIFSIGNALED(status));
}

void lab_words_json(const struct group *g, const struct lab_outcome *o, char **argv, FILE *to) {
        const struct group_limits *l = &g->limits;
        struct str text = {0};
        struct json j;

        json_init(&j, to);
        json_object(&j);
        json_put_string(&j, "schema", "silt.lab/1");
        lab_words_outcome(g, o, &text);
        json_put_string(&j, "text", str_text(&text));
        put_argv(&j, argv);
        json_put_string(&j, "limited_by", group_maker_name(g->maker));
        json_key(&j, "group");
        if (g->memory_dir[0])
                json_string(&j, g->memory_dir);
        else
                json_null(&j);
        json_put_known(&j, "memory_limit_bytes", l->memory_bytes, l->memory_bytes);
        json_put_known(&j, "throttled_above_bytes", l->high_bytes, l->high_bytes);
        json_put_known(&j, "swap_limit_bytes", l->swap_bytes, l->has_swap);
        json_key(&j, "cpus");
        if (l->n_cpus > 0)
                json_double(&j, l->n_cpus, 2);
        else
                json_null(&j);
        json_put_uint(&j, "own_bytes", l->own_bytes);
        json_key(&j, "survived");
        if (o->usage.has_kills)
                json_bool(&j, !o->usage.n_kills);
        else
                json_null(&j);
        put_end(&j, o->wait_status);
        json_put_known(&j, "oom_kills", o->usage.n_kills, o->usage.has_kills);
        json_put_known(&j, "group_peak_bytes", o->usage.peak_bytes, o->usage.has_peak);
        json_put_known(&j, "peak_rss_bytes", o->max_rss_bytes, o->max_rss_bytes);
        json_put_uint(&j, "ended_processes", o->n_left);
        json_end(&j);
        str_done(&text);
}

/* ---- the search -------------------------------------------------------------------------------------- */

void lab_words_free_run(const struct trial *t, struct str *ret) {
        struct unit_text a, b;

        str_addf(ret, "first run: it used %s, ran for %s and ",
                 unit_bytes(&a, t->usage.has_peak ? t->usage.peak_bytes : t->max_rss_bytes),
                 unit_duration(&b, t->run_ns));
        add_end(ret, t->wait_status);
        str_addf(ret, " (limits by %s)", group_maker_name(t->maker));
}

static void add_why(const struct find_step *s, struct str *ret) {
        switch (s->why) {
        case FIND_KILLED: str_add(ret, "the kernel killed it"); break;
        case FIND_TIME: str_add(ret, "it did not end in time"); break;
        case FIND_STATUS:
                str_add(ret, "it ");
                add_end(ret, s->wait_status);
                break;
        case FIND_SURVIVED: str_add(ret, "it survived"); break;
        }
}

void lab_words_step(const struct find_step *s, struct str *ret) {
        struct unit_text t;

        str_addf(ret, "%s: ", limit_text(&t, s->limit_bytes));
        if (s->why == FIND_SURVIVED)
                str_addf(ret, "survived %u of %u run%s", s->n_survived, s->n_runs,
                         s->n_runs == 1 ? "" : "s");
        else if (s->n_runs > 1) {
                str_addf(ret, "in run %u ", s->n_runs);
                add_why(s, ret);
        } else {
                add_why(s, ret);
        }
}

void lab_words_answer(const struct find_answer *a, struct str *ret) {
        struct unit_text t;

        str_addf(ret, "It survives %u of %u run%s with %s", a->survived.n_survived,
                 a->survived.n_runs, a->survived.n_runs == 1 ? "" : "s",
                 limit_text(&t, a->survived.limit_bytes));
        if (a->failed.limit_bytes) {
                str_addf(ret, "; with %s ", limit_text(&t, a->failed.limit_bytes));
                add_why(&a->failed, ret);
        }
        str_add(ret, ".");
}

void lab_words_next(const struct find_answer *a, char **argv, struct str *ret) {
        bool has_failed = a->failed.limit_bytes != 0;
        uint64_t bytes = has_failed ? a->failed.limit_bytes : a->survived.limit_bytes;

        str_clear(ret);
        str_addf(ret, "%s silt lab --memory %lluK --swap 0 --",
                 has_failed ? "to see what it holds when the limit is too low:" : "next: ",
                 (unsigned long long)((bytes + 1023) / 1024));
        for (char **arg = argv; *arg; arg++) {
                str_add(ret, " ");
                str_add_shell(ret, *arg);
        }
}

static const char *why_name(enum find_why why) {
        switch (why) {
        case FIND_KILLED: return "oom-kill";
        case FIND_TIME: return "timeout";
        case FIND_STATUS: return "status";
        case FIND_SURVIVED: break;
        }
        return "survived";
}

void lab_words_search_json(const struct trial *free_run, const struct find_answer *a, char **argv,
                           FILE *to) {
        struct str text = {0};
        struct json j;

        json_init(&j, to);
        json_object(&j);
        json_put_string(&j, "schema", "silt.lab-limit/1");
        lab_words_answer(a, &text);
        json_put_string(&j, "text", str_text(&text));
        put_argv(&j, argv);
        json_put_string(&j, "limited_by", group_maker_name(free_run->maker));
        json_put_uint(&j, "limit_bytes", a->survived.limit_bytes);
        json_put_uint(&j, "survived_runs", a->survived.n_survived);
        json_put_known(&j, "failed_limit_bytes", a->failed.limit_bytes, a->failed.limit_bytes);
        json_key(&j, "failed_why");
        if (a->failed.limit_bytes)
                json_string(&j, why_name(a->failed.why));
        else
                json_null(&j);
        json_put_uint(&j, "steps", a->n_steps);
        json_put_uint(&j, "runs", a->n_runs);
        json_key(&j, "without_limit");
        json_object(&j);
        put_end(&j, free_run->wait_status);
        json_put_known(&j, "group_peak_bytes", free_run->usage.peak_bytes,
                       free_run->usage.has_peak);
        json_put_uint(&j, "peak_rss_bytes", free_run->max_rss_bytes);
        json_put_double(&j, "run_time_s", (double)free_run->run_ns / 1e9, 3);
        json_end(&j);
        json_end(&j);
        str_done(&text);
}
