/* SPDX-License-Identifier: MIT */
/* A responder (serve/responder.h) that answers `fleet?question=grew&since=1d` with silt.fleet/1. */
#pragma once

#include "base/err.h"
#include "serve/responder.h"

struct fleet_responder;

int fleet_responder_new(const char *url, const char *ca_file, struct fleet_responder **ret,
                        struct err *reterr);
struct fleet_responder *fleet_responder_free(struct fleet_responder *d); /* NULL ok; returns NULL */
struct responder fleet_responder_table(struct fleet_responder *d);
