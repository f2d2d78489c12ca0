/* SPDX-License-Identifier: MIT */
/* The cache gives the answers a fresh look gives, whatever is in it and whoever else uses it. Addresses are those of this
 * very program and of libc. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/fs.h"
#include "base/str.h"
#include "symbol/cache.h"
#include "symbol/cache_dir.h"
#include "trace/rehash.h"

enum { N_ADDRESSES = 600, ADDRESS_STEP = 100 };

static const struct symbol_search nowhere;
static char base_dir[64], symbols_dir[128];

/* ---- modules --------------------------------------------------------------------------------- */

static int fill_module(struct dl_phdr_info *info, size_t size, void *ctx) {
        struct trace_module *m = ctx;

        (void)size;
        if (info->dlpi_addr != m->size_bytes)
                return 0;
        for (int i = 0; i < info->dlpi_phnum; i++) {
                const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
                const char *p = (const char *)(info->dlpi_addr + ph->p_vaddr),
                           *end = p + ph->p_memsz;

                while (ph->p_type == PT_NOTE && p + sizeof(ElfW(Nhdr)) < end) {
                        const ElfW(Nhdr) *n = (const void *)p;

                        if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4) {
                                m->build_id_len = n->n_descsz;
                                memcpy(m->build_id, p + sizeof(*n) + 4, n->n_descsz);
                        }
                        p += sizeof(*n) + ALIGN_UP(n->n_namesz, 4u) + ALIGN_UP(n->n_descsz, 4u);
                }
        }
        return 1;
}

/* Addresses around a function, so that they are of code. */
static struct trace_module module_around(const void *function, uint64_t *ret_addresses, size_t n) {
        static char paths[2][4096];
        static unsigned next;
        struct trace_module m = {0};
        Dl_info info;

        assert_int_not_equal(dladdr(function, &info), 0);
        m.size_bytes = (uintptr_t)info.dli_fbase;
        dl_iterate_phdr(fill_module, &m);
        assert_true(m.build_id_len > 0);
        m.path = realpath(info.dli_fname, paths[next++ % 2]);
        for (size_t i = 0; i < n; i++)
                ret_addresses[i] = (uintptr_t)function - m.size_bytes + i * ADDRESS_STEP;
        return m;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Everything an answer says, as text. */
struct answer {
        struct str text;
        const uint64_t *addresses;
        struct cache_entry *entry;
};

static void answer_add(void *ctx, const struct trace_symbol *s) {
        struct answer *a = ctx;

        str_addf(&a->text, "%llx %s|%s|%u|%d%d\n", (unsigned long long)a->addresses[s->location],
                 s->function, s->file, s->line, s->inlined, s->guess);
        if (a->entry)
                cache_entry_add(a->entry, s);
}

static void answer_end(struct answer *a, const struct symbol_origin *o) {
        str_addf(&a->text, "%u|%s|%s\n", o->naming, o->file, o->text);
}

/* As a worker does it. True when the cache answered. */
static bool ask(struct symbol_cache *c, const struct trace_module *m, const uint64_t *addresses,
                size_t n, struct str *ret) {
        struct answer a = {.addresses = addresses};
        struct symbol_module *sm = NULL;
        struct symbol_origin origin;
        bool hit = c && cache_answer(c, m, addresses, n, answer_add, &a, &origin);

        if (!hit) {
                a.entry = c ? cache_entry_new(c, m, addresses, n) : NULL;
                if (symbol_module_open(m, &nowhere, &sm, &origin) == 0) {
                        symbol_module_name(sm, addresses, n, answer_add, &a);
                        symbol_module_origin(sm, &origin);
                }
                symbol_module_free(sm);
                if (a.entry)
                        cache_entry_store(a.entry, &origin);
                cache_entry_free(a.entry);
        }
        answer_end(&a, &origin);
        *ret = a.text;
        return hit;
}

static bool ask_and_compare(const struct trace_module *m, const uint64_t *addresses, size_t n) {
        struct symbol_cache *c = symbol_cache_open(&nowhere);
        struct str fresh, got;
        bool hit;

        ask(NULL, m, addresses, n, &fresh);
        hit = ask(c, m, addresses, n, &got);
        assert_string_equal(str_text(&got), str_text(&fresh));
        str_done(&got);
        str_done(&fresh);
        symbol_cache_close(c);
        return hit;
}

/* ---- the directory --------------------------------------------------------------------------- */

static int each_file(void (*fn)(const char *path, void *ctx), void *ctx) {
        DIR *dir = opendir(symbols_dir);
        struct dirent *d;
        int n = 0;

        if (!dir)
                return 0;
        while ((d = readdir(dir))) {
                char path[512];

                if (d->d_name[0] == '.')
                        continue;
                snprintf(path, sizeof(path), "%s/%s", symbols_dir, d->d_name);
                fn(path, ctx);
                n++;
        }
        closedir(dir);
        return n;
}

static void keep_path(const char *path, void *ctx) {
        snprintf(ctx, 512, "%s", path);
}

static void remove_path(const char *path, void *ctx) {
        (void)ctx;
        unlink(path);
}

static void add_size(const char *path, void *ctx) {
        struct stat st;

        assert_int_equal(stat(path, &st), 0);
        *(uint64_t *)ctx += (uint64_t)st.st_size;
}

static int setup(void **state) {
        (void)state;
        snprintf(base_dir, sizeof(base_dir), "/tmp/silt-cache-test-XXXXXX");
        if (!mkdtemp(base_dir))
                return -1;
        snprintf(symbols_dir, sizeof(symbols_dir), "%s/silt/symbols", base_dir);
        setenv("XDG_CACHE_HOME", base_dir, 1);
        unsetenv("SILT_SYMBOL_CACHE");
        unsetenv("DEBUGINFOD_URLS");
        return 0;
}

static int teardown(void **state) {
        char command[128];

        (void)state;
        snprintf(command, sizeof(command), "rm -rf %s", base_dir);
        return system(command);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_equal_answers(void **state) {
        uint64_t own[N_ADDRESSES], libc[N_ADDRESSES], odd[N_ADDRESSES], far[2] = {8, 1ull << 40};
        struct trace_module self =
                module_around((const void *)symbol_module_open, own, N_ADDRESSES);
        struct trace_module other = module_around((const void *)strtol, libc, N_ADDRESSES);
        size_t n_odd = 0;

        (void)state;
        assert_false(ask_and_compare(&self, own, N_ADDRESSES));
        assert_true(ask_and_compare(&self, own, N_ADDRESSES));
        assert_false(ask_and_compare(&other, libc, N_ADDRESSES));
        assert_true(ask_and_compare(&other, libc, N_ADDRESSES));
        /* some of them; and others, which the entry has from then on beside the first */
        assert_true(ask_and_compare(&self, own + 17, 100));
        for (size_t i = 0; i < N_ADDRESSES; i += 3)
                odd[n_odd++] = own[i] + 4;
        assert_false(ask_and_compare(&self, odd, n_odd));
        assert_true(ask_and_compare(&self, odd, n_odd));
        assert_true(ask_and_compare(&self, own, N_ADDRESSES));
        /* where nothing is */
        ask_and_compare(&self, far, 2);
        ask_and_compare(&self, far, 2);
        assert_int_equal(each_file(keep_path, (char[512]){0}), 2);
}

/* Only what a build-id names is kept, and never a failure. */
static void test_not_kept(void **state) {
        uint64_t own[4];
        struct trace_module self = module_around((const void *)symbol_module_open, own, 4),
                            m = self;

        (void)state;
        m.build_id_len = 0;
        ask_and_compare(&m, own, 4);
        assert_false(ask_and_compare(&m, own, 4));
        m = self;
        m.build_id[0] ^= 1;
        ask_and_compare(&m, own, 4);
        assert_false(ask_and_compare(&m, own, 4));
        m = self;
        m.path = "/nonexistent/a";
        ask_and_compare(&m, own, 4);
        assert_false(ask_and_compare(&m, own, 4));
        setenv("SILT_SYMBOL_CACHE", "off", 1);
        assert_null(symbol_cache_open(&nowhere));
        setenv("SILT_SYMBOL_CACHE", "0", 1);
        assert_null(symbol_cache_open(&nowhere));
        assert_int_equal(each_file(keep_path, (char[512]){0}), 0);
}

/* Any byte changed, any length: an answer is right, or there is none and a fresh look is taken. */
static void test_damage(void **state) {
        uint64_t own[40];
        struct trace_module self = module_around((const void *)symbol_module_open, own, 40);
        char path[512];
        uint8_t whole[65536], bad[65536];
        ssize_t n;
        int fd, n_hits = 0, n_misses = 0;

        (void)state;
        ask_and_compare(&self, own, 40);
        assert_int_equal(each_file(keep_path, path), 1);
        fd = open(path, O_RDONLY);
        n = read(fd, whole, sizeof(whole));
        close(fd);
        assert_in_range(n, 500, 60000);
        srandom(4711);
        for (int i = 0; i < 300; i++) {
                size_t size = (size_t)n, at = (size_t)random() % (size_t)n;

                memcpy(bad, whole, (size_t)n);
                if (i % 4 == 0)
                        size = at;
                else
                        bad[at] ^= (uint8_t)(1 + random() % 255);
                fd = open(path, O_WRONLY | O_TRUNC | O_CREAT, 0600);
                assert_int_equal(fs_write_all(fd, bad, size), 0);
                close(fd);
                if (ask_and_compare(&self, own, 40))
                        n_hits++;
                else
                        n_misses++;
        }
        /* bytes of the index that a later one replaced do no harm */
        assert_true(n_misses > 2 * n_hits);
}

/* With checksums made right: whoever can write here can lie, but not crash. */
static void test_hostile(void **state) {
        uint64_t own[40];
        struct trace_module self = module_around((const void *)symbol_module_open, own, 40);
        char path[512];
        uint8_t whole[65536], bad[65536];
        ssize_t n;
        int fd;

        (void)state;
        ask_and_compare(&self, own, 40);
        assert_int_equal(each_file(keep_path, path), 1);
        fd = open(path, O_RDONLY);
        n = read(fd, whole, sizeof(whole));
        close(fd);
        for (int i = 0; i < 1000; i++) {
                struct symbol_cache *c = symbol_cache_open(&nowhere);
                struct answer a = {.addresses = own};
                struct symbol_origin origin;

                memcpy(bad, whole, (size_t)n);
                for (long k = random() % 4; k >= 0; k--)
                        bad[random() % n] = (uint8_t)random();
                for (size_t at = 0; at + TRACE_HEADER_BYTES <= (size_t)n;) {
                        size_t span = bytes_le32(bad + at) == TRACE_CHUNK_MAGIC
                                              ? rehash_chunk(bad, at, (size_t)n)
                                              : 0;

                        if (!span && bytes_le32(bad + at) == TRACE_TRAILER_MAGIC) {
                                rehash_trailer(bad, at);
                                span = TRACE_TRAILER_BYTES;
                        }
                        at += span ? span : 8;
                }
                fd = open(path, O_WRONLY | O_TRUNC | O_CREAT, 0600);
                assert_int_equal(fs_write_all(fd, bad, (size_t)n), 0);
                close(fd);
                cache_answer(c, &self, own, 40, answer_add, &a, &origin);
                str_done(&a.text);
                symbol_cache_close(c);
        }
}

/* The least recently used goes first, and the whole stays within its bound. */
static void test_bounded(void **state) {
        uint64_t own[N_ADDRESSES], libc[N_ADDRESSES], size_bytes = 0;
        struct trace_module self =
                module_around((const void *)symbol_module_open, own, N_ADDRESSES);
        struct trace_module other = module_around((const void *)strtol, libc, N_ADDRESSES);
        int dir_fd;

        (void)state;
        ask_and_compare(&self, own, N_ADDRESSES);
        ask_and_compare(&other, libc, N_ADDRESSES);
        assert_true(ask_and_compare(&self, own, N_ADDRESSES)); /* used last */
        each_file(add_size, &size_bytes);
        dir_fd = cache_dir_open();
        assert_true(dir_fd >= 0);
        cache_dir_trim(dir_fd, size_bytes);
        assert_int_equal(each_file(keep_path, (char[512]){0}), 2);
        cache_dir_trim(dir_fd, size_bytes - 1);
        assert_int_equal(each_file(keep_path, (char[512]){0}), 1);
        assert_true(ask_and_compare(&self, own, N_ADDRESSES));
        /* what a dead writer left, and what one is at */
        assert_true(close(openat(dir_fd, CACHE_DIR_NEW "1", O_CREAT | O_WRONLY, 0600)) == 0);
        assert_true(close(openat(dir_fd, CACHE_DIR_NEW "2", O_CREAT | O_WRONLY, 0600)) == 0);
        assert_int_equal(utimensat(dir_fd, CACHE_DIR_NEW "1", (struct timespec[2]){{1, 0}, {1, 0}},
                                   0),
                         0);
        cache_dir_trim(dir_fd, size_bytes);
        assert_int_equal(faccessat(dir_fd, CACHE_DIR_NEW "1", F_OK, 0), -1);
        assert_int_equal(faccessat(dir_fd, CACHE_DIR_NEW "2", F_OK, 0), 0);
        close(dir_fd);
        /* an entry larger than its share of a small cache is not kept */
        each_file(remove_path, NULL);
        setenv("SILT_SYMBOL_CACHE", "4K", 1);
        ask_and_compare(&self, own, N_ADDRESSES);
        assert_false(ask_and_compare(&self, own, N_ADDRESSES));
        assert_int_equal(each_file(keep_path, (char[512]){0}), 0);
}

static void expect_none(const char *why) {
        struct symbol_cache *c = symbol_cache_open(&nowhere);

        if (c)
                fail_msg("a cache was opened: %s", why);
}

static void make_link(const char *to, const char *name) {
        char path[160];

        snprintf(path, sizeof(path), "%s/%s", base_dir, name);
        assert_int_equal(symlink(to, path), 0);
}

static void test_places(void **state) {
        char path[160];
        struct symbol_cache *c;

        (void)state;
        unsetenv("XDG_CACHE_HOME");
        unsetenv("HOME");
        expect_none("there is no HOME");
        setenv("HOME", "relative", 1);
        expect_none("HOME is relative");
        setenv("XDG_CACHE_HOME", "", 1);
        setenv("HOME", "/nonexistent/home", 1);
        expect_none("HOME is missing");
        setenv("HOME", "/proc", 1);
        expect_none("HOME cannot be written");
        setenv("XDG_CACHE_HOME", "/dev/null", 1);
        expect_none("it is no directory");

        /* HOME alone: .cache is made */
        unsetenv("XDG_CACHE_HOME");
        setenv("HOME", base_dir, 1);
        c = symbol_cache_open(&nowhere);
        assert_non_null(c);
        symbol_cache_close(c);
        snprintf(path, sizeof(path), "%s/.cache/silt/symbols", base_dir);
        assert_int_equal(access(path, W_OK), 0);

        /* planted links and open doors */
        setenv("XDG_CACHE_HOME", base_dir, 1);
        make_link("/tmp", "silt");
        expect_none("silt is a link");
        snprintf(path, sizeof(path), "%s/silt", base_dir);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(mkdir(path, 0700), 0);
        make_link("/tmp", "silt/symbols");
        expect_none("symbols is a link");
        snprintf(path, sizeof(path), "%s/silt/symbols", base_dir);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(mkdir(path, 0700), 0);
        assert_int_equal(chmod(path, 0777), 0);
        expect_none("anybody can write there");
        assert_int_equal(chmod(path, 0700), 0);
        c = symbol_cache_open(&nowhere);
        assert_non_null(c);
        symbol_cache_close(c);
        if (geteuid() == 0) { /* as with sudo and the caller's HOME */
                assert_int_equal(chown(base_dir, 1, 1), 0);
                expect_none("it is somebody else's");
                assert_int_equal(chown(base_dir, 0, 0), 0);
        }
}

/* A link or a pipe in the place of an entry is not followed, not waited for, and replaced. */
static void test_planted_entries(void **state) {
        uint64_t own[4];
        struct trace_module self = module_around((const void *)symbol_module_open, own, 4);
        char path[512], victim[160];
        struct stat st;
        int fd;

        (void)state;
        ask_and_compare(&self, own, 4);
        assert_int_equal(each_file(keep_path, path), 1);
        snprintf(victim, sizeof(victim), "%s/victim", base_dir);
        fd = open(victim, O_CREAT | O_WRONLY, 0600);
        assert_int_equal(fs_write_all(fd, "dear data", 9), 0);
        close(fd);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(symlink(victim, path), 0);
        assert_false(ask_and_compare(&self, own, 4));
        assert_int_equal(lstat(path, &st), 0);
        assert_true(S_ISREG(st.st_mode));
        assert_int_equal(stat(victim, &st), 0);
        assert_int_equal(st.st_size, 9);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(mkfifo(path, 0600), 0);
        assert_false(ask_and_compare(&self, own, 4));
        assert_true(ask_and_compare(&self, own, 4));
}

/* Several at once, each with addresses of its own: entries come and go under their hands. */
static void test_at_once(void **state) {
        uint64_t own[N_ADDRESSES];
        struct trace_module self =
                module_around((const void *)symbol_module_open, own, N_ADDRESSES);
        pid_t pids[6];

        (void)state;
        for (int k = 0; k < 6; k++) {
                pids[k] = fork();
                if (pids[k] == 0) {
                        for (int i = 0; i < 20; i++) {
                                struct symbol_cache *c = symbol_cache_open(&nowhere);
                                size_t begin = (size_t)k * 40 + (size_t)i, n = 100;
                                struct str fresh, got;

                                ask(NULL, &self, own + begin, n, &fresh);
                                ask(c, &self, own + begin, n, &got);
                                if (strcmp(str_text(&fresh), str_text(&got)) != 0)
                                        _exit(1);
                                str_done(&fresh);
                                str_done(&got);
                                if (i % 7 == k)
                                        each_file(remove_path, NULL);
                                symbol_cache_close(c);
                        }
                        _exit(0);
                }
        }
        for (int k = 0; k < 6; k++) {
                int status = -1;

                assert_int_equal(waitpid(pids[k], &status, 0), pids[k]);
                assert_int_equal(status, 0);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_equal_answers, setup, teardown),
                cmocka_unit_test_setup_teardown(test_not_kept, setup, teardown),
                cmocka_unit_test_setup_teardown(test_damage, setup, teardown),
                cmocka_unit_test_setup_teardown(test_hostile, setup, teardown),
                cmocka_unit_test_setup_teardown(test_bounded, setup, teardown),
                cmocka_unit_test_setup_teardown(test_places, setup, teardown),
                cmocka_unit_test_setup_teardown(test_planted_entries, setup, teardown),
                cmocka_unit_test_setup_teardown(test_at_once, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
