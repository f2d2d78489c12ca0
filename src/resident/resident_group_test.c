/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "resident/resident_group.h"

static char root[] = "/tmp/resident-group-XXXXXX";

static void put(const char *path, const char *text) {
        char full[512], *slash;
        FILE *f;

        snprintf(full, sizeof(full), "%s/%s", root, path);
        for (slash = strchr(full + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
                *slash = '\0';
                mkdir(full, 0700);
                *slash = '/';
        }
        f = fopen(full, "w");
        assert_non_null(f);
        fputs(text, f);
        fclose(f);
}

static struct resident take(pid_t pid, const char *cgroups) {
        struct resident r = {0};
        char proc[128], tree[128];

        snprintf(proc, sizeof(proc), "%s/proc", root);
        snprintf(tree, sizeof(tree), "%s/%s", root, cgroups);
        resident_group(&r, pid, proc, tree);
        return r;
}

static void test_v1(void **state) {
        struct resident r;

        (void)state;
        put("proc/1/cgroup", "5:cpu:/\n4:hugetlb,memory:/a/b\n0::/\n");
        put("v1/memory/memory.usage_in_bytes", "999999\n");
        put("v1/memory/memory.limit_in_bytes", "9223372036854771712\n");
        put("v1/memory/a/memory.usage_in_bytes", "5000\n");
        put("v1/memory/a/memory.limit_in_bytes", "7000\n");
        put("v1/memory/a/b/memory.usage_in_bytes", "4000\n");
        put("v1/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
        put("v1/memory/a/b/memory.kmem.usage_in_bytes", "300\n");
        put("v1/memory/a/b/cgroup.procs", "1\n2\n3\n");
        put("v1/memory/a/b/memory.stat",
            "cache 1\nrss 2\ntotal_cache 1500\ntotal_rss 2000\ntotal_shmem 400\ntotal_swap 70\n");
        r = take(1, "v1");
        assert_int_equal(r.cgroup.version, 1);
        assert_int_equal(r.cgroup.usage_bytes, 4000);
        assert_int_equal(r.cgroup.limit_bytes, 7000); /* of the group above */
        assert_int_equal(r.cgroup.anon_bytes, 2000);
        assert_int_equal(r.cgroup.shmem_bytes, 400);
        assert_int_equal(r.cgroup.file_bytes, 1100);
        assert_int_equal(r.cgroup.kernel_bytes, 300);
        assert_int_equal(r.cgroup.swap_bytes, 70);
        assert_int_equal(r.cgroup.n_processes, 3);
        assert_non_null(strstr(resident_name(&r, r.cgroup.path), "/memory/a/b"));
        resident_done(&r);

        /* the root group is the whole machine */
        put("proc/2/cgroup", "4:memory:/\n");
        r = take(2, "v1");
        assert_int_equal(r.cgroup.version, 0);
        resident_done(&r);

        /* a container sees its own as the root of the tree */
        put("proc/3/cgroup", "4:memory:/docker/0815/b\n");
        put("inside/memory/b/memory.usage_in_bytes", "11\n");
        r = take(3, "inside");
        assert_int_equal(r.cgroup.usage_bytes, 11);
        assert_int_equal(r.cgroup.limit_bytes, UINT64_MAX);
        resident_done(&r);
}

static void test_v2(void **state) {
        struct resident r;

        (void)state;
        put("proc/4/cgroup", "0::/x/y\n");
        put("v2/x/memory.current", "6000\n"); /* the controller is not on further below */
        put("v2/x/memory.max", "max\n");
        put("v2/x/memory.swap.current", "55\n");
        put("v2/x/memory.stat",
            "anon 3000\nfile 2000\nkernel 700\nkernel_stack 9\nshmem 500\nfile_mapped 1\n");
        put("v2/x/y/cgroup.procs", "4\n");
        r = take(4, "v2");
        assert_int_equal(r.cgroup.version, 2);
        assert_int_equal(r.cgroup.usage_bytes, 6000);
        assert_int_equal(r.cgroup.limit_bytes, UINT64_MAX);
        assert_int_equal(r.cgroup.anon_bytes, 3000);
        assert_int_equal(r.cgroup.file_bytes, 1500);
        assert_int_equal(r.cgroup.shmem_bytes, 500);
        assert_int_equal(r.cgroup.kernel_bytes, 700);
        assert_int_equal(r.cgroup.swap_bytes, 55);
        resident_done(&r);
}

static void test_nothing(void **state) {
        struct resident r;

        (void)state;
        r = take(77, "v2");
        assert_int_equal(r.cgroup.version, 0);
        put("proc/5/cgroup", "::::\n0::\n:::/\nx\n4:memory:/../../../..\n");
        r = take(5, "v1/memory");
        assert_int_equal(r.cgroup.version, 0);
        resident_done(&r);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_v1),
                cmocka_unit_test(test_v2),
                cmocka_unit_test(test_nothing),
        };
        char command[128];
        int x;

        if (!mkdtemp(root))
                return 1;
        x = cmocka_run_group_tests(tests, NULL, NULL);
        snprintf(command, sizeof(command), "rm -rf %s", root);
        return system(command) || x;
}
