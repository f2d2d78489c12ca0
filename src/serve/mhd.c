/* SPDX-License-Identifier: MIT */
#include "serve/mhd.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

struct mhd mhd;

/* The name that all releases since 0.9 have. */
static const char library[] = "libmicrohttpd.so.12";

static int find(void *in, const char *name, void *ret, struct err *reterr) {
        void *function = dlsym(in, name);

        if (!function)
                return err_set(reterr, -ENOSYS, "%s lacks %s: install a newer one", library, name);
        memcpy(ret, &function, sizeof(function));
        return 0;
}

int mhd_load(struct err *reterr) {
        void *in = dlopen(library, RTLD_NOW | RTLD_LOCAL); /* for good: it has threads */
        int r = 0;

        if (!in)
                return err_set(reterr, -ENOENT,
                               "cannot load %s: install libmicrohttpd (docs/building.md)", library);
#define X(field, function)                                                                         \
        if (r == 0)                                                                                \
                r = find(in, #function, &mhd.field, reterr);
        MHD_FUNCTIONS(X)
#undef X
        return r;
}
