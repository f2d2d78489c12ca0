/* SPDX-License-Identifier: MIT */
/* The commands of silt. Each cmd_*.c owns one command and its options; argv[0] is the command's
 * name. The value returned is the exit status of silt. */
#pragma once

int cmd_run(int argc, char **argv);
int cmd_cpu(int argc, char **argv);
int cmd_snapshot(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_metrics(int argc, char **argv);
int cmd_push(int argc, char **argv);
int cmd_leaks(int argc, char **argv);
int cmd_bill(int argc, char **argv);
int cmd_heap(int argc, char **argv);
int cmd_fleet(int argc, char **argv);
int cmd_sql(int argc, char **argv);
int cmd_ask(int argc, char **argv);
int cmd_holders(int argc, char **argv);
int cmd_lab(int argc, char **argv);
int cmd_whatif(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_flame(int argc, char **argv);
int cmd_html(int argc, char **argv);
int cmd_source(int argc, char **argv);
int cmd_view(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_import(int argc, char **argv);
int cmd_symbolize(int argc, char **argv);
int cmd_tasks(int argc, char **argv);
int cmd_verify(int argc, char **argv);
int cmd_attach(int argc, char **argv);
int cmd_doctor(int argc, char **argv);

enum {
        EXIT_STATUS_OK = 0,
        EXIT_STATUS_FOUND = 1,        /* the command looked for trouble and found some */
        EXIT_STATUS_TROUBLE = 2,      /* it could not do its work */
        EXIT_STATUS_RUN_FAILED = 125, /* silt run: before the target ran */
};
