/* SPDX-License-Identifier: MIT */
#include "attach/target_objects.h"

#include <string.h>

#include "base/macros.h"

enum { OBJECT_MAPPINGS = 8 };

/* Pages of files may be slow to come, or never; those of nobody but the process are there. */
static bool is_anonymous(const struct mapping *m) {
        return m->is_readable && m->is_writable && !m->offset &&
               (m->path[0] == '\0' || m->path[0] == '[');
}

span_list target_spans(const struct target *t) {
        span_list found = {0};

        for (size_t i = 0; i < t->maps.list.n; i++) {
                const struct mapping *m = &t->maps.list.items[i];
                struct memory_span *last = found.n ? &found.items[found.n - 1] : NULL;

                if (!is_anonymous(m))
                        continue;
                if (last && last->end == m->begin)
                        last->end = m->end;
                else
                        vec_push(&found, (struct memory_span){m->begin, m->end});
        }
        return found;
}

/* Objects that were loaded have code not far from where they begin. */
static bool is_object(const struct target *t, size_t i) {
        const struct mapping *m = &t->maps.list.items[i];

        if (m->path[0] != '/' || m->offset)
                return false;
        for (size_t k = i; k < t->maps.list.n && k < i + OBJECT_MAPPINGS; k++)
                if (t->maps.list.items[k].is_code &&
                    strcmp(t->maps.list.items[k].path, m->path) == 0)
                        return true;
        return false;
}

bool target_object_variables(const struct target *t, size_t i, struct memory_span *ret) {
        if (!is_object(t, i) ||
            !target_variables(t, t->maps.list.items[i].begin, &ret->begin, &ret->end))
                return false;
        ret->begin = ALIGN_UP(ret->begin, (uint64_t)8);
        return ret->begin < ret->end;
}
