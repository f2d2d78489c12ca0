/* SPDX-License-Identifier: MIT */
#include "query/used_allocator.h"

#include <string.h>

#include "base/macros.h"
#include "trace/reader.h"

static const char *const file_names[][2] = {{"/libjemalloc", "jemalloc"},
                                            {"/libmimalloc", "mimalloc"},
                                            {"/libtcmalloc", "tcmalloc"}};

/* By its file one that has no name. */
static const char *name_of(const struct trace_allocator *a) {
        const char *slash = strrchr(a->module, '/');

        if (strcmp(a->name, "gperftools") == 0)
                return "tcmalloc";
        return strcmp(a->name, "malloc") == 0 && slash ? slash + 1 : a->name;
}

/* Older recorders did not say which it was, where it was the loader's; a library's name may then. */
const char *used_allocator(const struct trace_view *v, uint32_t process, bool *ret_has_others) {
        const struct trace_allocator *most = NULL;
        size_t n = 0;

        for (size_t i = 0; i < v->n_allocators; i++) {
                const struct trace_allocator *a = &v->allocators[i];

                if (a->process != process || !a->n_allocs)
                        continue;
                n++;
                if (!most || a->alloc_bytes > most->alloc_bytes)
                        most = a;
        }
        if (ret_has_others)
                *ret_has_others = n > 1;
        if (most)
                return name_of(most);
        for (size_t m = 0; m < v->n_modules; m++)
                for (size_t i = 0; i < ARRAY_SIZE(file_names); i++)
                        if (strstr(v->modules[m].path, file_names[i][0]))
                                return file_names[i][1];
        return NULL;
}
