/* SPDX-License-Identifier: MIT */
/* Formats that know one process: which one is written. Inside export/ only. */
#pragma once

#include "export/export_job.h"

/* The one asked for; of several the one that held most, which the note says. */
int export_choose_process(struct export_job *job, struct err *reterr);
/* What the answer is of: for "cmd:" and the like, the arguments quoted for a shell. */
void export_add_command(const struct export_job *job, struct str *to);
/* Adds a sentence to the note. */
void export_note(struct export_job *job, const char *fmt, ...)
        __attribute__((format(printf, 2, 3)));
/* What it has from before counts as allocated at the beginning: a sentence in the note, if there is any. */
void export_note_held(struct export_job *job, uint64_t n_held, const char *reader);
