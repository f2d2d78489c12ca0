/* SPDX-License-Identifier: MIT */
#include "name/component.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/str.h"

#define RULES_PATH "component_test.rules"

static void write_file(const char *path, const char *text) {
        FILE *f = fopen(path, "w");

        assert_non_null(f);
        assert_true(fputs(text, f) >= 0);
        assert_int_equal(fclose(f), 0);
}

static struct names *load(const char *rules) {
        struct name_sources sources = {.components = {RULES_PATH}, .n_components = rules != NULL};
        struct names *names = NULL;
        struct err err = {0};

        if (rules)
                write_file(RULES_PATH, rules);
        if (names_load(&sources, &names, &err) < 0)
                fail_msg("%s", err.text);
        return names;
}

static void check(struct names *names, const char *function, const char *module, const char *file,
                  const char *expected, bool passes_on) {
        struct name_frame f = {.function = function, .file = file, .module = module};

        for (unsigned i = 0; i < 2; i++) { /* the second time it is remembered */
                struct name_component c = name_component(names, &f);

                if (strcmp(c.name, expected) != 0 || c.passes_on != passes_on)
                        fail_msg("%s in %s: '%s'%s", function, module, c.name,
                                 c.passes_on ? ", passes on" : "");
        }
}

static void test_builtin(void **state) {
        static const struct {
                const char *function, *module, *file, *expected;
                bool passes_on;
        } rows[] = {
                /* Rust */
                {"tokio::runtime::task::raw::RawTask::new", "/bin/app", "", "tokio", false},
                {"tokio_util::codec::Framed<T,U>::new", "/bin/app", "", "tokio", false},
                {"h2::proto::streams::Store::insert", "/bin/app", "", "hyper", false},
                {"axum_core::body::Body::new", "/bin/app", "", "axum", false},
                {"reth_trie::updates::TrieUpdates::extend", "/bin/reth", "", "reth_trie", false},
                {"reth_db::tables::get", "/bin/reth", "", "reth_db", false},
                {"alloy_rlp::encode", "/bin/reth", "", "alloy", false},
                {"<serde_json::de::Deserializer<R> as serde::de::Deserializer>::deserialize_map",
                 "/bin/app", "", "serde", false},
                {"alloc::vec::Vec<T,A>::push", "/bin/app", "", "std", true},
                {"core::iter::adapters::map::Map<I,F>::fold", "/bin/app", "", "std", true},
                {"hashbrown::map::HashMap<K,V>::insert", "/bin/app", "", "containers", true},
                {"grow", "/bin/app", "/rustc/0123/library/alloc/src/raw_vec.rs", "std", true},
                {"store::index::insert", "/bin/store", "", "store", false},
                /* C++, whose namespaces may be called as crates are */
                {"rocksdb::BlockBasedTable::Open(int)", "/bin/db", "", "rocksdb", false},
                {"absl::lts_20230802::container_internal::raw_hash_set<int>::resize(int)",
                 "/bin/db", "", "containers", true},
                {"absl::Mutex::Lock()", "/bin/db", "", "abseil", false},
                {"boost::asio::io_context::run()", "/bin/db", "", "boost", false},
                {"boost::container::vector<int>::push_back(int)", "/bin/db", "", "containers",
                 true},
                {"google::protobuf::Arena::Allocate(unsigned long)", "/bin/db", "", "protobuf",
                 false},
                {"core::Engine::start()", "/bin/game", "", "core", false},
                {"std::vector<int>::push_back(int&&)", "/bin/db", "", "std", true},
                {"(anonymous namespace)::make(int)", "/bin/db", "", "db", false},
                /* C */
                {"qsort", "/lib/libc.so.6", "", "libc", true},
                {"CRYPTO_malloc", "/lib/libcrypto.so.3", "", "openssl", false},
                {"", "/lib/libssl.so.3", "", "openssl", false},
                {"pcache1Alloc", "/bin/app", "/src/sqlite3.c", "sqlite", false},
                {"PyObject_Malloc", "/usr/bin/python3.11", "", "python", false},
                {"zmalloc", "/usr/bin/redis-server", "zmalloc.c", "redis-server", false},
                {"", "", "", "", false},
        };
        struct names *names = load(NULL);

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                check(names, rows[i].function, rows[i].module, rows[i].file, rows[i].expected,
                      rows[i].passes_on);
        names_free(names);
}

static void test_first_wins(void **state) {
        struct names *names = load("# ours\n"
                                   "component cache shop::Cache::**   # before what is wider\n"
                                   "pass glue shop::glue::** in libglue.so*\n"
                                   "component shop shop::**\n"
                                   "component other shop::Cache::**\n"
                                   "component mine std::**\n"
                                   "rust component engine core::**\n"
                                   "component tests ** at */tests/*\n");

        (void)state;
        check(names, "shop::Cache::put(int)", "/bin/shop", "", "cache", false);
        check(names, "shop::sell(int)", "/bin/shop", "", "shop", false);
        check(names, "shop::glue::f(int)", "/lib/libglue.so.1", "", "glue", true);
        check(names, "shop::glue::f(int)", "/bin/shop", "", "shop", false);
        check(names, "std::vector<int>::push_back(int&&)", "/bin/shop", "", "mine", false);
        check(names, "core::f", "/bin/shop", "", "engine", false);
        check(names, "core::f(int)", "/bin/shop", "", "core", false);
        check(names, "setup", "/bin/shop", "/src/tests/setup.c", "tests", false);
        check(names, "tokio::spawn", "/bin/shop", "", "tokio", false); /* built in, behind ours */
        names_free(names);
}

/* A guess is mostly another function's name: only its place counts. */
static void test_guess(void **state) {
        struct name_frame f = {"rocksdb::Open(int)", "", "/bin/app", 0, 0, false, true};
        struct names *names = load(NULL);

        (void)state;
        assert_string_equal(name_component(names, &f).name, "app");
        names_free(names);
}

static void check_refused(const char *text, const char *expected) {
        struct name_sources sources = {.components = {RULES_PATH}, .n_components = 1};
        struct names *names = NULL;
        struct err err = {0};

        write_file(RULES_PATH, text);
        assert_true(names_load(&sources, &names, &err) < 0);
        assert_null(names);
        if (strncmp(err.text, expected, strlen(expected)) != 0)
                fail_msg("'%s', not '%s'", err.text, expected);
}

#define AT "components: " RULES_PATH

static void test_refused(void **state) {
        struct str s = {0};

        (void)state;
        check_refused("\nallocator a\n", AT ":2: a rule must begin with component, pass or rust");
        check_refused("rust keep a\n", AT ":1: 'rust' must be followed by component or pass");
        check_refused("component\n", AT ":1: a rule needs the component's name and a pattern");
        check_refused("component a # b\n", AT ":1: a rule needs the component's name and");
        check_refused("component a b in c/d\n", AT ":1: a module is named by its file name");
        check_refused("component a b<int>\n", AT ":1: patterns cannot contain template");
        check_refused("component a b::\n", AT ":1: a part of the path is empty");
        check_refused("pass a\x01 b\n", AT ":1: the line is not text");
        str_add(&s, "component ");
        str_pad(&s, 'a', COMPONENT_MAX_NAME_BYTES + 1);
        str_add(&s, " b\n");
        check_refused(str_text(&s), AT ":1: the component's name is longer than 64 bytes");
        str_clear(&s);
        for (unsigned i = 0; i < COMPONENTS_MAX; i++)
                str_add(&s, "pass a b\n");
        check_refused(str_text(&s), AT ":65536: too many rules");
        str_done(&s);
}

static void test_config(void **state) {
        struct name_sources sources = {.with_config = true};
        struct names *names = NULL;
        char here[4096];

        (void)state;
        assert_non_null(getcwd(here, sizeof(here)));
        strncat(here, "/component_test_config", sizeof(here) - strlen(here) - 1);
        (void)mkdir(here, 0700);
        setenv("XDG_CONFIG_HOME", here, 1);
        assert_int_equal(chdir(here), 0);
        (void)mkdir("silt", 0700);
        write_file("silt/components.rules", "component shop rocksdb::**\n");
        assert_int_equal(names_load(&sources, &names, NULL), 0);
        check(names, "rocksdb::Open(int)", "/bin/app", "", "shop", false);
        names_free(names);
        assert_int_equal(chdir(".."), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_builtin), cmocka_unit_test(test_first_wins),
                cmocka_unit_test(test_guess),   cmocka_unit_test(test_refused),
                cmocka_unit_test(test_config),
        };

        return cmocka_run_group_tests_name("name/component", tests, NULL, NULL);
}
