/* SPDX-License-Identifier: MIT */
#include "resident/resident_bytes.h"

#include <errno.h>
#include <stdlib.h>

enum { FLAG_BLOCKS = 1, FLAG_ASKED = 2, FLAG_SAMPLED = 4, FLAG_ALL = 7 };

/* A number of a row. Rows are written in columns: all of the first field, then all of the second. */
enum field_form {
        FORM_COUNT,   /* at most RESIDENT_MAX_COUNT */
        FORM_ADDRESS, /* as difference to the row before, and rising */
        FORM_TIME,
        FORM_NAME,
        FORM_NUMBER, /* of 32 bits */
};

struct field {
        size_t at;
        enum field_form form;
};

#define COUNT(T, name)                                                                             \
        { offsetof(struct T, name), FORM_COUNT }
#define ADDRESS(T, name)                                                                           \
        { offsetof(struct T, name), FORM_ADDRESS }
#define TIME(T, name)                                                                              \
        { offsetof(struct T, name), FORM_TIME }
#define NAME(T, name)                                                                              \
        { offsetof(struct T, name), FORM_NAME }
#define NUMBER(T, name)                                                                            \
        { offsetof(struct T, name), FORM_NUMBER }

static const struct field resident_fields[] = {
        COUNT(resident, page_bytes),       COUNT(resident, rss_bytes),
        COUNT(resident, pss_bytes),        COUNT(resident, swap_bytes),
        COUNT(resident, page_table_bytes), COUNT(resident, hugetlb_bytes),
        COUNT(resident, locked_bytes),     TIME(resident, cost_ns),
};

static const struct field cgroup_fields[] = {
        NAME(resident_cgroup, path),         NUMBER(resident_cgroup, version),
        COUNT(resident_cgroup, usage_bytes), TIME(resident_cgroup, limit_bytes),
        COUNT(resident_cgroup, anon_bytes),  COUNT(resident_cgroup, file_bytes),
        COUNT(resident_cgroup, shmem_bytes), COUNT(resident_cgroup, kernel_bytes),
        COUNT(resident_cgroup, swap_bytes),  COUNT(resident_cgroup, n_processes),
};

static const struct field heap_fields[] = {
        COUNT(resident_heap, rss_bytes),
        COUNT(resident_heap, swap_bytes),
        COUNT(resident_heap, n_blocks),
        COUNT(resident_heap, asked_bytes),
        COUNT(resident_heap, resident_asked_bytes),
        COUNT(resident_heap, rounding_bytes),
        COUNT(resident_heap, header_bytes),
        COUNT(resident_heap, between_bytes),
        COUNT(resident_heap, empty_bytes),
        COUNT(resident_heap, n_pages[0]),
        COUNT(resident_heap, n_pages[1]),
        COUNT(resident_heap, n_pages[2]),
        COUNT(resident_heap, n_pages[3]),
        COUNT(resident_heap, n_pages[4]),
        COUNT(resident_heap, n_pages[5]),
        COUNT(resident_heap, n_pages[6]),
        COUNT(resident_heap, n_pages[7]),
        COUNT(resident_heap, n_pages[8]),
        COUNT(resident_heap, huge_bytes),
};

static const struct field area_fields[] = {
        ADDRESS(resident_area, begin),
        COUNT(resident_area, size_bytes),
        NUMBER(resident_area, kind),
        NAME(resident_area, name),
        NUMBER(resident_area, tid),
        COUNT(resident_area, rss_bytes),
        COUNT(resident_area, pss_bytes),
        COUNT(resident_area, private_dirty_bytes),
        COUNT(resident_area, anon_bytes),
        COUNT(resident_area, swap_bytes),
        COUNT(resident_area, huge_bytes),
        COUNT(resident_area, heap_rss_bytes),
        COUNT(resident_area, n_blocks),
        COUNT(resident_area, asked_bytes),
        COUNT(resident_area, resident_asked_bytes),
};

static const struct field pin_fields[] = {
        NUMBER(resident_pin, stack),      COUNT(resident_pin, n_pages),
        COUNT(resident_pin, n_alone),     COUNT(resident_pin, n_blocks),
        COUNT(resident_pin, block_bytes), COUNT(resident_pin, free_bytes),
};

static const struct field allocator_fields[] = {
        NAME(resident_allocator, name),         NUMBER(resident_allocator, version),
        COUNT(resident_allocator, n_blocks),    COUNT(resident_allocator, usable_bytes),
        NUMBER(resident_allocator, first_free), NUMBER(resident_allocator, n_frees),
};

static const struct field free_fields[] = {
        NAME(resident_free, name),
        COUNT(resident_free, bytes),
        COUNT(resident_free, releasable_bytes),
        COUNT(resident_free, n_blocks),
};

static const struct field cell_fields[] = {
        ADDRESS(resident_cell, begin),
        NUMBER(resident_cell, n_pages),
        NUMBER(resident_cell, n_resident_pages),
        COUNT(resident_cell, live_bytes),
        TIME(resident_cell, oldest_ns),
        TIME(resident_cell, newest_ns),
        NUMBER(resident_cell, stack),
        NUMBER(resident_cell, n_blocks),
};

/* Rows of one kind. */
struct table {
        const struct field *fields;
        size_t n_fields, row_bytes, max_rows;
        size_t at; /* of the vector, in struct resident */
};

#define TABLE(of, T, member, max)                                                                  \
        { of, ARRAY_SIZE(of), sizeof(struct T), max, offsetof(struct resident, member) }

static const struct table tables[] = {
        TABLE(area_fields, resident_area, areas, RESIDENT_MAX_AREAS),
        TABLE(pin_fields, resident_pin, pins, RESIDENT_MAX_PINS),
        TABLE(allocator_fields, resident_allocator, allocators, RESIDENT_MAX_ALLOCATORS),
        TABLE(free_fields, resident_free, frees, RESIDENT_MAX_FREES),
        TABLE(cell_fields, resident_cell, cells, RESIDENT_MAX_CELLS),
};

typedef VEC(uint8_t) any_vec; /* the same members, whatever they are of */

static bool form_is_wide(enum field_form form) {
        return form != FORM_NAME && form != FORM_NUMBER;
}

/* ---- writing ----------------------------------------------------------------------------------- */

static uint64_t field_get(const void *row, const struct field *f) {
        uint64_t wide;
        uint32_t narrow;

        if (form_is_wide(f->form)) {
                memcpy(&wide, (const char *)row + f->at, sizeof(wide));
                return wide;
        }
        memcpy(&narrow, (const char *)row + f->at, sizeof(narrow));
        return narrow;
}

static void put_columns(bytes_buf *buf, const struct field *fields, size_t n_fields,
                        const void *rows, size_t n_rows, size_t row_bytes) {
        for (size_t k = 0; k < n_fields; k++) {
                uint64_t before = 0;

                for (size_t i = 0; i < n_rows; i++) {
                        uint64_t v = field_get((const char *)rows + i * row_bytes, &fields[k]);

                        buf_varint(buf, fields[k].form == FORM_ADDRESS ? v - before : v);
                        before = v;
                }
        }
}

void resident_encode(const struct resident *r, bytes_buf *buf) {
        buf_varint(buf, (r->has_blocks ? FLAG_BLOCKS : 0u) | (r->has_asked ? FLAG_ASKED : 0u) |
                                (r->is_sampled ? FLAG_SAMPLED : 0u));
        put_columns(buf, resident_fields, ARRAY_SIZE(resident_fields), r, 1, 0);
        buf_varint(buf, r->names.n);
        for (size_t i = 0; i < r->names.n; i++) {
                size_t n = strlen(r->names.items[i]);

                buf_varint(buf, n);
                buf_bytes(buf, r->names.items[i], n);
        }
        put_columns(buf, cgroup_fields, ARRAY_SIZE(cgroup_fields), &r->cgroup, 1, 0);
        put_columns(buf, heap_fields, ARRAY_SIZE(heap_fields), &r->heap, 1, 0);
        for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
                const struct table *t = &tables[i];
                const any_vec *v = (const any_vec *)((const char *)r + t->at);

                buf_varint(buf, v->n);
                put_columns(buf, t->fields, t->n_fields, v->items, v->n, t->row_bytes);
        }
}

/* ---- reading ----------------------------------------------------------------------------------- */

static bool field_is_sound(const struct resident *r, enum field_form form, uint64_t v) {
        switch (form) {
        case FORM_COUNT: return v <= RESIDENT_MAX_COUNT;
        case FORM_NAME: return v < r->names.n || v == 0;
        case FORM_NUMBER: return v <= UINT32_MAX;
        default: return true;
        }
}

static void field_set(void *row, const struct field *f, uint64_t v) {
        uint32_t narrow = (uint32_t)v;

        if (form_is_wide(f->form))
                memcpy((char *)row + f->at, &v, sizeof(v));
        else
                memcpy((char *)row + f->at, &narrow, sizeof(narrow));
}

static bool take_columns(struct bytes_reader *in, const struct resident *r,
                         const struct field *fields, size_t n_fields, void *rows, size_t n_rows,
                         size_t row_bytes) {
        for (size_t k = 0; k < n_fields; k++) {
                uint64_t before = 0;

                for (size_t i = 0; i < n_rows; i++) {
                        uint64_t v = bytes_varint(in);

                        if (in->bad || !field_is_sound(r, fields[k].form, v) ||
                            (fields[k].form == FORM_ADDRESS && v > UINT64_MAX - before))
                                return false;
                        if (fields[k].form == FORM_ADDRESS)
                                before = v += before;
                        field_set((char *)rows + i * row_bytes, &fields[k], v);
                }
        }
        return true;
}

static bool take_names(struct bytes_reader *in, struct resident *r) {
        uint64_t n = bytes_varint(in);

        if (n > RESIDENT_MAX_NAMES || n > bytes_left(in))
                return false;
        for (uint64_t i = 0; i < n; i++) {
                size_t len;
                const char *text = bytes_string(in, &len);

                if (!text || len > RESIDENT_MAX_NAME_BYTES || memchr(text, '\0', len) ||
                    (i == 0 && len))
                        return false;
                resident_push_name(r, text, len);
        }
        return true;
}

static bool take_table(struct bytes_reader *in, struct resident *r, const struct table *t) {
        any_vec *v = (any_vec *)((char *)r + t->at);
        uint64_t n = bytes_varint(in);

        if (in->bad || n > t->max_rows || n * t->n_fields > bytes_left(in))
                return false;
        v->items = vec_grow(v->items, &v->cap, (size_t)n, t->row_bytes);
        if (n)
                memset(v->items, 0, (size_t)n * t->row_bytes);
        v->n = (size_t)n;
        return take_columns(in, r, t->fields, t->n_fields, v->items, v->n, t->row_bytes);
}

static bool take_all(struct bytes_reader *in, struct resident *r) {
        uint64_t flags = bytes_varint(in);

        if (flags > FLAG_ALL ||
            !take_columns(in, r, resident_fields, ARRAY_SIZE(resident_fields), r, 1, 0) ||
            !take_names(in, r) ||
            !take_columns(in, r, cgroup_fields, ARRAY_SIZE(cgroup_fields), &r->cgroup, 1, 0) ||
            !take_columns(in, r, heap_fields, ARRAY_SIZE(heap_fields), &r->heap, 1, 0))
                return false;
        for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
                if (!take_table(in, r, &tables[i]))
                        return false;
        r->has_blocks = flags & FLAG_BLOCKS;
        r->has_asked = flags & FLAG_ASKED;
        r->is_sampled = flags & FLAG_SAMPLED;
        return !in->bad && bytes_left(in) == 0;
}

static bool areas_add_up(const struct resident *r) {
        uint64_t rss = 0, heap = 0;

        for (size_t i = 0; i < r->areas.n; i++) {
                const struct resident_area *a = &r->areas.items[i];

                if (a->kind >= RESIDENT_N_KINDS || a->heap_rss_bytes > a->rss_bytes ||
                    a->size_bytes > UINT64_MAX - a->begin)
                        return false;
                rss += a->rss_bytes;
                heap += a->heap_rss_bytes;
        }
        return rss == r->rss_bytes && heap == r->heap.rss_bytes;
}

static bool heap_adds_up(const struct resident *r) {
        const struct resident_heap *h = &r->heap;

        return !r->has_blocks || h->rss_bytes == h->resident_asked_bytes + h->rounding_bytes +
                                                         h->header_bytes + h->between_bytes +
                                                         h->empty_bytes;
}

static bool rows_are_sound(const struct resident *r) {
        for (size_t i = 0; i < r->allocators.n; i++) {
                const struct resident_allocator *a = &r->allocators.items[i];

                if (a->first_free > r->frees.n || a->n_frees > r->frees.n - a->first_free)
                        return false;
        }
        for (size_t i = 0; i < r->cells.n; i++)
                if (r->cells.items[i].n_resident_pages > r->cells.items[i].n_pages)
                        return false;
        return r->page_bytes >= 512 && !(r->page_bytes & (r->page_bytes - 1)) &&
               r->page_bytes <= 1 << 24;
}

int resident_decode(struct resident *r, const void *bytes, size_t n_bytes, struct err *reterr) {
        struct bytes_reader in = bytes_reader_of(bytes, n_bytes);
        const char *why = NULL;

        *r = (struct resident){0};
        if (!take_all(&in, r))
                why = "its bytes are not those of a bill";
        else if (!rows_are_sound(r))
                why = "a number in it is out of range";
        else if (!areas_add_up(r) || !heap_adds_up(r))
                why = "its parts do not add up";
        if (!why)
                return 0;
        resident_done(r);
        return err_set(reterr, -EBADMSG, "the bill of resident memory is damaged: %s", why);
}
