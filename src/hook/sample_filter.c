/* SPDX-License-Identifier: MIT */
#include "hook/sample_filter.h"

_Alignas(sizeof(sample_filter)) _Atomic uint64_t sample_filter[SAMPLE_N_CLASSES / 64];
_Atomic uint8_t sample_classes[SAMPLE_N_CLASSES];

void sample_clear_classes(void) {
        for (size_t i = 0; i < SAMPLE_N_CLASSES; i++)
                if (atomic_load_explicit(&sample_classes[i], memory_order_relaxed) !=
                    SAMPLE_CLASS_STUCK) {
                        atomic_store_explicit(&sample_classes[i], 0, memory_order_relaxed);
                        sample_clear_bit(i);
                }
}

bool sample_enter_class(size_t class) {
        _Atomic uint8_t *n = &sample_classes[class];
        uint8_t old = atomic_load_explicit(n, memory_order_relaxed);

        do {
                if (old == SAMPLE_CLASS_CLEARING)
                        return false;
        } while (old != SAMPLE_CLASS_STUCK &&
                 !atomic_compare_exchange_weak_explicit(
                         n, &old,
                         old + 1 == SAMPLE_CLASS_CLEARING ? SAMPLE_CLASS_STUCK : (uint8_t)(old + 1),
                         memory_order_acq_rel, memory_order_relaxed));
        sample_set_bit(class); /* whoever came first may not have done so yet */
        return true;
}

/* The last one clears the bit while nobody can enter. */
void sample_leave_class(size_t class) {
        _Atomic uint8_t *n = &sample_classes[class];
        uint8_t old = atomic_load_explicit(n, memory_order_relaxed), clearing;

        do {
                if (old == SAMPLE_CLASS_STUCK)
                        return;
        } while (!atomic_compare_exchange_weak_explicit(
                n, &old, old == 1 ? SAMPLE_CLASS_CLEARING : (uint8_t)(old - 1),
                memory_order_acq_rel, memory_order_relaxed));
        if (old != 1)
                return;
        sample_clear_bit(class);
        clearing = SAMPLE_CLASS_CLEARING;
        if (!atomic_compare_exchange_strong_explicit(n, &clearing, 0, memory_order_acq_rel,
                                                     memory_order_relaxed))
                sample_set_bit(class); /* sample_mark_early came between */
}
