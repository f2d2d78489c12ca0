/* SPDX-License-Identifier: MIT */
/* What the resident memory of recorded processes is made of, now and then (docs/bill.md): a look at its mappings and pages at one moment, the live blocks of that moment by
 * a cut, and a thread that lays them beside each other. A part of the recorder; one bill at a time. The process is not stopped and not signalled. */
#pragma once

#include "record/recorder_state.h"

/* A row of the observers: begins a bill when one is due, and takes what is done. */
uint64_t recorder_keep_bills(void *recorder, uint64_t now_ns);
uint64_t recorder_bills_due(const void *recorder);

/* A snapshot's cut was just begun: a bill of this moment too, if none is under way. pid 0: of the program that was started. */
void recorder_bill_at_snapshot(struct recorder *r, pid_t pid);
/* Whoever waits for the snapshot waits for its bill. */
bool recorder_bill_delays_answer(const struct recorder *r);

/* In the pipeline's on_cut: the blocks are those of now. True: the cut is a bill's alone. */
bool recorder_bill_on_cut(struct recorder *r, uint64_t time_ns);

/* Waits for what is under way. */
void recorder_finish_bills(struct recorder *r);
