/* SPDX-License-Identifier: MIT */
/* For exit_status.py: requests more than any machine has, in the way of its argument, and lives on. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <new>

static const size_t too_much = (size_t)1 << 46;
static void *volatile keep;

__attribute__((noinline)) static void ask_malloc(size_t n) {
        keep = malloc(n);
}
__attribute__((noinline)) static void ask_calloc(size_t n) {
        keep = calloc(n / 64, 64);
}
__attribute__((noinline)) static void ask_realloc(size_t n) {
        void *old = malloc(100);

        keep = realloc(old, n);
        free(old);
}
__attribute__((noinline)) static void ask_new(size_t n) {
        try {
                keep = operator new(n);
        } catch (const std::bad_alloc &) {
                keep = nullptr;
        }
}

int main(int, char **argv) {
        const char *how = argv[1];

        if (!strcmp(how, "malloc"))
                ask_malloc(too_much);
        else if (!strcmp(how, "calloc"))
                ask_calloc(too_much);
        else if (!strcmp(how, "realloc"))
                ask_realloc(too_much);
        else if (!strcmp(how, "new"))
                ask_new(too_much);
        else
                for (int i = 0; i < 1000; i++)
                        ask_malloc(i == 7 ? too_much : too_much / 2);
        return keep != nullptr;
}
