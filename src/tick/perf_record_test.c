/* SPDX-License-Identifier: MIT */
/* Records as the kernel lays them out, in a ring as it fills one: fields are found, what goes over the end is whole, and what makes
 * no sense is left out and counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <linux/perf_event.h>

#include "tick/perf_record.h"
#include "tick/perf_ring.h"
#include "tick/testing/made_record.h"

enum { RING_BYTES = 65536 };

static void test_sample(void **state) {
        struct made_record m = made_sample(123456789);
        struct perf_record r;

        (void)state;
        assert_true(perf_record_decode(m.bytes, m.n, &r));
        assert_int_equal(perf_record_time_ns(m.bytes, m.n), 123456789);
        assert_int_equal(r.type, PERF_RECORD_SAMPLE);
        assert_int_equal(r.event_id, 77);
        assert_int_equal(r.pid, 11);
        assert_int_equal(r.tid, 12);
        assert_int_equal(r.time_ns, 123456789);
        assert_int_equal(r.sample.n_kernel, 2);
        assert_true(r.sample.kernel_pcs[1] == 0xffffffff81000020);
        assert_int_equal(r.sample.abi, PERF_ABI_64);
#if defined(__aarch64__)
        assert_int_equal(r.sample.fp, 0x1000);
        assert_int_equal(r.sample.lr, 0x1001);
#else
        assert_int_equal(r.sample.lr, 0x1000);
        assert_int_equal(r.sample.fp, 0x1001);
#endif
        assert_int_equal(r.sample.sp, 0x1000 + PERF_N_REGS - 2);
        assert_int_equal(r.sample.pc, 0x1000 + PERF_N_REGS - 1);
        assert_int_equal(r.sample.n_stack, 40);
        assert_int_equal(r.sample.stack[8], 1);
}

/* Cut anywhere it is refused, or is a shorter one that is whole. */
static void test_cut_sample(void **state) {
        struct made_record m = made_sample(1);
        struct perf_record r;

        (void)state;
        for (size_t n = 0; n < m.n; n++)
                assert_false(perf_record_decode(m.bytes, n, &r));
}

static void test_others(void **state) {
        struct made_record m = made_begin(PERF_RECORD_MMAP2, 0);
        struct perf_record r;

        (void)state;
        made_add_pair(&m, 11, 12);
        made_add(&m, 0x7f0000000000);
        made_add(&m, 0x2000);
        made_add(&m, 0x1000);
        made_add(&m, 0);
        made_add(&m, 0);
        made_add(&m, 0);
        made_add_pair(&m, PROT_READ | PROT_EXEC, 0);
        memcpy(m.bytes + m.n, "/lib/x.so\0\0\0\0\0\0", 16);
        m.n += 16;
        made_end_with_trailer(&m, 5);
        assert_true(perf_record_decode(m.bytes, m.n, &r));
        assert_true(r.begin == 0x7f0000000000 && r.end == 0x7f0000002000);
        assert_int_equal(r.file_offset, 0x1000);
        assert_true(r.is_code);
        assert_string_equal(r.text, "/lib/x.so");
        assert_int_equal(perf_record_time_ns(m.bytes, m.n), 5);

        m = made_begin(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
        made_add_pair(&m, 11, 12);
        memcpy(m.bytes + m.n, "worker\0", 8);
        m.n += 8;
        made_end_with_trailer(&m, 6);
        assert_true(perf_record_decode(m.bytes, m.n, &r));
        assert_true(r.is_exec);
        assert_string_equal(r.text, "worker");

        m = made_begin(PERF_RECORD_FORK, 0);
        made_add_pair(&m, 21, 11);
        made_add_pair(&m, 22, 12);
        made_add(&m, 7);
        made_end_with_trailer(&m, 7);
        assert_true(perf_record_decode(m.bytes, m.n, &r));
        assert_int_equal(r.pid, 21);
        assert_int_equal(r.tid, 22);
        assert_int_equal(r.parent_pid, 11);
        assert_int_equal(r.parent_tid, 12);

        m = made_begin(PERF_RECORD_SWITCH,
                       PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
        made_end_with_trailer(&m, 8);
        assert_true(perf_record_decode(m.bytes, m.n, &r));
        assert_true(r.is_out && r.is_preempted);
        assert_int_equal(r.tid, 12);

        m = made_begin(PERF_RECORD_LOST, 0);
        made_add(&m, 77);
        made_add(&m, 31);
        made_end_with_trailer(&m, 9);
        assert_true(perf_record_decode(m.bytes, m.n, &r));
        assert_int_equal(r.n_lost, 31);
}

/* A text that does not end within its record is none. */
static void test_endless_name(void **state) {
        struct made_record m = made_begin(PERF_RECORD_COMM, 0);
        struct perf_record r;

        (void)state;
        made_add_pair(&m, 11, 12);
        memset(m.bytes + m.n, 'x', 8);
        m.n += 8;
        made_end_with_trailer(&m, 6);
        assert_false(perf_record_decode(m.bytes, m.n, &r));
}

/* ---- ring ------------------------------------------------------------------------------------------ */

static int make_ring(struct perf_ring *ret) {
        size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
        int fd = memfd_create("ring", MFD_CLOEXEC);

        assert_int_equal(ftruncate(fd, (off_t)(RING_BYTES + page_bytes)), 0);
        assert_int_equal(perf_ring_init(ret, fd, RING_BYTES), 0);
        return fd;
}

static void write_ring(struct perf_ring *r, const struct made_record *m) {
        struct perf_event_mmap_page *page = r->map;
        uint8_t *data = (uint8_t *)r->map + sysconf(_SC_PAGESIZE);

        for (size_t i = 0; i < m->n; i++)
                data[(page->data_head + i) % RING_BYTES] = m->bytes[i];
        page->data_head += m->n;
}

static void test_ring(void **state) {
        struct perf_ring r;
        int fd = make_ring(&r);
        const uint8_t *bytes;
        struct perf_record x;
        size_t n;

        (void)state;
        perf_ring_refresh(&r);
        assert_false(perf_ring_peek(&r, &bytes, &n));
        for (uint64_t i = 1; i < 1000; i++) { /* many times round */
                struct made_record m = made_sample(i);

                write_ring(&r, &m);
                assert_false(perf_ring_peek(&r, &bytes, &n)); /* not before it is asked for */
                perf_ring_refresh(&r);
                assert_true(perf_ring_peek(&r, &bytes, &n));
                assert_int_equal(n, m.n);
                assert_memory_equal(bytes, m.bytes, n);
                assert_true(perf_record_decode(bytes, n, &x));
                assert_int_equal(x.time_ns, i);
                perf_ring_advance(&r, n);
                assert_false(perf_ring_peek(&r, &bytes, &n));
        }
        assert_int_equal(r.n_broken, 0);
        perf_ring_done(&r);
        close(fd);
}

/* A size that cannot be: all that is there goes, and what comes later is read. */
static void test_broken_ring(void **state) {
        struct made_record m = made_sample(1), short_one = made_begin(PERF_RECORD_SAMPLE, 0);
        struct perf_ring r;
        int fd = make_ring(&r);
        struct perf_event_mmap_page *page = r.map;
        const uint8_t *bytes;
        size_t n;

        (void)state;
        write_ring(&r, &short_one); /* its size is 0 */
        write_ring(&r, &m);
        perf_ring_refresh(&r);
        assert_false(perf_ring_peek(&r, &bytes, &n));
        assert_int_equal(r.n_broken, 1);
        write_ring(&r, &m);
        perf_ring_refresh(&r);
        assert_true(perf_ring_peek(&r, &bytes, &n));
        perf_ring_advance(&r, n);

        page->data_head += m.n - 8; /* a head within a record, or further than the ring is large */
        write_ring(&r, &m);
        page->data_head += 3 * (uint64_t)RING_BYTES;
        perf_ring_refresh(&r);
        assert_false(perf_ring_peek(&r, &bytes, &n));
        assert_int_equal(r.n_broken, 2);
        perf_ring_done(&r);
        close(fd);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_sample), cmocka_unit_test(test_cut_sample),
                cmocka_unit_test(test_others), cmocka_unit_test(test_endless_name),
                cmocka_unit_test(test_ring),   cmocka_unit_test(test_broken_ring),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
