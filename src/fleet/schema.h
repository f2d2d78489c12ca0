/* SPDX-License-Identifier: MIT */
/* The tables of a fleet's server, and how older ones become today's (docs/fleet.md). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum { FLEET_SCHEMA_VERSION = 1 };

struct fleet_migration {
        uint32_t version;
        uint32_t min_writer; /* those who know less must not write any more */
        const char *
                sql; /* statements, each ends with ";" at the end of a line; lines that begin with "--" say why */
};

/* From the version before; 1 <= version <= FLEET_SCHEMA_VERSION. */
struct fleet_migration fleet_migration_to(uint32_t version);

/* The next of its statements, without ";"; false: there is none. *at is where to go on, first the whole. */
bool fleet_next_statement(const char **at, struct str *ret);
