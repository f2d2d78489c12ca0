/* SPDX-License-Identifier: MIT */
/* From the words of a command line to what they ask for; apart from the commands so that it can be tested. */
#pragma once

#include <stdbool.h>

#include "base/vec.h"
#include "diff/check.h"
#include "diff/diff.h"
#include "flame/flame.h"
#include "record/supervisor.h"
#include "request/request.h"
#include "source/source.h"
#include "watch/watch.h"

/* What a command is to do. The options point into it: it must stay where it is. */
struct flame_command_options {
        struct flame_options draw;
        struct request request;
        const char *output; /* NULL: by the name of the trace; "-": standard output */
        bool is_page;       /* HTML, not SVG */
        bool force;
};

/* Of one process, or of all that rules name (watch.wanted.n): then watch.each is set by who runs it. */
struct attach_command {
        struct run_options run;
        struct watch_options watch;
};

struct report_command {
        struct show_options options;
        struct request request;
};

struct source_command {
        struct source_options options;
        struct request request;
};

struct view_command {
        const char *path, *old_path; /* old_path NULL: one trace */
        struct request request;      /* what the page shows first */
        struct source_options source;
        const char *listen; /* NULL: loopback */
        uint16_t port;      /* 0: any */
        uint64_t wait_ns;   /* for the trace to become readable */
        bool no_browser, once;
};

struct diff_command {
        struct diff_options options;
        struct request requests[NAME_N_SIDES];
        VEC(char *) texts; /* parts of words that options point to */
};

struct check_command {
        struct check_options options;
        struct request request;
        VEC(char *) texts;
};

struct symbolize_options {
        const char *path;
        VEC(char *) debug_paths; /* absolute */
        char *sysroot;           /* NULL: none */
        bool no_cache, quiet;
};

struct snapshot_options {
        const char *who;  /* a pid, or the path of a trace */
        const char *name; /* NULL: the recorder chooses */
        bool graph, json, quiet;
};

/* False when silt is to end with *ret_exit_status: help or an error was printed. */
bool attach_options_parse(int argc, char **argv, struct attach_command *ret_command,
                          int *ret_exit_status);
bool run_options_parse(int argc, char **argv, struct run_options *ret_options,
                       int *ret_exit_status);
bool snapshot_options_parse(int argc, char **argv, struct snapshot_options *ret_options,
                            int *ret_exit_status);
/* The next fill *ret in either case, to be given to their done. */
bool report_options_parse(int argc, char **argv, struct report_command *ret, int *ret_exit_status);
void report_command_done(struct report_command *c);
bool source_options_parse(int argc, char **argv, struct source_command *ret, int *ret_exit_status);
void source_command_done(struct source_command *c);
bool flame_options_parse(int argc, char **argv, struct flame_command_options *ret,
                         int *ret_exit_status);
void flame_command_done(struct flame_command_options *c);
bool view_options_parse(int argc, char **argv, struct view_command *ret, int *ret_exit_status);
void view_command_done(struct view_command *c);
bool diff_options_parse(int argc, char **argv, struct diff_command *ret_command,
                        int *ret_exit_status);
void diff_command_done(struct diff_command *c);
bool check_options_parse(int argc, char **argv, struct check_command *ret_command,
                         int *ret_exit_status);
void check_command_done(struct check_command *c);
/* Fills *ret_options in either case, to be given to symbolize_options_done. */
bool symbolize_options_parse(int argc, char **argv, struct symbolize_options *ret_options,
                             int *ret_exit_status);
void symbolize_options_done(struct symbolize_options *o);
