/* SPDX-License-Identifier: MIT */
/* malloc_enter.S under other names, with everything around it made up: a plain program, so that it also runs where an
 * emulator keeps the runtime from counting quickly. Every way out, the tally, and what the real functions are given. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "hook/early.h"
#include "hook/malloc_enter.h"
#include "hook/real.h"
#include "hook/sample_filter.h"
#include "hook/thread.h"
#include "wire/sample_draw.h"

#define CHECK(x)                                                                                   \
        do {                                                                                       \
                if (!(x)) {                                                                        \
                        fprintf(stderr, "line %d: %s\n", __LINE__, #x);                            \
                        exit(1);                                                                   \
                }                                                                                  \
        } while (0)

void *entered_malloc(size_t size_bytes);
void entered_free(void *block);
size_t entered_usable_size(void *block);
void *entered_new(size_t size_bytes);
void *entered_new_array(size_t size_bytes);
void entered_delete(void *block);
void entered_delete_array(void *block);
void entered_delete_sized(void *block, size_t size_bytes);
void entered_delete_array_sized(void *block, size_t size_bytes);

_Alignas(RUNTIME_PAGE_MAX) union runtime_wiped runtime_wiped;
_Alignas(sizeof(sample_filter)) _Atomic uint64_t sample_filter[SAMPLE_N_CLASSES / 64];
_Atomic uint8_t sample_classes[SAMPLE_N_CLASSES];
_Alignas(4096) uint8_t early_first[EARLY_FIRST_BYTES];
__thread struct wire_tally *thread_tally;

enum way {
        NOWHERE,
        EXACT,
        SLOW,
        CHOSEN,
        FAILED,
        REAL_MALLOC,
        EXACT_FREE,
        SLOW_FREE,
        REAL_FREE,
        NEW,
        NEW_CHOSEN,
        NEW_FAILED,
        ARRAY,
        ARRAY_CHOSEN,
        ARRAY_FAILED,
        DELETE,
        DELETE_ARRAY,
        DELETE_SIZED,
        DELETE_ARRAY_SIZED,
};

static enum way way;
static size_t given_bytes;
static void *given_block, *returned;
static uintptr_t frame;
static char block, chosen;

static void *went(enum way to, size_t size_bytes, void *result) {
        way = to;
        given_bytes = size_bytes;
        return result;
}

static void released(enum way to, void *p) {
        way = to;
        given_block = p;
}

void *malloc_exact(size_t size_bytes) {
        return went(EXACT, size_bytes, NULL);
}
void *malloc_slow(size_t size_bytes) {
        return went(SLOW, size_bytes, NULL);
}
void *malloc_chosen(size_t size_bytes) {
        return went(CHOSEN, size_bytes, &chosen);
}
void *malloc_failed(size_t size_bytes) {
        return went(FAILED, size_bytes, NULL);
}
void free_exact(void *p) {
        released(EXACT_FREE, p);
}
void free_slow(void *p) {
        released(SLOW_FREE, p);
}
void *new_slow(size_t size_bytes) {
        return went(NEW, size_bytes, NULL);
}
void *new_chosen(size_t size_bytes) {
        return went(NEW_CHOSEN, size_bytes, &chosen);
}
void *new_failed(size_t size_bytes) {
        return went(NEW_FAILED, size_bytes, NULL);
}
void *new_array_slow(size_t size_bytes) {
        return went(ARRAY, size_bytes, NULL);
}
void *new_array_chosen(size_t size_bytes) {
        return went(ARRAY_CHOSEN, size_bytes, &chosen);
}
void *new_array_failed(size_t size_bytes) {
        return went(ARRAY_FAILED, size_bytes, NULL);
}
void delete_slow(void *p) {
        released(DELETE, p);
}
void delete_array_slow(void *p) {
        released(DELETE_ARRAY, p);
}
void delete_sized_slow(void *p, size_t size_bytes) {
        released(DELETE_SIZED, p);
        given_bytes = size_bytes;
}
void delete_array_sized_slow(void *p, size_t size_bytes) {
        released(DELETE_ARRAY_SIZED, p);
        given_bytes = size_bytes;
}
size_t usable_size_slow(void *p) {
        given_block = p;
        return 1;
}
#if SILT_SIGNAL_POINTS
void malloc_enter_point(const char *label) {
        (void)label;
}
#endif

static void *real_malloc(size_t size_bytes) {
        frame = (uintptr_t)__builtin_frame_address(0);
        return went(REAL_MALLOC, size_bytes, returned);
}

static void real_free(void *p) {
        released(REAL_FREE, p);
}

static size_t real_usable_size(void *p) {
        given_block = p;
        return 2;
}

/* What a call leads to, of which block or size. */
static bool leads(void *result, void *expected, enum way to, size_t size_bytes) {
        return result == expected && way == to && given_bytes == size_bytes;
}

static bool frees(void *p, enum way to) {
        way = NOWHERE;
        given_block = NULL;
        entered_free(p);
        return way == to && (to == NOWHERE || given_block == p);
}

static void test_phases(void) {
        CHECK(leads(entered_malloc(3), NULL, SLOW, 3) && frees(&block, SLOW_FREE));
        runtime_wiped.phase = RUNTIME_RECORDING;
        CHECK(leads(entered_malloc(4), NULL, EXACT, 4));
        CHECK(frees(&block, EXACT_FREE) && frees(NULL, NOWHERE));
        runtime_wiped.phase = RUNTIME_SAMPLING;
        CHECK(leads(entered_malloc(5), NULL, SLOW, 5) && frees(&block, SLOW_FREE));
        runtime_wiped.tally_off = (uintptr_t)&thread_tally - (uintptr_t)__builtin_thread_pointer();
        CHECK(leads(entered_malloc(6), NULL, SLOW, 6) && frees(&block, SLOW_FREE));
}

static bool allocated(const struct wire_tally *t, uint64_t n, uint64_t n_bytes) {
        return t->n_allocs == n &&
               sample_alloc_bytes(n, t->due_bytes, t->sample_at, t->next_at) == n_bytes;
}

static void test_counting(void) {
        static struct wire_slot slot;
        struct wire_tally *tally = &slot.tally;

        thread_tally = tally;
        tally->sample_at = tally->next_at = 1000;
        tally->due_bytes = (uint64_t)-1000;
        returned = &block;
        CHECK(leads(entered_malloc(84), &block, REAL_MALLOC, 84));
        CHECK(allocated(tally, 1, 84) && thread_tally == tally);
        CHECK(frame % 16 == 0);
        returned = NULL;
        CHECK(leads(entered_malloc(84), NULL, FAILED, 84) && thread_tally == tally);
        returned = &block;
        CHECK(leads(entered_malloc(1000 - 168 - 3 * 16 - 1), &block, REAL_MALLOC, 783));
        CHECK(leads(entered_malloc(0), &chosen, CHOSEN, 0));
        CHECK(allocated(tally, 3, 951) && thread_tally == NULL);
        CHECK(leads(entered_malloc(1), NULL, SLOW, 1) && tally->n_allocs == 3);

        thread_tally = tally;
        CHECK(frees(&block, REAL_FREE) && tally->n_frees == 1 && thread_tally == tally);
        sample_mark_early(NULL);
        CHECK(frees(NULL, SLOW_FREE) && frees(&block, REAL_FREE));
        sample_mark_early(&block);
        CHECK(frees(&block, SLOW_FREE) && tally->n_frees == 2 && tally->n_reallocs == 0);
}

static bool deletes(void *p, enum way plain, enum way array, enum way sized, enum way array_sized) {
        given_bytes = 0;
        entered_delete(p);
        if (way != plain || given_block != p)
                return false;
        entered_delete_array(p);
        if (way != array || given_block != p)
                return false;
        entered_delete_sized(p, 77);
        if (way != sized || given_block != p || (sized == DELETE_SIZED && given_bytes != 77))
                return false;
        given_bytes = 0;
        entered_delete_array_sized(p, 78);
        return way == array_sized && given_block == p &&
               (array_sized != DELETE_ARRAY_SIZED || given_bytes == 78);
}

/* They have a word of their own that says whether they count. */
static void test_new(void) {
        static struct wire_slot slot;
        struct wire_tally *tally = &slot.tally;

        tally->due_bytes = (uint64_t)-1000;
        tally->sample_at = tally->next_at = 1000;
        thread_tally = tally;
        CHECK(leads(entered_new(5), NULL, NEW, 5) && leads(entered_new_array(6), NULL, ARRAY, 6));
        CHECK(deletes((void *)0x500080, DELETE, DELETE_ARRAY, DELETE_SIZED, DELETE_ARRAY_SIZED));
        runtime_wiped.new_tally_off = runtime_wiped.tally_off;
        returned = &block;
        CHECK(leads(entered_new(84), &block, REAL_MALLOC, 84) && allocated(tally, 1, 84));
        CHECK(leads(entered_new_array(16), &block, REAL_MALLOC, 16) && allocated(tally, 2, 100));
        CHECK(leads(entered_new(0), NULL, NEW, 0) && leads(entered_new_array(0), NULL, ARRAY, 0));
        CHECK(deletes((void *)0x500080, REAL_FREE, REAL_FREE, REAL_FREE, REAL_FREE));
        CHECK(deletes(NULL, DELETE, DELETE_ARRAY, DELETE_SIZED, DELETE_ARRAY_SIZED));
        CHECK(tally->n_frees == 4 && allocated(tally, 2, 100));
        returned = NULL;
        CHECK(leads(entered_new(1), NULL, NEW_FAILED, 1));
        CHECK(leads(entered_new_array(1), NULL, ARRAY_FAILED, 1) && thread_tally == tally);
        CHECK(leads(entered_new(2000), &chosen, NEW_CHOSEN, 2000) && thread_tally == NULL);
        CHECK(leads(entered_new(8), NULL, NEW, 8) && allocated(tally, 4, 102));
        thread_tally = tally;
        CHECK(leads(entered_new_array(900), &chosen, ARRAY_CHOSEN, 900) && thread_tally == NULL);
}

static bool asks(void *p, size_t answer) {
        return entered_usable_size(p) == answer && given_block == p;
}

/* The real function is asked, but about blocks of the early arena, and when it is not known. */
static void test_usable_size(void) {
        enum { SLOWLY = 1, REALLY = 2 };

        CHECK(asks(&block, SLOWLY));
        runtime_wiped.real_usable_size = (uintptr_t)real_usable_size;
        CHECK(asks(&block, REALLY) && asks(NULL, REALLY));
        CHECK(asks(early_first, SLOWLY) && asks(early_first + EARLY_FIRST_BYTES - 1, SLOWLY));
        CHECK(asks((void *)((uintptr_t)early_first - 1), REALLY));
        CHECK(asks(early_first + EARLY_FIRST_BYTES, REALLY));
}

int main(void) {
        runtime_wiped.real_malloc = (uintptr_t)real_malloc;
        runtime_wiped.real_free = (uintptr_t)real_free;
        test_usable_size();
        test_phases();
        test_counting();
        test_new();
        return 0;
}
