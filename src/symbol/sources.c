/* SPDX-License-Identifier: MIT */
#include "symbol/sources.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct source_text {
        char s[PATH_MAX + 128];
};

static source_list *current;
static struct arena *current_arena;
static bool is_unlisted;

void sources_collect(source_list *list, struct arena *arena) {
        current = list;
        current_arena = arena;
        is_unlisted = false;
}

void sources_note_unlisted(void) {
        is_unlisted = true;
}

bool sources_are_listed(void) {
        return !is_unlisted;
}

static uint64_t ns_of(struct timespec t) {
        return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ctime too: a file that was replaced by one of its own size, and given its own time, is seen. */
static const char *source_describe(struct source_text *t, const char *path) {
        struct stat st;

        if (stat(path, &st) < 0)
                snprintf(t->s, sizeof(t->s), "- %s", path);
        else
                snprintf(t->s, sizeof(t->s), "%" PRIu64 " %" PRId64 " %" PRIu64 " %" PRIu64 " %s",
                         (uint64_t)st.st_ino, (int64_t)st.st_size, ns_of(st.st_mtim),
                         ns_of(st.st_ctim), path);
        return t->s;
}

void sources_note(const char *path) {
        struct source_text t;

        if (!current)
                return;
        source_describe(&t, path);
        for (size_t i = 0; i < current->n; i++)
                if (strcmp(current->items[i], t.s) == 0)
                        return;
        vec_push(current, arena_strdup(current_arena, t.s));
}

/* The path stands behind one word or four. */
static const char *source_path(const char *source) {
        int n_words = source[0] == '-' ? 1 : 4;

        while (n_words-- > 0) {
                source = strchr(source, ' ');
                if (!source)
                        return NULL;
                source++;
        }
        return source;
}

bool sources_hold(const char *const *sources, size_t n) {
        for (size_t i = 0; i < n; i++) {
                const char *path = source_path(sources[i]);
                struct source_text t;

                if (!path || strcmp(source_describe(&t, path), sources[i]) != 0)
                        return false;
        }
        return true;
}
