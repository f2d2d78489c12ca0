/* SPDX-License-Identifier: MIT */
/* Memory cgroups of both versions and the machine, from files laid out as the kernel does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory_room.h"

static char scratch[64], proc[96], cgroup[96];

static void put(const char *name, const char *text) {
        char path[256];
        FILE *f;

        snprintf(path, sizeof(path), "%s/%s", scratch, name);
        for (char *at = path + strlen(scratch) + 1; (at = strchr(at, '/')); *at++ = '/') {
                *at = 0;
                mkdir(path, 0700);
        }
        f = fopen(path, "w");
        assert_non_null(f);
        fputs(text, f);
        fclose(f);
}

static int begin(void **state) {
        (void)state;
        snprintf(scratch, sizeof(scratch), "/tmp/memory_room_test.XXXXXX");
        if (!mkdtemp(scratch))
                return -1;
        snprintf(proc, sizeof(proc), "%s/proc", scratch);
        snprintf(cgroup, sizeof(cgroup), "%s/cgroup", scratch);
        return 0;
}

static int end(void **state) {
        char command[128];

        (void)state;
        snprintf(command, sizeof(command), "rm -r '%s'", scratch);
        return system(command);
}

static void test_fields(void **state) {
        static const char text[] =
                "low 0\noom 5\noom_kill 7\nMemTotal:     12 kB\nbad x\nbig 99999999999999999999999\n";

        (void)state;
        assert_int_equal(memory_field(text, "low"), 0);
        assert_int_equal(memory_field(text, "oom"), 5); /* not the begin of another */
        assert_int_equal(memory_field(text, "oom_kill"), 7);
        assert_int_equal(memory_field(text, "MemTotal"), 12);
        assert_true(memory_field(text, "bad") == ROOM_UNKNOWN);
        assert_true(memory_field(text, "big") == ROOM_UNKNOWN);
        assert_true(memory_field(text, "kill") == ROOM_UNKNOWN);
        assert_true(memory_field("", "low") == ROOM_UNKNOWN);
}

static void put_v1(const char *group, const char *limit, const char *usage) {
        char name[128];

        snprintf(name, sizeof(name), "cgroup/memory%s/memory.oom_control", group);
        put(name, "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
        snprintf(name, sizeof(name), "cgroup/memory%s/memory.limit_in_bytes", group);
        put(name, limit);
        snprintf(name, sizeof(name), "cgroup/memory%s/memory.usage_in_bytes", group);
        put(name, usage);
}

static void test_version_1(void **state) {
        struct memory_group g;
        struct memory_room room;

        (void)state;
        put("proc/7/cgroup", "5:cpu,memory_fake:/x\n4:hugetlb,memory:/jobs/a\n0::/\n");
        put("proc/pressure/memory", "some avg10=1.00 total=11\nfull avg10=0.00 total=5\n");
        put_v1("/jobs/a", "9223372036854771712\n", "1000\n");
        put_v1("/jobs", "5000\n", "4000\n");
        put("cgroup/memory/jobs/memory.memsw.limit_in_bytes", "7000\n");
        put("cgroup/memory/jobs/memory.memsw.usage_in_bytes", "4100\n");
        put("cgroup/memory/jobs/memory.max_usage_in_bytes", "4900\n");
        put("cgroup/memory/jobs/memory.failcnt", "3\n");
        put("cgroup/memory/jobs/memory.kmem.usage_in_bytes", "70\n");
        put("cgroup/memory/jobs/memory.stat",
            "cache 1\nrss 2\ntotal_cache 900\ntotal_rss 2000\ntotal_shmem 400\n");
        assert_true(memory_group_find(7, proc, cgroup, &g));
        assert_int_equal(g.version, 1);
        assert_string_equal(g.path, "/jobs/a");
        assert_true(memory_room_look(&g, &room));
        assert_true(room.of[ROOM_LIMIT] == ROOM_UNKNOWN);
        assert_true(memory_room_left(&room) == ROOM_UNKNOWN);
        assert_true(memory_group_rise(&g));
        assert_string_equal(g.path, "/jobs");
        assert_true(memory_room_read(&g, &room));
        memory_room_recount(&g, proc, &room);
        assert_int_equal(memory_room_left(&room), 1000);
        assert_int_equal(room.of[ROOM_SWAP_LIMIT], 2000);
        assert_int_equal(room.of[ROOM_SWAP], 100);
        assert_int_equal(room.of[ROOM_ANON], 2000);
        assert_int_equal(room.of[ROOM_SHMEM], 400);
        assert_int_equal(room.of[ROOM_FILE], 500);
        assert_int_equal(room.of[ROOM_KERNEL], 70);
        assert_int_equal(room.of[ROOM_PEAK], 4900);
        assert_int_equal(room.of[ROOM_N_MAX], 3);
        assert_int_equal(room.of[ROOM_N_KILLS], 2);
        assert_int_equal(room.of[ROOM_SOME_US], 11);
        assert_int_equal(room.of[ROOM_FULL_US], 5);
        assert_true(memory_group_rise(&g));
        assert_string_equal(g.path, "/");
        assert_false(memory_group_rise(&g));
}

static void test_version_2(void **state) {
        struct memory_group g;
        struct memory_room room;

        (void)state;
        put("proc/8/cgroup", "0::/host/path/of/a/container\n");
        put("cgroup/a/container/memory.events", "low 0\nhigh 4\nmax 9\noom 1\noom_kill 1\n");
        put("cgroup/a/container/memory.max", "max\n");
        put("cgroup/a/container/memory.current", "12\n");
        put("cgroup/a/memory.max", "5000\n");
        put("cgroup/a/memory.high", "3000\n");
        put("cgroup/a/memory.current", "6000\n");
        put("cgroup/a/memory.swap.max", "0\n");
        put("cgroup/a/memory.stat", "anon 10\nfile 30\nshmem 5\nslab 2\npagetables 3\n");
        put("cgroup/a/memory.pressure", "some avg10=0.00\nfull avg10=0.00 total=8\n");
        assert_true(memory_group_find(8, proc, cgroup, &g)); /* by the tail that is there */
        assert_int_equal(g.version, 2);
        assert_true(memory_group_rise(&g));
        assert_true(memory_room_read(&g, &room));
        memory_room_recount(&g, proc, &room);
        assert_int_equal(memory_room_left(&room), 0);
        assert_int_equal(room.of[ROOM_HIGH], 3000);
        assert_int_equal(room.of[ROOM_SWAP_LIMIT], 0);
        assert_true(room.of[ROOM_SWAP] == ROOM_UNKNOWN);
        assert_int_equal(room.of[ROOM_FILE], 25);
        assert_int_equal(room.of[ROOM_KERNEL], 5);
        assert_true(room.of[ROOM_SOME_US] == ROOM_UNKNOWN);
        assert_int_equal(room.of[ROOM_FULL_US], 8);
        assert_true(room.of[ROOM_PEAK] == ROOM_UNKNOWN);
        assert_false(memory_group_find(9, proc, cgroup, &g));
}

static void test_machine(void **state) {
        struct memory_room room;

        (void)state;
        assert_false(memory_room_read_machine(proc, &room));
        put("proc/meminfo",
            "MemTotal: 100 kB\nMemAvailable: 30 kB\nSwapTotal: 10 kB\nSwapFree: 4 kB\n");
        put("proc/vmstat", "oom_kill 3\n");
        assert_true(memory_room_read_machine(proc, &room));
        assert_int_equal(room.of[ROOM_LIMIT], 100 << 10);
        assert_int_equal(room.of[ROOM_USAGE], 70 << 10);
        assert_int_equal(room.of[ROOM_SWAP], 6 << 10);
        assert_int_equal(room.of[ROOM_N_KILLS], 3);
        assert_true(room.of[ROOM_ANON] == ROOM_UNKNOWN);
}

static void test_within(void **state) {
        (void)state;
        assert_true(memory_group_is_within("/a/b", "/a"));
        assert_true(memory_group_is_within("/a", "/a"));
        assert_true(memory_group_is_within("/a", "/"));
        assert_false(memory_group_is_within("/ab", "/a"));
        assert_false(memory_group_is_within("/", "/a"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_fields),    cmocka_unit_test(test_machine),
                cmocka_unit_test(test_version_1), cmocka_unit_test(test_version_2),
                cmocka_unit_test(test_within),
        };

        return cmocka_run_group_tests(tests, begin, end);
}
