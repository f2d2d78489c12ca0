/* SPDX-License-Identifier: MIT */
#include "reach/process_roots.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

enum {
        GLIBC_HEAP_BYTES =
                64
                << 20, /* an arena's memory, other than the main one's, comes in pieces of this size, at multiples of it */
        OTHER_HEAP_BYTES = 2 << 20, /* so do other allocators'; theirs are multiples of that */
        STACK_BELOW_BYTES =
                8
                << 20, /* below a stack pointer, at most so much is the unused rest of that stack */
        PAGE_BYTES = 4096, /* or a multiple */
        CHUNK_MMAPPED = 2,
        CHUNK_NON_MAIN = 4,
        CHUNK_FLAGS = 7,
        CHUNK_SLACK_BYTES =
                1
                << 16, /* a block's chunk is larger by that at most: alignment, and what cannot stand alone */
        MAX_SEGMENTS = 64,
};

typedef VEC(struct reach_range) range_list;

static const struct mapping *mapping_at(const struct maps *maps, uint64_t address) {
        size_t low = 0, high = maps->list.n;

        while (low < high) {
                size_t mid = low + (high - low) / 2;
                const struct mapping *m = &maps->list.items[mid];

                if (address < m->begin)
                        high = mid;
                else if (address >= m->end)
                        low = mid + 1;
                else
                        return m;
        }
        return NULL;
}

/* ---- whose memory the blocks lie in --------------------------------------------------------------------- */

enum chunk { CHUNK_UNKNOWN, CHUNK_OF_MAIN, CHUNK_OF_ARENA, CHUNK_ALONE };

/* What the C library's header in front of a block says, if it is one. */
static enum chunk chunk_of(const struct process_view *v, const struct reach_block *b) {
        uint64_t words[2], word, size;

        if (b->address % 16 ||
            v->memory->read(v->memory->ctx, b->address - 16, words, sizeof(words)) != sizeof(words))
                return CHUNK_UNKNOWN;
        word = words[1];
        size = word & ~(uint64_t)CHUNK_FLAGS;
        /* in a mapping of its own, which an alignment makes larger at either end: in front by the first word */
        if (word & CHUNK_MMAPPED && size >= b->size_bytes + 16 &&
            (b->address - 16 - words[0]) % PAGE_BYTES == 0 && (words[0] + size) % PAGE_BYTES == 0)
                return CHUNK_ALONE;
        if (size < b->size_bytes + 8 || size - b->size_bytes > CHUNK_SLACK_BYTES || size % 16)
                return CHUNK_UNKNOWN;
        if (word & CHUNK_MMAPPED)
                return CHUNK_ALONE;
        return word & CHUNK_NON_MAIN ? CHUNK_OF_ARENA : CHUNK_OF_MAIN;
}

static struct reach_range heap_of(const struct process_view *v, const struct reach_block *b) {
        const struct mapping *m = mapping_at(v->maps, b->address);
        uint64_t granule = OTHER_HEAP_BYTES;

        if (!m)
                return (struct reach_range){b->address, b->address + b->size_bytes};
        switch (chunk_of(v, b)) {
        case CHUNK_ALONE: return (struct reach_range){b->address, b->address + b->size_bytes};
        case CHUNK_OF_MAIN: return (struct reach_range){m->begin, m->end};
        case CHUNK_OF_ARENA: granule = GLIBC_HEAP_BYTES; break;
        case CHUNK_UNKNOWN: break;
        }
        return (struct reach_range){
                MAX(m->begin, b->address & -granule),
                MIN(m->end, ALIGN_UP(b->address + b->size_bytes, granule)),
        };
}

/* Ranges come by their begin. */
static void add_range(range_list *list, struct reach_range r) {
        struct reach_range *last = list->n ? &list->items[list->n - 1] : NULL;

        if (r.begin >= r.end)
                return;
        if (last && r.begin <= last->end)
                last->end = MAX(last->end, r.end);
        else
                vec_push(list, r);
}

static void find_heaps(const struct process_view *v, range_list *ret) {
        for (uint32_t i = 0; i < v->n_blocks; i++) {
                const struct reach_block *b = &v->blocks[i];

                if (!ret->n || b->address + b->size_bytes > ret->items[ret->n - 1].end)
                        add_range(ret, heap_of(v, b));
        }
}

/* ---- what is left ----------------------------------------------------------------------------------------- */

static int by_begin(const void *a, const void *b) {
        const struct reach_range *x = a, *y = b;

        return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* All that is no root although it can be written, by address. */
static void find_holes(const struct process_view *v, const struct process_roots *r,
                       range_list *ret) {
        range_list all = {0};

        for (size_t i = 0; i < r->heaps.n; i++)
                vec_push(&all, r->heaps.items[i]);
        for (size_t i = 0; i < v->n_own; i++)
                vec_push(&all, v->own[i]);
        for (size_t i = 0; i < v->n_threads; i++) {
                uint64_t end = v->threads[i].sp - v->below_sp_bytes;
                const struct mapping *m = mapping_at(v->maps, v->threads[i].sp);

                if (m && end > m->begin)
                        vec_push(&all,
                                 (struct reach_range){
                                         MAX(m->begin, end - MIN(end, (uint64_t)STACK_BELOW_BYTES)),
                                         end});
        }
        if (all.n)
                qsort(all.items, all.n, sizeof(all.items[0]), by_begin);
        for (size_t i = 0; i < all.n; i++)
                add_range(ret, all.items[i]);
        vec_free(&all);
}

static bool is_file(const struct mapping *m) {
        return m->path[0] == '/' && strncmp(m->path, "/dev/", 5) != 0 &&
               strncmp(m->path, "/memfd:", 7) != 0;
}

/* Devices answer reads with more than bytes. */
static bool may_be_root(const struct mapping *m) {
        if (!m->is_readable || !m->is_writable)
                return false;
        if (!strncmp(m->path, "/dev/", 5))
                return !strncmp(m->path, "/dev/zero", 9) || !strncmp(m->path, "/dev/shm/", 9);
        return strncmp(m->path, "[v", 2) != 0;
}

/* silt's runtime and its rings: they are full of addresses that nobody holds. Memory of it without a name is in v->own: what lies behind a mapping of silt's may
 * be the program's, such as the first thread's variables. */
static bool is_own(const struct mapping *m) {
        return strstr(m->path, "/libsilt.so") || !strncmp(m->path, "/memfd:silt", 11);
}

/* The thread whose stack a mapping is; its number, or n_threads. */
static size_t thread_of(const struct process_view *v, const struct mapping *m) {
        for (size_t i = 0; i < v->n_threads; i++)
                if (v->threads[i].sp >= m->begin && v->threads[i].sp < m->end)
                        return i;
        return v->n_threads;
}

/* Where the last variable of a program or library ends, as the file's own head says that is mapped first; UINT64_MAX: nobody knows. */
static uint64_t variables_end(const struct process_view *v, const struct mapping *of) {
        const struct mapping *first = of;
        Elf64_Phdr segments[MAX_SEGMENTS];
        Elf64_Ehdr head;
        uint64_t bias = UINT64_MAX, end = 0;
        size_t n;

        while (first > v->maps->list.items && strcmp(first[-1].path, of->path) == 0)
                first--;
        if (first->offset ||
            v->memory->read(v->memory->ctx, first->begin, &head, sizeof(head)) != sizeof(head) ||
            memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_phnum > MAX_SEGMENTS ||
            head.e_phoff > first->end - first->begin)
                return UINT64_MAX;
        n = head.e_phnum * sizeof(segments[0]);
        if (v->memory->read(v->memory->ctx, first->begin + head.e_phoff, segments, n) != n)
                return UINT64_MAX;
        for (size_t i = 0; i < head.e_phnum; i++) {
                const Elf64_Phdr *s = &segments[i];

                if (s->p_type != PT_LOAD)
                        continue;
                if (bias == UINT64_MAX)
                        bias = first->begin - (s->p_vaddr - s->p_offset);
                end = MAX(end, bias + s->p_vaddr + s->p_memsz);
        }
        return end >= of->end ? ALIGN_UP(end, (uint64_t)PAGE_BYTES) : UINT64_MAX;
}

/* Zeroed variables stand behind the others, in memory without a name. The kernel makes one mapping of it and of what was mapped right behind it: up to
 * where it is variables. */
static uint64_t zeroed_end(const struct process_view *v, size_t i) {
        const struct mapping *m = &v->maps->list.items[i];

        if (!i || m->path[0] || m[-1].end != m->begin || !is_file(&m[-1]))
                return m->begin;
        return MIN(variables_end(v, &m[-1]), m->end);
}

static struct reach_root root_of(const struct process_view *v, size_t i, bool is_zeroed) {
        const struct mapping *m = &v->maps->list.items[i];
        size_t thread = thread_of(v, m);

        if (thread < v->n_threads)
                return (struct reach_root){.kind = ROOT_STACK, .owner = (uint32_t)thread};
        if (is_file(m))
                return (struct reach_root){.kind = ROOT_DATA, .owner = (uint32_t)i};
        if (is_zeroed)
                return (struct reach_root){.kind = ROOT_DATA, .owner = (uint32_t)(i - 1)};
        return (struct reach_root){.kind = ROOT_MAPPING, .owner = (uint32_t)i};
}

static void add_root(struct process_roots *r, struct reach_root root, uint64_t begin,
                     uint64_t end) {
        root.begin = ALIGN_UP(begin, (uint64_t)8);
        root.end = end & ~(uint64_t)7;
        if (root.begin < root.end)
                vec_push(&r->list, root);
}

static void add_part(const range_list *holes, size_t *hole, struct reach_root root, uint64_t at,
                     uint64_t end, struct process_roots *ret) {
        while (*hole < holes->n && holes->items[*hole].end <= at)
                ++*hole;
        for (size_t k = *hole; k < holes->n && holes->items[k].begin < end; k++) {
                if (holes->items[k].begin > at)
                        add_root(ret, root, at, holes->items[k].begin);
                at = MAX(at, holes->items[k].end);
        }
        if (at < end)
                add_root(ret, root, at, end);
}

static void add_mapping(const struct process_view *v, const range_list *holes, size_t *hole,
                        size_t i, struct process_roots *ret) {
        const struct mapping *m = &v->maps->list.items[i];
        uint64_t zeroed = zeroed_end(v, i);

        if (zeroed > m->begin)
                add_part(holes, hole, root_of(v, i, true), m->begin, zeroed, ret);
        if (zeroed < m->end)
                add_part(holes, hole, root_of(v, i, false), zeroed, m->end, ret);
}

void process_roots_find(const struct process_view *v, struct process_roots *ret) {
        range_list holes = {0}, heaps = {0};
        size_t hole = 0;

        *ret = (struct process_roots){0};
        find_heaps(v, &heaps);
        for (size_t i = 0; i < heaps.n; i++)
                vec_push(&ret->heaps, heaps.items[i]);
        find_holes(v, ret, &holes);
        for (size_t i = 0; i < v->maps->list.n; i++)
                if (may_be_root(&v->maps->list.items[i]) && !is_own(&v->maps->list.items[i]))
                        add_mapping(v, &holes, &hole, i, ret);
        for (size_t i = 0; i < v->n_threads; i++)
                vec_push(&ret->list,
                         (struct reach_root){.end = v->threads[i].n_registers * sizeof(uint64_t),
                                             .kind = ROOT_REGISTERS,
                                             .owner = (uint32_t)i,
                                             .words = v->threads[i].registers});
        vec_free(&heaps);
        vec_free(&holes);
}

void process_roots_done(struct process_roots *r) {
        vec_free(&r->list);
        vec_free(&r->heaps);
}
