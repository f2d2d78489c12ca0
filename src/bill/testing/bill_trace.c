/* SPDX-License-Identifier: MIT */
#include "bill/testing/bill_trace.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "query/testing/fabric.h"
#include "resident/resident_bytes.h"
#include "trace/writer.h"

enum { HEAP_BEGIN = 0x10000000, MAPPED_BEGIN = 0x40000000 };

struct paths {
        uint32_t log_line, load, map_pool;
};

static struct paths add_paths(struct fabric *f) {
        uint32_t start = fabric_frame(f, 0, "/app", "main", "/src/main.cc", 9);

        return (struct paths){fabric_frame(f, start, "/app", "Session::log_line", "/src/session.cc",
                                           41),
                              fabric_frame(f, start, "/app", "load_table", "/src/table.cc", 7),
                              fabric_frame(f, start, "/app", "Pool::grow", "/src/pool.cc", 12)};
}

static struct resident_area *add_area(struct resident *r, enum resident_kind kind, uint64_t begin,
                                      uint64_t size_bytes, const char *name) {
        struct resident_area *a = vec_add(&r->areas);

        *a = (struct resident_area){.begin = begin,
                                    .size_bytes = size_bytes,
                                    .kind = kind,
                                    .name = resident_add_name(r, name),
                                    .rss_bytes = size_bytes,
                                    .pss_bytes = size_bytes,
                                    .private_dirty_bytes = size_bytes,
                                    .anon_bytes = size_bytes};
        r->rss_bytes += size_bytes;
        r->pss_bytes += size_bytes;
        return a;
}

static void add_cells(struct resident *r, const struct paths *p, uint64_t now_ns, uint64_t live) {
        for (unsigned i = 0; i < BILL_TRACE_CELLS; i++) {
                bool goes_on = i % 8 == 3; /* a block that began before */

                vec_push(&r->cells,
                         (struct resident_cell){.begin = HEAP_BEGIN +
                                                         (uint64_t)i * BILL_TRACE_CELL_PAGES *
                                                                 BILL_TRACE_PAGE,
                                                .n_pages = BILL_TRACE_CELL_PAGES,
                                                .n_resident_pages = BILL_TRACE_CELL_PAGES,
                                                .live_bytes = live,
                                                .oldest_ns = goes_on ? 0 : now_ns / 4,
                                                .newest_ns = goes_on ? 0 : now_ns / 2 + i,
                                                .stack = i % 8 ? p->log_line : p->load,
                                                .n_blocks = goes_on ? 0 : (uint32_t)(live / 512)});
        }
}

/* A page has one block of 512 bytes each in the end. */
static void add_heap(struct resident *r, const struct paths *p, uint64_t live_in_cell) {
        uint64_t size = (uint64_t)BILL_TRACE_CELLS * BILL_TRACE_CELL_PAGES * BILL_TRACE_PAGE;
        uint64_t live = live_in_cell * BILL_TRACE_CELLS, n_pages = size / BILL_TRACE_PAGE;
        bool is_pinned = live_in_cell == BILL_TRACE_LIVE_BYTES;

        add_area(r, RESIDENT_BRK, HEAP_BEGIN, size, "[heap]")->heap_rss_bytes = size;
        r->areas.items[r->areas.n - 1].n_blocks = live / 512;
        r->areas.items[r->areas.n - 1].asked_bytes = live;
        r->areas.items[r->areas.n - 1].resident_asked_bytes = live;
        r->heap = (struct resident_heap){.rss_bytes = size,
                                         .n_blocks = live / 512,
                                         .asked_bytes = live,
                                         .resident_asked_bytes = live,
                                         .between_bytes = size - live};
        r->heap.n_pages[is_pinned ? 1 : 8] = n_pages;
        if (!is_pinned)
                return;
        vec_push(&r->pins, (struct resident_pin){.stack = p->log_line,
                                                 .n_pages = n_pages / 8 * 7,
                                                 .n_alone = n_pages / 8 * 7,
                                                 .n_blocks = n_pages / 8 * 7,
                                                 .block_bytes = n_pages / 8 * 7 * 512,
                                                 .free_bytes = n_pages / 8 * 7 * (4096 - 512)});
        vec_push(&r->pins, (struct resident_pin){.stack = p->load,
                                                 .n_pages = n_pages / 8,
                                                 .n_alone = n_pages / 8,
                                                 .n_blocks = n_pages / 8,
                                                 .block_bytes = n_pages / 8 * 512,
                                                 .free_bytes = n_pages / 8 * (4096 - 512)});
}

static void put_bill(struct fabric *f, const struct paths *p, uint64_t live_in_cell) {
        struct resident r = {.page_bytes = BILL_TRACE_PAGE, .has_blocks = true, .has_asked = true};
        struct trace_bill info = {.time_ns = fabric_now_ns(f)};
        bytes_buf bytes = {0};

        resident_add_name(&r, "");
        add_heap(&r, p, live_in_cell);
        add_cells(&r, p, info.time_ns, live_in_cell);
        add_area(&r, RESIDENT_ANON, MAPPED_BEGIN, BILL_TRACE_MAPPED_BYTES, "");
        resident_encode(&r, &bytes);
        info.rss_bytes = r.rss_bytes;
        info.n_bytes = bytes.n;
        if (!trace_put_bill(fabric_writer(f), &info, bytes.items))
                abort();
        vec_free(&bytes);
        resident_done(&r);
}

void bill_trace_write(const char *path) {
        const struct fabric_options o = {.seed = 1,
                                         .slice_events = 100,
                                         .max_processes = 1,
                                         .slice_us = 1000000};
        struct fabric *f = fabric_new(path, &o);
        struct paths p;

        fabric_thread(f, 0, "main");
        p = add_paths(f);
        trace_put_mapping(fabric_writer(f),
                          &(struct trace_mapping){.time_ns = fabric_now_ns(f),
                                                  .op = TRACE_MMAP,
                                                  .prot = PROT_READ | PROT_WRITE,
                                                  .flags = MAP_PRIVATE | MAP_ANONYMOUS,
                                                  .address = MAPPED_BEGIN,
                                                  .size_bytes = BILL_TRACE_MAPPED_BYTES,
                                                  .stack = p.map_pool});
        for (unsigned i = 0; i < 8; i++) {
                fabric_alloc(f, 0, 0, i % 2 ? p.log_line : p.load, 512);
                fabric_wait(f, 500000);
                if (i == 5)
                        trace_put_sample(fabric_writer(f),
                                         &(struct trace_sample){.time_ns = fabric_now_ns(f),
                                                                .anon_bytes =
                                                                        BILL_TRACE_MISSED_BYTES});
                fabric_wait(f, 500000);
                put_bill(f, &p, i < 4 ? 16384 : BILL_TRACE_LIVE_BYTES);
        }
        fabric_end(f);
}

void bill_trace_write_workers(const char *path, unsigned n_workers, uint64_t worker_bytes) {
        const struct fabric_options o = {.seed = 1,
                                         .slice_events = 100,
                                         .max_processes = 1 + n_workers,
                                         .slice_us = 1000000};
        struct fabric *f = fabric_new(path, &o);
        struct paths p;

        fabric_thread(f, 0, "main");
        p = add_paths(f);
        for (unsigned i = 0; i < 8; i++) {
                fabric_alloc(f, 0, 0, p.log_line, 512);
                fabric_wait(f, 1000000);
                for (unsigned k = 0; i == 3 && k < n_workers; k++)
                        fabric_fork(f, 0);
                for (unsigned k = 1; i > 3 && k <= n_workers; k++)
                        trace_put_sample(fabric_writer(f),
                                         &(struct trace_sample){.process = k,
                                                                .time_ns = fabric_now_ns(f),
                                                                .anon_bytes = worker_bytes});
                put_bill(f, &p, 16384);
        }
        fabric_end(f);
}
