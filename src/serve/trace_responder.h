/* SPDX-License-Identifier: MIT */
/* A responder (responder.h) that answers about traces. */
#pragma once

#include "answer/answerer.h"
#include "serve/responder.h"

struct trace_responder;

int trace_responder_new(const struct answerer_options *o, struct trace_responder **ret,
                        struct err *reterr);
struct trace_responder *trace_responder_free(struct trace_responder *d); /* NULL ok; returns NULL */
/* What it answers with, until it is refreshed. */
struct answerer *trace_responder_answerer(struct trace_responder *d);
struct responder trace_responder_table(struct trace_responder *d);
