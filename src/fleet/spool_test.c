/* SPDX-License-Identifier: MIT */
#include "fleet/spool.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fs.h"
#include "fleet/testing/toy_batch.h"

static char folder[64];

static int make_folder(void **state) {
        snprintf(folder, sizeof(folder), "/tmp/spool_test.XXXXXX");
        return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
        char command[128];

        snprintf(command, sizeof(command), "rm -r '%s'", folder);
        return system(command);
}

static struct spool *open_spool(uint64_t max_bytes) {
        struct spool *s = NULL;

        assert_int_equal(spool_open(folder, max_bytes, &s, NULL), 0);
        return s;
}

static void add(struct spool *s, uint64_t i) {
        struct fleet_batch *b = toy_batch(i);

        assert_int_equal(spool_add(s, b, NULL), 0);
        fleet_batch_free(b);
}

/* Bytes that one of them takes there. */
static uint64_t one_size(void) {
        struct fleet_batch *b = toy_batch(0);
        bytes_buf bytes = {0};
        uint64_t n;

        fleet_batch_pack(b, &bytes);
        n = bytes.n;
        vec_free(&bytes);
        fleet_batch_free(b);
        return n;
}

static void the_oldest_comes_first(void **state) {
        struct spool *s = open_spool(1 << 20);
        struct spool_file f;

        add(s, 2);
        add(s, 0);
        add(s, 1);
        assert_int_equal(spool_state(s).n_files, 3);
        for (uint64_t i = 0; i < 3; i++) {
                assert_int_equal(spool_take(s, "", 1, 1, &f, NULL), 1);
                assert_int_equal(f.batch->snapshots.items[0].recording_ms, (i + 1) * 60000);
                assert_int_equal(spool_remove(s, &f, NULL), 0);
        }
        assert_int_equal(spool_take(s, "", 1, 1, &f, NULL), 0);
        spool_close(s);
}

static void several_are_taken_at_once(void **state) {
        struct spool *s = open_spool(1 << 20);
        struct spool_file f[4];

        for (uint64_t i = 0; i < 4; i++)
                add(s, i);
        assert_int_equal(spool_take(s, "", 3, SIZE_MAX, f, NULL), 3);
        assert_int_equal(f[2].batch->snapshots.items[0].recording_ms, 180000);
        for (size_t i = 0; i < 3; i++)
                spool_put_back(&f[i]);
        /* each has two sites */
        assert_int_equal(spool_take(s, f[0].name, 4, 3, f + 1, NULL), 2);
        assert_int_equal(f[1].batch->snapshots.items[0].recording_ms, 120000);
        spool_put_back(&f[1]);
        spool_put_back(&f[2]);
        spool_close(s);
}

static void what_is_refused_is_set_aside_and_goes_first(void **state) {
        struct spool *s = open_spool(8 * one_size());
        struct spool_file f;

        add(s, 0);
        assert_int_equal(spool_take(s, "", 1, 1, &f, NULL), 1);
        spool_refuse(s, &f);
        assert_int_equal(spool_state(s).n_refused, 1);
        assert_int_equal(spool_state(s).n_files, 0);
        assert_true(spool_state(s).n_bytes > 0);
        for (uint64_t i = 1; i < 8; i++)
                add(s, i);
        assert_int_equal(spool_state(s).n_dropped, 0);
        add(s, 8);
        assert_int_equal(spool_state(s).n_dropped, 0);
        assert_int_equal(spool_state(s).n_files, 8);
        spool_close(s);
}

/* A file that is added again is the same file. */
static void the_same_batch_is_there_once(void **state) {
        struct spool *s = open_spool(1 << 20);

        add(s, 0);
        add(s, 0);
        assert_int_equal(spool_state(s).n_files, 1);
        spool_close(s);
}

static void what_one_sends_no_other_takes(void **state) {
        struct spool *s = open_spool(1 << 20), *other = open_spool(1 << 20);
        struct spool_file f, g;

        add(s, 0);
        add(s, 1);
        assert_int_equal(spool_take(s, "", 1, 1, &f, NULL), 1);
        assert_int_equal(spool_take(other, "", 1, 1, &g, NULL), 1);
        assert_string_not_equal(f.name, g.name);
        assert_int_equal(spool_remove(other, &g, NULL), 0);
        assert_int_equal(spool_take(other, "", 1, 1, &g, NULL), 0);
        spool_put_back(&f);
        assert_int_equal(spool_take(other, "", 1, 1, &g, NULL), 1);
        spool_put_back(&g);
        spool_close(s);
        spool_close(other);
}

static void the_oldest_make_room_and_are_told(void **state) {
        struct spool *s = open_spool(64 * one_size());
        uint64_t n_lost = 0, n_there = 0;
        struct spool_file f;

        for (uint64_t i = 0; i < 300; i++) {
                add(s, i);
                assert_true(spool_state(s).n_bytes <= 64 * one_size());
        }
        assert_true(spool_state(s).n_dropped > 200);
        while (spool_take(s, "", 1, 1, &f, NULL) > 0) {
                n_there += f.batch->snapshots.n;
                for (size_t i = 0; i < f.batch->losses.n; i++)
                        n_lost += f.batch->losses.items[i].n_snapshots;
                assert_int_equal(spool_remove(s, &f, NULL), 0);
        }
        /* of each it is known what became of it */
        assert_true(n_there > 0);
        assert_int_equal(n_there + n_lost, 300);
        spool_close(s);
}

/* Whoever died between dropping one and telling it left it behind. */
static void what_was_dropped_and_not_told_is_told_later(void **state) {
        struct spool *s = open_spool(1 << 20);
        struct spool_file f;
        char from[200], to[200];

        add(s, 0);
        assert_int_equal(spool_take(s, "", 1, 1, &f, NULL), 1);
        snprintf(from, sizeof(from), "%s/%s", folder, f.name);
        snprintf(to, sizeof(to), "%s/x.dropped", folder);
        spool_put_back(&f);
        assert_int_equal(rename(from, to), 0);
        add(s, 1);
        assert_int_equal(access(to, F_OK), -1);
        assert_int_equal(spool_take(s, "", 1, 1, &f, NULL), 1);
        assert_int_equal(f.batch->losses.n, 1);
        assert_int_equal(f.batch->losses.items[0].n_snapshots, 1);
        assert_int_equal(f.batch->losses.items[0].from_unix_ms, 1700000060000);
        spool_put_back(&f);
        spool_close(s);
}

static void a_damaged_file_is_set_aside(void **state) {
        struct spool *s = open_spool(1 << 20);
        struct spool_file f;
        char path[128];
        int fd;

        snprintf(path, sizeof(path), "%s/0000-x.batch", folder);
        fd = fs_open(path, O_WRONLY | O_CREAT, 0600);
        assert_int_equal(fs_write_all(fd, "SILTPUSHxxxx", 12), 0);
        close(fd);
        snprintf(path, sizeof(path), "%s/0000-link.batch", folder);
        assert_int_equal(symlink("/etc/passwd", path), 0);
        add(s, 3);
        assert_int_equal(spool_take(s, "", 1, 1, &f, NULL), 1);
        assert_int_equal(f.batch->snapshots.items[0].recording_ms, 240000);
        spool_put_back(&f);
        assert_int_equal(spool_state(s).n_damaged, 1);
        snprintf(path, sizeof(path), "%s/0000-x.damaged", folder);
        assert_int_equal(access(path, F_OK), 0);
        spool_close(s);
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)
                T(the_oldest_comes_first),
                T(several_are_taken_at_once),
                T(what_is_refused_is_set_aside_and_goes_first),
                T(the_same_batch_is_there_once),
                T(what_one_sends_no_other_takes),
                T(the_oldest_make_room_and_are_told),
                T(what_was_dropped_and_not_told_is_told_later),
                T(a_damaged_file_is_set_aside),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
