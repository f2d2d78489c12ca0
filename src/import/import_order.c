/* SPDX-License-Identifier: MIT */
#include "import/import_order.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macros.h"
#include "base/vec.h"

enum { ORDER_RUN_RECORDS = 1 << 19, ORDER_READ_BYTES = 64 << 10 };

/* Where in the run a record is: sorting moves these and not the records. */
struct place {
        uint64_t time;
        uint32_t idx;
};

/* A sorted stretch of the file, and what was read of it. */
struct run {
        uint64_t at, end; /* offsets of what is still to be read */
        uint8_t *buf;     /* [begin, n) */
        size_t begin, n;
};

struct import_order {
        size_t stride;  /* time and record */
        uint8_t *items; /* of the run that is being filled */
        VEC(struct place) places;
        size_t run_records,
                next_idx; /* next_idx: in places, while the last run is read from memory */
        bool is_sorted, is_reading;
        int fd; /* -1: all is in memory */
        uint64_t file_bytes;
        VEC(struct run) runs;
        VEC(uint32_t) heap; /* runs that have something, the earliest first */
        uint8_t *out;
};

struct import_order *import_order_new(size_t record_bytes, size_t run_records) {
        struct import_order *o = calloc(1, sizeof(*o));

        if (!o)
                abort();
        o->fd = -1;
        o->stride = sizeof(uint64_t) + record_bytes;
        o->run_records = run_records ? run_records : ORDER_RUN_RECORDS;
        o->is_sorted = true;
        return o;
}

struct import_order *import_order_free(struct import_order *o) {
        if (!o)
                return NULL;
        if (o->fd >= 0)
                close(o->fd);
        for (size_t i = 0; i < o->runs.n; i++)
                free(o->runs.items[i].buf);
        vec_free(&o->runs);
        vec_free(&o->heap);
        vec_free(&o->places);
        free(o->items);
        free(o->out);
        free(o);
        return NULL;
}

static uint64_t time_of(const uint8_t *item) {
        uint64_t time;

        memcpy(&time, item, sizeof(time));
        return time;
}

/* ---- one run ------------------------------------------------------------------------------------ */

static int compare_places(const void *a, const void *b) {
        const struct place *x = a, *y = b;

        if (x->time != y->time)
                return x->time < y->time ? -1 : 1;
        return x->idx < y->idx ? -1 : x->idx > y->idx;
}

static void sort_run(struct import_order *o) {
        if (!o->is_sorted)
                qsort(o->places.items, o->places.n, sizeof(o->places.items[0]), compare_places);
        o->is_sorted = true;
}

static const uint8_t *item_at(const struct import_order *o, size_t n) {
        return o->items + o->places.items[n].idx * o->stride;
}

static int write_run(struct import_order *o) {
        struct run run = {.at = o->file_bytes};
        size_t n_out = 0;
        int r = 0;

        if (o->fd < 0)
                o->fd = fs_open_nameless();
        if (o->fd < 0)
                return o->fd;
        if (!o->out)
                o->out = malloc(ORDER_READ_BYTES + o->stride);
        if (!o->out)
                abort();
        sort_run(o);
        for (size_t i = 0; i < o->places.n && r >= 0; i++) {
                memcpy(o->out + n_out, item_at(o, i), o->stride);
                n_out += o->stride;
                if (n_out < ORDER_READ_BYTES && i + 1 < o->places.n)
                        continue;
                r = fs_write_all(o->fd, o->out, n_out);
                o->file_bytes += n_out;
                n_out = 0;
        }
        run.end = o->file_bytes;
        vec_push(&o->runs, run);
        vec_clear(&o->places);
        return r;
}

int import_order_add(struct import_order *o, uint64_t time, const void *record) {
        uint8_t *to;
        int r;

        if (o->places.n == o->run_records) {
                r = write_run(o);
                if (r < 0)
                        return r;
        }
        if (!o->items)
                o->items = malloc(o->run_records * o->stride);
        if (!o->items)
                abort();
        to = o->items + o->places.n * o->stride;
        memcpy(to, &time, sizeof(time));
        memcpy(to + sizeof(time), record, o->stride - sizeof(time));
        o->is_sorted &= !o->places.n || o->places.items[o->places.n - 1].time <= time;
        vec_push(&o->places, (struct place){time, (uint32_t)o->places.n});
        return 0;
}

/* ---- all runs ----------------------------------------------------------------------------------- */

/* 1: its next item is at begin; 0: it has no more; -errno. */
static int fill(struct import_order *o, struct run *run) {
        ssize_t got;

        if (run->begin < run->n)
                return 1;
        if (run->at == run->end) {
                free(run->buf);
                run->buf = NULL;
                return 0;
        }
        if (!run->buf)
                run->buf = malloc(ORDER_READ_BYTES + o->stride);
        if (!run->buf)
                abort();
        run->begin = 0;
        run->n = MIN((size_t)(run->end - run->at), ORDER_READ_BYTES / o->stride * o->stride);
        got = fs_read_at(o->fd, run->buf, run->n, run->at);
        if (got < 0 || (size_t)got < run->n)
                return got < 0 ? (int)got : -EIO;
        run->at += run->n;
        return 1;
}

/* Whether run a's next item comes before that of b. */
static bool comes_before(const struct import_order *o, uint32_t a, uint32_t b) {
        uint64_t x = time_of(o->runs.items[a].buf + o->runs.items[a].begin);
        uint64_t y = time_of(o->runs.items[b].buf + o->runs.items[b].begin);

        return x != y ? x < y : a < b;
}

static void sink(struct import_order *o, size_t i) {
        uint32_t *heap = o->heap.items;

        for (;;) {
                size_t child = 2 * i + 1;
                uint32_t moved;

                if (child >= o->heap.n)
                        return;
                if (child + 1 < o->heap.n && comes_before(o, heap[child + 1], heap[child]))
                        child++;
                if (!comes_before(o, heap[child], heap[i]))
                        return;
                moved = heap[i];
                heap[i] = heap[child];
                heap[child] = moved;
                i = child;
        }
}

static int begin_reading(struct import_order *o) {
        int r = 0;

        o->is_reading = true;
        sort_run(o);
        if (o->fd < 0)
                return 0;
        if (o->places.n)
                r = write_run(o);
        for (size_t i = 0; i < o->runs.n && r >= 0; i++) {
                r = fill(o, &o->runs.items[i]);
                if (r > 0)
                        vec_push(&o->heap, (uint32_t)i);
        }
        for (size_t i = o->heap.n / 2; i-- > 0 && r >= 0;)
                sink(o, i);
        return r;
}

static void give(const struct import_order *o, const uint8_t *item, uint64_t *ret_time,
                 void *ret_record) {
        *ret_time = time_of(item);
        memcpy(ret_record, item + sizeof(uint64_t), o->stride - sizeof(uint64_t));
}

int import_order_next(struct import_order *o, uint64_t *ret_time, void *ret_record) {
        struct run *run;
        int r = o->is_reading ? 0 : begin_reading(o);

        if (r < 0)
                return r;
        if (o->fd < 0) {
                if (o->next_idx == o->places.n)
                        return 0;
                give(o, item_at(o, o->next_idx++), ret_time, ret_record);
                return 1;
        }
        if (!o->heap.n)
                return 0;
        run = &o->runs.items[o->heap.items[0]];
        give(o, run->buf + run->begin, ret_time, ret_record);
        run->begin += o->stride;
        r = fill(o, run);
        if (r < 0)
                return r;
        if (r == 0)
                o->heap.items[0] = o->heap.items[--o->heap.n];
        sink(o, 0);
        return 1;
}
