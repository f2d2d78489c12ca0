/* SPDX-License-Identifier: MIT */
/* What programs call through include/silt/silt.h. Nothing here fails or waits longer than a hook; values that
 * cannot be are not told on. Where allocations are sampled, pools are not followed: their own blocks are sampled. */
#include "hook/event.h"

/* Whether pools are followed; where they are not, the recorder is told that there are some. */
static bool api_follows_pools(void) {
        if (likely(!runtime.is_sampled))
                return true;
        runtime_mark_unfollowed(WIRE_UNFOLLOWED_POOLS);
        return false;
}

static uint64_t api_address(const void *address) {
        return ((uint64_t)address & WIRE_ADDRESS_MASK) | WIRE_POOL;
}

HOOK_EXPORT void silt_api_alloc(const void *address, size_t size_bytes);
HOOK_EXPORT void silt_api_free(const void *address);
HOOK_EXPORT void silt_api_free_range(const void *begin, const void *end);
HOOK_EXPORT void silt_api_mark(const char *text);
HOOK_EXPORT void silt_api_thread_name(const char *name);

HOOK_EXPORT void silt_api_alloc(const void *address, size_t size_bytes) {
        struct thread *t = thread_get();
        struct unwind_regs from;

        if (!t || !address || size_bytes >> 48 || !api_follows_pools())
                return;
        UNWIND_HERE(&from);
        event_stack(t, WIRE_POOL_ALLOC, (const uint64_t[]){api_address(address), size_bytes}, 2,
                    WIRE_FORM_MALLOC, &from);
}

HOOK_EXPORT void silt_api_free(const void *address) {
        struct thread *t = thread_get();

        if (!t || !address || !api_follows_pools())
                return;
        if (unlikely(runtime.free_stacks)) {
                struct unwind_regs from;

                UNWIND_HERE(&from);
                event_free_stack(t, (void *)api_address(address), WIRE_NO_SIZE, &from);
        } else {
                event_free(t, (void *)api_address(address), WIRE_NO_SIZE);
        }
}

HOOK_EXPORT void silt_api_free_range(const void *begin, const void *end) {
        struct thread *t = thread_get();
        const uint64_t words[] = {(uint64_t)begin & WIRE_ADDRESS_MASK,
                                  (uint64_t)end & WIRE_ADDRESS_MASK};

        if (t && words[0] < words[1] && api_follows_pools())
                event_words(t, WIRE_FREE_RANGE, words, 2);
}

HOOK_EXPORT void silt_api_mark(const char *text) {
        struct thread *t = thread_get();
        uint64_t words[1 + WIRE_MAX_MARK / 8];
        uint32_t n = 0, n_words;

        if (!t || !text)
                return;
        while (n < WIRE_MAX_MARK && text[n])
                n++;
        n_words = 1 + (n + 7) / 8;
        words[n_words - 1] = 0;
        words[0] = n;
        for (uint32_t i = 0; i < n; i++)
                ((char *)(words + 1))[i] = text[i];
        event_words(t, WIRE_MARK, words, n_words);
}

HOOK_EXPORT void silt_api_thread_name(const char *name) {
        struct thread *t = thread_get();

        if (t && name)
                event_thread_name(t, name);
}
