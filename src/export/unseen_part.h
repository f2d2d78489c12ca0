/* SPDX-License-Identifier: MIT */
/* What the recording itself does not have, or only estimates: files of other tools have no place for it, so it is told beside them.
 * Inside export/ only. */
#pragma once

#include "base/str.h"
#include "export/export_job.h"

/* Appends sentences, of each kind the worst. Nothing where the recording has all. */
int unseen_part_add(struct export_job *job, struct str *to, struct err *reterr);

/* The CPU samples of a recording of both, which a file of memory does not have. */
void unseen_part_note_time(struct export_job *job, const struct export_format *f);

/* That a filter or a window selects nothing: the file is as empty as that, and its reader does not say why. */
int unseen_part_note_empty(struct export_job *job, struct err *reterr);
