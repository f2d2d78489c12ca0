/* SPDX-License-Identifier: MIT */
/* Sorted lists of addresses. Inside symbol/ only. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Index of the first that is not below address; n when all are. */
static inline size_t addresses_first_from(const uint64_t *addresses, size_t n, uint64_t address) {
        size_t low = 0, high = n;

        while (low < high) {
                size_t mid = low + (high - low) / 2;

                if (addresses[mid] < address)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low;
}
