/* SPDX-License-Identifier: MIT */
/* A malloc that the program defines itself: lists of free blocks by powers of two. Its functions call each other. */
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MIN_SHIFT = 5, N_CLASSES = 27, CHUNK_BYTES = 1 << 20, PAGE_BYTES = 4096 };

/* Right before every block. */
struct head {
        uint32_t class, offset; /* bytes from where the whole begins to the block */
        struct head *next;
};

struct class {
        atomic_flag is_taken;
        struct head *free;
        char *chunk, *chunk_end;
};

static struct class classes[N_CLASSES];

void *memalign(size_t align, size_t n);

static struct head *head_of(void *p) {
        return (struct head *)p - 1;
}

static size_t room_of(void *p) {
        return ((size_t)1 << (MIN_SHIFT + head_of(p)->class)) - head_of(p)->offset;
}

static void *carve(struct class *c, size_t n) {
        char *p = c->chunk;

        if ((size_t)(c->chunk_end - c->chunk) < n) {
                size_t chunk_bytes = n > CHUNK_BYTES ? n : CHUNK_BYTES;

                p = mmap(NULL, chunk_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                         0);
                if (p == MAP_FAILED)
                        return NULL;
                c->chunk_end = p + chunk_bytes;
        }
        c->chunk = p + n;
        return p;
}

static void *take(size_t n) {
        unsigned shift = MIN_SHIFT;
        struct class *c;
        struct head *h;

        if (n > (size_t)1 << (MIN_SHIFT + N_CLASSES - 2)) {
                errno = ENOMEM;
                return NULL;
        }
        while (((size_t)1 << shift) < n + sizeof(*h))
                shift++;
        c = &classes[shift - MIN_SHIFT];
        while (atomic_flag_test_and_set_explicit(&c->is_taken, memory_order_acquire))
                ;
        h = c->free;
        if (h)
                c->free = h->next;
        else
                h = carve(c, (size_t)1 << shift);
        atomic_flag_clear_explicit(&c->is_taken, memory_order_release);
        if (!h)
                return NULL;
        h->class = shift - MIN_SHIFT;
        h->offset = sizeof(*h);
        return h + 1;
}

void *malloc(size_t n) {
        return take(n);
}

void free(void *p) {
        struct head *h;
        struct class *c;
        uint32_t class;

        if (!p)
                return;
        class = head_of(p)->class;
        c = &classes[class];
        h = (struct head *)((char *)p - head_of(p)->offset);
        while (atomic_flag_test_and_set_explicit(&c->is_taken, memory_order_acquire))
                ;
        h->next = c->free;
        c->free = h;
        atomic_flag_clear_explicit(&c->is_taken, memory_order_release);
}

void *calloc(size_t a, size_t b) {
        size_t n;
        void *p;

        if (__builtin_mul_overflow(a, b, &n)) {
                errno = ENOMEM;
                return NULL;
        }
        p = malloc(n);
        return p ? memset(p, 0, n) : NULL;
}

void *realloc(void *p, size_t n) {
        void *to;

        if (!p)
                return malloc(n);
        if (n <= room_of(p))
                return p;
        to = malloc(n);
        if (!to)
                return NULL;
        memcpy(to, p, room_of(p) < n ? room_of(p) : n);
        free(p);
        return to;
}

void *reallocarray(void *p, size_t a, size_t b) {
        size_t n;

        return __builtin_mul_overflow(a, b, &n) ? NULL : realloc(p, n);
}

void *memalign(size_t align, size_t n) {
        char *p = n < SIZE_MAX / 4 ? malloc(n + align + sizeof(struct head)) : NULL, *at;
        struct head *h;

        if (!p)
                return NULL;
        at = (char *)(((uintptr_t)p + align - 1) & -align);
        if (at == p)
                return p;
        h = head_of(p);
        *head_of(at) = (struct head){h->class, (uint32_t)(h->offset + (size_t)(at - p)), NULL};
        return at;
}

int posix_memalign(void **ret, size_t align, size_t n) {
        void *p = memalign(align, n);

        if (!p)
                return ENOMEM;
        *ret = p;
        return 0;
}

void *aligned_alloc(size_t align, size_t n) {
        return memalign(align, n);
}

void *valloc(size_t n) {
        return memalign(PAGE_BYTES, n);
}

size_t malloc_usable_size(void *p) {
        return p ? room_of(p) : 0;
}
