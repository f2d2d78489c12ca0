/* SPDX-License-Identifier: MIT */
#include "import/import_sequence.h"

#include <stdlib.h>
#include <string.h>

static bool is_digit(char c) {
        return c >= '0' && c <= '9';
}

/* Of any length. */
static int compare_numbers(const char *a, const char *b) {
        size_t n_a, n_b;

        a += strspn(a, "0"), b += strspn(b, "0");
        n_a = strspn(a, "0123456789"), n_b = strspn(b, "0123456789");
        if (n_a != n_b)
                return n_a < n_b ? -1 : 1;
        return strncmp(a, b, n_a);
}

/* 0: the names do not first differ in a number. */
static int compare(const char *a, const char *b) {
        size_t at = 0;

        while (a[at] && a[at] == b[at])
                at++;
        while (at > 0 && is_digit(a[at - 1]))
                at--;
        return is_digit(a[at]) && is_digit(b[at]) ? compare_numbers(a + at, b + at) : 0;
}

static int compare_paths(const void *a, const void *b) {
        return compare(*(const char *const *)a, *(const char *const *)b);
}

bool import_sequence_sort(const char **paths, size_t n) {
        const char **sorted = calloc(n ? n : 1, sizeof(paths[0]));
        bool is_another = false, is_sequence = true;

        if (!sorted)
                abort();
        memcpy(sorted, paths, n * sizeof(paths[0]));
        qsort(sorted, n, sizeof(sorted[0]), compare_paths);
        for (size_t i = 0; i < n; i++) {
                is_sequence &= i == 0 || compare(sorted[i - 1], sorted[i]) < 0;
                is_another |= sorted[i] != paths[i];
        }
        if (is_sequence && is_another)
                memcpy(paths, sorted, n * sizeof(paths[0]));
        free(sorted);
        return is_sequence && is_another;
}
