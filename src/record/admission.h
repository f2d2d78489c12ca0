/* SPDX-License-Identifier: MIT */
/* Who comes into a recording: images that say hello at the rendezvous, and descendants that have not yet. */
#pragma once

#include "record/recorder_state.h"

/* Takes everyone who waits at the rendezvous into r->guests. */
void admission_accept(struct recorder *r);

/* Images that come now may wait for the recorder as long as ever: it is back. */
void admission_end_silence(struct recorder *r);

/* At the end: how many programs went unrecorded because they waited in vain, beside those that were named. */
void admission_note_unheard(struct recorder *r);

/* Before a process is attached to: what its files have is read beforehand, so that it does not wait for that. */
void admission_foresee(struct recorder *r);

/* Gives guests their entry and the arena, unless a former image of theirs is not settled yet. */
void admission_admit(struct recorder *r);

/* Descendants that were started but have not reported: true while they may still do so, then a note names them. */
bool admission_awaits_unreported(struct recorder *r);
