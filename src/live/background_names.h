/* SPDX-License-Identifier: MIT */
/* Opens a trace and looks its names up in a thread, while another goes on with the trace as it is: large programs take seconds. One
 * such thread works at a time. Inside live/ only. */
#pragma once

#include "show/opened.h"

struct background_names;

struct background_names *background_names_start(const char *path, const struct name_sources *rules);
/* 1: it is ready, and *ret is the caller's; -errno: it failed; both end it and tell what it took. 0: not yet. */
int background_names_take(struct background_names *b, struct opened *ret, uint64_t *ret_took_ns,
                          struct err *reterr);
/* Does not wait: what it finds from now on goes. NULL ok; returns NULL */
struct background_names *background_names_drop(struct background_names *b);
