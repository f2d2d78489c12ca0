/* SPDX-License-Identifier: MIT */
#include "pipeline/order.h"

static bool order_is_before(const struct slot *a, const struct slot *b) {
        return a->head_time != b->head_time ? a->head_time < b->head_time : a->no < b->no;
}

static void order_place(struct order *o, size_t i, struct slot *s) {
        o->heap.items[i] = s;
        s->heap_idx = (uint32_t)i;
}

static void order_sift_up(struct order *o, size_t i) {
        struct slot *s = o->heap.items[i];

        while (i > 0 && order_is_before(s, o->heap.items[(i - 1) / 2])) {
                order_place(o, i, o->heap.items[(i - 1) / 2]);
                i = (i - 1) / 2;
        }
        order_place(o, i, s);
}

static void order_sift_down(struct order *o, size_t i) {
        struct slot *s = o->heap.items[i];

        for (;;) {
                size_t child = 2 * i + 1;

                if (child + 1 < o->heap.n &&
                    order_is_before(o->heap.items[child + 1], o->heap.items[child]))
                        child++;
                if (child >= o->heap.n || !order_is_before(o->heap.items[child], s))
                        break;
                order_place(o, i, o->heap.items[child]);
                i = child;
        }
        order_place(o, i, s);
}

void order_add(struct order *o, struct slot *s) {
        vec_push(&o->heap, s);
        order_sift_up(o, o->heap.n - 1);
}

void order_remove(struct order *o, struct slot *s) {
        size_t i = s->heap_idx;
        struct slot *last;

        if (i == UINT32_MAX)
                return;
        s->heap_idx = UINT32_MAX;
        last = o->heap.items[--o->heap.n];
        if (last == s)
                return;
        order_place(o, i, last);
        order_sift_up(o, i);
        order_sift_down(o, last->heap_idx);
}

uint64_t order_run_end(const struct order *o) {
        uint64_t end = UINT64_MAX;

        for (size_t i = 1; i < MIN(o->heap.n, (size_t)3); i++)
                end = MIN(end, o->heap.items[i]->head_time);
        return end;
}

void order_first_changed(struct order *o) {
        order_sift_down(o, 0);
}
