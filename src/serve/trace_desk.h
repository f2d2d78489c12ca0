/* SPDX-License-Identifier: MIT */
/* A desk (desk.h) that answers about traces. */
#pragma once

#include "answer/answerer.h"
#include "serve/desk.h"

struct trace_desk;

int trace_desk_new(const struct answerer_options *o, struct trace_desk **ret, struct err *reterr);
struct trace_desk *trace_desk_free(struct trace_desk *d); /* NULL ok; returns NULL */
struct desk trace_desk_as_desk(struct trace_desk *d);
