/* SPDX-License-Identifier: MIT */
#include "watch/wanted.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct wanted rules(const char *a, const char *b) {
        struct wanted w = {0};
        struct err err = {0};

        assert_int_equal(wanted_add(&w, a, &err), 0);
        if (b)
                assert_int_equal(wanted_add(&w, b, &err), 0);
        return w;
}

static bool match(const char *a, const char *b, const struct wanted_facts *f) {
        struct wanted w = rules(a, b);

        return wanted_match(&w, f);
}

static void test_match(void **state) {
        struct wanted_facts f = {.name = "node",
                                 .file = "reth-node-of-a-long-name",
                                 .command = "reth-node --port 8545 /var/lib/x",
                                 .groups = "4:memory:/jobs/a\n0::/system.slice/reth.service\n",
                                 .uid = 1000};

        (void)state;
        assert_true(match("name=node", NULL, &f));
        assert_true(match("name=reth*", NULL, &f));
        assert_true(match("name=reth-node-of-a-long-name", NULL, &f));
        assert_false(match("name=reth", NULL, &f));
        assert_true(match("cmd=*--port 8545*", NULL, &f));
        assert_false(match("cmd=--port 8545", NULL, &f));
        assert_true(match("cgroup=*/reth.service", NULL, &f));
        assert_true(match("cgroup=/jobs/*", NULL, &f));
        assert_false(match("cgroup=memory", NULL, &f));
        assert_true(match("user=1000", "name=n?de", &f));
        assert_false(match("user=1001", "name=node", &f));
        assert_false(match("user=1000", "name=x", &f));
        f.uid = 0;
        assert_true(match("user=root", NULL, &f));
        assert_false(wanted_match(&(struct wanted){0}, &f)); /* no rule is not every process */
}

static void test_hostile(void **state) {
        struct wanted_facts f = {0};

        (void)state;
        memset(f.groups, ':', sizeof(f.groups) - 1);
        assert_false(match("cgroup=x", NULL, &f));
        memset(f.groups, '\n', sizeof(f.groups) - 1);
        assert_false(match("cgroup=*", NULL, &f));
        memset(f.command, '*', sizeof(f.command) - 1);
        assert_false(match("cmd=a*", NULL, &f));
}

static void refuse(const char *text) {
        struct wanted w = {0};
        struct err err = {0};

        assert_true(wanted_add(&w, text, &err) < 0);
        assert_true(err.text[0] && !strchr(err.text, '\n'));
        assert_int_equal(w.n, 0);
}

static void test_refused(void **state) {
        struct wanted w = {0};
        struct err err = {0};

        (void)state;
        refuse("");
        refuse("redis");
        refuse("name=");
        refuse("=x");
        refuse("pid=1");
        refuse("user=nobody-is-called-so");
        refuse("user=99999999999999999999");
        for (int i = 0; i < WANTED_MAX_RULES; i++)
                assert_int_equal(wanted_add(&w, "name=x", &err), 0);
        assert_true(wanted_add(&w, "name=x", &err) < 0);
}

static void test_self(void **state) {
        struct wanted w = rules("name=watch_wanted_te*", "cmd=*watch_wanted_test*");
        struct wanted_facts f;
        struct err err = {0};
        char user[32];

        (void)state;
        snprintf(user, sizeof(user), "user=%u", (unsigned)getuid());
        assert_int_equal(wanted_add(&w, user, &err), 0);
        assert_int_equal(wanted_add(&w, "cgroup=*", &err), 0);
        assert_true(wanted_read(&w, getpid(), &f));
        assert_true(wanted_match(&w, &f));
        assert_false(wanted_read(&w, 1 << 30, &f));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_match),
                cmocka_unit_test(test_hostile),
                cmocka_unit_test(test_refused),
                cmocka_unit_test(test_self),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
