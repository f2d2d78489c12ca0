/* SPDX-License-Identifier: MIT */
/* silt: finds the command and leaves the rest to it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "base/near.h"
#include "cli/commands.h"
#include "cli/help_ask.h"
#include "cli/help_attach.h"
#include "cli/help_bill.h"
#include "cli/help_check.h"
#include "cli/help_cpu.h"
#include "cli/help_diff.h"
#include "cli/help_doctor.h"
#include "cli/help_export.h"
#include "cli/help_flame.h"
#include "cli/help_fleet.h"
#include "cli/help_heap.h"
#include "cli/help_holders.h"
#include "cli/help_html.h"
#include "cli/help_import.h"
#include "cli/help_lab.h"
#include "cli/help_leaks.h"
#include "cli/help_metrics.h"
#include "cli/help_push.h"
#include "cli/help_report.h"
#include "cli/help_run.h"
#include "cli/help_snapshot.h"
#include "cli/help_source.h"
#include "cli/help_sql.h"
#include "cli/help_symbolize.h"
#include "cli/help_tasks.h"
#include "cli/help_top.h"
#include "cli/help_verify.h"
#include "cli/help_view.h"
#include "cli/help_whatif.h"
#include "cli/imported.h"

static const struct {
        const char *name;
        int (*run)(int argc, char **argv);
        const char *summary;
        const char *help_text;
} commands[] = {
        {"run", cmd_run, RUN_SUMMARY, run_help_text},
        {"attach", cmd_attach, ATTACH_SUMMARY, attach_help_text},
        {"cpu", cmd_cpu, CPU_SUMMARY, cpu_help_text},
        {"snapshot", cmd_snapshot, SNAPSHOT_SUMMARY, snapshot_help_text},
        {"top", cmd_top, TOP_SUMMARY, top_help_text},
        {"metrics", cmd_metrics, METRICS_SUMMARY, metrics_help_text},
        {"push", cmd_push, PUSH_SUMMARY, push_help_text},
        {"report", cmd_report, REPORT_SUMMARY, report_help_text},
        {"view", cmd_view, VIEW_SUMMARY, view_help_text},
        {"flame", cmd_flame, FLAME_SUMMARY, flame_help_text},
        {"html", cmd_html, HTML_SUMMARY, html_help_text},
        {"source", cmd_source, SOURCE_SUMMARY, source_help_text},
        {"leaks", cmd_leaks, LEAKS_SUMMARY, leaks_help_text},
        {"holders", cmd_holders, HOLDERS_SUMMARY, holders_help_text},
        {"tasks", cmd_tasks, TASKS_SUMMARY, tasks_help_text},
        {"lab", cmd_lab, LAB_SUMMARY, lab_help_text},
        {"whatif", cmd_whatif, WHATIF_SUMMARY, whatif_help_text},
        {"bill", cmd_bill, BILL_SUMMARY, bill_help_text},
        {"heap", cmd_heap, HEAP_SUMMARY, heap_help_text},
        {"fleet", cmd_fleet, FLEET_SUMMARY, fleet_help_text},
        {"sql", cmd_sql, SQL_SUMMARY, sql_help_text},
        {"ask", cmd_ask, ASK_SUMMARY, ask_help_text},
        {"diff", cmd_diff, DIFF_SUMMARY, diff_help_text},
        {"check", cmd_check, CHECK_SUMMARY, check_help_text},
        {"export", cmd_export, EXPORT_SUMMARY, export_help_text},
        {"import", cmd_import, IMPORT_SUMMARY, import_help_text},
        {"symbolize", cmd_symbolize, SYMBOLIZE_SUMMARY, symbolize_help_text},
        {"verify", cmd_verify, VERIFY_SUMMARY, verify_help_text},
        {"doctor", cmd_doctor, DOCTOR_SUMMARY, doctor_help_text},
};

static void print_help(FILE *to) {
        fputs("usage: silt COMMAND [options] [arguments]\n\nFind out where a program's memory and time go.\n\ncommands:\n",
              to);
        for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
                fprintf(to, "  %-9s  %s\n", commands[i].name, commands[i].summary);
        fputs("\nSee 'silt COMMAND --help' for a command's options, and 'silt --version' for the version.\n\nexamples:\n  silt run ./server --port 8080\n  silt report silt.server.4711.silt\n",
              to);
}

/* What other programs call it. */
static const struct near_other other_commands[] = {
        {"record", "run"},
        {"trace", "run"},
        {"exec", "run"},
        {"start", "run"},
        {"profile", "run"},
        {"launch", "run"},
        {"perf", "cpu"},
        {"time", "cpu"},
        {"stat", "report"},
        {"stats", "report"},
        {"show", "report"},
        {"print", "report"},
        {"analyze", "report"},
        {"analyse", "report"},
        {"summary", "report"},
        {"read", "report"},
        {"open", "view"},
        {"compare", "diff"},
        {"delta", "diff"},
        {"annotate", "source"},
        {"list", "source"},
        {"graph", "flame"},
        {"flamegraph", "flame"},
        {"svg", "flame"},
        {"plot", "flame"},
        {"assert", "check"},
        {"limit", "check"},
        {"gate", "check"},
        {"symbols", "symbolize"},
        {"symbolise", "symbolize"},
        {"addr2line", "symbolize"},
        {"validate", "verify"},
        {"fsck", "verify"},
        {"diagnose", "doctor"},
        {"info", "doctor"},
        {"mark", "snapshot"},
        {"convert", "export"},
        {"save", "export"},
        {"load", "import"},
        {"replay", "whatif"},
        {"simulate", "whatif"},
        {"top", "report"},
        {"serve", "view"},
        {"gui", "view"},
        {"web", "view"},
        {"browse", "view"},
};

static int unknown_command(const char *name) {
        struct near near;

        near_init(&near, name, strlen(name));
        for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
                near_offer(&near, commands[i].name);
        for (size_t i = 0; i < ARRAY_SIZE(other_commands); i++)
                near_offer_other(&near, &other_commands[i]);
        fprintf(stderr, "silt: '");
        for (const char *c = name; *c && c < name + 80; c++) /* one line, whatever was written */
                fputc(*c >= ' ' && *c != 0x7f ? *c : '?', stderr);
        if (near_best(&near))
                fprintf(stderr, "' is not a command: did you mean 'silt %s'?\n", near_best(&near));
        else if (access(name, X_OK) == 0 && strchr(name, '/'))
                fprintf(stderr, "' is not a command: to record it, write 'silt run %s'\n", name);
        else
                fprintf(stderr, "' is not a command: see 'silt --help'\n");
        return EXIT_STATUS_TROUBLE;
}

static int print_help_of(const char *name) {
        for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
                if (strcmp(name, commands[i].name) == 0) {
                        fputs(commands[i].help_text, stdout);
                        return EXIT_STATUS_OK;
                }
        return unknown_command(name);
}

static int dispatch(int argc, char **argv) {
        if (argc < 2) {
                fputs("silt: no command given: write 'silt run PROG', or see 'silt --help'\n",
                      stderr);
                return EXIT_STATUS_TROUBLE;
        }
        if (strcmp(argv[1], "help") == 0 && argc > 2)
                return print_help_of(argv[2]);
        if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
            strcmp(argv[1], "help") == 0) {
                print_help(stdout);
                return EXIT_STATUS_OK;
        }
        if (strcmp(argv[1], "--version") == 0) {
                puts("silt " SILT_VERSION);
                return EXIT_STATUS_OK;
        }
        for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
                if (strcmp(argv[1], commands[i].name) == 0)
                        return commands[i].run(argc - 1, argv + 1);
        return unknown_command(argv[1]);
}

int main(int argc, char **argv) {
        int status;

        imported_init();
        status = dispatch(argc, argv);
        /* A product that did not reach its file is no product. */
        if ((fflush(stdout) != 0 || ferror(stdout)) && status == EXIT_STATUS_OK) {
                fprintf(stderr, "silt: cannot write to standard output: %s: check where it goes\n",
                        strerror(errno));
                return EXIT_STATUS_TROUBLE;
        }
        return status;
}
