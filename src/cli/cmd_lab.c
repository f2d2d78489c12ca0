/* SPDX-License-Identifier: MIT */
/* silt lab: `silt run` with a prepared group, and the search for the smallest limit. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macros.h"
#include "base/memory_room.h"
#include "base/str.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/fail_words.h"
#include "cli/help_lab.h"
#include "cli/help_run.h"
#include "cli/recording.h"
#include "lab/find_limit.h"
#include "lab/keeper.h"
#include "lab/lab_words.h"
#include "lab/limit_group.h"
#include "lab/trial.h"
#include "record/supervisor.h"

enum {
        LAB_RUN_OPTIONS = 1 << 16, /* added to ids of run's options */
        LAB_GRACE_MS = 2000,
        LAB_DEFAULT_RUNS = 3,
        LAB_MAX_RUNS = 1000,
        LAB_PRECISION_PARTS = 200,
        LAB_MIN_BYTES = 1 << 16,
        LAB_TIMES_SLOWER = 10,
};
#define LAB_TIMEOUT_NS 10000000000ull

struct lab_command {
        struct group_limits limits;
        bool pressure, find_limit, json;
        uint64_t n_runs, timeout_ns;
        struct run_options run;
};

/* ---- the command line ---------------------------------------------------------------------------- */

static bool take_cpus(struct lab_command *c, struct cli_parser *p) {
        char *end;

        c->limits.n_cpus = strtod(p->value, &end);
        if (*end || end == p->value || !(c->limits.n_cpus >= 0.01 && c->limits.n_cpus <= 4096)) {
                cli_parser_error(p, "--cpu: '%s' is not a number of processors: give 0.01 to 4096",
                                 p->value);
                return false;
        }
        return true;
}

static bool take_memory(struct lab_command *c, struct cli_parser *p) {
        if (!cli_value_bytes(p, &c->limits.memory_bytes))
                return false;
        if (c->limits.memory_bytes < LAB_MIN_BYTES || c->limits.memory_bytes > UINT64_MAX / 4) {
                cli_parser_error(p, "--memory: '%s' is out of range: give at least 64K", p->value);
                return false;
        }
        return true;
}

static bool take_timeout(struct lab_command *c, struct cli_parser *p) {
        if (!cli_value_duration(p, &c->timeout_ns))
                return false;
        if (c->timeout_ns == 0)
                cli_parser_error(p, "--timeout: '%s' is too short: give a longer time", p->value);
        return c->timeout_ns != 0;
}

static bool take_option(struct lab_command *c, struct cli_parser *p, int id) {
        if (id >= LAB_RUN_OPTIONS)
                return cli_take_run_option(p, &c->run, id - LAB_RUN_OPTIONS);
        switch ((enum lab_option)id) {
        case LAB_MEMORY: return take_memory(c, p);
        case LAB_SWAP: c->limits.has_swap = true; return cli_value_bytes(p, &c->limits.swap_bytes);
        case LAB_CPU: return take_cpus(c, p);
        case LAB_PRESSURE: c->pressure = true; break;
        case LAB_FIND_LIMIT: c->find_limit = true; break;
        case LAB_RUNS: return cli_value_number(p, 1, LAB_MAX_RUNS, &c->n_runs);
        case LAB_TIMEOUT: return take_timeout(c, p);
        case LAB_JSON: c->json = true; break;
        case LAB_OPTION_NONE: break;
        }
        return true;
}

/* NULL: all is well. */
static const char *find_contradiction(const struct lab_command *c) {
        const struct run_options *o = &c->run;

        if (c->find_limit && c->pressure)
                return "--pressure: cannot be combined with --find-limit: leave one out";
        if (!c->find_limit && (c->n_runs || c->timeout_ns))
                return "--runs and --timeout: have no effect without --find-limit: add it";
        if (c->find_limit && o->output_path)
                return "--output: --find-limit records nothing: leave one out";
        if (c->find_limit && o->has_fails)
                return "--fail-nth, --fail-above and --fail-rate: --find-limit records nothing: leave one out";
        if (!c->find_limit && !c->limits.memory_bytes && !(c->limits.n_cpus > 0) && !o->has_fails)
                return "no limit given: write 'silt lab --memory 512M PROG', or --find-limit";
        if (c->limits.has_swap && !c->limits.memory_bytes && !c->find_limit)
                return "--swap: has no effect without --memory: add --memory";
        if (c->pressure && !c->limits.memory_bytes)
                return "--pressure: needs the mark to throttle at: add --memory";
        if (o->dormant)
                return "--dormant: cannot be combined with a limit: leave it out";
        return NULL;
}

/* Run's options are the lab's too. */
static size_t join_tables(struct cli_option *ret, size_t cap) {
        size_t n = 0;

        for (size_t i = 0; i < ARRAY_SIZE(lab_option_table) && n < cap; i++)
                ret[n++] = lab_option_table[i];
        for (size_t i = 0; i < ARRAY_SIZE(run_option_table) && n < cap; i++) {
                if (run_option_table[i].id == CLI_OPTION_HELP)
                        continue;
                ret[n] = run_option_table[i];
                ret[n++].id += LAB_RUN_OPTIONS;
        }
        return n;
}

static bool lab_parse(int argc, char **argv, struct lab_command *c, int *ret_exit_status) {
        static struct cli_option table[ARRAY_SIZE(lab_option_table) + ARRAY_SIZE(run_option_table)];
        static struct cli_command command = {
                .name = "lab",
                .help_text = lab_help_text,
                .options = table,
                .stops_at_operand = true,
                .usage_exit_status = EXIT_STATUS_RUN_FAILED,
        };
        const char *wrong;
        struct cli_parser p;
        int id;

        command.n_options = join_tables(table, ARRAY_SIZE(table));
        cli_parser_init(&p, &command, argc, argv);
        while ((id = cli_parser_next(&p)) != CLI_END)
                if (id == CLI_STOP || !take_option(c, &p, id)) {
                        *ret_exit_status = p.exit_status;
                        return false;
                }
        c->run.argv = argv + p.next_idx;
        if (p.next_idx >= argc)
                wrong = "no program given: write 'silt lab --memory 512M PROG'";
        else
                wrong = find_contradiction(c);
        if (wrong)
                cli_parser_error(&p, "%s", wrong);
        *ret_exit_status = p.exit_status;
        return !wrong && cli_check_run(&p, &c->run);
}

/* ---- one run ---------------------------------------------------------------------------------------- */

struct lab_stage {
        const struct lab_command *command;
        struct group group;
        struct lab_outcome outcome;
        struct fail_words fails;
};

static int stage_enter(void *ctx, pid_t target, struct err *reterr) {
        struct lab_stage *s = ctx;

        return group_enter(&s->group, target, reterr);
}

static void stage_in_target(void *ctx) {
        struct lab_stage *s = ctx;

        group_limit_self(&s->group);
}

static void stage_ended(void *ctx, int wait_status, uint64_t max_rss_bytes) {
        struct lab_stage *s = ctx;
        struct lab_outcome *o = &s->outcome;

        fail_words_ended(&s->fails, wait_status, max_rss_bytes);
        o->has_run = true;
        o->wait_status = wait_status;
        o->max_rss_bytes = max_rss_bytes;
        group_look(&s->group, &o->usage);
        if (!s->command->run.wait_for_descendants)
                o->n_left = group_end(&s->group, LAB_GRACE_MS);
}

static void stage_say(void *ctx, const char *trace_path) {
        struct lab_stage *s = ctx;
        struct str text = {0};

        if (s->command->run.has_fails)
                fail_words_say(&s->fails, trace_path);
        if (s->command->run.quiet)
                return;
        lab_words_outcome(&s->group, &s->outcome, &text);
        fprintf(stderr, "silt: %s\n", str_text(&text));
        str_clear(&text);
        lab_words_limit(&s->group, &text);
        fprintf(stderr, "silt: limit: %s\n", str_text(&text));
        if (s->command->run.verbose && s->group.skipped.n)
                fprintf(stderr, "silt: limit: not by %s\n", str_text(&s->group.skipped));
        if (s->outcome.n_left)
                fprintf(stderr, "silt: it left %zu process%s running, which silt ended\n",
                        s->outcome.n_left, s->outcome.n_left == 1 ? "" : "es");
        if (s->outcome.usage.n_kills) {
                fputs("silt: to find the limit it needs: silt lab --find-limit --", stderr);
                for (char **a = s->command->run.argv; *a; a++) {
                        str_clear(&text);
                        str_add_shell(&text, *a);
                        fprintf(stderr, " %s", str_text(&text));
                }
                fputc('\n', stderr);
        }
        str_done(&text);
}

static int lab_record(struct lab_command *c, const struct place *place) {
        struct lab_stage s = {.command = c, .fails.options = &c->run};
        const struct run_stage stage = {.ctx = &s,
                                        .enter = stage_enter,
                                        .in_target = stage_in_target,
                                        .ended = stage_ended,
                                        .say = stage_say};
        struct group_limits limits = c->limits;
        struct keeper keeper = {0};
        struct err e = {0};
        struct str note = {0};
        char **argv = c->run.argv, **before, dir[PLACE_PATH_CAP];
        int status = EXIT_STATUS_RUN_FAILED;

        if (c->pressure) {
                limits.high_bytes = limits.memory_bytes;
                limits.memory_bytes = 0;
        }
        limits.own_bytes = c->run.sample_bytes ? ROOM_LAB_OWN_SAMPLED_BYTES : ROOM_LAB_OWN_BYTES;
        if (group_make(&s.group, place, &limits, getenv("SILT_LAB_MAKER"), &e) < 0) {
                fprintf(stderr, "silt: lab: %s\n", e.text);
                return EXIT_STATUS_RUN_FAILED;
        }
        snprintf(dir, sizeof(dir), "%s", s.group.memory_dir);
        before = group_command(&s.group, argv);
        if (before)
                c->run.argv = before;
        c->run.stage = &stage;
        lab_words_note(&s.group, &note);
        c->run.begin_note = str_text(&note);
        if (keeper_start(&keeper, &s.group, KEEPER_WAITS, &e) < 0)
                fprintf(stderr, "silt: lab: %s\n", e.text);
        else
                status = cli_record_program(&c->run);
        if (c->json && s.outcome.has_run)
                lab_words_json(&s.group, &s.outcome, argv, stdout);
        group_end(&s.group, LAB_GRACE_MS);
        keeper_stop(&keeper);
        if (group_remove(&s.group) < 0)
                fprintf(stderr,
                        "silt: lab: cannot remove '%s': somebody is in it: rmdir it later\n", dir);
        str_done(&s.group.skipped);
        str_done(&note);
        return status;
}

/* ---- the search ------------------------------------------------------------------------------------- */

struct search {
        const struct lab_command *command;
        struct trial_plan plan;
        struct trial free_run; /* without a limit */
};

static int search_run(void *ctx, uint64_t limit_bytes, struct find_step *step, struct err *reterr) {
        struct search *s = ctx;
        struct trial_plan plan = s->plan;
        struct trial t;
        int r;

        plan.limits.memory_bytes = limit_bytes;
        r = trial_run(&plan, &t, reterr);
        if (r < 0)
                return r;
        step->wait_status = t.wait_status;
        step->why = t.timed_out                                ? FIND_TIME
                    : t.was_killed                             ? FIND_KILLED
                    : t.wait_status != s->free_run.wait_status ? FIND_STATUS
                                                               : FIND_SURVIVED;
        return 0;
}

static void search_tell(void *ctx, const struct find_step *step) {
        struct search *s = ctx;
        struct str text = {0};

        if (s->command->run.quiet)
                return;
        lab_words_step(step, &text);
        fprintf(stderr, "silt: %s\n", str_text(&text));
        str_done(&text);
}

/* A program that grows for ever must not take the machine with it. */
static uint64_t first_run_bytes(void) {
        uint64_t available_kib = 0;
        char text[4096];
        const char *line;

        if (fs_read_text("/proc/meminfo", text, sizeof(text)) > 0 &&
            (line = strstr(text, "MemAvailable:")))
                available_kib = strtoull(line + strlen("MemAvailable:"), NULL, 10);
        return available_kib * 1024 / 4 * 3; /* 0: unknown, and no limit */
}

static int lab_search(struct lab_command *c, const struct place *place) {
        struct search s = {.command = c,
                           .plan = {.place = place,
                                    .maker = getenv("SILT_LAB_MAKER"),
                                    .argv = c->run.argv,
                                    .limits = c->limits,
                                    .timeout_ns = c->timeout_ns,
                                    .keeps_output = c->run.verbose}};
        struct find_plan find = {.ctx = &s,
                                 .n_runs = c->n_runs ? (unsigned)c->n_runs : LAB_DEFAULT_RUNS,
                                 .granule_bytes = (uint64_t)sysconf(_SC_PAGESIZE),
                                 .precision_parts = LAB_PRECISION_PARTS,
                                 .run = search_run,
                                 .tell = search_tell};
        struct find_answer answer;
        struct err e = {0};
        struct str text = {0};

        s.plan.limits.has_swap = true;
        s.plan.limits.memory_bytes =
                c->limits.memory_bytes ? c->limits.memory_bytes : first_run_bytes();
        if (trial_run(&s.plan, &s.free_run, &e) < 0)
                goto fail;
        if (s.free_run.was_killed || s.free_run.timed_out) {
                struct unit_text most;

                err_set(&e, -ENOMEM,
                        "the program does not survive its first run, with %s: give more with --memory or --timeout",
                        unit_bytes(&most, s.plan.limits.memory_bytes));
                goto fail;
        }
        if (!c->run.quiet) {
                lab_words_free_run(&s.free_run, &text);
                fprintf(stderr, "silt: %s\n", str_text(&text));
                str_clear(&text);
        }
        if (!s.plan.timeout_ns)
                s.plan.timeout_ns = s.free_run.run_ns * LAB_TIMES_SLOWER + LAB_TIMEOUT_NS;
        find.start_bytes = MAX(s.free_run.usage.has_peak ? s.free_run.usage.peak_bytes
                                                         : s.free_run.max_rss_bytes,
                               (uint64_t)LAB_MIN_BYTES);
        if (find_limit(&find, &answer, &e) < 0)
                goto fail;
        if (c->json) {
                lab_words_search_json(&s.free_run, &answer, c->run.argv, stdout);
        } else {
                lab_words_answer(&answer, &text);
                printf("%s\n", str_text(&text));
                lab_words_next(&answer, c->run.argv, &text);
                if (!c->run.quiet)
                        fprintf(stderr, "silt: %s\n", str_text(&text));
        }
        str_done(&text);
        return EXIT_STATUS_OK;
fail:
        str_done(&text);
        fprintf(stderr, "silt: lab: %s\n", e.text);
        return EXIT_STATUS_TROUBLE;
}

int cmd_lab(int argc, char **argv) {
        struct lab_command command = {0};
        struct place place;
        int exit_status;

        if (!lab_parse(argc, argv, &command, &exit_status))
                return exit_status;
        if (!command.find_limit && !command.limits.memory_bytes && !(command.limits.n_cpus > 0))
                return cli_record_program(&command.run);
        place_init(&place);
        return command.find_limit ? lab_search(&command, &place) : lab_record(&command, &place);
}
