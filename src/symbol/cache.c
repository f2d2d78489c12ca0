/* SPDX-License-Identifier: MIT */
/* An entry is a trace without events: the module, the addresses that were asked as its locations, their names,
 * and as the "command" what the answer rests on:
 *
 *   args[0]   "silt symbols 1", which silt, which elfutils, where it was told to look
 *   args[1…]  sources
 *
 * so that its reader and its checks are those of traces. Its file is called BUILD-ID-HASH, HASH being that of args[0]
 * and the module's path. */
#include "symbol/cache.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fs.h"
#include "base/map.h"
#include "base/str.h"
#include "symbol/cache_dir.h"
#include "symbol/origin.h"
#include "symbol/sources.h"
#include "trace/writer.h"

enum {
        CACHE_MAX_SHARE = 4, /* no entry takes more than a quarter of the cache */
        CACHE_MAX_ADDRESSES = 1 << 20,
};

struct symbol_cache {
        int dir_fd;
        uint64_t max_bytes;
        struct str key;
        bool may_improve_alone; /* a server may have tomorrow what it has not today */
        bool has_grown;
        struct trace_reader *partial; /* the entry that lacked addresses in the last answer */
};

struct cache_entry {
        struct symbol_cache *cache;
        const struct trace_module *module;
        struct arena *arena; /* everything below */
        const uint64_t *addresses;
        size_t n;
        VEC(struct trace_symbol) symbols;
        struct map texts;
        source_list sources;
};

static uint64_t hash_add(uint64_t hash, const void *p, size_t n) {
        const uint8_t *bytes = p;

        for (size_t i = 0; i < n; i++)
                hash = (hash ^ bytes[i]) * 1099511628211ull;
        return hash;
}

/* ---- the key --------------------------------------------------------------------------------- */

static void add_hex(struct str *s, const uint8_t *bytes, size_t n) {
        for (size_t i = 0; i < n; i++)
                str_addf(s, "%02x", bytes[i]);
}

static int add_own_id(struct dl_phdr_info *info, size_t size, void *ctx) {
        (void)size;
        for (int i = 0; i < info->dlpi_phnum; i++) {
                const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
                const char *p = (const char *)(info->dlpi_addr + ph->p_vaddr),
                           *end = p + ph->p_memsz;

                while (ph->p_type == PT_NOTE && p + sizeof(ElfW(Nhdr)) < end) {
                        const ElfW(Nhdr) *n = (const void *)p;

                        if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4) {
                                add_hex(ctx, (const uint8_t *)p + sizeof(*n) + 4, n->n_descsz);
                                return 1;
                        }
                        p += sizeof(*n) + ALIGN_UP(n->n_namesz, 4u) + ALIGN_UP(n->n_descsz, 4u);
                }
        }
        return 1; /* the first is the program itself */
}

/* Another build of silt may find more, or say it otherwise. */
static void add_own_identity(struct str *s) {
        size_t before = s->n;
        struct stat st;

        dl_iterate_phdr(add_own_id, s);
        if (s->n == before && stat("/proc/self/exe", &st) == 0)
                str_addf(s, "%llu.%lld.%ld", (unsigned long long)st.st_size,
                         (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

static void make_key(struct symbol_cache *c, const struct symbol_search *search) {
        const char *urls = getenv("DEBUGINFOD_URLS");

        str_add(&c->key, "silt symbols 1\n");
        add_own_identity(&c->key);
        str_addf(&c->key, "\n%s\n%s\n%s\n", dwfl_version(NULL), urls ? urls : "",
                 search->sysroot ? search->sysroot : "");
        for (size_t i = 0; i < search->n_debug_paths; i++)
                str_addf(&c->key, "%s\n", search->debug_paths[i]);
        c->may_improve_alone = urls && urls[0];
}

struct cache_name {
        char s[2 * 32 + 32];
};

/* The path too: copies of one build may have different debug files beside them. */
static const char *entry_name(struct cache_name *name, struct symbol_cache *c,
                              const struct trace_module *m) {
        uint64_t hash = hash_add(14695981039346656037ull, str_text(&c->key), c->key.n);
        size_t n = 0;

        hash = hash_add(hash, m->path, strlen(m->path));
        for (uint32_t i = 0; i < m->build_id_len; i++)
                n += (size_t)snprintf(name->s + n, sizeof(name->s) - n, "%02x", m->build_id[i]);
        snprintf(name->s + n, sizeof(name->s) - n, "-%016" PRIx64, hash);
        return name->s;
}

/* ---- the cache ------------------------------------------------------------------------------- */

struct symbol_cache *symbol_cache_open(const struct symbol_search *search) {
        uint64_t max_bytes = cache_dir_max_bytes();
        struct symbol_cache *c;
        int fd = max_bytes ? cache_dir_open() : -1;

        if (fd < 0)
                return NULL;
        c = calloc(1, sizeof(*c));
        if (!c)
                abort();
        c->dir_fd = fd;
        c->max_bytes = max_bytes;
        make_key(c, search);
        return c;
}

void symbol_cache_close(struct symbol_cache *c) {
        if (!c)
                return;
        if (c->has_grown)
                cache_dir_trim(c->dir_fd, c->max_bytes);
        trace_reader_free(c->partial);
        str_done(&c->key);
        close(c->dir_fd);
        free(c);
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool view_is_entry_of(const struct trace_view *v, struct symbol_cache *c,
                             const struct trace_module *m) {
        if (!v->finished || v->damage[0] || v->n_damaged_bytes || v->n_modules != 1 ||
            v->n_module_names != 1 || v->meta.n_args < 1)
                return false;
        if (strcmp(v->meta.args[0], str_text(&c->key)) != 0 ||
            strcmp(v->modules[0].path, m->path) != 0 ||
            v->modules[0].build_id_len != m->build_id_len ||
            memcmp(v->modules[0].build_id, m->build_id, m->build_id_len) != 0)
                return false;
        for (size_t i = 1; i < v->n_locations; i++)
                if (v->locations[i].offset <= v->locations[i - 1].offset)
                        return false;
        return sources_hold(v->meta.args + 1, v->meta.n_args - 1);
}

/* NULL: there is none that could be used. Its time of use is now. */
static struct trace_reader *entry_open(struct symbol_cache *c, const struct trace_module *m) {
        struct trace_reader *t = NULL;
        struct cache_name name;
        _cleanup_close_ int fd = openat(c->dir_fd, entry_name(&name, c, m),
                                        O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        char path[64];
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
            (uint64_t)st.st_size > c->max_bytes / CACHE_MAX_SHARE)
                return NULL;
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        if (trace_reader_open(path, &t, NULL) < 0)
                return NULL;
        if (!view_is_entry_of(trace_view(t), c, m))
                return trace_reader_free(t);
        futimens(fd, NULL);
        return t;
}

/* Numbers of the entry's locations for the addresses, both sorted; false when one is missing. */
static bool find_all(const struct trace_view *v, const uint64_t *addresses, size_t n,
                     uint32_t *ret) {
        uint32_t l = 0;

        for (size_t i = 0; i < n; i++) {
                while (l < v->n_locations && v->locations[l].offset < addresses[i])
                        l++;
                if (l == v->n_locations || v->locations[l].offset != addresses[i])
                        return false;
                ret[i] = l;
        }
        return true;
}

static size_t first_symbol(const struct trace_view *v, uint32_t location) {
        size_t low = 0, high = v->n_symbols;

        while (low < high) {
                size_t mid = low + (high - low) / 2;

                if (v->symbols[mid].location < location)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low;
}

/* What is said of a module depends on the places that were asked: of others, as many may lack lines as to make it
 * another sentence. Then a fresh look says it. */
static bool origin_fits(const struct trace_view *v, const uint32_t *locations, size_t n) {
        size_t n_lines = 0, n_lineless = 0, n_named = 0;

        for (size_t i = 0; i < n; i++) {
                size_t first = first_symbol(v, locations[i]), end = first;
                const char *function;

                while (end < v->n_symbols && v->symbols[end].location == locations[i])
                        end++;
                function = end > first ? v->symbols[end - 1].function : "";
                n_named += function[0] != '\0';
                if (end > first && v->symbols[first].file[0])
                        n_lines++;
                else if (!strstr(function, "@plt") && !origin_is_linkers(function))
                        n_lineless++;
        }
        switch (v->module_names[0].naming) {
        case TRACE_NAMING_FULL: return n_lines >= n_lineless && n_lineless * 10 <= n;
        case TRACE_NAMING_SYMTAB: return n_lines < n_lineless;
        case TRACE_NAMING_DYNSYM: return n_lines < n_lineless && n_named;
        default: return false;
        }
}

static void answer(const struct trace_view *v, const uint32_t *locations, size_t n, symbol_fn fn,
                   void *ctx, struct symbol_origin *ret) {
        for (size_t i = 0; i < n; i++)
                for (size_t k = first_symbol(v, locations[i]);
                     k < v->n_symbols && v->symbols[k].location == locations[i]; k++) {
                        struct trace_symbol s = v->symbols[k];

                        s.location = (uint32_t)i;
                        fn(ctx, &s);
                }
        *ret = (struct symbol_origin){.naming = v->module_names[0].naming};
        snprintf(ret->file, sizeof(ret->file), "%s", v->module_names[0].file);
        snprintf(ret->text, sizeof(ret->text), "%s", v->module_names[0].text);
}

bool cache_answer(struct symbol_cache *c, const struct trace_module *m, const uint64_t *addresses,
                  size_t n, symbol_fn fn, void *ctx, struct symbol_origin *ret_origin) {
        _cleanup_free_ uint32_t *locations = calloc(n + 1, sizeof(*locations));
        struct trace_reader *t;
        bool has_all;

        if (!locations)
                abort();
        c->partial = trace_reader_free(c->partial);
        if (m->build_id_len == 0)
                return false;
        t = entry_open(c, m);
        if (!t)
                return false;
        has_all = find_all(trace_view(t), addresses, n, locations) &&
                  origin_fits(trace_view(t), locations, n);
        if (!has_all) {
                c->partial = t;
                return false;
        }
        answer(trace_view(t), locations, n, fn, ctx, ret_origin);
        trace_reader_free(t);
        return true;
}

/* ---- writing --------------------------------------------------------------------------------- */

struct cache_entry *cache_entry_new(struct symbol_cache *c, const struct trace_module *m,
                                    const uint64_t *addresses, size_t n) {
        struct cache_entry *e;

        if (m->build_id_len == 0 || n > CACHE_MAX_ADDRESSES)
                return NULL;
        e = calloc(1, sizeof(*e));
        if (!e)
                abort();
        *e = (struct cache_entry){
                .cache = c, .module = m, .arena = arena_new(), .addresses = addresses, .n = n};
        sources_collect(&e->sources, e->arena);
        return e;
}

struct cache_entry *cache_entry_free(struct cache_entry *e) {
        if (!e)
                return NULL;
        sources_collect(NULL, NULL);
        map_done(&e->texts);
        vec_free(&e->symbols);
        vec_free(&e->sources);
        arena_free(e->arena);
        free(e);
        return NULL;
}

static const char *entry_text(struct cache_entry *e, const char *text) {
        size_t n = strlen(text);
        bool added;
        uint64_t *copy = map_put(&e->texts, hash_add(14695981039346656037ull, text, n), 0, &added);

        if (added || strcmp((const char *)(uintptr_t)*copy, text) != 0)
                *copy = (uintptr_t)arena_strndup(e->arena, text, n);
        return (const char *)(uintptr_t)*copy;
}

void cache_entry_add(struct cache_entry *e, const struct trace_symbol *s) {
        struct trace_symbol copy = *s;

        copy.function = entry_text(e, s->function);
        copy.file = entry_text(e, s->file);
        vec_push(&e->symbols, copy);
}

/* Addresses that the entry there before had, and this one was not asked for, stay: one program's runs differ a
 * little. Both lists are sorted; symbols of equal addresses are the new ones. */
struct merged {
        VEC(uint64_t) addresses;
        VEC(struct trace_symbol) symbols;
};

static void merge_take(struct merged *m, uint64_t address, const struct trace_symbol *symbols,
                       size_t n_symbols, size_t *next, uint32_t number) {
        while (*next < n_symbols && symbols[*next].location < number)
                (*next)++;
        for (; *next < n_symbols && symbols[*next].location == number; (*next)++) {
                struct trace_symbol s = symbols[*next];

                s.location = (uint32_t)m->addresses.n;
                vec_push(&m->symbols, s);
        }
        vec_push(&m->addresses, address);
}

static void merge(const struct cache_entry *e, const struct trace_view *old, struct merged *ret) {
        size_t n_old = old ? old->n_locations : 0, next_old = 0, next_new = 0, i = 0, k = 0;

        if (n_old + e->n > CACHE_MAX_ADDRESSES)
                n_old = 0;
        while (i < n_old || k < e->n) {
                if (k > 0 && k < e->n && e->addresses[k] == e->addresses[k - 1]) {
                        k++; /* two places of one address */
                } else if (k < e->n &&
                           (i == n_old || e->addresses[k] <= old->locations[i].offset)) {
                        i += i < n_old && e->addresses[k] == old->locations[i].offset;
                        merge_take(ret, e->addresses[k], e->symbols.items, e->symbols.n, &next_new,
                                   (uint32_t)k);
                        k++;
                } else {
                        merge_take(ret, old->locations[i].offset, old->symbols, old->n_symbols,
                                   &next_old, (uint32_t)i);
                        i++;
                }
        }
}

static int entry_write(const struct cache_entry *e, const struct symbol_origin *origin,
                       const struct merged *names, int fd) {
        _cleanup_(trace_writer_freep) struct trace_writer *w = NULL;
        const char **args = arena_alloc(e->arena, (e->sources.n + 1) * sizeof(*args));
        struct trace_meta meta = {.n_args = (uint32_t)e->sources.n + 1,
                                  .args = args,
                                  .silt_version = "",
                                  .host = "",
                                  .cwd = ""};
        struct trace_module_names how = {.naming = origin->naming,
                                         .file = origin->file,
                                         .text = origin->text};
        int own_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0), r;

        args[0] = str_text(&e->cache->key);
        for (size_t i = 0; i < e->sources.n; i++)
                args[1 + i] = e->sources.items[i];
        if (own_fd < 0)
                return -errno;
        r = trace_writer_open(own_fd, &meta, &w, NULL);
        if (r < 0) {
                close(own_fd);
                return r;
        }
        trace_add_module(w, e->module);
        for (size_t i = 0; i < names->addresses.n; i++)
                trace_add_location(w, &(struct trace_location){0, names->addresses.items[i]});
        r = trace_writer_finish(w, NULL);
        if (r < 0)
                return r;
        return trace_put_names_to(fd, "",
                                  &(struct trace_names){.symbols = names->symbols.items,
                                                        .n_symbols = names->symbols.n,
                                                        .modules = &how,
                                                        .n_modules = 1},
                                  NULL);
}

/* A new file takes the name when it is whole. */
static int entry_put(const struct cache_entry *e, const struct symbol_origin *origin,
                     const struct merged *names) {
        struct symbol_cache *c = e->cache;
        struct cache_name name;
        _cleanup_close_ int fd = -1;
        char temporary[64];
        struct stat st;
        int r;

        snprintf(temporary, sizeof(temporary), CACHE_DIR_NEW "%d", (int)getpid());
        fd = openat(c->dir_fd, temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0)
                return -errno;
        r = entry_write(e, origin, names, fd);
        if (r == 0 && (fstat(fd, &st) < 0 || (uint64_t)st.st_size > c->max_bytes / CACHE_MAX_SHARE))
                r = -EFBIG;
        if (r == 0 &&
            renameat(c->dir_fd, temporary, c->dir_fd, entry_name(&name, c, e->module)) < 0)
                r = -errno;
        if (r < 0)
                unlinkat(c->dir_fd, temporary, 0);
        return r;
}

/* An answer that a file could improve rests on that file's absence, which is among its sources. What rests on
 * something else (a server that was asked, parts of split debug information) is not kept. */
static bool is_worth_keeping(const struct cache_entry *e, const struct symbol_origin *o) {
        switch (o->naming) {
        case TRACE_NAMING_FULL: return o->text[0] == '\0';
        case TRACE_NAMING_SYMTAB:
        case TRACE_NAMING_DYNSYM: return !e->cache->may_improve_alone && sources_are_listed();
        default: return false;
        }
}

void cache_entry_store(struct cache_entry *e, const struct symbol_origin *origin) {
        struct merged names = {0};
        bool is_kept = is_worth_keeping(e, origin);

        sources_collect(NULL, NULL);
        if (!is_kept)
                return;
        merge(e, e->cache->partial ? trace_view(e->cache->partial) : NULL, &names);
        if (entry_put(e, origin, &names) == 0)
                e->cache->has_grown = true;
        vec_free(&names.addresses);
        vec_free(&names.symbols);
}
