/* SPDX-License-Identifier: MIT */
/* Looks at pages of this process, held against what it touched and what mincore says; and at made-up page maps: files with
 * the same words. */
#include <fcntl.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "pipeline/block_residency.h"
#include "pipeline/testing/fake_writer.h"

enum { N_STACKS = 4, PER_LARGE = 20 };

#define PRESENT ((uint64_t)1 << 63)
#define SWAPPED ((uint64_t)1 << 62)

struct setup {
        struct live live;
        struct residency *r;
        struct trace_writer *w;
        int fd; /* the page map */
        uint64_t now_ns, next_seq, page_bytes;
};

static void setup_begin(struct setup *s, const char *pagemap) {
        *s = (struct setup){.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE)};
        s->w = fake_writer_new(false);
        trace_add_process(s->w, &(struct trace_process){.pid = 1});
        for (uint32_t i = 0; i < N_STACKS; i++) {
                trace_add_location(s->w, &(struct trace_location){.module = UINT32_MAX});
                trace_add_stack(s->w, i, i);
        }
        live_init(&s->live, NULL);
        s->fd = pagemap ? open(pagemap, O_RDONLY | O_CLOEXEC)
                        : memfd_create("pagemap", MFD_CLOEXEC);
        assert_true(s->fd >= 0);
}

static void setup_end(struct setup *s) {
        residency_free(s->r);
        live_done(&s->live);
        fake_writer_free(s->w);
        close(s->fd);
}

static uint64_t put_block(struct setup *s, uint64_t address, uint64_t size_bytes, uint32_t stack) {
        struct residency_birth b = {.address = address,
                                    .seq = s->next_seq,
                                    .size_bytes = size_bytes,
                                    .process = 0,
                                    .stack = stack};

        block_set(live_add(&s->live, address), 0, s->next_seq, size_bytes, 0, 0);
        residency_note(&s->r, &s->live, &b);
        return s->next_seq++;
}

static void take_block(struct setup *s, uint64_t address) {
        struct block b;

        assert_true(live_take(&s->live, address, &b));
}

static void look(struct setup *s) {
        struct residency_budget budget = {1000, 1000000};

        residency_look(s->r, &s->live, s->fd, s->now_ns += 1000, &budget);
}

static void settle(struct setup *s) {
        residency_settle(s->r, &s->live, true);
        residency_write(s->r, s->w, true);
}

static void look_twice(struct setup *s) {
        look(s);
        settle(s);
        look(s);
        settle(s);
}

/* The last row of a stack; all zero when there is none. */
static struct trace_residency row_of(const struct setup *s, uint32_t stack) {
        struct trace_residency row = {0};

        for (size_t i = 0; i < s->w->residency.n; i++)
                if (s->w->residency.items[i].stack == stack)
                        row = s->w->residency.items[i];
        return row;
}

static void set_pages(const struct setup *s, uint64_t first_page, uint64_t n, uint64_t entry) {
        for (uint64_t i = 0; i < n; i++)
                assert_int_equal(pwrite(s->fd, &entry, 8, (off_t)((first_page + i) * 8)), 8);
}

/* ---- real pages --------------------------------------------------------------------------------- */

static uint64_t rng_state = 1;

static uint64_t rng(uint64_t below) {
        rng_state = rng_state * 6364136223846793005ull + 1442695040888963407ull;
        return (rng_state >> 33) % below;
}

static uint64_t mincore_bytes(const struct setup *s, char *p, uint64_t size_bytes) {
        uint64_t begin = (uintptr_t)p / s->page_bytes * s->page_bytes, bytes = 0;
        uint64_t n = ((uintptr_t)p + size_bytes - 1 - begin) / s->page_bytes + 1;
        unsigned char *in_core = malloc(n);

        assert_int_equal(mincore((void *)begin, n * s->page_bytes, in_core), 0);
        for (uint64_t i = 0; i < n; i++) {
                uint64_t from = MAX(begin + i * s->page_bytes, (uintptr_t)p);
                uint64_t to = MIN(begin + (i + 1) * s->page_bytes, (uintptr_t)p + size_bytes);

                bytes += in_core[i] & 1 ? to - from : 0;
        }
        free(in_core);
        return bytes;
}

/* Blocks that begin and end anywhere in pages, of which random pages are touched. */
static void test_own_pages(void **state) {
        enum { N = 40 };
        struct setup s;
        uint64_t touched = 0, bytes = 0;
        struct {
                char *p;
                uint64_t n_bytes;
        } maps[N];

        (void)state;
        setup_begin(&s, "/proc/self/pagemap");
        for (int i = 0; i < N; i++) {
                uint64_t n_pages = 20 + rng(100), off = rng(s.page_bytes);
                uint64_t size = n_pages * s.page_bytes - off - rng(s.page_bytes);
                char *p = mmap(NULL, n_pages * s.page_bytes, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

                assert_ptr_not_equal(p, MAP_FAILED);
                madvise(p, n_pages * s.page_bytes, MADV_NOHUGEPAGE);
                maps[i].p = p;
                maps[i].n_bytes = n_pages * s.page_bytes;
                for (uint64_t k = 0; k < n_pages; k++) {
                        uint64_t from = MAX(k * s.page_bytes, off);
                        uint64_t to = MIN((k + 1) * s.page_bytes, off + size);

                        if (rng(3))
                                continue;
                        p[k * s.page_bytes] = 1;
                        touched += to > from ? to - from : 0;
                }
                bytes += size;
                put_block(&s, (uintptr_t)p + off, size, 1);
        }
        look_twice(&s);
        assert_int_equal(row_of(&s, 1).now.n_blocks, N);
        assert_int_equal(row_of(&s, 1).now.bytes, bytes);
        assert_int_equal(row_of(&s, 1).now.touched_bytes, touched);
        for (int i = 0; i < N; i++)
                munmap(maps[i].p, maps[i].n_bytes);
        setup_end(&s);
}

/* What malloc and calloc hand out, against mincore. */
static void test_own_heap(void **state) {
        enum { N = 30 };
        struct setup s;
        uint64_t touched[3] = {0}, sizes[2][N];
        char *p[2][N];

        (void)state;
        setup_begin(&s, "/proc/self/pagemap");
        for (int i = 0; i < 2 * N; i++) {
                uint64_t size = 200000 + rng(1000000), share = rng(size);

                sizes[i % 2][i / 2] = size;
                p[i % 2][i / 2] = i % 2 ? calloc(1, size) : malloc(size);
                assert_non_null(p[i % 2][i / 2]);
                memset(p[i % 2][i / 2], 1, i % 2 ? 0 : share);
                put_block(&s, (uintptr_t)p[i % 2][i / 2], size, 1 + (uint32_t)i % 2);
        }
        look_twice(&s);
        for (int i = 0; i < 2 * N; i++)
                touched[1 + i % 2] += mincore_bytes(&s, p[i % 2][i / 2], sizes[i % 2][i / 2]);
        assert_int_equal(row_of(&s, 1).now.touched_bytes, touched[1]);
        assert_int_equal(row_of(&s, 2).now.touched_bytes, touched[2]);
        assert_true(touched[1] < row_of(&s, 1).now.bytes);
        for (int i = 0; i < 2 * N; i++)
                free(p[i % 2][i / 2]);
        setup_end(&s);
}

/* ---- made-up pages ------------------------------------------------------------------------------ */

#define SIZE(s) (PER_LARGE * (s)->page_bytes)

/* Present or swapped, at any look. */
static void test_touched_stays(void **state) {
        struct setup s;

        (void)state;
        setup_begin(&s, NULL);
        put_block(&s, 100 * s.page_bytes, SIZE(&s), 1);
        set_pages(&s, 100, PER_LARGE, 0);
        set_pages(&s, 101, 2, PRESENT);
        set_pages(&s, 105, 1, SWAPPED | 77);
        look_twice(&s);
        assert_int_equal(row_of(&s, 1).now.touched_bytes, 3 * s.page_bytes);
        set_pages(&s, 100, PER_LARGE, 77); /* given back: they were touched all the same */
        set_pages(&s, 110, 1, PRESENT);
        look(&s);
        settle(&s);
        assert_int_equal(row_of(&s, 1).now.touched_bytes, 4 * s.page_bytes);
        assert_int_equal(row_of(&s, 1).max_touched_bytes, 4 * s.page_bytes);
        assert_int_equal(row_of(&s, 1).seen.touched_bytes, 4 * s.page_bytes);
        assert_int_equal(row_of(&s, 1).peak_ns, s.now_ns);
        setup_end(&s);
}

/* Still being filled: it counts once a look finds nothing new. */
static void test_growing(void **state) {
        struct setup s;

        (void)state;
        setup_begin(&s, NULL);
        put_block(&s, 100 * s.page_bytes, SIZE(&s), 1);
        set_pages(&s, 100, PER_LARGE, 0);
        for (uint64_t i = 0; i < 5; i++) {
                set_pages(&s, 100, 1 + i, PRESENT);
                look(&s);
                settle(&s);
                assert_int_equal(row_of(&s, 1).seen.n_blocks, 0);
        }
        look(&s);
        assert_int_equal(row_of(&s, 1).seen.n_blocks, 0); /* not before it is settled */
        settle(&s);
        assert_int_equal(row_of(&s, 1).seen.n_blocks, 1);
        assert_int_equal(row_of(&s, 1).now.touched_bytes, 5 * s.page_bytes);
        setup_end(&s);
}

/* Released, or released and handed out again, before the look or soon after: that look says nothing. */
static void test_released(void **state) {
        struct setup s;

        (void)state;
        setup_begin(&s, NULL);
        for (uint64_t i = 1; i <= 3; i++) {
                put_block(&s, i * 100 * s.page_bytes, SIZE(&s), (uint32_t)i);
                set_pages(&s, i * 100, PER_LARGE, 0);
        }
        look(&s);
        settle(&s);
        look(&s);
        take_block(&s, 100 * s.page_bytes);
        take_block(&s, 200 * s.page_bytes);
        put_block(&s, 200 * s.page_bytes, SIZE(&s), 2);
        settle(&s);
        assert_int_equal(row_of(&s, 1).seen.n_blocks, 0);
        assert_int_equal(row_of(&s, 2).seen.n_blocks, 0);
        assert_int_equal(row_of(&s, 3).seen.n_blocks, 1);
        look_twice(&s);
        assert_int_equal(row_of(&s, 2).seen.n_blocks, 1);
        take_block(&s, 300 * s.page_bytes);
        look_twice(&s);
        assert_int_equal(row_of(&s, 3).now.n_blocks, 0);
        assert_int_equal(row_of(&s, 3).peak.bytes, SIZE(&s));
        assert_int_equal(row_of(&s, 3).seen.bytes, SIZE(&s));
        setup_end(&s);
}

/* Another image's pages were looked at. */
static void test_forgotten(void **state) {
        struct setup s;

        (void)state;
        setup_begin(&s, NULL);
        put_block(&s, 100 * s.page_bytes, SIZE(&s), 1);
        set_pages(&s, 100, PER_LARGE, 0);
        look(&s);
        settle(&s);
        look(&s);
        residency_settle(s.r, &s.live, false);
        residency_write(s.r, s.w, true);
        assert_int_equal(s.w->residency.n, 0);
        setup_end(&s);
}

/* The page map ends early: what was not read is not untouched. */
static void test_short_read(void **state) {
        struct setup s;

        (void)state;
        setup_begin(&s, NULL);
        put_block(&s, 100 * s.page_bytes, SIZE(&s), 1);
        set_pages(&s, 100, PER_LARGE - 1, PRESENT);
        look_twice(&s);
        assert_int_equal(s.w->residency.n, 0);
        setup_end(&s);
}

/* A look does what its budget allows; the next goes on from there. */
static void test_budget(void **state) {
        enum { N = 10 };
        struct setup s;
        uint64_t n_seen;

        (void)state;
        setup_begin(&s, NULL);
        for (uint64_t i = 0; i < N; i++) {
                put_block(&s, (100 + i * PER_LARGE) * s.page_bytes, SIZE(&s), 1);
                set_pages(&s, 100 + i * PER_LARGE, PER_LARGE, 0);
        }
        for (int turn = 0; turn < 8; turn++) {
                struct residency_budget budget = {turn % 2 ? N : 3,
                                                  turn % 2 ? 3 * PER_LARGE + 1 : 1000000};

                residency_look(s.r, &s.live, s.fd, s.now_ns += 1000, &budget);
                settle(&s);
                n_seen = row_of(&s, 1).seen.n_blocks;
                assert_int_equal(n_seen, turn < 3 ? 0 : MIN(N, (turn - 3) * 3 + 2));
                assert_true(turn % 2 || budget.n_blocks == 0);
                assert_true(turn % 2 == 0 || budget.n_pages == 1);
        }
        setup_end(&s);
}

/* More than there is room for, dead ones among them; and sizes no address space has. */
static void test_room(void **state) {
        enum { N = 3 * RESIDENCY_MAX_BLOCKS };
        struct setup s;

        (void)state;
        setup_begin(&s, NULL);
        for (uint64_t i = 0; i < N; i++) {
                uint64_t address = (1000 + i * PER_LARGE) * s.page_bytes;

                put_block(&s, address, SIZE(&s), 1);
                if (i % 2)
                        take_block(&s, address);
        }
        assert_in_range(s.r->blocks.n, RESIDENCY_MAX_BLOCKS / 2, RESIDENCY_MAX_BLOCKS);
        put_block(&s, UINT64_MAX - 10, SIZE(&s), 1);
        put_block(&s, 16, BLOCK_MAX_BYTES, 1);
        look_twice(&s);
        assert_int_equal(s.w->residency.n, 0); /* an empty file */
        assert_true(s.r->n_pages <= RESIDENCY_MAX_PAGES);
        setup_end(&s);
}

/* A loop that asks for one block again and again takes one place. */
static void test_same_address(void **state) {
        struct setup s;

        (void)state;
        setup_begin(&s, NULL);
        for (uint64_t i = 0; i < 1000; i++) {
                put_block(&s, 100 * s.page_bytes, SIZE(&s) + i, 1);
                take_block(&s, 100 * s.page_bytes);
        }
        assert_int_equal(s.r->blocks.n, 1);
        setup_end(&s);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_own_pages),     cmocka_unit_test(test_own_heap),
                cmocka_unit_test(test_touched_stays), cmocka_unit_test(test_growing),
                cmocka_unit_test(test_released),      cmocka_unit_test(test_forgotten),
                cmocka_unit_test(test_short_read),    cmocka_unit_test(test_budget),
                cmocka_unit_test(test_room),          cmocka_unit_test(test_same_address),
        };

        mallopt(M_PERTURB, 0); /* MALLOC_PERTURB_ would touch every page */
        return cmocka_run_group_tests(tests, NULL, NULL);
}
