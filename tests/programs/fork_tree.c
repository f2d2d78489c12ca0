/* SPDX-License-Identifier: MIT */
/* A tree of forks, three levels: root, two children (a, b), two grandchildren each (aa, ab, ba,
 * bb).
 *
 * Every process, when it starts, allocates 10^(3 - level) bytes: root 1,000, children 100,
 * grandchildren 10; forks its two children, waits for both, allocates 1 byte and frees the root's
 *   block of 1,000 (its own copy of it). root: allocations 2, frees 1, bytes 1,001, peak 1,001 in
 *   2, end 1 in 1 child: inherits 1,000 in 1; allocations 2, frees 1, bytes 101, peak 1,101 in 3,
 *   end 101 in 2 grandchild: inherits 1,100 in 2; allocations 2, frees 1, bytes 11, peak 1,111 in
 *   4, end 111 in 3
 * b is forked after a has ended; nothing it inherits differs. Never temporary: 1 byte came in
 * between. */
#include "truth.h"
#include <sys/wait.h>

static void *root_block;

static void run(const char *name, int level, size_t size) {
        void *block = malloc(size);

        if (level == 0)
                root_block = block;
        for (char side = 'a'; side <= 'b' && level < 2; side++) {
                char child_name[8] = "";
                int status;
                strcpy(child_name, level ? name : "");
                child_name[strlen(child_name)] = side;
                pid_t child = fork();
                MUST(child >= 0);
                if (child == 0) {
                        run(child_name, level + 1, size / 10);
                        _exit(0);
                }
                MUST(waitpid(child, &status, 0) == child && status == 0);
                truth_say(child_name, child);
        }
        MUST(malloc(1));
        free(root_block);
}

int main(void) {
        run("", 0, 1000);
        return 0;
}
