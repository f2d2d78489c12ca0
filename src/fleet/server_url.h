/* SPDX-License-Identifier: MIT */
/* Where a fleet's server is, as people write it:
 *
 *   clickhouse://host[:8123][/database]    clickhouses:// with TLS, port 8443
 *   http[s]://host:8123/[?database=silt&…]  ClickHouse as well; further parameters are settings of it
 *   pyroscope+http[s]://host:4040[/ingest]
 *   otlp+http[s]://host:4318[/v1development/profiles]
 *
 * Before the host there may be user:password@. Without them the environment's SILT_FLEET_USER and SILT_FLEET_PASSWORD count. */
#pragma once

#include "base/err.h"

enum server_kind { SERVER_CLICKHOUSE, SERVER_PYROSCOPE, SERVER_OTLP };

struct server_url {
        enum server_kind kind;
        char address[512];  /* to send to: scheme, host, port, path; neither user nor parameters */
        char database[128]; /* ClickHouse */
        char settings[512]; /* ClickHouse, Pyroscope: further parameters, "" or "a=b&c=d" */
        char user[128], password[256]; /* "" none */
        char shown[512];               /* without secrets */
};

int server_url_parse(const char *text, struct server_url *ret, struct err *reterr);
