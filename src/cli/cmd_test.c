/* SPDX-License-Identifier: MIT */
/* Command lines of the commands, from words to option structs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "cli/cmd_parse.h"
#include "query/query.h"
#include "record/supervisor.h"
#include "report/report.h"
#include "source/source.h"

#define PARSE(parse, options, status, ...)                                                         \
        ({                                                                                         \
                static const char *line_[] = {"command", ##__VA_ARGS__, NULL};                     \
                parse((int)ARRAY_SIZE(line_) - 1, (char **)line_, options, status);                \
        })

static void test_run_defaults(void **state) {
        struct run_options o;
        int status = -1;

        (void)state;
        assert_true(PARSE(run_options_parse, &o, &status, "prog", "-q", "--help"));
        assert_null(o.output_path);
        assert_null(o.runtime_path);
        assert_int_equal(o.duration_ns, 0);
        assert_int_equal(o.max_trace_bytes, 0);
        assert_false(o.overwrite || o.quiet || o.verbose || o.wait_for_descendants ||
                     o.free_stacks || o.addresses || o.no_symbols || o.lossy);
        assert_string_equal(o.argv[0], "prog");
        assert_string_equal(o.argv[1], "-q");
        assert_string_equal(o.argv[2], "--help");
        assert_null(o.argv[3]);
}

static void test_run_all(void **state) {
        struct run_options o;
        int status = -1;

        (void)state;
        assert_true(PARSE(run_options_parse, &o, &status, "-qfo", "x.silt", "--duration=1.5m",
                          "--max-size", "200M", "--log", "l", "--verbose", "--wait",
                          "--free-stacks", "--addresses", "--no-symbols", "--lossy", "--launcher",
                          "qemu -L /x", "--runtime", "lib.so", "--", "-prog"));
        assert_string_equal(o.output_path, "x.silt");
        assert_string_equal(o.log_path, "l");
        assert_string_equal(o.launcher, "qemu -L /x");
        assert_string_equal(o.runtime_path, "lib.so");
        assert_int_equal(o.duration_ns, 90000000000);
        assert_int_equal(o.max_trace_bytes, 200 << 20);
        assert_true(o.overwrite && o.quiet && o.verbose && o.wait_for_descendants &&
                    o.free_stacks && o.addresses && o.no_symbols && o.lossy);
        assert_string_equal(o.argv[0], "-prog");
}

static void test_run_dormant(void **state) {
        struct run_options o;
        int status = -1;

        (void)state;
        assert_true(PARSE(run_options_parse, &o, &status, "--dormant", "--start-after", "10m",
                          "--start-above=2G", "prog"));
        assert_true(o.dormant && o.start_after_ns == 600000000000 &&
                    o.start_above_bytes == 2ull << 30);
        assert_true(PARSE(run_options_parse, &o, &status, "--snapshot-every", "10m",
                          "--snapshot-growth", "20%", "prog"));
        assert_true(o.snapshot_every_ns == 600000000000 && o.snapshot_growth_pct == 20);
        status = -1;
        assert_false(PARSE(run_options_parse, &o, &status, "--start-after", "10m", "prog"));
        assert_int_equal(status, 125);
        assert_false(PARSE(run_options_parse, &o, &status, "--start-above", "1M", "prog"));
        assert_false(PARSE(run_options_parse, &o, &status, "--dormant", "--launcher", "x", "prog"));
        assert_false(PARSE(run_options_parse, &o, &status, "--dormant", "--no-patch", "prog"));
        assert_false(PARSE(run_options_parse, &o, &status, "--dormant", "--wait", "prog"));
        assert_true(PARSE(run_options_parse, &o, &status, "--dormant", "--sample", "1M", "prog"));
        assert_true(o.dormant && o.sample_bytes == 1 << 20);
        assert_false(PARSE(run_options_parse, &o, &status, "--dormant", "--start-above", "0", "p"));
        assert_false(PARSE(run_options_parse, &o, &status, "--snapshot-every", "9ms", "prog"));
        assert_false(PARSE(run_options_parse, &o, &status, "--snapshot-growth", "0.9%", "prog"));
}

static void test_attach(void **state) {
        struct attach_command c;
        int status = -1;

        (void)state;
        assert_true(PARSE(attach_options_parse, &c, &status, "-q", "4711", "--duration", "90s",
                          "-fo", "x.silt", "--max-size=2M"));
        assert_true(c.run.attached == 4711 && c.run.quiet && c.run.overwrite &&
                    c.run.duration_ns == 90000000000 && c.run.max_trace_bytes == 2 << 20);
        assert_string_equal(c.run.output_path, "x.silt");
        assert_false(PARSE(attach_options_parse, &c, &status));
        assert_int_equal(status, 2);
        status = -1;
        assert_false(PARSE(attach_options_parse, &c, &status, "12x"));
        assert_int_equal(status, 2);
        assert_false(PARSE(attach_options_parse, &c, &status, "0"));
        assert_false(PARSE(attach_options_parse, &c, &status, "99999999999999999999"));
        assert_false(PARSE(attach_options_parse, &c, &status, "1", "2"));
        assert_false(PARSE(attach_options_parse, &c, &status, "1", "--duration", "0s"));
        assert_false(PARSE(attach_options_parse, &c, &status, "1", "--max-size", "1K"));
        assert_true(PARSE(attach_options_parse, &c, &status, "1", "--sample", "512K"));
        assert_int_equal(c.run.sample_bytes, 512 << 10);
        assert_true(PARSE(attach_options_parse, &c, &status, "1", "--budget", "2%"));
        assert_true(c.run.sample_bytes == 512 << 10 && c.run.budget_pct == 2);
        assert_false(PARSE(attach_options_parse, &c, &status, "1", "--sample", "1"));
        assert_false(
                PARSE(attach_options_parse, &c, &status, "1", "--sample", "1M", "--free-stacks"));
        assert_false(PARSE(attach_options_parse, &c, &status, "--help"));
        assert_int_equal(status, 0);
}

static void test_run_refused(void **state) {
        struct run_options o;
        int status = -1;

        (void)state;
        assert_false(PARSE(run_options_parse, &o, &status));
        assert_int_equal(status, 125);
        status = -1;
        assert_false(PARSE(run_options_parse, &o, &status, "--duration", "never", "prog"));
        assert_int_equal(status, 125);
        status = -1;
        assert_false(PARSE(run_options_parse, &o, &status, "--duration", "0s", "prog"));
        assert_int_equal(status, 125);
        status = -1;
        assert_false(PARSE(run_options_parse, &o, &status, "--launcher", "", "prog"));
        assert_false(
                PARSE(run_options_parse, &o, &status, "--hook", "free=0x10", "--no-patch", "x"));
        assert_int_equal(status, 125);
        assert_false(PARSE(run_options_parse, &o, &status, "--help"));
        assert_int_equal(status, 0);
}

static void test_report_all(void **state) {
        struct report_command c;
        const struct request *r = &c.request;
        int status = -1;

        (void)state;
        assert_true(PARSE(report_options_parse, &c, &status, "a.silt"));
        assert_string_equal(c.options.path, "a.silt");
        assert_false(r->has_top || r->from.is_set || r->to.is_set || r->at.is_set);
        assert_false(c.options.json || r->shape != REQUEST_SUMMARY || r->full || r->process);
        report_command_done(&c);

        assert_true(PARSE(report_options_parse, &c, &status, "--json", "a.silt", "--top=3", "--by",
                          "growth", "--from", "250ms", "--to", "5m", "--process", "all", "--blocks",
                          "--full"));
        assert_true(r->has_top && r->n_top == 3);
        assert_true(r->has_metric && r->metric == QUERY_GROWTH);
        assert_int_equal(r->from.ns, 250000000);
        assert_int_equal(r->to.ns, 300000000000);
        assert_true(c.options.json && r->shape == REQUEST_BLOCKS && r->full);
        assert_string_equal(r->process, "all");
        report_command_done(&c);

        assert_true(PARSE(report_options_parse, &c, &status, "a.silt", "--process", "4711"));
        assert_string_equal(r->process, "4711");
        report_command_done(&c);
}

static void test_view(void **state) {
        struct view_command c;
        int status = -1;

        (void)state;
        assert_true(PARSE(view_options_parse, &c, &status, "a.silt"));
        assert_string_equal(c.path, "a.silt");
        assert_true(!c.old_path && !c.port && !c.listen && !c.once && !c.no_browser && !c.wait_ns);
        view_command_done(&c);
        assert_true(PARSE(view_options_parse, &c, &status, "a.silt", "--port=8080", "b.silt",
                          "--listen", "::1", "--once", "--no-browser", "--wait", "3s", "--tree",
                          "--source-dir", "src", "--from", "5s"));
        assert_string_equal(c.old_path, "a.silt");
        assert_string_equal(c.path, "b.silt");
        assert_string_equal(c.listen, "::1");
        assert_true(c.port == 8080 && c.once && c.no_browser && c.wait_ns == 3000000000);
        assert_true(c.request.shape == REQUEST_TREE && c.request.from.ns == 5000000000);
        assert_true(c.source.n_dirs == 1);
        view_command_done(&c);
        assert_false(PARSE(view_options_parse, &c, &status, "--once"));
        assert_int_equal(status, 2);
        view_command_done(&c);
        assert_false(PARSE(view_options_parse, &c, &status, "a", "b", "c"));
        view_command_done(&c);
        assert_false(PARSE(view_options_parse, &c, &status, "a", "--port", "65536"));
        view_command_done(&c);
        assert_false(PARSE(view_options_parse, &c, &status, "a", "--tree", "--blocks"));
        view_command_done(&c);
}

static void test_named_times(void **state) {
        struct report_command o;
        struct diff_command c;
        const struct diff_source *s = c.options.sources;
        const struct request *r = c.requests;
        int status = -1;

        (void)state;
        assert_true(PARSE(report_options_parse, &o, &status, "a.silt", "--from", "@warm", "--to",
                          "@2"));
        assert_string_equal(o.request.from.name, "warm");
        assert_string_equal(o.request.to.name, "2");
        report_command_done(&o);
        assert_true(PARSE(report_options_parse, &o, &status, "a.silt", "--at", "@x", "--from", "@y",
                          "--from", "3s"));
        assert_true(!o.request.from.name && o.request.from.ns == 3000000000);
        assert_string_equal(o.request.at.name, "x");
        report_command_done(&o);
        assert_false(PARSE(report_options_parse, &o, &status, "a.silt", "--at", "@"));
        assert_int_equal(status, 2);
        report_command_done(&o);
        assert_false(PARSE(report_options_parse, &o, &status, "a.silt", "--alive-at", "@"));
        report_command_done(&o);
        assert_true(PARSE(report_options_parse, &o, &status, "a.silt", "--allocated", "@b..@a",
                          "--alive-at", "@c d"));
        assert_string_equal(query_filter_text(o.request.filter),
                            "allocated in @b..@a, live at @c d");
        report_command_done(&o);

        assert_true(PARSE(diff_options_parse, &c, &status, "a.silt@@x..@y", "b@c.silt@5s..@z"));
        assert_string_equal(s[0].path, "a.silt");
        assert_string_equal(r[0].from.name, "x");
        assert_string_equal(r[0].to.name, "y");
        assert_string_equal(s[1].path, "b@c.silt");
        assert_true(!r[1].from.name && r[1].from.ns == 5000000000);
        assert_string_equal(r[1].to.name, "z");
        diff_command_done(&c);
        assert_true(PARSE(diff_options_parse, &c, &status, "a.silt@@1", "@@2"));
        assert_string_equal(s[1].path, "a.silt");
        assert_true(r[0].at.is_set && r[1].at.is_set);
        assert_string_equal(r[1].at.name, "2");
        diff_command_done(&c);
        assert_true(PARSE(diff_options_parse, &c, &status, "a.silt", "--at", "@1", "--at", "7s"));
        assert_string_equal(r[0].at.name, "1");
        assert_true(!r[1].at.name && r[1].at.ns == 7000000000);
        diff_command_done(&c);
}

static void test_snapshot_all(void **state) {
        static char longest[101];
        struct snapshot_options o;
        int status = -1;

#define assert_snapshot_refused(...)                                                               \
        do {                                                                                       \
                int status_ = -1;                                                                  \
                assert_false(PARSE(snapshot_options_parse, &o, &status_, ##__VA_ARGS__));          \
                assert_int_equal(status_, 2);                                                      \
        } while (0)

        (void)state;
        memset(longest, 'x', 100);
        assert_true(PARSE(snapshot_options_parse, &o, &status, "12", "--name", "warm up", "-q"));
        assert_string_equal(o.who, "12");
        assert_string_equal(o.name, "warm up");
        assert_true(o.quiet && !o.json);
        assert_true(PARSE(snapshot_options_parse, &o, &status, "--json", "a", "--name", longest));
        assert_true(PARSE(snapshot_options_parse, &o, &status, "a", "--name", "w\xc3\xa4rmer"));
        assert_snapshot_refused();
        assert_snapshot_refused("");
        assert_snapshot_refused("a", "b");
        assert_snapshot_refused("a", "--name", "");
        assert_snapshot_refused("a", "--name", "a\nb");
        assert_snapshot_refused("a", "--name", "a\033[2J");
        assert_snapshot_refused("a", "--name", "a\x7f");
        assert_snapshot_refused("a", "--name", "\xc2\x85"); /* C1 */
        assert_snapshot_refused("a", "--name", "\xff");
        assert_snapshot_refused("a", "--name", "\xc3"); /* cut off */
        assert_snapshot_refused("a", "--name", "@a");
        assert_snapshot_refused("a", "--name", "a..b");
        assert_snapshot_refused("a", "--name", " a");
        assert_snapshot_refused("a", "--name", "a ");
        assert_snapshot_refused(
                "a", "--name",
                "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
}

static void test_report_filter(void **state) {
        struct report_command o;
        int status = -1;

        (void)state;
        assert_true(PARSE(report_options_parse, &o, &status, "a.silt"));
        assert_null(o.request.filter);
        report_command_done(&o);
        assert_true(PARSE(report_options_parse, &o, &status, "a.silt", "--function",
                          "^a::", "--not-module=libc", "--asked-by", "b", "--thread", "1,2",
                          "--size", "1K..", "--lifetime", "..10s", "--allocated", "1s..2s",
                          "--alive-at", "3s", "--freed-before", "4s"));
        assert_string_equal(
                query_filter_text(o.request.filter),
                "function /^a::/, no module /libc/, requested by /b/, thread 1,2, size 1K.., lifetime ..10s, "
                "allocated in 1s..2s, live at 3s, freed before 4s");
        assert_true(query_filter_needs_events(o.request.filter));
        report_command_done(&o);
}

static void test_report_refused(void **state) {
        struct report_command o;

#define assert_report_refused(...)                                                                 \
        do {                                                                                       \
                int status_ = -1;                                                                  \
                assert_false(PARSE(report_options_parse, &o, &status_, ##__VA_ARGS__));            \
                assert_int_equal(status_, 2);                                                      \
                report_command_done(&o);                                                           \
        } while (0)

        (void)state;
        assert_report_refused();
        assert_report_refused("a.silt", "b.silt");
        assert_report_refused("a.silt", "--by", "size");
        assert_report_refused("a.silt", "--top", "-1");
        assert_report_refused("a.silt", "--process", "");
        assert_report_refused("a.silt", "--from", "2s", "--to", "1s");
        assert_report_refused("a.silt", "--from", "1s", "--to", "1s");
        assert_report_refused("a.silt", "--function", "(");
        assert_report_refused("a.silt", "--size", "2K..1K");
        assert_report_refused("a.silt", "--size", "..");
        assert_report_refused("a.silt", "--size", "many");
        assert_report_refused("a.silt", "--lifetime", "10s");
        assert_report_refused("a.silt", "--allocated", "10");
        assert_report_refused("a.silt", "--alive-at", "noon");
        assert_report_refused("a.silt", "--function", "good", "--thread", "[");
        assert_report_refused("a.silt", "--thread", "1,,2");
        assert_report_refused("a.silt", "--thread", ",");
        assert_report_refused("a.silt", "--at", "1s", "--to", "2s");
        assert_report_refused("a.silt", "--to", "2s", "--at", "1s");
        assert_report_refused("a.silt", "--from", "2s", "--at", "1s");
        assert_report_refused("a.silt", "--tree", "--bottom-up");
        assert_report_refused("a.silt", "--depth", "3");
        assert_report_refused("a.silt", "--min-share", "0");
        assert_report_refused("a.silt", "--depth", "3", "--group-by", "site");
}

/* ---- diff ------------------------------------------------------------------------------------ */

static void test_diff_all(void **state) {
        struct diff_command c;
        const struct diff_source *s = c.options.sources;
        const struct request *r = c.requests;
        int status = -1;

        (void)state;
        assert_true(PARSE(diff_options_parse, &c, &status, "a.silt", "b.silt"));
        assert_string_equal(s[NAME_OLD].path, "a.silt");
        assert_string_equal(s[NAME_NEW].path, "b.silt");
        assert_true(!r[0].from.is_set && !r[0].to.is_set && !r[0].at.is_set && !r[0].process);
        assert_true(c.options.min_change_pct == 1 && c.options.min_change_bytes == UINT64_MAX);
        assert_false(c.options.json || r[1].full || r[1].per_second);
        diff_command_done(&c);

        assert_true(PARSE(diff_options_parse, &c, &status, "--json", "a.silt@10s..20s",
                          "b@c.silt@..5m", "--by", "count", "--min-change=2.5%", "--top", "3",
                          "--process", "12,worker", "--per-second", "--full"));
        assert_string_equal(s[NAME_OLD].path, "a.silt");
        assert_string_equal(s[NAME_NEW].path, "b@c.silt");
        assert_true(r[0].from.ns == 10000000000 && r[0].to.ns == 20000000000 && !r[0].at.is_set);
        assert_true(!r[1].from.is_set && r[1].to.ns == 300000000000);
        assert_string_equal(r[NAME_OLD].process, "12");
        assert_string_equal(r[NAME_NEW].process, "worker");
        assert_true(c.options.min_change_pct == 2.5 && r[1].n_top == 3);
        assert_true(c.options.json && r[1].full && r[1].per_second);
        diff_command_done(&c);

        assert_true(PARSE(diff_options_parse, &c, &status, "a.silt@1s", "@2s", "--min-change",
                          "64K", "--process", "all", "--function", "x"));
        assert_string_equal(s[NAME_NEW].path, "a.silt");
        assert_true(r[0].at.is_set && r[0].at.ns == 1000000000 && r[1].at.ns == 2000000000);
        assert_true(c.options.min_change_bytes == 65536);
        assert_string_equal(r[1].process, "all");
        assert_non_null(r[1].filter);
        diff_command_done(&c);

        assert_true(PARSE(diff_options_parse, &c, &status, "a.silt", "--at", "1s", "--at", "3s"));
        assert_true(r[1].at.is_set && r[0].at.ns == 1000000000 && r[1].at.ns == 3000000000);
        assert_string_equal(s[NAME_NEW].path, "a.silt");
        diff_command_done(&c);

        assert_true(PARSE(diff_options_parse, &c, &status, "a.silt", "b.silt", "--at", "1s"));
        assert_true(r[0].at.ns == 1000000000 && r[1].at.ns == 1000000000);
        diff_command_done(&c);

        assert_true(PARSE(diff_options_parse, &c, &status, "a.silt", "b.silt", "--from", "1s"));
        assert_true(r[0].from.ns == 1000000000 && r[1].from.ns == 1000000000);
        assert_false(r[1].to.is_set);
        diff_command_done(&c);
}

static void test_diff_refused(void **state) {
        struct diff_command c;

#define assert_diff_refused(...)                                                                   \
        do {                                                                                       \
                int status_ = -1;                                                                  \
                assert_false(PARSE(diff_options_parse, &c, &status_, ##__VA_ARGS__));              \
                assert_int_equal(status_, 2);                                                      \
                diff_command_done(&c);                                                             \
        } while (0)

        (void)state;
        assert_diff_refused();
        assert_diff_refused("a.silt");
        assert_diff_refused("a.silt", "b.silt", "c.silt");
        assert_diff_refused("a.silt", "--at", "1s");
        assert_diff_refused("@1s", "@2s");
        assert_diff_refused("a.silt@1s", "b.silt@1s..2s");
        assert_diff_refused("a.silt@1s", "b.silt");
        assert_diff_refused("a.silt@2s..1s", "b.silt");
        assert_diff_refused("a.silt@..", "b.silt@soon");
        assert_diff_refused("a.silt@1s..2s", "b.silt", "--from", "1s");
        assert_diff_refused("a.silt", "b.silt", "--from", "2s", "--to", "1s");
        assert_diff_refused("a.silt", "b.silt", "--at", "1s", "--at", "2s", "--at", "3s");
        assert_diff_refused("a.silt", "b.silt", "--at", "1s", "--to", "2s");
        assert_diff_refused("a.silt", "b.silt", "--min-change", "%");
        assert_diff_refused("a.silt", "b.silt", "--min-change", "-1%");
        assert_diff_refused("a.silt", "b.silt", "--min-change", "nan%");
        assert_diff_refused("a.silt", "b.silt", "--min-change", "3%%");
        assert_diff_refused("a.silt", "b.silt", "--process", "1,");
        assert_diff_refused("a.silt", "b.silt", "--process", "");
        assert_diff_refused("a.silt", "b.silt", "--by", "size");
        assert_diff_refused("a.silt", "b.silt", "--function", "(");
}

static void test_source(void **state) {
        struct source_command c;
        const struct source_options *o = &c.options;
        int status = -1;

        (void)state;
        assert_true(PARSE(source_options_parse, &c, &status, "a.silt", "Cache::insert"));
        assert_string_equal(o->view.path, "a.silt");
        assert_string_equal(o->what, "Cache::insert");
        assert_int_equal(o->n_context, 3);
        assert_false(o->is_full || o->view.json || o->n_maps || o->n_dirs);
        source_command_done(&c);

        assert_true(PARSE(source_options_parse, &c, &status, "a.silt", "--by=end", "x.c:9",
                          "--from", "1s", "--to", "2s", "--context", "0", "--full", "--json",
                          "--source-dir", "/src", "--map", "/build=/home/me", "--process", "all",
                          "--function", "f"));
        assert_string_equal(o->what, "x.c:9");
        assert_true(c.request.has_metric && c.request.metric == QUERY_END);
        assert_int_equal(o->n_context, 0);
        assert_true(o->is_full && o->view.json);
        assert_string_equal(c.request.process, "all");
        assert_string_equal(o->dirs[0], "/src");
        assert_int_equal(o->maps[0].n_old, 6);
        assert_string_equal(o->maps[0].new, "/home/me");
        source_command_done(&c);

#define assert_source_refused(...)                                                                 \
        do {                                                                                       \
                int status_ = -1;                                                                  \
                assert_false(PARSE(source_options_parse, &c, &status_, ##__VA_ARGS__));            \
                assert_int_equal(status_, 2);                                                      \
                source_command_done(&c);                                                           \
        } while (0)

        assert_source_refused();
        assert_source_refused("a.silt");
        assert_source_refused("a.silt", "");
        assert_source_refused("a.silt", "f", "g");
        assert_source_refused("a.silt", "f", "--map", "x");
        assert_source_refused("a.silt", "f", "--map", "=x");
        assert_source_refused("a.silt", "f", "--map", "x=");
        assert_source_refused("a.silt", "f", "--source-dir", "");
        assert_source_refused("a.silt", "f", "--context", "-1");
        assert_source_refused("a.silt", "f", "--by", "size");
        assert_source_refused("a.silt", "f", "--from", "2s", "--to", "1s");
        assert_source_refused("a.silt", "f", "--function", "good", "--size", "x");
}

/* ---- check ----------------------------------------------------------------------------------- */

static void test_check_all(void **state) {
        struct check_command c;
        const struct limit *l;
        int status = -1;

        (void)state;
        assert_true(PARSE(check_options_parse, &c, &status, "a.silt", "--max-peak", "200M",
                          "--max-growth", "1%/min", "--max-growth", "6K/min", "--max-end=1K",
                          "--max-allocations", "5", "--max-temporary-share", "40%", "--max-rss",
                          "1G", "--max", "A::operator==()=3M", "--max-allocated", "7"));
        l = c.options.limits.items;
        assert_int_equal(c.options.limits.n, 9);
        assert_true(l[0].kind == LIMIT_PEAK && l[0].limit == 200.0 * 1048576);
        assert_true(l[1].kind == LIMIT_GROWTH && l[1].unit == LIMIT_IN_PERCENT_PER_S &&
                    l[1].limit == 1.0 / 60 && l[1].rate_s == 60);
        assert_true(l[2].unit == LIMIT_IN_BYTES_PER_S && l[2].limit == 6144.0 / 60);
        assert_true(l[3].kind == LIMIT_END && l[3].limit == 1024);
        assert_true(l[4].kind == LIMIT_ALLOCATIONS && l[4].limit == 5);
        assert_true(l[5].kind == LIMIT_TEMPORARY_SHARE && l[5].limit == 40);
        assert_true(l[6].kind == LIMIT_RSS && l[7].kind == LIMIT_FUNCTION);
        assert_string_equal(l[7].function, "A::operator==()");
        assert_true(l[7].limit == 3.0 * 1048576 && l[8].kind == LIMIT_ALLOCATED);
        assert_false(c.options.strict || c.options.json || c.options.against);
        check_command_done(&c);

        assert_true(PARSE(check_options_parse, &c, &status, "--against", "b.silt", "a.silt",
                          "--strict", "--json"));
        l = c.options.limits.items;
        assert_int_equal(c.options.limits.n, 1);
        assert_true(l[0].kind == LIMIT_AGAINST && l[0].limit == 3);
        assert_null(l[0].metric); /* the peak, or what both know */
        assert_true(c.options.strict && c.options.json);
        check_command_done(&c);

        assert_true(PARSE(check_options_parse, &c, &status, "--against", "b.silt", "a.silt", "--by",
                          "count", "--fail-above", "0.5%", "--by", "end"));
        l = c.options.limits.items;
        assert_int_equal(c.options.limits.n, 2);
        assert_true(l[1].limit == 0.5);
        assert_string_equal(l[1].metric, "end");
        check_command_done(&c);
}

static void test_check_refused(void **state) {
        struct check_command c;

#define assert_check_refused(...)                                                                  \
        do {                                                                                       \
                int status_ = -1;                                                                  \
                assert_false(PARSE(check_options_parse, &c, &status_, ##__VA_ARGS__));             \
                assert_int_equal(status_, 2);                                                      \
                check_command_done(&c);                                                            \
        } while (0)

        (void)state;
        assert_check_refused();
        assert_check_refused("a.silt");
        assert_check_refused("--max-peak", "1M");
        assert_check_refused("a.silt", "b.silt", "--max-peak", "1M");
        assert_check_refused("a.silt", "--max-peak", "much");
        assert_check_refused("a.silt", "--max-growth", "1%");
        assert_check_refused("a.silt", "--max-growth", "1%/year");
        assert_check_refused("a.silt", "--max-growth", "/s");
        assert_check_refused("a.silt", "--max-growth", "%/s");
        assert_check_refused("a.silt", "--max-growth", "-1%/s");
        assert_check_refused("a.silt", "--max-growth", "nan%/s");
        assert_check_refused("a.silt", "--max", "=3M");
        assert_check_refused("a.silt", "--max", "f");
        assert_check_refused("a.silt", "--max", "f=");
        assert_check_refused("a.silt", "--max-allocations", "-1");
        assert_check_refused("a.silt", "--max-temporary-share", "x");
        assert_check_refused("a.silt", "--max-peak", "1M", "--by", "end");
        assert_check_refused("a.silt", "--max-peak", "1M", "--fail-above", "3%");
        assert_check_refused("a.silt", "--against", "b", "--by", "size");
        assert_check_refused("a.silt", "--max-peak", "1M", "--from", "2s", "--to", "1s");
        assert_check_refused("a.silt", "--max-peak", "1M", "--process", "");
}

static void test_symbolize(void **state) {
        struct symbolize_options o;
        int status = -1;

        (void)state;
        assert_true(PARSE(symbolize_options_parse, &o, &status, "a.silt"));
        assert_string_equal(o.path, "a.silt");
        assert_true(o.debug_paths.n == 0 && !o.sysroot && !o.no_cache && !o.quiet);
        symbolize_options_done(&o);

        assert_true(PARSE(symbolize_options_parse, &o, &status, "--debug-path", "/usr/../usr", "-q",
                          "a.silt", "--debug-path=/tmp", "--sysroot", "/", "--no-cache"));
        assert_int_equal(o.debug_paths.n, 2);
        assert_string_equal(o.debug_paths.items[0], "/usr");
        assert_string_equal(o.debug_paths.items[1], "/tmp");
        assert_string_equal(o.sysroot, "/");
        assert_true(o.no_cache && o.quiet);
        symbolize_options_done(&o);

        assert_false(PARSE(symbolize_options_parse, &o, &status));
        assert_int_equal(status, 2);
        symbolize_options_done(&o);
        assert_false(PARSE(symbolize_options_parse, &o, &status, "a.silt", "b.silt"));
        assert_int_equal(status, 2);
        symbolize_options_done(&o);
        assert_false(
                PARSE(symbolize_options_parse, &o, &status, "a.silt", "--sysroot", "/dev/null"));
        assert_int_equal(status, 2);
        symbolize_options_done(&o);
        assert_false(PARSE(symbolize_options_parse, &o, &status, "--help"));
        assert_int_equal(status, 0);
        symbolize_options_done(&o);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_run_defaults),  cmocka_unit_test(test_run_all),
                cmocka_unit_test(test_run_refused),   cmocka_unit_test(test_attach),
                cmocka_unit_test(test_report_all),    cmocka_unit_test(test_view),
                cmocka_unit_test(test_report_filter), cmocka_unit_test(test_report_refused),
                cmocka_unit_test(test_named_times),   cmocka_unit_test(test_run_dormant),
                cmocka_unit_test(test_snapshot_all),  cmocka_unit_test(test_diff_all),
                cmocka_unit_test(test_diff_refused),  cmocka_unit_test(test_symbolize),
                cmocka_unit_test(test_source),        cmocka_unit_test(test_check_all),
                cmocka_unit_test(test_check_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
