/* SPDX-License-Identifier: MIT */
/* Texts with statements and dot commands, answered one after the other: from the command line, from a file, from the shell. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "sql/sql.h"
#include "sql/sql_print.h"

struct sql_session {
        struct sql *sql;
        FILE *out;
        enum sql_form form;
        bool is_timed, lacks_names; /* .timer, .headers off */
        char *once_path;            /* where the next answer goes; NULL: to out */
        bool is_read_from_file;     /* .read: what stands there writes no file */
        bool is_shell; /* .mode and .quit mean something, and each answer is a product of its own */
        bool is_interrupted; /* Ctrl-C stopped the last statement */
        bool is_over;        /* .quit */
        size_t n_answers;
};

/* To the first that fails, or is stopped. */
int sql_session_run(struct sql_session *s, const char *text, struct err *reterr);
void sql_session_done(struct sql_session *s);
