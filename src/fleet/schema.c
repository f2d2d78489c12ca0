/* SPDX-License-Identifier: MIT */
#include "fleet/schema.h"

#include <string.h>

#include "base/macros.h"
#include "fleet/migrations.h"

_Static_assert(ARRAY_SIZE(migration_texts) == FLEET_SCHEMA_VERSION, "one file for each version");

/* Those who know less than this must not write any more, once the version is there. */
static const uint32_t min_writers[FLEET_SCHEMA_VERSION] = {1};

struct fleet_migration fleet_migration_to(uint32_t version) {
        return (struct fleet_migration){.version = version,
                                        .min_writer = min_writers[version - 1],
                                        .sql = migration_texts[version - 1].text};
}

/* Adds a line without its end, which is returned. */
static const char *add_line(const char *line, struct str *to) {
        size_t n = strcspn(line, "\n");

        if (strncmp(line, "--", 2) != 0) {
                str_addn(to, line, n);
                str_add(to, "\n");
        }
        return line[n] ? line + n + 1 : line + n;
}

bool fleet_next_statement(const char **at, struct str *ret) {
        str_clear(ret);
        while (**at) {
                *at = add_line(*at, ret);
                if (ret->n == 1)
                        str_clear(ret); /* an empty line between two of them */
                if (ret->n >= 2 && strcmp(str_text(ret) + ret->n - 2, ";\n") == 0) {
                        ret->n -= 2;
                        ret->bytes[ret->n] = '\0';
                        return true;
                }
        }
        return false;
}
