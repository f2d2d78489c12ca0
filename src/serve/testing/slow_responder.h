/* SPDX-License-Identifier: MIT */
/* Answers for tests of the server: echo, and one that takes as long as it is told. */
#pragma once

#include "serve/responder.h"

struct slow_responder;

struct slow_responder *slow_responder_new(void);
struct slow_responder *slow_responder_free(struct slow_responder *d);
struct responder slow_responder_table(struct slow_responder *d);
/* Something was written, or the writer has gone. */
void slow_responder_grow(struct slow_responder *d);
void slow_responder_end(struct slow_responder *d);
