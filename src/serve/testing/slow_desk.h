/* SPDX-License-Identifier: MIT */
/* Answers for tests of the server: echo, and one that takes as long as it is told. */
#pragma once

#include "serve/desk.h"

struct slow_desk;

struct slow_desk *slow_desk_new(void);
struct slow_desk *slow_desk_free(struct slow_desk *d);
struct desk slow_desk_as_desk(struct slow_desk *d);
/* Something was written, or the writer has gone. */
void slow_desk_grow(struct slow_desk *d);
void slow_desk_end(struct slow_desk *d);
