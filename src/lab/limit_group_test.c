/* SPDX-License-Identifier: MIT */
/* Makers of groups, in trees of plain files. */
#include "lab/limit_group.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
/* cmocka.h needs those above */
#include <cmocka.h>

#include "base/fs.h"

struct tree {
        char root[64], proc[96];
        struct place place;
};

static void put(const char *dir, const char *file, const char *text) {
        char path[512];
        FILE *f;

        snprintf(path, sizeof(path), "%s/%s", dir, file);
        f = fopen(path, "w");
        assert_non_null(f);
        fputs(text, f);
        fclose(f);
}

static const char *get(const char *dir, const char *file) {
        static char text[256];
        char path[PLACE_PATH_CAP + 64];

        snprintf(path, sizeof(path), "%s/%s", dir, file);
        return fs_read_text(path, text, sizeof(text)) < 0 ? "(none)" : text;
}

static void sub(const char *dir, const char *name) {
        char path[512];

        snprintf(path, sizeof(path), "%s/%s", dir, name);
        assert_int_equal(mkdir(path, 0755), 0);
}

static int tree_begin(void **state) {
        struct tree *t = calloc(1, sizeof(*t));

        snprintf(t->root, sizeof(t->root), "/tmp/silt-group-test-XXXXXX");
        assert_non_null(mkdtemp(t->root));
        snprintf(t->proc, sizeof(t->proc), "%s/proc-cgroup", t->root);
        t->place = (struct place){.cgroup_root = t->root,
                                  .proc_cgroup = t->proc,
                                  .systemd_alive = "/nonexistent",
                                  .is_emulated = true};
        *state = t;
        return 0;
}

static int tree_end(void **state) {
        struct tree *t = *state;
        char command[128];

        snprintf(command, sizeof(command), "/bin/rm -rf '%s'", t->root);
        assert_int_equal(system(command), 0);
        free(t);
        return 0;
}

static void version2(struct tree *t, const char *own) {
        char line[128], path[256];

        snprintf(line, sizeof(line), "0::%s\n", own);
        put(t->root, "proc-cgroup", line);
        put(t->root, "cgroup.controllers", "cpu memory pids\n");
        put(t->root, "cgroup.subtree_control", "cpu memory\n");
        if (own[1]) {
                sub(t->root, own + 1);
                snprintf(path, sizeof(path), "%s%s", t->root, own);
                put(path, "cgroup.controllers", "cpu memory\n");
        }
}

static void test_version_2(void **state) {
        struct tree *t = *state;
        struct group_limits limits = {.memory_bytes = 64 << 20,
                                      .own_bytes = 4096,
                                      .has_swap = true,
                                      .swap_bytes = 8192,
                                      .n_cpus = 0.5};
        struct group_usage usage;
        struct group g;
        char dir[PLACE_PATH_CAP];

        version2(t, "/");
        assert_int_equal(group_make(&g, &t->place, &limits, NULL, NULL), 0);
        assert_int_equal(g.maker, GROUP_CGROUP2);
        assert_string_equal(get(g.memory_dir, "memory.max"), "67112960");
        assert_string_equal(get(g.memory_dir, "memory.swap.max"), "8192");
        assert_string_equal(get(g.memory_dir, "cpu.max"), "50000 100000");
        assert_string_equal(get(g.memory_dir, "memory.high"), "(none)");
        assert_int_equal(group_enter(&g, 4711, NULL), 0);
        assert_string_equal(get(g.memory_dir, "cgroup.procs"), "4711");

        put(g.memory_dir, "memory.peak", "1234567\n");
        put(g.memory_dir, "memory.current", "1000\n");
        put(g.memory_dir, "memory.events", "low 0\nhigh 0\nmax 9\noom 2\noom_kill 2\n");
        group_look(&g, &usage);
        assert_true(usage.has_peak && usage.has_kills);
        assert_int_equal(usage.peak_bytes, 1234567);
        assert_int_equal(usage.n_kills, 2);

        assert_int_equal(group_set_memory(&g, 1 << 20, NULL), 0);
        assert_string_equal(get(g.memory_dir, "memory.max"), "1052672");
        snprintf(dir, sizeof(dir), "%s", g.memory_dir);
        assert_int_equal(group_remove(&g), 0);
        assert_int_equal(access(dir, F_OK), -1);
}

/* memory.peak is younger than version 2. */
static void test_what_is_not_known(void **state) {
        struct tree *t = *state;
        struct group_limits limits = {.high_bytes = 1 << 20};
        struct group_usage usage;
        struct group g;

        version2(t, "/");
        assert_int_equal(group_make(&g, &t->place, &limits, NULL, NULL), 0);
        assert_string_equal(get(g.memory_dir, "memory.high"), "1048576");
        assert_string_equal(get(g.memory_dir, "memory.max"), "(none)");
        put(g.memory_dir, "memory.events", "oom_kill x\n");
        group_look(&g, &usage);
        assert_false(usage.has_peak);
        assert_false(usage.has_kills);
        assert_int_equal(group_remove(&g), 0);
}

/* A controller that groups below silt's own do not have is enabled, and disabled again. */
static void test_enables_and_restores(void **state) {
        struct tree *t = *state;
        struct group_limits limits = {.memory_bytes = 1 << 20};
        struct group g;
        char own[128];

        version2(t, "/session.scope");
        snprintf(own, sizeof(own), "%s/session.scope", t->root);
        assert_int_equal(group_make(&g, &t->place, &limits, NULL, NULL), 0);
        assert_int_equal(strncmp(g.memory_dir, own, strlen(own)), 0);
        assert_string_equal(get(own, "cgroup.subtree_control"), "+memory");
        assert_int_equal(group_remove(&g), 0);
        assert_string_equal(get(own, "cgroup.subtree_control"), "-memory");
}

/* Where silt's own group cannot have any below it, one is made beside it; not if that would leave a limit. */
static void test_goes_up_but_not_out_of_a_limit(void **state) {
        struct tree *t = *state;
        struct group_limits limits = {.memory_bytes = 1 << 20};
        struct err e = {0};
        struct group g;
        char own[128];

        version2(t, "/session.scope");
        snprintf(own, sizeof(own), "%s/session.scope", t->root);
        put(own, "cgroup.controllers", "pids\n");
        assert_int_equal(group_make(&g, &t->place, &limits, "cgroup2", &e), 0);
        assert_null(strstr(g.memory_dir, "session.scope"));
        assert_int_equal(group_remove(&g), 0);

        put(own, "memory.max", "9000000\n");
        assert_true(group_make(&g, &t->place, &limits, "cgroup2", &e) < 0);
        assert_non_null(strstr(e.text, "no memory controller"));
}

static void version1(struct tree *t) {
        put(t->root, "proc-cgroup", "5:cpu,cpuacct:/\n4:memory:/docker/abc\n0::/\n");
        sub(t->root, "memory");
        sub(t->root, "cpu");
        sub(t->root, "unified");
}

static void test_version_1(void **state) {
        struct tree *t = *state;
        struct group_limits limits = {.memory_bytes = 1 << 20,
                                      .has_swap = true,
                                      .swap_bytes = 4096,
                                      .n_cpus = 2};
        struct group_usage usage;
        struct group g;
        char memory[128], cpu[PLACE_PATH_CAP];

        version1(t);
        assert_int_equal(group_make(&g, &t->place, &limits, NULL, NULL), 0);
        assert_int_equal(g.maker, GROUP_CGROUP1);
        assert_true(g.skipped.n > 0);
        snprintf(memory, sizeof(memory), "%s/memory/silt-lab-", t->root);
        assert_int_equal(strncmp(g.memory_dir, memory, strlen(memory)), 0);
        assert_string_equal(get(g.memory_dir, "memory.limit_in_bytes"), "1048576");
        assert_string_equal(get(g.memory_dir, "memory.memsw.limit_in_bytes"), "1052672");
        assert_string_equal(get(g.cpu_dir, "cpu.cfs_quota_us"), "200000");
        put(g.memory_dir, "memory.max_usage_in_bytes", "77\n");
        put(g.memory_dir, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
        group_look(&g, &usage);
        assert_int_equal(usage.peak_bytes, 77);
        assert_int_equal(usage.n_kills, 1);
        snprintf(cpu, sizeof(cpu), "%s", g.cpu_dir);
        assert_int_equal(group_remove(&g), 0);
        assert_int_equal(access(cpu, F_OK), -1);
        str_done(&g.skipped);
}

/* Groups of a silt that is gone are removed, those of one that lives are not. */
static void test_sweeps(void **state) {
        struct tree *t = *state;
        struct group_limits limits = {.memory_bytes = 1 << 20};
        struct group g;
        char path[256], alive[64];

        version1(t);
        snprintf(alive, sizeof(alive), "memory/silt-lab-%d-9", (int)getpid());
        sub(t->root, "memory/silt-lab-4194303-1");
        sub(t->root, "memory/silt-lab-other");
        sub(t->root, alive);
        assert_int_equal(group_make(&g, &t->place, &limits, NULL, NULL), 0);
        snprintf(path, sizeof(path), "%s/memory/silt-lab-4194303-1", t->root);
        assert_int_equal(access(path, F_OK), -1);
        snprintf(path, sizeof(path), "%s/memory/silt-lab-other", t->root);
        assert_int_equal(access(path, F_OK), 0);
        snprintf(path, sizeof(path), "%s/%s", t->root, alive);
        assert_int_equal(access(path, F_OK), 0);
        assert_int_equal(group_remove(&g), 0);
        str_done(&g.skipped);
}

static void test_last_resorts(void **state) {
        struct tree *t = *state;
        struct group_limits limits = {.memory_bytes = 64 << 20};
        char *argv[] = {(char *)"prog", (char *)"arg", NULL}, **before;
        struct err e = {0};
        struct str text = {0};
        struct group g;

        put(t->root, "proc-cgroup", "0::/\n");
        assert_int_equal(group_make(&g, &t->place, &limits, NULL, NULL), 0);
        assert_int_equal(g.maker, GROUP_RLIMIT);
        group_describe(&g, &text);
        assert_non_null(strstr(str_text(&text), "not resident memory"));
        assert_null(group_command(&g, argv));
        assert_int_equal(group_remove(&g), 0);
        str_done(&g.skipped);

        limits.high_bytes = 1 << 20; /* no other way can throttle */
        assert_true(group_make(&g, &t->place, &limits, NULL, &e) < 0);
        limits.high_bytes = 0;

        put(t->root, "systemd-run", "#!/bin/sh\n");
        assert_int_equal(chmod(strcat(strcpy((char[128]){0}, t->root), "/systemd-run"), 0755), 0);
        setenv("PATH", t->root, 1);
        setenv("XDG_RUNTIME_DIR", t->root, 1);
        t->place.systemd_alive = t->root;
        assert_int_equal(group_make(&g, &t->place, &limits, NULL, NULL), 0);
        assert_int_equal(g.maker, GROUP_SYSTEMD);
        before = group_command(&g, argv);
        assert_string_equal(before[0], "systemd-run");
        str_clear(&text);
        for (char **a = before; *a; a++)
                str_addf(&text, "%s ", *a);
        assert_non_null(strstr(str_text(&text), "--property=MemoryMax=67108864 -- prog arg "));
        assert_int_equal(group_remove(&g), 0);
        for (char **a = before; *a != argv[0]; a++)
                free(*a);
        free(before);
        str_done(&text);
        str_done(&g.skipped);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_version_2, tree_begin, tree_end),
                cmocka_unit_test_setup_teardown(test_what_is_not_known, tree_begin, tree_end),
                cmocka_unit_test_setup_teardown(test_enables_and_restores, tree_begin, tree_end),
                cmocka_unit_test_setup_teardown(test_goes_up_but_not_out_of_a_limit, tree_begin,
                                                tree_end),
                cmocka_unit_test_setup_teardown(test_version_1, tree_begin, tree_end),
                cmocka_unit_test_setup_teardown(test_sweeps, tree_begin, tree_end),
                cmocka_unit_test_setup_teardown(test_last_resorts, tree_begin, tree_end),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
