/* SPDX-License-Identifier: MIT */
#include "fleet/migrate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/schema.h"

/* Lines "version<TAB>min_writer"; anything else: it is not our table. */
static int read_versions(const char *answer, bool *has, uint32_t *ret_min_writer) {
        for (const char *line = answer; *line;) {
                unsigned version, min_writer;
                int n = 0;

                if (sscanf(line, "%9u\t%9u%n", &version, &min_writer, &n) != 2 || line[n] != '\n')
                        return -EBADMSG;
                if (version >= 1 && version <= FLEET_SCHEMA_VERSION)
                        has[version] = true;
                *ret_min_writer = MAX(*ret_min_writer, (uint32_t)min_writer);
                line += n + 1;
        }
        return 0;
}

static int make_database(struct clickhouse_client *c, struct err *reterr) {
        struct str sql = {0};
        int r;

        str_add(&sql, "CREATE DATABASE IF NOT EXISTS ");
        clickhouse_add_name(&sql, c->url.database);
        c->without_database = "it may not be there yet";
        r = clickhouse_client_ask(c, str_text(&sql), NULL, 0, NULL, reterr);
        c->without_database = NULL;
        str_done(&sql);
        return r;
}

static int run_migration(struct clickhouse_client *c, uint32_t version, struct err *reterr) {
        struct fleet_migration m = fleet_migration_to(version);
        struct str sql = {0};
        const char *at = m.sql;
        int r = 0;

        while (r >= 0 && fleet_next_statement(&at, &sql))
                r = clickhouse_client_ask(c, str_text(&sql), NULL, 0, NULL, reterr);
        if (r >= 0) {
                str_clear(&sql);
                str_addf(
                        &sql,
                        "INSERT INTO silt_schema (version, min_writer, applied) SELECT toUInt32(%u), toUInt32(%u), now()",
                        m.version, m.min_writer);
                r = clickhouse_client_ask(c, str_text(&sql), NULL, 0, NULL, reterr);
        }
        str_done(&sql);
        return r;
}

/* -ENOENT: it has no tables of ours. */
static int ask_versions(struct clickhouse_client *c, bool *has, uint32_t *ret_min_writer,
                        struct err *reterr) {
        struct str answer = {0};
        int r = clickhouse_client_ask(
                c,
                "SELECT version, min_writer FROM silt_schema ORDER BY version FORMAT TabSeparated",
                NULL, 0, &answer, reterr);

        if (r >= 0 && read_versions(str_text(&answer), has, ret_min_writer) < 0)
                r = err_set(reterr, -EIO, "%s does not answer as ClickHouse does", c->url.shown);
        str_done(&answer);
        return r;
}

/* Whoever says 200 to everything is not believed: a server that made the tables tells so when it is asked. */
static int check_made(struct clickhouse_client *c, struct err *reterr) {
        bool has[FLEET_SCHEMA_VERSION + 1] = {false};
        uint32_t min_writer = 0;
        int r = ask_versions(c, has, &min_writer, reterr);

        for (uint32_t v = 1; r >= 0 && v <= FLEET_SCHEMA_VERSION; v++)
                if (!has[v])
                        r = err_set(
                                reterr, -EIO,
                                "%s does not answer as ClickHouse does: it lacks the tables it was told to make",
                                c->url.shown);
        return r;
}

int fleet_migrate(struct clickhouse_client *c, struct err *reterr) {
        bool has[FLEET_SCHEMA_VERSION + 1] = {false}, is_changed = false;
        uint32_t min_writer = 0;
        int r = ask_versions(c, has, &min_writer, reterr);

        if (r == -ENOENT)
                r = make_database(c, reterr);
        if (r >= 0 && min_writer > FLEET_SCHEMA_VERSION)
                r = err_set(reterr, -EPERM,
                            "%s: a newer silt changed the tables (version %u): update silt here",
                            c->url.shown, min_writer);
        for (uint32_t v = 1; r >= 0 && v <= FLEET_SCHEMA_VERSION; v++)
                if (!has[v]) {
                        r = run_migration(c, v, reterr);
                        is_changed = true;
                }
        return r >= 0 && is_changed ? check_made(c, reterr) : r;
}
