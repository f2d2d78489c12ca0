/* SPDX-License-Identifier: MIT */
/* replace ROUNDS SEED [PLUGIN] [wait]: does the work, here or in a plugin, and tells its count. With `wait` it says "ready PID", and
 * works and ends when it is told to. Its own figures are those of the functions it calls, each with the size it asked for. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replace.h"

static struct replace_count count;

extern "C" __attribute__((visibility("default"))) struct replace_count *replace_counted(void) {
        return &count;
}

static void await_line(void) {
        char line[64];

        if (!fgets(line, sizeof(line), stdin))
                exit(3);
}

int main(int argc, char **argv) {
        void (*work)(unsigned long, unsigned) = NULL;
        bool waits = argc > 3 && !strcmp(argv[argc - 1], "wait");
        void *handle;

        setvbuf(stdout, NULL, _IONBF, 0);
        setvbuf(stdin, NULL, _IONBF, 0);
#ifdef WORK_IS_IN_PLUGIN
        handle = dlopen(argv[3], RTLD_NOW | RTLD_LOCAL);
        if (handle)
                work = (void (*)(unsigned long, unsigned))dlsym(handle, "replace_work");
        if (!work) {
                fprintf(stderr, "%s\n", dlerror());
                return 2;
        }
#else
        handle = NULL;
        work = replace_work;
        (void)handle;
#endif
        if (waits) {
                printf("ready %d\n", (int)getpid());
                await_line();
        }
        work(strtoul(argv[1], NULL, 10), (unsigned)strtoul(argv[2], NULL, 10));
        if (waits) {
                puts("done");
                await_line();
        }
        printf("allocations %lu\nfrees %lu\nreallocations %lu\nfailed_allocations %lu\nbytes_allocated %lu\nend_live_blocks %lu\n"
               "end_live_bytes %lu\n",
               count.allocations, count.frees, count.reallocations, count.failed_allocations,
               count.bytes_allocated, count.end_live_blocks, count.end_live_bytes);
        return 0;
}
