/* SPDX-License-Identifier: MIT */
#include "symbol/source_path.h"

#include <string.h>

#include "base/str.h"

void source_paths_init(struct source_paths *p) {
        *p = (struct source_paths){.arena = arena_new()};
}

void source_paths_done(struct source_paths *p) {
        arena_free(p->arena);
        map_done(&p->made);
        *p = (struct source_paths){0};
}

/* Drops the last part before end, unless it is `..` or there is none. */
static char *drop_part(char *begin, char *end) {
        char *part = end;

        while (part > begin && part[-1] != '/')
                part--;
        if (part == end || (end - part == 2 && part[0] == '.' && part[1] == '.'))
                return NULL;
        return part > begin ? part - 1 : begin;
}

/* What is kept never gets ahead of what is read. */
static char *put_part(char *begin, char *end, const char *part, size_t n) {
        if (end > begin)
                *end++ = '/';
        memmove(end, part, n);
        return end + n;
}

void source_path_tidy(char *path) {
        bool is_absolute = path[0] == '/';
        char *begin = path + is_absolute, *end = begin; /* of what is kept */
        char *from = begin;

        while (*from) {
                size_t n = strcspn(from, "/");
                char *next = from + n + (from[n] == '/');

                if (n == 2 && from[0] == '.' && from[1] == '.') {
                        char *shorter = drop_part(begin, end);

                        if (shorter)
                                end = shorter;
                        else if (!is_absolute) /* it leads out of where all began */
                                end = put_part(begin, end, from, n);
                } else if (n > 0 && !(n == 1 && from[0] == '.')) {
                        end = put_part(begin, end, from, n);
                }
                from = next;
        }
        *end = '\0';
}

static bool begins_with_directory(const char *file, const char *directory) {
        size_t n = strlen(directory);

        return strncmp(file, directory, n) == 0 && file[n] == '/';
}

static bool is_tidy(const char *path) {
        return path[0] == '/' && !strstr(path, "//") && !strstr(path, "/./") &&
               !strstr(path, "/../");
}

static const char *make_path(struct source_paths *p, const char *directory, const char *file) {
        struct str s = {0};
        char *path;

        /* libdw puts the directory in front where a file is directly in it. */
        if (file[0] != '/' && directory && directory[0] && !begins_with_directory(file, directory))
                str_addf(&s, "%s/", directory);
        str_add(&s, file);
        path = arena_strdup(p->arena, str_text(&s));
        str_done(&s);
        source_path_tidy(path);
        return path;
}

const char *source_path(struct source_paths *p, const char *directory, const char *file) {
        uint64_t *made;
        bool added;

        if (!file || !file[0] || is_tidy(file))
                return file;
        made = map_put(&p->made, (uintptr_t)file, 0, &added);
        if (added)
                *made = (uintptr_t)make_path(p, directory, file);
        return (const char *)(uintptr_t)*made;
}
