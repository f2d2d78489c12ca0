/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

#include "base/str.h"
#include "name/name.h"
#include "name/name_rules.h"
#include "name/path_pattern.h"

static struct names *builtin(void) {
        struct names *names = NULL;
        struct err err = {0};

        if (names_load(&(struct name_sources){0}, &names, &err) < 0)
                fail_msg("%s", err.text);
        return names;
}

static void write_file(const char *path, const char *text) {
        FILE *f = fopen(path, "w");

        assert_non_null(f);
        fputs(text, f);
        fclose(f);
}

/* The built-in rules and these. */
static struct names *with_rules(const char *text) {
        struct name_sources sources = {.files = {"name_test.rules"}, .n_files = 1};
        struct names *names = NULL;
        struct err err = {0};

        write_file(sources.files[0], text);
        if (names_load(&sources, &names, &err) < 0)
                fail_msg("%s", err.text);
        return names;
}

/* ---- the table ------------------------------------------------------------------------------- */

static char *next_line(FILE *f, char **line, size_t *cap) {
        do {
                if (getline(line, cap, f) <= 0)
                        return NULL;
                (*line)[strcspn(*line, "\n")] = '\0';
        } while ((*line)[0] == '#' || (*line)[0] == '\0');
        return *line;
}

static void test_table(void **state) {
        _cleanup_(names_freep) struct names *names = builtin();
        char *function = NULL, *expected = NULL;
        size_t function_cap = 0, expected_cap = 0;
        FILE *f = fopen(NAMES_TABLE, "r");
        unsigned n = 0, n_wrong = 0;

        (void)state;
        assert_non_null(f);
        while (next_line(f, &function, &function_cap)) {
                struct str s = {0};

                for (unsigned i = 0; i < 2; i++) {
                        str_clear(&s);
                        if (i == 0)
                                str_addf(&s, "    %s", name_short(names, function));
                        else
                                str_addf(&s, "    %s, %s, %s",
                                         name_kind_text(name_kind(names, function, "")),
                                         name_crate(names, function, "/lib/module.so"),
                                         name_plain(names, function));
                        assert_non_null(next_line(f, &expected, &expected_cap));
                        if (strcmp(str_text(&s), expected) != 0) {
                                print_error("%s\n  is %s\n not %s\n", function, str_text(&s),
                                            expected);
                                n_wrong++;
                        }
                }
                str_done(&s);
                n++;
        }
        fclose(f);
        free(function);
        free(expected);
        assert_true(n > 150);
        assert_int_equal(n_wrong, 0);
}

static void test_full(void **state) {
        _cleanup_(names_freep) struct names *names = builtin();

        (void)state;
        assert_string_equal(name_full(names, "a::b::h0123456789abcdef"), "a::b");
        assert_string_equal(name_full(names, "a::b::h0123456789abcdeg"), "a::b::h0123456789abcdeg");
        assert_string_equal(name_full(names, "::h0123456789abcdef"), "::h0123456789abcdef");
        assert_string_equal(name_full(names, "f<int>(int)"), "f<int>(int)");
        assert_string_equal(name_full(names, ""), "");
        assert_string_equal(name_short(names, ""), "");
        assert_string_equal(name_crate(names, "", "/lib/x.so"), "x.so");
        assert_string_equal(name_crate(names, "main", ""), "");
}

/* ---- hostile names --------------------------------------------------------------------------- */

/* begin once, middle n times, end n times. */
static double cpu_s_of(const char *begin, const char *middle, const char *end, size_t n) {
        _cleanup_(names_freep) struct names *names = builtin();
        struct str s = {0};
        clock_t began;

        str_add(&s, begin);
        for (size_t i = 0; i < n; i++)
                str_add(&s, middle);
        for (size_t i = 0; i < n; i++)
                str_add(&s, end);
        began = clock();
        assert_true(str_width(name_short(names, str_text(&s))) <= str_width(str_text(&s)));
        (void)name_kind(names, str_text(&s), "");
        str_done(&s);
        return (double)(clock() - began) / CLOCKS_PER_SEC;
}

/* Milliseconds where it is linear, minutes where it is not; sanitizers take their own time. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LINEAR_MAX_S 20
#else
#define LINEAR_MAX_S 1
#endif

static void test_hostile_names(void **state) {
        static const char *const names[][3] = {
                {"f", "<a", ">"},       {"f", "(a", ")"},           {"f", "<(", ")>"},
                {"f", "<", ""},         {"f", "a::", ""},           {"f", "a::<b>::", ""},
                {"f", "(b)::", ""},     {"", "<<", ">>"},           {"", "<impl a for ", ">"},
                {"", "<a as ", ">"},    {"", "operator ", ""},      {"", "operator<", ""},
                {"", "operator()", ""}, {"f<", "{lambda(", ")#1}"}, {"", "{{closure}}::", ""},
                {"", " const", "&"},    {"", "f(int) ", ""},        {"", "void (*", ")()"},
                {"", "[abi:", "]"},     {"", "\xff\xc3", "\xa9"},   {"", "fmt::v9::", ""},
                {"", "decltype(", ")"},
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                const char *const *x = names[i];
                double cpu_s;

                for (size_t n = 0; n < 80; n++) /* around the limits of nesting */
                        (void)cpu_s_of(x[0], x[1], x[2], n);
                (void)cpu_s_of(x[0], x[1], x[2], 1025);
                cpu_s = cpu_s_of(x[0], x[1], x[2], 20000);
                if (cpu_s > LINEAR_MAX_S)
                        fail_msg("%s%s...%s: %.1f s", x[0], x[1], x[2], cpu_s);
        }
}

/* ---- patterns and rules ---------------------------------------------------------------------- */

static bool glob(const char *pattern, const char *text) {
        return pattern_glob_fits(pattern, strlen(pattern), text, strlen(text));
}

static void test_globs(void **state) {
        struct str text = {0}, pattern = {0};

        (void)state;
        assert_true(glob("", ""));
        assert_false(glob("", "a"));
        assert_true(glob("*", ""));
        assert_true(glob("a*", "a"));
        assert_true(glob("a*c", "abbc"));
        assert_false(glob("a*c", "abb"));
        assert_true(glob("*b*", "abc"));
        assert_true(glob("*ab*abc", "ababababc"));
        assert_false(glob("a", "ab"));
        str_pad(&text, 'a', 20000); /* where backtracking would not end */
        for (unsigned i = 0; i < 50; i++)
                str_add(&pattern, "*a");
        str_add(&pattern, "*b");
        assert_false(glob(str_text(&pattern), str_text(&text)));
        str_done(&text);
        str_done(&pattern);
}

static void check_kind(struct names *names, const char *function, const char *module,
                       enum name_kind expected) {
        enum name_kind kind = name_kind(names, function, module);

        if (kind != expected)
                fail_msg("%s in %s: %s, not %s", function, module, name_kind_text(kind),
                         name_kind_text(expected));
}

static void test_kinds(void **state) {
        _cleanup_(names_freep) struct names *names =
                with_rules("# our own\n"
                           "\n"
                           "allocator my_*alloc   # wrappers\n"
                           "allocator pool::** in libengine.so*\n"
                           "keep std::filesystem::**\n"
                           "  machinery\tactor::Mailbox::*::deliver\r\n"
                           "start app::**::thread_main\n"
                           "keep my_special_alloc\n"
                           "keep malloc\n"
                           "allocator (anonymous namespace)::grow\n"
                           "machinery <app::Visit>::*\n"
                           "task co::*");
        struct name_frame f = {.function = "pool::take", .file = "", .module = ""};

        (void)state;
        check_kind(names, "my_big_alloc", "", NAME_ALLOCATOR);
        check_kind(names, "my_big_allocator", "", NAME_PLAIN);
        check_kind(names, "my_special_alloc", "", NAME_PLAIN); /* the last rule decides */
        check_kind(names, "malloc", "/lib/libc.so.6", NAME_PLAIN);
        check_kind(names, "calloc", "/lib/libc.so.6", NAME_ALLOCATOR);
        check_kind(names, "pool::take(int)", "/opt/libengine.so.2", NAME_ALLOCATOR);
        check_kind(names, "pool::take(int)", "/opt/libother.so", NAME_PLAIN);
        check_kind(names, "pool", "libengine.so", NAME_ALLOCATOR); /* ** is also nothing */
        check_kind(names, "std::filesystem::path::parent_path() const", "", NAME_PLAIN);
        check_kind(names, "std::vector<int>::reserve(int)", "", NAME_ALLOCATOR);
        check_kind(names, "actor::Mailbox<int>::Inner::deliver(int)", "", NAME_MACHINERY);
        check_kind(names, "actor::Mailbox<int>::deliver(int)", "", NAME_PLAIN);
        check_kind(names, "app::thread_main", "", NAME_START);
        check_kind(names, "app::a::b::thread_main", "", NAME_START);
        check_kind(names, "(anonymous namespace)::grow(int)", "", NAME_ALLOCATOR);
        check_kind(names, "co::body", "", NAME_TASK);
        check_kind(names, "<app::Node as app::Visit<T>>::visit", "", NAME_MACHINERY);
        check_kind(names, "app::m::<impl app::Visit for app::Node>::visit", "", NAME_MACHINERY);
        check_kind(names, "<app::Node as app::Other>::visit", "", NAME_PLAIN);
        check_kind(names, "app::Visit::visit", "", NAME_PLAIN);
        check_kind(names, "<app::Count as core::alloc::global::GlobalAlloc>::alloc", "",
                   NAME_ALLOCATOR);
        check_kind(names, "", "/lib/aarch64-linux-gnu/libc.so.6", NAME_ALLOCATOR);
        check_kind(names, "", "/usr/bin/app", NAME_PLAIN);
        assert_int_equal(name_frame_kind(names, &f), NAME_PLAIN);
        f.file = "/usr/include/c++/12/bits/stl_vector.h";
        assert_int_equal(name_frame_kind(names, &f), NAME_ALLOCATOR);
        f.file = "/usr/include/x86_64-linux-gnu/c++/12/bits/gthr-default.h";
        assert_int_equal(name_frame_kind(names, &f), NAME_ALLOCATOR);
        f.module = "libengine.so";
        f.file = "pool.c";
        assert_int_equal(name_frame_kind(names, &f), NAME_ALLOCATOR);
        f.guess = true; /* then the name says nothing */
        assert_int_equal(name_frame_kind(names, &f), NAME_PLAIN);
}

/* What programs call their own functions, and libraries theirs. */
static void test_never_hides_programs(void **state) {
        static const char *const own[] = {
                "core::Engine::load(int)",
                "core::boot()",
                "core",
                "alloc::pool(unsigned long)",
                "alloc",
                "futures::later(int)",
                "bytes::bytes::take()",
                "bytes::bytes<int>::take() const",
                "void core::each<int, core::less>(int)",
                "core::operator<(core::A const&, core::A const&)",
                "core::A::operator->() const",
                "core::(anonymous namespace)::grow(int)",
                "core::A::run()::{lambda(int)#1}::operator()(int) const",
                "tokio::runtime::start()",
                "once_cell::get()",
                "smol::f()",
                "threadpool::add(int)",
                "indexmap::insert(int)",
                "abi::encode(int)",
                "fmt::parse_video(char const*)",
                "fmt::video::parse(int)",
                "vec::reserve(int)",
                "pool_allocator::take()",
                "hash_table::expand()",
                "mi_open",
                "mi_",
                "je_load_allocations",
                "tc_newspaper",
                "g_data_load_file",
                "g_list_files",
                "g_string_table_load",
                "talloc_report",
                "list_resize",
                "new_arena",
                "bitmap_alloc",
                "ggc_load",
                "start_thread",
                "thread_start",
                "clone",
                "call_init",
                "sdscatalogue",
                "PyList_of_ours",
        };
        static const struct {
                const char *function, *module, *file;
                enum name_kind kind;
        } places[] = {
                /* the file tells the language, whatever the form */
                {"core::boot", "app", "/src/core/boot.cc", NAME_PLAIN},
                {"core::boot", "app", "boot.h", NAME_PLAIN},
                {"core::iter::f", "app", "", NAME_MACHINERY},
                {"core::iter::f", "app", "/a.b/f.rs", NAME_MACHINERY},
                {"futures::later", "app", "later.rs", NAME_MACHINERY},
                {"concurrent_queue::unbounded::Unbounded<T>::push", "app", "", NAME_MACHINERY},
                {"concurrent_queue::push(int)", "app", "q.cc", NAME_PLAIN},
                {"futures::later", "app", "later.cpp", NAME_PLAIN},
                {"core::ptr::drop_in_place<(app::A,fn() -> app::B)>", "app", "", NAME_MACHINERY},
                {"load", "app", "/home/a/library/core/src/load.c", NAME_PLAIN},
                {"load", "app", "/home/a/library/std/src/load.cc", NAME_PLAIN},
                {"app::load", "app", "/home/a/library/core/src/load.rs", NAME_PLAIN},
                {"load", "app", "/rustc/0123abcd/library/core/src/mem/mod.rs", NAME_MACHINERY},
                {"load", "app", "/usr/src/rustc-1.63.0/library/std/src/io.rs", NAME_ALLOCATOR},
                {"new<{closure}>", "app", "/r/tokio-1.44.2/src/runtime/task/raw.rs",
                 NAME_MACHINERY},
                {"new<{closure}>", "app", "/home/a/tokio/src/runtime/raw.rs", NAME_PLAIN},
                {"load", "app", "/rustc/0123abcd/library/core/src/mem/mod.c", NAME_PLAIN},
                /* the libraries' own */
                {"mi_open", "/lib/libmimalloc.so.2", "", NAME_ALLOCATOR},
                {"runtime.mallocgc", "app", "", NAME_ALLOCATOR},
                {"runtime.(*mcache).nextFree", "", "", NAME_ALLOCATOR},
                {"internal/runtime/maps.(*Map).growToTable", "", "", NAME_ALLOCATOR},
                {"runtime.main", "app", "", NAME_START},
                {"runtime.goexit.abi0", "app", "", NAME_START},
                {"example.org/app/runtime.(*Pool).take", "app", "", NAME_PLAIN},
                {"runtime/pprof.WriteHeapProfile", "app", "", NAME_PLAIN},
                {"runtime.part.0", "app", "", NAME_PLAIN}, /* of C */
                {"mi_malloc", "app", "", NAME_ALLOCATOR},
                {"g_list_append", "/lib/libglib-2.0.so.0", "", NAME_ALLOCATOR},
                {"talloc_report", "libtalloc.so.2", "", NAME_ALLOCATOR},
                {"fmt::v9::print(char)", "libfmt.so.9", "", NAME_ALLOCATOR},
                {"fmt::v9::vformat(char)", "app", "", NAME_ALLOCATOR},
                {"list_resize", "python3.11", "", NAME_ALLOCATOR},
                {"vec::reserve(int)", "cc1plus", "", NAME_ALLOCATOR},
                {"start_thread", "libc.so.6", "", NAME_START},
                {"clone3", "libc.so.6", "", NAME_START},
                {"call_init", "ld-linux-aarch64.so.1", "", NAME_START},
        };
        _cleanup_(names_freep) struct names *names = builtin();

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(own); i++)
                check_kind(names, own[i], "/opt/app", NAME_PLAIN);
        for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
                struct name_frame f = {.function = places[i].function,
                                       .file = places[i].file,
                                       .module = places[i].module};
                enum name_kind kind = name_frame_kind(names, &f);

                if (kind != places[i].kind)
                        fail_msg("%s in %s at %s: %s, not %s", f.function, f.module, f.file,
                                 name_kind_text(kind), name_kind_text(places[i].kind));
        }
        assert_string_equal(name_short(names, "fmt::video::parse(int)"), "fmt::video::parse");
}

static void test_folds(void **state) {
        _cleanup_(names_freep) struct names *names =
                with_rules("fold company::base::String => String\n"
                           "fold company::Map<int,  company::base::String > => IntMap\n"
                           "fold company::Map<int, String> => IntMap\n"
                           "fold company::Ref<*> => Ref\n"
                           "fold company::Policy =>\n"
                           "inline company::abi_v*\n");

        (void)state;
        assert_string_equal(name_short(names, "company::abi_v2::base::String::trim()"),
                            "String::trim");
        assert_string_equal(name_short(names, "company::Map<int, company::base::String>::at(int)"),
                            "IntMap::at");
        assert_string_equal(name_short(names, "company::Map<int, char>::at(int)"),
                            "company::Map<int, char>::at");
        assert_string_equal(name_short(names, "company::Ref<company::Map<int, char> >::get()"),
                            "Ref::get");
        assert_string_equal(name_short(names, "f<int, company::Policy>(int)"), "f<int>");
        assert_string_equal(name_short(names, "f<company::Policy, int>(int)"),
                            "f<company::Policy, int>");
        assert_string_equal(name_short(names, "company::Policy::check()"),
                            "company::Policy::check");
        assert_string_equal(name_plain(names, "company::abi_v2::f()"), "company::f");
        assert_string_equal(name_short(names, "company::abi_v2()"), "company::abi_v2");
}

static void check_refused(const char *text, const char *expected) {
        struct rules rules;
        struct err err = {0};

        rules_init(&rules);
        assert_true(rules_add_text(&rules, "my.rules", text, strlen(text), &err) < 0);
        if (strncmp(err.text, expected, strlen(expected)) != 0)
                fail_msg("'%s', not '%s'", err.text, expected);
        rules_done(&rules);
}

static void test_refused_rules(void **state) {
        struct str s = {0};

        (void)state;
        check_refused("\n\nallocater x\n",
                      "rules: my.rules:3: a rule must begin with allocator, start");
        check_refused("allocator", "rules: my.rules:1: a rule needs a keyword and a pattern");
        check_refused("allocator # x", "rules: my.rules:1: a rule needs a keyword and a pattern");
        check_refused("allocator a::", "rules: my.rules:1: a part of the path is empty");
        check_refused("allocator a::::b", "rules: my.rules:1: a part of the path is empty");
        check_refused("allocator a**", "rules: my.rules:1: '**' must be a whole part");
        check_refused("allocator std::vector<int>",
                      "rules: my.rules:1: patterns cannot contain template");
        check_refused("driver a<b>", "rules: my.rules:1: patterns cannot contain template");
        check_refused("driver a in b", "rules: my.rules:1: a driver applies everywhere");
        check_refused("rust", "rules: my.rules:1: a rule needs a keyword and a pattern");
        check_refused("rust keep", "rules: my.rules:1: a rule needs a keyword and a pattern");
        check_refused("rust driver a", "rules: my.rules:1: 'rust' must be followed by allocator");
        check_refused("keep a in /lib/b", "rules: my.rules:1: a module is named by its file name");
        check_refused("fold a", "rules: my.rules:1: 'fold' needs '=>'");
        check_refused("fold a<int => b", "rules: my.rules:1: the type's arguments must end");
        check_refused("fold a::* => b", "rules: my.rules:1: '*' is not allowed in the path");
        check_refused("fold => b", "rules: my.rules:1: a part of the path is empty");
        check_refused("inline a", "rules: my.rules:1: an inline namespace needs the name");
        check_refused("inline a*::b", "rules: my.rules:1: '*' is only allowed in the last part");
        check_refused("inline a::**", "rules: my.rules:1: '*' is only allowed in the last part");
        check_refused("keep a\x01", "rules: my.rules:1: the line is not text");
        str_add(&s, "keep ");
        str_pad(&s, 'a', RULE_MAX_LINE_BYTES);
        check_refused(str_text(&s), "rules: my.rules:1: the line is too long");
        str_clear(&s);
        str_add(&s, "keep a");
        for (unsigned i = 0; i < PATTERN_MAX_PARTS; i++)
                str_add(&s, "::a");
        check_refused(str_text(&s), "rules: my.rules:1: the path has too many parts");
        str_clear(&s);
        for (unsigned i = 0; i <= RULES_MAX; i++)
                str_add(&s, "keep a\n");
        check_refused(str_text(&s), "rules: my.rules:65536: too many rules");
        str_done(&s);
}

static void check_files(const char *file, bool with_config, const char *expected) {
        struct name_sources sources = {.files = {file},
                                       .n_files = file != NULL,
                                       .with_config = with_config};
        struct names *names = NULL;
        struct err err = {0};

        assert_true(names_load(&sources, &names, &err) < 0);
        assert_null(names);
        if (strncmp(err.text, expected, strlen(expected)) != 0)
                fail_msg("'%s', not '%s'", err.text, expected);
}

static void test_files(void **state) {
        struct name_sources config = {.with_config = true};
        struct names *names = NULL;
        struct str s = {0};
        char here[4096];

        (void)state;
        check_files("no/such.rules", false, "rules: cannot open 'no/such.rules': No such file");
        check_files("/", false, "rules: cannot read '/': Is a directory");
        str_pad(&s, '\n', RULE_MAX_FILE_BYTES + 1);
        write_file("name_test.rules", str_text(&s));
        check_files("name_test.rules", false, "rules: 'name_test.rules' is larger than 1 MiB");
        str_done(&s);

        assert_non_null(getcwd(here, sizeof(here)));
        setenv("XDG_CONFIG_HOME", here, 1);
        assert_int_equal(names_load(&config, &names, NULL), 0); /* there is no such file: fine */
        names_free(names);
        mkdir("silt", 0700);
        write_file("silt/rules", "keep malloc\n");
        assert_int_equal(names_load(&config, &names, NULL), 0);
        check_kind(names, "malloc", "", NAME_PLAIN);
        names_free(names);
        write_file("silt/rules", "oops\n");
        check_files(NULL, true, "rules: ");
        names = builtin(); /* not asked for: not read */
        names_free(names);
        unlink("silt/rules");
        rmdir("silt");
        unsetenv("XDG_CONFIG_HOME");
}

/* ---- stacks ---------------------------------------------------------------------------------- */

enum { MAX_FRAMES = 64 };

/* Folds `function;function;...`, innermost first, and writes what is shown the same way. A function may
 * be followed by @module; one of ? has no name. */
static void check_stack(const char *stack, const char *expected) {
        _cleanup_(names_freep) struct names *names = builtin();
        _cleanup_free_ char *copy = strdup(stack);
        struct name_frame frames[MAX_FRAMES];
        struct name_stack shown = {0};
        struct str s = {0};
        size_t n = 0;

        for (char *rest = copy, *word; (word = strsep(&rest, ";")) && n < MAX_FRAMES; n++) {
                char *module = strchr(word, '@');

                if (module)
                        *module++ = '\0';
                frames[n] = (struct name_frame){.function = strcmp(word, "?") == 0 ? "" : word,
                                                .file = "",
                                                .module = module ? module : "app",
                                                .offset = n};
        }
        name_fold(names, frames, n, &shown);
        for (size_t i = 0; i < shown.n; i++)
                str_addf(&s, "%s%s", i ? ";" : "",
                         name_label(names, &frames[shown.items[i].frame_idx],
                                    shown.items[i].is_task));
        if (shown.via_idx != NAME_NO_FRAME)
                str_addf(&s, " via %s", name_label(names, &frames[shown.via_idx], false));
        if (strcmp(str_text(&s), expected) != 0)
                fail_msg("%s\n  is %s\n not %s", stack, str_text(&s), expected);
        str_done(&s);
        name_stack_done(&shown);
}

static void test_stacks(void **state) {
        (void)state;
        check_stack("main;__libc_start_call_main;__libc_start_main_impl;_start", "main");
        check_stack("operator new(unsigned long);std::string::_M_create(int);load(int);main;"
                    "__libc_start_call_main;_start",
                    "load;main via std::string::_M_create");
        check_stack("g_malloc;g_strdup;parse;main;?@libc.so.6",
                    "parse;main;libc.so.6+0x4 via g_strdup");
        /* of library code between the program's own only what was called */
        check_stack("Item::Item();std::_Construct<Item>(Item*);std::__uninit(Item*);"
                    "std::vector<Item>::resize(unsigned long);fill();main",
                    "Item::Item;std::vector<Item>::resize;fill;main");
        /* nothing but library */
        check_stack("malloc;std::string::reserve();std::rt::init;std::rt::lang_start;main;_start",
                    "std::string::reserve");
        check_stack("_start", "_start");
        check_stack("malloc", "malloc");
        check_stack("", "app+0x0");
        /* machinery */
        check_stack("grow();std::_Function_handler<void (), f()::{lambda()#1}>::_M_invoke(int);"
                    "std::function<void ()>::operator()() const;run();main",
                    "grow;run;main");
        /* a thread: libstdc++ has no name for its starter */
        check_stack(
                "work();?@/usr/lib/libstdc++.so.6;start_thread@libc.so.6;thread_start@libc.so.6",
                "work");
        /* a stripped program's start */
        check_stack("work();?;__libc_start_call_main;__libc_start_main;?", "work;app+0x1");
        /* a user's function with the name of a library's start is in the middle */
        check_stack("work();start_thread;main;_start", "work;start_thread;main");
}

static void test_helpers_of_allocators(void **state) {
        (void)state;
        check_stack("?@gcc;ggc_internal_alloc@gcc;make_node@gcc;main@gcc",
                    "make_node;main via ggc_internal_alloc");
        check_stack("?@py;?@py;PyList_New@py;?@py;main@py", "py+0x3;main via PyList_New");
        check_stack("?@a;?@b;PyList_New@b;main@b", "a+0x0;b+0x1;PyList_New;main");
        check_stack("?@b;?@a;PyList_New@b;main@b", "b+0x0;a+0x1;PyList_New;main");
        check_stack("?@a;main@a", "a+0x0;main");
}

static void test_async_stacks(void **state) {
        static const char workers[] =
                "<core::pin::Pin<P> as core::future::future::Future>::poll;"
                "tokio::runtime::task::core::Core<T,S>::poll::{{closure}};"
                "tokio::runtime::task::harness::poll_future;"
                "tokio::runtime::scheduler::multi_thread::worker::Context::run_task;"
                "tokio::runtime::blocking::pool::Inner::run;"
                "std::sys::backtrace::__rust_begin_short_backtrace;"
                "std::thread::Builder::spawn_unchecked_::{{closure}}::{{closure}};"
                "core::ops::function::FnOnce::call_once{{vtable.shim}};"
                "<alloc::boxed::Box<F,A> as core::ops::function::FnOnce<Args>>::call_once;"
                "std::sys::pal::unix::thread::Thread::new::thread_start;start_thread@libc.so.6;"
                "thread_start@libc.so.6";
        struct str s = {0};

        (void)state;
        str_addf(&s,
                 "alloc::raw_vec::RawVec<T,A>::grow_one;alloc::vec::Vec<T,A>::push;app::encode;"
                 "app::send::{{closure}};app::run::{{closure}};%s",
                 workers);
        check_stack(str_text(&s), "app::encode;app::send (async);app::run (async) via Vec::push");
        /* blocks in one function, v0 names, and a library's future between two of ours */
        str_clear(&s);
        str_addf(
                &s,
                "app::read::{closure#0}::{closure#1}::{closure#0};app::read::{closure#0}::{closure#1};"
                "app::read::{closure#0};<tokio::time::timeout::Timeout<T> as "
                "core::future::future::Future>::poll;app::run::{closure#0};%s",
                workers);
        check_stack(str_text(&s), "app::read (async);app::run (async)");
        /* a closure that nobody polls is one */
        check_stack("app::f::{{closure}};core::iter::traits::iterator::Iterator::fold;app::f;main",
                    "app::f::{closure};app::f;main");
        /* nor does collecting stand between */
        check_stack("alloc::string::String::clone;app::f::{{closure}};"
                    "core::iter::adapters::map::map_fold::{{closure}};"
                    "<alloc::vec::Vec<T> as "
                    "core::iter::traits::collect::FromIterator<T>>::from_iter;"
                    "core::iter::traits::iterator::Iterator::collect;app::f;main",
                    "app::f::{closure};app::f;main via String::clone");
        /* futures written by hand stay */
        check_stack("app::f::{{closure}};<app::Join as core::future::future::Future>::poll;"
                    "tokio::runtime::park::CachedParkThread::block_on;app::main;"
                    "core::ops::function::FnOnce::call_once;std::rt::lang_start::{{closure}};"
                    "std::panicking::try;std::rt::lang_start;main;__libc_start_call_main;_start",
                    "app::f (async);<app::Join as Future>::poll;app::main");
        str_done(&s);
}

static void test_guesses(void **state) {
        _cleanup_(names_freep) struct names *names = builtin();
        struct name_frame f = {.function = "malloc",
                               .file = "",
                               .module = "/lib/x.so",
                               .offset = 0x12,
                               .guess = true};
        struct name_stack shown = {0};

        (void)state;
        name_fold(names, &f, 1, &shown);
        assert_int_equal(shown.n, 1);
        assert_string_equal(name_label(names, &f, false), "x.so+0x12");
        name_stack_done(&shown);
}

/* The same text in two places, and another text in the same place. */
static void test_remembers_texts(void **state) {
        _cleanup_(names_freep) struct names *names = builtin();
        char a[] = "f<int>(int)", b[] = "f<int>(int)";

        (void)state;
        assert_ptr_equal(name_short(names, a), name_short(names, b));
        strcpy(a, "g<int>(int)");
        assert_string_equal(name_short(names, a), "g<int>");
        assert_string_equal(name_short(names, b), "f<int>");
}

/* What one set of names learned, another takes over: functions, and places without a name. */
static void test_learns_alike(void **state) {
        const struct name_frame grab = {.function = "grab", .file = "", .module = "/bin/p"},
                                place = {.function = "",
                                         .file = "",
                                         .module = "/bin/p",
                                         .offset = 77},
                                other = {.function = "other", .file = "", .module = "/bin/p"};
        struct names *a = NULL, *b = NULL;

        (void)state;
        assert_int_equal(names_load(&(struct name_sources){0}, &a, NULL), 0);
        assert_int_equal(names_load(&(struct name_sources){0}, &b, NULL), 0);
        name_label(b, &other, false); /* numbers of texts differ */
        name_learn_wrapper(a, &grab);
        name_learn_wrapper(a, &grab);
        name_learn_wrapper(a, &place);
        name_learn_like(b, a);
        assert_int_equal(name_n_learned(b), 2);
        assert_int_equal(name_frame_kind(b, &grab), NAME_ALLOCATOR);
        assert_int_equal(name_frame_kind(b, &place), NAME_ALLOCATOR);
        assert_int_equal(name_frame_kind(b, &other), NAME_PLAIN);
        names_free(a);
        names_free(b);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_table),
                cmocka_unit_test(test_full),
                cmocka_unit_test(test_hostile_names),
                cmocka_unit_test(test_globs),
                cmocka_unit_test(test_kinds),
                cmocka_unit_test(test_never_hides_programs),
                cmocka_unit_test(test_folds),
                cmocka_unit_test(test_refused_rules),
                cmocka_unit_test(test_files),
                cmocka_unit_test(test_stacks),
                cmocka_unit_test(test_helpers_of_allocators),
                cmocka_unit_test(test_async_stacks),
                cmocka_unit_test(test_guesses),
                cmocka_unit_test(test_remembers_texts),
                cmocka_unit_test(test_learns_alike),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
