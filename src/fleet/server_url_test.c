/* SPDX-License-Identifier: MIT */
#include "fleet/server_url.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"

static void addresses_are_understood(void **state) {
        static const struct {
                const char *text;
                enum server_kind kind;
                const char *address, *database, *settings, *user, *password;
        } rows[] = {
                {"clickhouse://db", SERVER_CLICKHOUSE, "http://db:8123/", "silt", "", "", ""},
                {"clickhouse://db/x/", SERVER_CLICKHOUSE, "http://db:8123/", "x", "", "", ""},
                {"clickhouse://db:1/?database=y", SERVER_CLICKHOUSE, "http://db:1/", "y", "", "",
                 ""},
                {"clickhouses://u:p%40q@db/x", SERVER_CLICKHOUSE, "https://db:8443/", "x", "", "u",
                 "p@q"},
                {"http://[::1]:9/?a=b&database=z&c=d", SERVER_CLICKHOUSE, "http://[::1]:9/", "z",
                 "a=b&c=d", "", ""},
                {"http://[::1]/", SERVER_CLICKHOUSE, "http://[::1]:8123/", "silt", "", "", ""},
                {"https://db/way/", SERVER_CLICKHOUSE, "https://db/way/", "silt", "", "", ""},
                {"pyroscope+http://p", SERVER_PYROSCOPE, "http://p:4040/ingest", "silt", "", "",
                 ""},
                {"otlp+https://o/", SERVER_OTLP, "https://o/v1development/profiles", "silt", "", "",
                 ""},
                {"otlp+http://o:1/v1/x", SERVER_OTLP, "http://o:1/v1/x", "silt", "", "", ""},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                struct server_url u;

                assert_int_equal(server_url_parse(rows[i].text, &u, NULL), 0);
                assert_int_equal(u.kind, rows[i].kind);
                assert_string_equal(u.address, rows[i].address);
                assert_string_equal(u.database, rows[i].database);
                assert_string_equal(u.settings, rows[i].settings);
                assert_string_equal(u.user, rows[i].user);
                assert_string_equal(u.password, rows[i].password);
                assert_null(strstr(u.shown, "p@q"));
        }
}

static void others_are_refused(void **state) {
        static const char *const rows[] = {
                "",
                "db",
                "ftp://db",
                "http://",
                "http:///x",
                "http://a b",
                "http://:80",
                "http://db:99999/",
                "http://db:0",
                "clickhouse://[::1]:x/silt",
                "http://db:/",
                "clickhouse://db/a/b",
                "http://u:%zz@db",
                "http://d\x80",
                "http://a\"b",
                "http://u:a/b@db/",
                "http://db/?database=%00",
        };
        char text[2000] = "http://";
        struct server_url u;
        struct err err;

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                assert_true(server_url_parse(rows[i], &u, &err) < 0);
                assert_true(strlen(err.text) > 10);
        }
        memset(text + 7, 'a', sizeof(text) - 8);
        assert_true(server_url_parse(text, &u, &err) < 0);
}

static void secrets_may_come_from_the_environment(void **state) {
        struct server_url u;

        setenv("SILT_FLEET_PASSWORD", "secret", 1);
        assert_int_equal(server_url_parse("clickhouse://db", &u, NULL), 0);
        assert_string_equal(u.user, "default");
        assert_string_equal(u.password, "secret");
        assert_int_equal(server_url_parse("clickhouse://me:mine@db", &u, NULL), 0);
        assert_string_equal(u.user, "me");
        assert_string_equal(u.password, "mine");
        unsetenv("SILT_FLEET_PASSWORD");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(addresses_are_understood),
                cmocka_unit_test(others_are_refused),
                cmocka_unit_test(secrets_may_come_from_the_environment),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
