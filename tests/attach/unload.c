/* SPDX-License-Identifier: MIT */
/* unload ROUNDS LIBRARY…: in each round every library (unload_library.c) is opened, allocates 20 blocks, and is closed: all of them where
 * the first was. Says "ready PID", waits for a line before and after, and prints how often one lay elsewhere. */
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { N_BLOCKS = 20 };

static uintptr_t first;
static unsigned n_elsewhere;

__attribute__((noinline, noclone)) static void use_library(const char *path) {
        void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        void *(*work)(void) = handle ? (void *(*)(void))dlsym(handle, "unload_work") : NULL;
        const struct link_map *m = handle;

        if (!work)
                exit(3);
        if (!first)
                first = m->l_addr;
        n_elsewhere += m->l_addr != first;
        for (int i = 0; i < N_BLOCKS; i++)
                free(work());
        if (dlclose(handle) != 0)
                exit(4);
}

static void await_line(void) {
        char line[16];

        if (!fgets(line, sizeof(line), stdin))
                exit(5);
}

int main(int argc, char **argv) {
        dprintf(1, "ready %d\n", (int)getpid());
        await_line();
        for (int i = 0; argc > 2 && i < atoi(argv[1]); i++)
                for (int k = 2; k < argc; k++)
                        use_library(argv[k]);
        dprintf(1, "%u\n", n_elsewhere);
        await_line();
        return 0;
}
