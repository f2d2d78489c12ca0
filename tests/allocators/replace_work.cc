/* SPDX-License-Identifier: MIT */
/* Allocates and releases by every function of C and every form of C++, drawn by a seed, and counts. In the program, or in a library
 * or plugin, wherever the replacements are. */
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <new>
#include <string>

#include "replace.h"

enum { N_SLOTS = 64, N_C_FORMS = 8, N_FORMS = 16 };

struct slot {
        void *block;
        size_t n_bytes, align;
        int form; /* below N_C_FORMS: C's */
};

static struct slot slots[N_SLOTS];
static unsigned long state;

static unsigned draw(unsigned n) {
        state = state * 6364136223846793005ul + 1442695040888963407ul;
        return (unsigned)(state >> 33) % n;
}

static void fill(struct slot *s) {
        if (!s->block)
                abort();
        memset(s->block, s->form + 1, s->n_bytes);
}

static void check(const struct slot *s, size_t n_bytes) {
        for (size_t i = 0; i < n_bytes; i++)
                if (((const unsigned char *)s->block)[i] != s->form + 1)
                        abort();
}

static void allocate_c(struct slot *s) {
        char text[256];

        switch (s->form) {
        case 0: s->block = malloc(s->n_bytes); break;
        case 1: s->block = calloc(1, s->n_bytes); break;
        case 2: s->block = memalign(s->align, s->n_bytes); break;
        case 3: s->block = aligned_alloc(s->align, s->n_bytes); break;
        case 4:
                if (posix_memalign(&s->block, s->align, s->n_bytes))
                        abort();
                break;
        case 5:
                memset(text, 'x', sizeof(text));
                s->n_bytes = s->n_bytes % 200 + 1;
                text[s->n_bytes - 1] = '\0';
                s->block = strdup(text);
                break;
        case 6: s->block = realloc(NULL, s->n_bytes); break;
        default: s->block = reallocarray(NULL, 1, s->n_bytes); break;
        }
}

static void allocate_cxx(struct slot *s) {
        std::align_val_t align{s->align};

        switch (s->form) {
        case 8: s->block = ::operator new(s->n_bytes); break;
        case 9: s->block = ::operator new[](s->n_bytes); break;
        case 10: s->block = ::operator new(s->n_bytes, std::nothrow); break;
        case 11: s->block = ::operator new[](s->n_bytes, std::nothrow); break;
        case 12: s->block = ::operator new(s->n_bytes, align); break;
        case 13: s->block = ::operator new[](s->n_bytes, align); break;
        case 14: s->block = ::operator new(s->n_bytes, align, std::nothrow); break;
        default: s->block = ::operator new[](s->n_bytes, align, std::nothrow); break;
        }
}

static void allocate(struct slot *s) {
        s->form = (int)draw(N_FORMS);
        s->n_bytes = 1 + draw(draw(8) ? 300 : 20000);
        s->align = (size_t)32 << draw(6);
        if (s->form < N_C_FORMS)
                allocate_c(s);
        else
                allocate_cxx(s);
        if (s->form >= 12 && (uintptr_t)s->block % s->align)
                abort();
        fill(s);
        replace_count_alloc(s->n_bytes);
}

static void release_cxx(struct slot *s) {
        std::align_val_t align{s->align};
        void *p = s->block;
        unsigned kind = s->form < 12 ? 0 : 2; /* 1: an array; 2: aligned */

        switch ((kind + (unsigned)s->form % 2) * 3 + draw(3)) {
        case 0: ::operator delete(p); break;
        case 1: ::operator delete(p, s->n_bytes); break;
        case 2: ::operator delete(p, std::nothrow); break;
        case 3: ::operator delete[](p); break;
        case 4: ::operator delete[](p, s->n_bytes); break;
        case 5: ::operator delete[](p, std::nothrow); break;
        case 6: ::operator delete(p, align); break;
        case 7: ::operator delete(p, s->n_bytes, align); break;
        case 8: ::operator delete(p, align, std::nothrow); break;
        case 9: ::operator delete[](p, align); break;
        case 10: ::operator delete[](p, s->n_bytes, align); break;
        default: ::operator delete[](p, align, std::nothrow); break;
        }
}

static void release(struct slot *s) {
        check(s, s->n_bytes);
        replace_count_free(s->n_bytes);
        if (s->form < N_C_FORMS)
                free(s->block);
        else
                release_cxx(s);
        s->block = NULL;
}

static void resize(struct slot *s) {
        size_t n_bytes = 1 + draw(3000);

        check(s, 1);
        s->block = draw(2) ? realloc(s->block, n_bytes) : reallocarray(s->block, 1, n_bytes);
        check(s, n_bytes < s->n_bytes ? n_bytes : s->n_bytes);
        replace_count_free(s->n_bytes);
        s->n_bytes = n_bytes;
        replace_count_alloc(n_bytes);
        replace_counted()->reallocations++;
        fill(s);
}

/* By code of the C++ library's own. */
static void use_string(void) {
        size_t n = 20 + draw(500);
        std::string text(n, 'x');

        replace_count_alloc(n + 1);
        if (text[n / 2] != 'x')
                abort();
        replace_count_free(n + 1);
}

static void fail(void) {
        volatile size_t much = (size_t)1 << 60;

        if (malloc(much) || calloc(much, 2) || realloc(NULL, much))
                abort();
        replace_counted()->failed_allocations += 3;
}

extern "C" void replace_work(unsigned long n_rounds, unsigned seed) {
        state = seed;
        for (unsigned long i = 0; i < n_rounds; i++) {
                struct slot *s = &slots[draw(N_SLOTS)];
                unsigned what = draw(16);

                if (!s->block)
                        allocate(s);
                else if (s->form < N_C_FORMS && what < 4)
                        resize(s);
                else
                        release(s);
                if (what == 14)
                        use_string();
                if (what == 15 && !draw(16))
                        fail();
        }
}
