/* SPDX-License-Identifier: MIT */
#include "bill/bill_parts.h"

#include <stdlib.h>

#include "base/units.h"

const char *bill_kind_key(enum bill_kind k) {
        static const char *const keys[BILL_N_KINDS] = {
                [BILL_LIVE] = "live",
                [BILL_ROUNDING] = "rounding",
                [BILL_HEADERS] = "headers",
                [BILL_EMPTY] = "free_pages",
                [BILL_BETWEEN] = "free_between",
                [BILL_HEAP] = "heap",
                [BILL_MAPPED] = "mapped",
                [BILL_STACKS] = "stacks",
                [BILL_CHANGED] = "data",
                [BILL_FILES] = "files",
                [BILL_SHARED] = "shared_memory",
                [BILL_RUNTIME] = "silt",
                [BILL_REST] = "remainder",
        };

        return keys[k];
}

/* Figures of a damaged trace may be anything: sums of them come round. */
static void part_add(struct bill *b, enum bill_kind k, uint64_t bytes) {
        b->parts[k].bytes = (int64_t)((uint64_t)b->parts[k].bytes + bytes);
}

/* bytes · part / whole, and never more than bytes. */
static uint64_t share_of(uint64_t bytes, uint64_t part, uint64_t whole) {
        if (part >= whole)
                return bytes;
        return MIN(bytes, (uint64_t)((double)bytes * ((double)part / (double)whole)));
}

/* ---- lines ----------------------------------------------------------------------------------- */

static uint64_t hash_text(const char *text) {
        uint64_t h = 0xcbf29ce484222325ull;

        for (; *text; text++)
                h = (h ^ (unsigned char)*text) * 0x100000001b3ull;
        return h;
}

static struct bill_line *line_of(struct bill_part *p, uint64_t key) {
        bool added;
        uint64_t *i = map_put(&p->by_key, key, p->lines.n, &added);

        if (added)
                vec_push(&p->lines, (struct bill_line){.name = ""});
        return &p->lines.items[*i];
}

struct counted {
        uint64_t bytes, private_bytes, size_bytes;
};

static void line_add(struct bill_line *l, const struct counted *c) {
        l->bytes += c->bytes;
        l->private_bytes += MIN(c->private_bytes, c->bytes);
        l->size_bytes += c->size_bytes;
        l->n++;
}

static void add_named(struct bill *b, enum bill_kind k, const char *name, const struct counted *c) {
        struct bill_line *l = line_of(&b->parts[k], hash_text(name) << 1);

        if (!l->name[0])
                l->name = arena_strdup(b->arena, name);
        line_add(l, c);
        part_add(b, k, c->bytes);
}

static uint64_t key_of(const struct bill_owner *o, uint32_t stack) {
        return o->key_of_stack ? o->key_of_stack(o->ctx, stack) : stack;
}

static void add_mapped(struct bill *b, const struct bill_owner *o, uint32_t stack,
                       const struct counted *c) {
        uint64_t key = o->key_of_mapping ? o->key_of_mapping(o->ctx, stack) : key_of(o, stack);
        struct bill_part *p = &b->parts[BILL_MAPPED];
        struct bill_line *l = line_of(p, map_hash(key) << 1 | 1);
        bool is_new;

        if (!l->stack)
                l->stack = stack;
        map_put(&p->seen_stacks, stack, 0, &is_new);
        l->n_stacks += is_new ? 1 : 0;
        line_add(l, c);
        part_add(b, BILL_MAPPED, c->bytes);
}

/* ---- mappings -------------------------------------------------------------------------------- */

/* An area as it counts: what of it is in memory, without the pages of the heap. */
struct area {
        const struct resident_area *a;
        const char *name;
        struct counted c;
};

static const char *name_of(const struct resident *r, uint32_t name) {
        return name < r->names.n ? r->names.items[name] : "";
}

/* Those without a name, by their size: a pool's are often equally large. */
static void add_unnamed(struct bill *b, enum bill_kind k, const struct area *x) {
        uint64_t up_to = 4096;
        struct unit_text t;
        char name[80];

        if (x->name[0]) {
                add_named(b, k, x->name, &x->c);
                return;
        }
        if (!x->a->begin) {
                add_named(b, k, "small anonymous mappings", &x->c);
                return;
        }
        while (up_to < x->a->size_bytes && up_to < UINT64_MAX / 2)
                up_to *= 2;
        snprintf(name, sizeof(name), "anonymous mappings of up to %s", unit_bytes(&t, up_to));
        add_named(b, k, name, &x->c);
}

static size_t first_range(const struct bill_owner *o, uint64_t begin) {
        size_t low = 0, high = o->n_ranges;

        while (low < high) {
                size_t mid = low + (high - low) / 2;

                if (o->ranges[mid].end <= begin)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low;
}

/* To the call paths that mapped it; what none did is not accounted for. Areas are cut where ranges are, so that one range has all of it or none;
 * where not, each gets what its addresses are of the whole. */
static void add_ranges(struct bill *b, const struct bill_owner *o, const struct area *x) {
        uint64_t at = x->a->begin, end = x->a->begin + x->a->size_bytes;
        struct counted left = x->c;
        size_t n_takers = 0;

        for (size_t i = first_range(o, at); i < o->n_ranges && o->ranges[i].begin < end; i++) {
                uint64_t from = MAX(o->ranges[i].begin, at), to = MIN(o->ranges[i].end, end);
                struct counted c = {.bytes = share_of(x->c.bytes, to - from, x->a->size_bytes),
                                    .private_bytes = share_of(x->c.private_bytes, to - from,
                                                              x->a->size_bytes),
                                    .size_bytes = to - from};

                c.bytes = MIN(c.bytes, left.bytes);
                add_mapped(b, o, o->ranges[i].stack, &c);
                left.bytes -= c.bytes;
                left.private_bytes -= MIN(left.private_bytes, c.private_bytes);
                left.size_bytes -= MIN(left.size_bytes, c.size_bytes);
                n_takers++;
        }
        if (n_takers && left.bytes)
                n_takers++;
        if (n_takers > 1 && x->c.bytes < x->a->size_bytes)
                b->is_divided = true;
        if (left.bytes) {
                struct area rest = *x;

                rest.c = left;
                add_unnamed(b, BILL_REST, &rest);
        }
}

static bool is_mapped_by_program(const struct bill_owner *o, const struct resident_area *a) {
        size_t i = first_range(o, a->begin);

        return i < o->n_ranges && o->ranges[i].begin < a->begin + a->size_bytes;
}

static void add_anonymous(struct bill *b, const struct bill_owner *o, const struct area *x) {
        if (is_mapped_by_program(o, x->a))
                add_ranges(b, o, x);
        else if (x->name[0] == '/') /* zeroed data of that file, as far as the file says */
                add_named(b, BILL_CHANGED, x->name, &x->c);
        else
                add_unnamed(b, o->has_ranges ? BILL_REST : BILL_MAPPED, x);
}

/* What the process wrote to is anonymous, also where children that it forked still share it; the kernel's "dirty" has pages of the file itself too, until they are
 * on disk. With shared pages counted once, those that are not its alone are as much less as all of the area's that are not. */
static uint64_t changed_bytes(const struct area *x) {
        uint64_t anon = MIN(x->a->anon_bytes, x->a->rss_bytes);
        uint64_t alone = MIN(MIN(x->a->private_dirty_bytes, anon), x->c.bytes);

        return alone + share_of(x->c.bytes - alone, anon - alone, x->a->rss_bytes - alone);
}

static void add_file(struct bill *b, const struct area *x) {
        uint64_t changed = changed_bytes(x);
        struct counted c = {changed, changed, x->c.size_bytes};

        if (changed)
                add_named(b, BILL_CHANGED, x->name, &c);
        c = (struct counted){x->c.bytes - changed,
                             x->c.private_bytes - MIN(x->c.private_bytes, changed),
                             changed ? 0 : x->c.size_bytes};
        if (c.bytes)
                add_named(b, BILL_FILES, x->name, &c);
}

static void add_area(struct bill *b, const struct bill_owner *o, const struct area *x) {
        if (x->a->kind == RESIDENT_STACK)
                b->stack_reserved_bytes += x->a->size_bytes;
        if (!x->c.bytes)
                return;
        switch ((enum resident_kind)x->a->kind) {
        case RESIDENT_ANON:
        case RESIDENT_BRK: add_anonymous(b, o, x); break;
        case RESIDENT_STACK:
                add_named(b, BILL_STACKS,
                          x->name[0] == '[' && !x->a->tid ? x->name : "stacks of threads", &x->c);
                break;
        case RESIDENT_FILE_PRIVATE: add_file(b, x); break;
        case RESIDENT_FILE_SHARED:
        case RESIDENT_KERNEL: add_named(b, BILL_FILES, x->name, &x->c); break;
        case RESIDENT_SHARED:
                add_named(b, BILL_SHARED, x->name[0] ? x->name : "anonymous", &x->c);
                break;
        case RESIDENT_RUNTIME: add_named(b, BILL_RUNTIME, x->name, &x->c); break;
        case RESIDENT_HUGETLB:
        case RESIDENT_N_KINDS: break;
        }
}

/* ---- heap ------------------------------------------------------------------------------------ */

/* What the parts of the heap are of its pages; with shared pages counted once, each is as much less as the pages together are. */
static void add_heap(struct bill *b, const struct resident *r, uint64_t counted_bytes) {
        const struct resident_heap *h = &r->heap;
        const struct {
                enum bill_kind kind;
                uint64_t bytes;
        } parts[] = {{BILL_LIVE, h->resident_asked_bytes},
                     {BILL_ROUNDING, h->rounding_bytes},
                     {BILL_HEADERS, h->header_bytes},
                     {BILL_EMPTY, h->empty_bytes},
                     {BILL_BETWEEN, h->between_bytes}};
        uint64_t left = counted_bytes;

        b->heap_bytes += counted_bytes;
        b->lacks_blocks |= !r->has_blocks && h->rss_bytes;
        b->lacks_asked |= r->has_blocks && !r->has_asked;
        if (!r->has_blocks)
                return;
        for (size_t i = 0; i + 1 < ARRAY_SIZE(parts); i++) {
                uint64_t part = MIN(share_of(parts[i].bytes, counted_bytes, h->rss_bytes), left);

                part_add(b, parts[i].kind, part);
                left -= part;
        }
        part_add(b, BILL_BETWEEN, left);
        b->n_blocks += h->n_blocks;
        b->asked_bytes += h->asked_bytes;
        for (size_t i = 0; i < RESIDENT_N_FILLS; i++)
                b->n_pages[i] += h->n_pages[i];
}

static void add_pin(struct bill *b, const struct resident_pin *p, const struct bill_owner *o) {
        bool added;
        uint64_t *i = map_put(&b->pin_of_key, key_of(o, p->stack), b->pins.n, &added);
        struct bill_pin *to;

        if (added)
                vec_push(&b->pins, (struct bill_pin){.stack = p->stack});
        to = &b->pins.items[*i];
        to->n_pages += p->n_pages;
        to->n_alone += p->n_alone;
        to->n_blocks += p->n_blocks;
        to->block_bytes += p->block_bytes;
        to->free_bytes += p->free_bytes;
}

static void add_frees(struct bill *b, const struct resident *r) {
        for (size_t i = 0; i < r->allocators.n; i++) {
                const struct resident_allocator *a = &r->allocators.items[i];

                for (uint64_t k = a->first_free;
                     k < (uint64_t)a->first_free + a->n_frees && k < r->frees.n; k++) {
                        const struct resident_free *f = &r->frees.items[k];

                        vec_push(&b->frees,
                                 (struct bill_free){
                                         .allocator = arena_strdup(b->arena, name_of(r, a->name)),
                                         .name = arena_strdup(b->arena, name_of(r, f->name)),
                                         .bytes = f->bytes,
                                         .releasable_bytes = f->releasable_bytes,
                                         .n_blocks = f->n_blocks});
                }
        }
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Returns what the area counts for, the heap's pages included. */
static uint64_t count_area(struct bill *b, const struct resident *r, const struct bill_owner *o,
                           size_t i, uint64_t *heap_bytes) {
        const struct resident_area *a = &r->areas.items[i];
        uint64_t all = o->is_shared_once ? MIN(a->pss_bytes, a->rss_bytes) : a->rss_bytes;
        uint64_t heap = share_of(all, a->heap_rss_bytes, a->rss_bytes);
        struct area x = {.a = a, .name = name_of(r, a->name)};

        if (a->kind == RESIDENT_HUGETLB)
                return 0;
        if (!a->heap_rss_bytes)
                heap = 0;
        x.c = (struct counted){.bytes = all - heap,
                               .private_bytes = MIN(a->private_dirty_bytes, all - heap),
                               .size_bytes = a->size_bytes};
        *heap_bytes += heap;
        if (heap && !r->has_blocks) {
                struct area pages = x;

                pages.c = (struct counted){heap, MIN(a->private_dirty_bytes, heap), a->size_bytes};
                add_unnamed(b, BILL_HEAP, &pages);
        }
        b->huge_bytes += MIN(a->huge_bytes, all);
        b->anon_bytes += MIN(a->anon_bytes, all);
        add_area(b, o, &x);
        return all;
}

void bill_add(struct bill *b, const struct resident *r, const struct bill_owner *o) {
        uint64_t heap_bytes = 0, sum = 0,
                 all = o->is_shared_once ? MIN(r->pss_bytes, r->rss_bytes) : r->rss_bytes;

        if (!b->arena)
                b->arena = arena_new();
        for (size_t i = 0; i < r->areas.n; i++)
                sum += count_area(b, r, o, i, &heap_bytes);
        add_heap(b, r, heap_bytes);
        if (all != sum) {
                struct counted c = {.bytes = all - sum};

                add_named(b, BILL_REST, "between the kernel's two figures", &c);
        }
        for (size_t i = 0; i < r->pins.n; i++)
                add_pin(b, &r->pins.items[i], o);
        add_frees(b, r);
        b->page_bytes = r->page_bytes;
        b->resident_bytes += all;
        b->is_shared_once |= o->is_shared_once;
        b->swap_bytes += r->swap_bytes;
        b->page_table_bytes += r->page_table_bytes;
        b->hugetlb_bytes += r->hugetlb_bytes;
        b->locked_bytes += r->locked_bytes;
        b->cost_ns += r->cost_ns;
        b->is_sampled |= r->is_sampled;
        if (r->cgroup.version && !b->cgroup.version) {
                b->cgroup = r->cgroup;
                b->cgroup_path = arena_strdup(b->arena, name_of(r, r->cgroup.path));
        }
        vec_push(&b->processes, (struct bill_process){r->process, r->time_ns, all, r->rss_bytes});
}

static int compare_lines(const void *a, const void *b) {
        const struct bill_line *x = a, *y = b;

        return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

static int compare_pins(const void *a, const void *b) {
        const struct bill_pin *x = a, *y = b;

        return x->free_bytes > y->free_bytes ? -1 : x->free_bytes < y->free_bytes;
}

static int compare_frees(const void *a, const void *b) {
        const struct bill_free *x = a, *y = b;

        return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

static int compare_processes(const void *a, const void *b) {
        const struct bill_process *x = a, *y = b;

        return x->resident_bytes > y->resident_bytes ? -1 : x->resident_bytes < y->resident_bytes;
}

#define SORT(v, compare)                                                                           \
        do {                                                                                       \
                if ((v)->n)                                                                        \
                        qsort((v)->items, (v)->n, sizeof((v)->items[0]), compare);                 \
        } while (0)

void bill_finish(struct bill *b) {
        for (unsigned k = 0; k < BILL_N_KINDS; k++) {
                map_done(&b->parts[k].by_key); /* indices do not hold any more */
                b->parts[k].by_key = (struct map){0};
                SORT(&b->parts[k].lines, compare_lines);
        }
        SORT(&b->pins, compare_pins);
        SORT(&b->frees, compare_frees);
        SORT(&b->processes, compare_processes);
}

void bill_done(struct bill *b) {
        for (unsigned k = 0; k < BILL_N_KINDS; k++) {
                map_done(&b->parts[k].by_key);
                map_done(&b->parts[k].seen_stacks);
                vec_free(&b->parts[k].lines);
        }
        map_done(&b->pin_of_key);
        vec_free(&b->pins);
        vec_free(&b->frees);
        vec_free(&b->processes);
        arena_free(b->arena);
        *b = (struct bill){0};
}
