/* SPDX-License-Identifier: MIT */
#include "attach/layouts.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/builtin_layouts.h"
#include "base/macros.h"

enum { MAX_FILE_BYTES = 4096, MAX_FIELDS = 24 };

struct field {
        const char *name;
        size_t at; /* in the structure */
        uint32_t min, max;
};

#define FIELD(type, member, min, max)                                                              \
        { #member, offsetof(struct type, member), min, max }

static const struct field jemalloc_fields[] = {
        FIELD(jemalloc_layout, large_off, 64, 65536),
        FIELD(jemalloc_layout, large_bytes, 24, 96),
        FIELD(jemalloc_layout, has_large_sums, 0, 1),
        FIELD(jemalloc_layout, n_mutexes, 0, 16),
        FIELD(jemalloc_layout, active_bytes, 8, 4096),
        FIELD(jemalloc_layout, shard_align_bytes, 8, 64),
        FIELD(jemalloc_layout, base_bytes, 16, 256),
        FIELD(jemalloc_layout, bins_align_bytes, 8, 64),
        FIELD(jemalloc_layout, figures_off, 0, 64),
        FIELD(jemalloc_layout, bin_bytes, 88, 168),
        FIELD(jemalloc_layout, has_page_sums, 0, 1),
        FIELD(jemalloc_layout, extent_addr_off, 8, 120),
        FIELD(jemalloc_layout, extent_size_off, 8, 120),
        FIELD(jemalloc_layout, extent_bitmap_off, 8, 248),
        FIELD(jemalloc_layout, slab_bit, 12, 63),
        FIELD(jemalloc_layout, state_bit, 12, 60),
        FIELD(jemalloc_layout, n_state_bits, 1, 3),
        FIELD(jemalloc_layout, class_bit, 12, 56),
        FIELD(jemalloc_layout, free_bit, 12, 48),
};

static const struct field mimalloc_fields[] = {
        FIELD(mimalloc_layout, cookie_off, 8, 504),
        FIELD(mimalloc_layout, slices_off, 40, 512),
        FIELD(mimalloc_layout, used_off, 0, 184),
        FIELD(mimalloc_layout, used_bytes, 1, 8),
        FIELD(mimalloc_layout, size_off, 0, 184),
        FIELD(mimalloc_layout, size_bytes, 4, 8),
        FIELD(mimalloc_layout, page_bytes, 16, LAYOUT_MAX_PAGE_BYTES),
        {"free_off", offsetof(struct mimalloc_layout, free_offs[0]), 0, 184},
        {"freed_off", offsetof(struct mimalloc_layout, free_offs[1]), 0, 184},
        {"freed_by_others_off", offsetof(struct mimalloc_layout, free_offs[2]), 0, 184},
        FIELD(mimalloc_layout, first_off, 0, 184),
        FIELD(mimalloc_layout, heap_off, 0, 184),
        FIELD(mimalloc_layout, delayed_off, 0, 16384),
};

static const struct field mimalloc_map_fields[] = {
        FIELD(mimalloc_map_layout, slice_bits, 12, 20),
        FIELD(mimalloc_map_layout, map_bits, 9, 18),
        FIELD(mimalloc_map_layout, page_bytes, 16, LAYOUT_MAX_PAGE_BYTES),
        FIELD(mimalloc_map_layout, used_off, 0, 184),
        FIELD(mimalloc_map_layout, n_ever_off, 0, 184),
        FIELD(mimalloc_map_layout, n_room_off, 0, 184),
        {"free_off", offsetof(struct mimalloc_map_layout, free_offs[0]), 0, 184},
        {"freed_off", offsetof(struct mimalloc_map_layout, free_offs[1]), 0, 184},
        {"freed_by_others_off", offsetof(struct mimalloc_map_layout, free_offs[2]), 0, 184},
        FIELD(mimalloc_map_layout, size_off, 0, 184),
        FIELD(mimalloc_map_layout, first_off, 0, 184),
};

/* ---- one file ---------------------------------------------------------------------------------------------- */

/* NAME VALUE; ret_value is what follows the name, up to the line's end. */
static bool next_line(const char **at, char ret_name[32], char ret_value[LAYOUT_VERSION_BYTES]) {
        while (**at) {
                const char *line = *at;
                size_t n = strcspn(line, "\n");

                *at += n + (line[n] == '\n');
                if (line[0] != '#' && sscanf(line, "%31s %23s", ret_name, ret_value) == 2 &&
                    n >= strlen(ret_name) + 1 + strlen(ret_value))
                        return true;
                if (line[0] != '#' && n) {
                        *at = line; /* a name without a value */
                        break;
                }
        }
        ret_name[0] = '\0';
        return false;
}

/* Every field once, and no other. */
static bool read_fields(const char *text, const struct field *fields, size_t n_fields, void *to) {
        char name[32], value[LAYOUT_VERSION_BYTES];
        bool has[MAX_FIELDS] = {false};
        size_t n = 0;

        while (next_line(&text, name, value)) {
                size_t i = 0;
                unsigned long long number;
                char *end;

                if (!strcmp(name, "allocator"))
                        continue;
                if (!strcmp(name, "version")) {
                        memcpy(to, value, LAYOUT_VERSION_BYTES);
                        continue;
                }
                while (i < n_fields && strcmp(fields[i].name, name) != 0)
                        i++;
                if (i == n_fields || has[i] || value[0] < '0' || value[0] > '9')
                        return false;
                number = strtoull(value, &end, 10);
                if (*end || number < fields[i].min || number > fields[i].max)
                        return false;
                *(uint32_t *)((uint8_t *)to + fields[i].at) = (uint32_t)number;
                has[i] = true;
                n++;
        }
        return !*text && n == n_fields && *(const char *)to;
}

static bool is_in(uint32_t off, uint32_t n_bytes, uint32_t of) {
        return off + n_bytes <= of && off % (n_bytes < 8 ? n_bytes : 8) == 0;
}

static bool fits_mimalloc(const struct mimalloc_layout *l) {
        bool fits = l->cookie_off % 8 == 0 && l->slices_off % 8 == 0 &&
                    l->cookie_off + 8 <= l->slices_off && l->page_bytes % 8 == 0 &&
                    is_in(l->used_off, l->used_bytes, l->page_bytes) &&
                    is_in(l->size_off, l->size_bytes, l->page_bytes) &&
                    is_in(l->first_off, 8, l->page_bytes) && is_in(l->heap_off, 8, l->page_bytes);

        for (size_t i = 0; i < LAYOUT_N_FREE; i++)
                fits &= is_in(l->free_offs[i], 8, l->page_bytes);
        return fits;
}

static bool fits_mimalloc_map(const struct mimalloc_map_layout *l) {
        bool fits = l->page_bytes % 8 == 0 && is_in(l->used_off, 2, l->page_bytes) &&
                    is_in(l->n_ever_off, 2, l->page_bytes) &&
                    is_in(l->n_room_off, 2, l->page_bytes) &&
                    is_in(l->size_off, 8, l->page_bytes) && is_in(l->first_off, 8, l->page_bytes);

        for (size_t i = 0; i < LAYOUT_N_FREE; i++)
                fits &= is_in(l->free_offs[i], 8, l->page_bytes);
        return fits;
}

static bool fits_jemalloc(const struct jemalloc_layout *l) {
        return l->large_off % 8 == 0 && l->large_bytes % 8 == 0 && l->base_bytes % 8 == 0 &&
               (l->shard_align_bytes & (l->shard_align_bytes - 1)) == 0 &&
               (l->bins_align_bytes & (l->bins_align_bytes - 1)) == 0 && l->active_bytes % 8 == 0 &&
               l->figures_off % 8 == 0 && l->bin_bytes % 8 == 0 &&
               l->figures_off + 88 <= l->bin_bytes && l->extent_addr_off % 8 == 0 &&
               l->extent_size_off % 8 == 0 && l->extent_bitmap_off % 8 == 0;
}

bool layouts_add(struct layouts *l, const char *text) {
        char name[32], kind[LAYOUT_VERSION_BYTES];
        const char *at = text;

        if (!next_line(&at, name, kind) || strcmp(name, "allocator") != 0)
                return false;
        if (!strcmp(kind, "jemalloc") && l->n_jemalloc < LAYOUTS_MAX) {
                struct jemalloc_layout one = {0};

                if (!read_fields(text, jemalloc_fields, ARRAY_SIZE(jemalloc_fields), &one) ||
                    !fits_jemalloc(&one))
                        return false;
                l->jemalloc[l->n_jemalloc++] = one;
                return true;
        }
        if (!strcmp(kind, "mimalloc") && l->n_mimalloc < LAYOUTS_MAX) {
                struct mimalloc_layout one = {0};

                if (!read_fields(text, mimalloc_fields, ARRAY_SIZE(mimalloc_fields), &one) ||
                    !fits_mimalloc(&one))
                        return false;
                l->mimalloc[l->n_mimalloc++] = one;
                return true;
        }
        if (!strcmp(kind, "mimalloc-map") && l->n_mimalloc_map < LAYOUTS_MAX) {
                struct mimalloc_map_layout one = {0};

                if (!read_fields(text, mimalloc_map_fields, ARRAY_SIZE(mimalloc_map_fields),
                                 &one) ||
                    !fits_mimalloc_map(&one))
                        return false;
                l->mimalloc_map[l->n_mimalloc_map++] = one;
                return true;
        }
        return false;
}

/* ---- all of them ------------------------------------------------------------------------------------------- */

static struct layouts known;

static void add_file(const char *path) {
        char text[MAX_FILE_BYTES + 1];
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        ssize_t n = fd < 0 ? -1 : read(fd, text, MAX_FILE_BYTES);

        if (fd >= 0)
                close(fd);
        if (n > 0) {
                text[n] = '\0';
                if (layouts_add(&known, text))
                        return;
        }
        snprintf(known.unread, sizeof(known.unread), "%.255s", path);
}

/* A folder that is not there is no trouble. */
static void add_config(void) {
        const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
        char folder[3072], path[3400];
        const struct dirent *e;
        DIR *d;

        if (config && config[0] == '/')
                snprintf(folder, sizeof(folder), "%s/silt/allocators", config);
        else if (home && home[0])
                snprintf(folder, sizeof(folder), "%s/.config/silt/allocators", home);
        else
                return;
        d = opendir(folder);
        if (!d)
                return;
        while ((e = readdir(d))) {
                size_t n = strlen(e->d_name);

                if (n <= 7 || strcmp(e->d_name + n - 7, ".layout") != 0 || e->d_name[0] == '.')
                        continue;
                snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
                add_file(path);
        }
        closedir(d);
}

static void load(void) {
        for (size_t i = 0; i < ARRAY_SIZE(builtin_layouts); i++)
                if (!layouts_add(&known, builtin_layouts[i].text))
                        abort();
        add_config();
}

const struct layouts *layouts_known(void) {
        static pthread_once_t once = PTHREAD_ONCE_INIT;

        pthread_once(&once, load);
        return &known;
}
