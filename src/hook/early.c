/* SPDX-License-Identifier: MIT */
#include "hook/early.h"

#include <sys/mman.h>

#include "hook/sample_filter.h"
#include "wire/record.h"

_Alignas(4096) uint8_t early_first[EARLY_FIRST_BYTES]; /* malloc_enter.S has its page alone */
struct early_arena early_second;

static _Atomic size_t early_first_used;
static _Atomic uint32_t early_second_is_being_mapped;

static uint8_t *early_bump(uint8_t *bytes, size_t size_bytes, _Atomic size_t *used,
                           size_t n_bytes) {
        size_t old = atomic_load_explicit(used, memory_order_relaxed);

        do {
                if (n_bytes > size_bytes - old)
                        return NULL;
        } while (!atomic_compare_exchange_weak_explicit(used, &old, old + n_bytes,
                                                        memory_order_relaxed,
                                                        memory_order_relaxed));
        return bytes + old;
}

/* A thread that comes while another maps it goes without. */
static void early_map_second(void) {
        long pages;

        if (atomic_exchange_explicit(&early_second_is_being_mapped, 1, memory_order_acquire))
                return;
        pages = sys_mmap(NULL, EARLY_SECOND_BYTES, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (sys_is_error(pages))
                return;
        early_second.bytes = (uint8_t *)pages;
        atomic_thread_fence(memory_order_release);
        early_second.size_bytes = EARLY_SECOND_BYTES;
        /* malloc_enter.S knows the first alone; seq_cst: either this store is the last, or runtime_show_reals sees the size */
        atomic_store_explicit(&runtime_wiped.real_usable_size, 0, memory_order_seq_cst);
}

static uint8_t *early_take(size_t n_bytes) {
        uint8_t *bytes = early_bump(early_first, EARLY_FIRST_BYTES, &early_first_used, n_bytes);

        if (bytes)
                return bytes;
        if (!early_second.size_bytes)
                early_map_second();
        if (!early_second.size_bytes)
                return NULL;
        atomic_thread_fence(memory_order_acquire);
        return early_bump(early_second.bytes, early_second.size_bytes, &early_second.used_bytes,
                          n_bytes);
}

/* release: the entry's fields before its kind. Pairs with the acquire in early_replay_arena. */
static void early_finish(struct early_entry *entry, enum early_kind kind) {
        atomic_store_explicit(&entry->kind, (uint8_t)kind, memory_order_release);
}

static void early_set_old(struct early_entry *entry, const void *old) {
        entry->is_in_second = (uintptr_t)old - (uintptr_t)early_first >= EARLY_FIRST_BYTES;
        entry->old = (uint32_t)((const uint8_t *)old -
                                (entry->is_in_second ? early_second.bytes : early_first));
}

/* The entry is unfinished. */
static struct early_entry *early_new_block(size_t size_bytes, size_t align_bytes, unsigned form,
                                           const void *caller) {
        size_t header_bytes = sizeof(struct early_entry), block_bytes, fill_bytes = 0;
        size_t slack_bytes = align_bytes > EARLY_ALIGN ? align_bytes + header_bytes : 0;
        struct early_entry *entry;
        uint8_t *bytes;

        if (size_bytes > EARLY_SECOND_BYTES || align_bytes > EARLY_SECOND_BYTES)
                return NULL;
        block_bytes = (size_bytes + EARLY_ALIGN - 1) & -(size_t)EARLY_ALIGN;
        if (block_bytes == 0)
                block_bytes = EARLY_ALIGN; /* two empty blocks have two addresses */
        bytes = early_take(header_bytes + block_bytes + slack_bytes);
        if (!bytes)
                return NULL;
        if (slack_bytes) {
                /* room for an EARLY_FILL entry, then up to the alignment */
                uintptr_t block =
                        ((uintptr_t)bytes + 2 * header_bytes + align_bytes - 1) & -align_bytes;

                fill_bytes = block - header_bytes - (uintptr_t)bytes;
        }
        entry = (struct early_entry *)(bytes + fill_bytes);
        entry->entry_bytes = header_bytes + block_bytes + slack_bytes - fill_bytes;
        entry->size_bytes = size_bytes;
        entry->caller = caller;
        entry->form = (uint8_t)form;
        sample_mark_early(entry + 1);
        if (fill_bytes) {
                struct early_entry *fill = (struct early_entry *)bytes;

                fill->entry_bytes = fill_bytes;
                early_finish(fill, EARLY_FILL);
        }
        return entry;
}

void *early_alloc(size_t size_bytes, size_t align_bytes, unsigned form, const void *caller) {
        struct early_entry *entry = early_new_block(size_bytes, align_bytes, form, caller);

        if (!entry)
                return NULL;
        early_finish(entry, EARLY_ALLOC);
        return entry + 1;
}

void *early_realloc(void *block, size_t size_bytes, const void *caller) {
        struct early_entry *entry =
                early_new_block(size_bytes, EARLY_ALIGN, WIRE_FORM_REALLOC, caller);
        size_t n_bytes;

        if (!entry)
                return NULL;
        n_bytes = early_size(block) < size_bytes ? early_size(block) : size_bytes;
        for (size_t i = 0; i < n_bytes; i++)
                ((uint8_t *)(entry + 1))[i] = ((const uint8_t *)block)[i];
        early_set_old(entry, block);
        early_finish(entry, EARLY_REALLOC);
        return entry + 1;
}

void early_free(void *block) {
        struct early_entry *entry = (struct early_entry *)early_take(sizeof(*entry));

        if (!entry)
                return;
        entry->entry_bytes = sizeof(*entry);
        early_set_old(entry, block);
        early_finish(entry, EARLY_FREE);
}

static void early_replay_arena(uint8_t *bytes, size_t used_bytes,
                               void (*fn)(void *, const struct early_entry *, void *, void *),
                               void *ctx) {
        size_t off = 0;

        while (off < used_bytes) {
                struct early_entry *entry = (struct early_entry *)(bytes + off);
                uint8_t kind = atomic_load_explicit(&entry->kind, memory_order_acquire);
                void *old = (entry->is_in_second ? early_second.bytes : early_first) + entry->old;

                if (kind == EARLY_UNFINISHED)
                        return;
                if (kind != EARLY_FILL)
                        fn(ctx, entry, entry + 1, old);
                off += entry->entry_bytes;
        }
}

void early_replay(void (*fn)(void *ctx, const struct early_entry *entry, void *block, void *old),
                  void *ctx) {
        early_replay_arena(early_first,
                           atomic_load_explicit(&early_first_used, memory_order_acquire), fn, ctx);
        if (early_second.size_bytes)
                early_replay_arena(early_second.bytes,
                                   atomic_load_explicit(&early_second.used_bytes,
                                                        memory_order_acquire),
                                   fn, ctx);
}
