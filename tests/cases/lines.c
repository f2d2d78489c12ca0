/* SPDX-License-Identifier: MIT */
/* Asks for memory on lines that say how much: "self" bytes live at the peak asked for on the line, "total" with what it calls,
 * "allocs", "end". Lines that say nothing have nothing. Everything is alive at the peak but what "allocs" counts alone. */
#include <stdlib.h>

static void *volatile sink;

static inline char *make(size_t size) {
        char *block = malloc(size); /* self=47000 total=47000 allocs=37 end=37000 */

        sink = block;
        return block;
}

static __attribute__((noinline)) void fill(char **into, int n) {
        for (int i = 0; i < n; i++)
                into[i] = make(1000); /* total=27000 allocs=27 end=17000 */
        sink = into;
}

static __attribute__((noinline)) void down(int n) {
        if (n)
                down(n - 1); /* total=4000 allocs=4 end=4000 */
        sink = malloc(1000); /* self=5000 total=5000 allocs=5 end=5000 */
        sink = NULL;
}

static char *rows[10], *kept[17];

int main(void) {
        fill(rows, 10); /* total=10000 allocs=10 */
        fill(kept, 17); /* total=17000 allocs=17 end=17000 */
        down(4);        /* total=5000 allocs=5 end=5000 */
        for (int i = 0; i < 10; i++)
                sink = make(2000); /* total=20000 allocs=10 end=20000 */
        for (int i = 0; i < 100; i++) {
                char *block = malloc(10); /* self=10 total=10 allocs=100 */

                sink = block;
                free(block);
        }
        for (int i = 0; i < 10; i++)
                free(rows[i]);
        return 0;
}
