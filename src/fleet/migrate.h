/* SPDX-License-Identifier: MIT */
/* Gives a server the tables of this silt: what it lacks of the migrations (fleet/schema.h). */
#pragma once

#include "fleet/clickhouse_client.h"

/* -EPERM: a newer silt changed them so that this one must not write. Two at a time do no harm. What is not ClickHouse is refused, whatever
 * it says to a statement. */
int fleet_migrate(struct clickhouse_client *c, struct err *reterr);
