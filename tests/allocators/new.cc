// SPDX-License-Identifier: MIT
// All 20 forms of operator new and delete. HEAP: where their blocks come from.
#include <new>

#include "drill.h"

#ifndef HEAP
#define HEAP "malloc"
#endif

using std::align_val_t;
using std::nothrow;

static constexpr align_val_t wide{64};

template <typename F>
static void *caught(F f) {
        try {
                return f();
        } catch (const std::bad_alloc &) {
                drill_count_throw();
                return nullptr;
        }
}

// libstdc++ builds these on the ones that throw.
#ifdef NOTHROW_THROWS
#define FAIL_NOTHROW(fn, expr) FAIL(fn, (drill_count_throw(), expr))
#else
#define FAIL_NOTHROW(fn, expr) FAIL(fn, expr)
#endif

// Sized forms must be given the size the block was asked for with, aligned ones its alignment.
#define GIVE_ALIKE(fn, plain, aligned)                                                             \
        static void fn(struct block *b, size_t n) {                                                \
                (void)n;                                                                           \
                if (b->had)                                                                        \
                        operator delete(b->p);                                                     \
                else if (b->align)                                                                 \
                        aligned;                                                                   \
                else                                                                               \
                        plain;                                                                     \
        }
#define BY align_val_t(b->align)

TAKE(take, operator new(n), n, 0)
TAKE(take_array, operator new[](n), n, 0)
TAKE(take_nothrow, operator new(n, nothrow), n, 0)
TAKE(take_array_nothrow, operator new[](n, nothrow), n, 0)
TAKE(take_aligned, operator new(n, wide), n, 64)
TAKE(take_array_aligned, operator new[](n, wide), n, 64)
TAKE(take_aligned_nothrow, operator new(n, wide, nothrow), n, 64)
TAKE(take_array_aligned_nothrow, operator new[](n, wide, nothrow), n, 64)
GIVE_ALIKE(give, operator delete(b->p), operator delete(b->p, BY))
GIVE_ALIKE(give_array, operator delete[](b->p), operator delete[](b->p, BY))
GIVE_ALIKE(give_nothrow, operator delete(b->p, nothrow), operator delete(b->p, BY, nothrow))
GIVE_ALIKE(
        give_array_nothrow, operator delete[](b->p, nothrow), operator delete[](b->p, BY, nothrow))
GIVE_ALIKE(give_sized, operator delete(b->p, b->n), operator delete(b->p, b->n, BY))
GIVE_ALIKE(give_array_sized, operator delete[](b->p, b->n), operator delete[](b->p, b->n, BY))
FAIL(fail, caught([n] { return operator new(n); }))
FAIL(fail_array, caught([n] { return operator new[](n); }))
FAIL(fail_aligned, caught([n] { return operator new(n, wide); }))
FAIL(fail_array_aligned, caught([n] { return operator new[](n, wide); }))
FAIL_NOTHROW(fail_nothrow, operator new(n, nothrow))
FAIL_NOTHROW(fail_array_nothrow, operator new[](n, nothrow))
FAIL_NOTHROW(fail_aligned_nothrow, operator new(n, wide, nothrow))
FAIL_NOTHROW(fail_array_aligned_nothrow, operator new[](n, wide, nothrow))

static const struct drill new_drills[] = {
        {"new", DRILL_TAKE, take, false},
        {"new[]", DRILL_TAKE, take_array, false},
        {"new nothrow", DRILL_TAKE, take_nothrow, false},
        {"new[] nothrow", DRILL_TAKE, take_array_nothrow, false},
        {"new aligned", DRILL_TAKE, take_aligned, false},
        {"new[] aligned", DRILL_TAKE, take_array_aligned, false},
        {"new aligned nothrow", DRILL_TAKE, take_aligned_nothrow, false},
        {"new[] aligned nothrow", DRILL_TAKE, take_array_aligned_nothrow, false},
        {"delete", DRILL_GIVE, give, false},
        {"delete[]", DRILL_GIVE, give_array, false},
        {"delete nothrow", DRILL_GIVE, give_nothrow, false},
        {"delete[] nothrow", DRILL_GIVE, give_array_nothrow, false},
        {"delete sized", DRILL_GIVE, give_sized, false},
        {"delete[] sized", DRILL_GIVE, give_array_sized, false},
        {"new", DRILL_FAIL, fail, false},
        {"new[]", DRILL_FAIL, fail_array, false},
        {"new aligned", DRILL_FAIL, fail_aligned, false},
        {"new[] aligned", DRILL_FAIL, fail_array_aligned, false},
        {"new nothrow", DRILL_FAIL, fail_nothrow, false},
        {"new[] nothrow", DRILL_FAIL, fail_array_nothrow, false},
        {"new aligned nothrow", DRILL_FAIL, fail_aligned_nothrow, false},
        {"new[] aligned nothrow", DRILL_FAIL, fail_array_aligned_nothrow, false},
};
DRILLS(HEAP, new_drills)
