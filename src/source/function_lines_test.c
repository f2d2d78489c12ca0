/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "source/function_lines.h"

/* Expects the function on this line to be begin..end; 0: none is there. */
static void expect(const char *text, const char *name, uint32_t line, uint32_t begin,
                   uint32_t end) {
        struct extents e = {0};
        const struct extent *x;

        extents_find(&e, text, strlen(text), name);
        x = extents_at(&e, line);
        if ((x ? x->begin : 0) != begin || (x ? x->end : 0) != end) {
                print_error("%s in line %u of\n%s\n: %u to %u, not %u to %u\n",
                            name ? name : "a function", line, text, x ? x->begin : 0,
                            x ? x->end : 0, begin, end);
                fail();
        }
        extents_done(&e);
}

static void test_c(void **state) {
        static const char text[] = "int insert(int a);\n"
                                   "\n"
                                   "/* insert( { */\n"
                                   "static char *\n"
                                   "insert(const char *a,\n"
                                   "       int b)\n"
                                   "{\n"
                                   "        if (insert(\"}\", '}')) {\n"
                                   "                return 0;\n"
                                   "        }\n"
                                   "        for (;;) { insert(0, 1); }\n"
                                   "}\n"
                                   "int other(void) {\n"
                                   "        return insert(\"{\\\"\", 2) ? 1 : 0; // }\n"
                                   "}\n";

        (void)state;
        expect(text, "insert", 9, 4, 12);
        expect(text, "insert", 4, 4, 12);
        expect(text, "insert", 12, 4, 12);
        expect(text, "insert", 1, 0, 0);
        expect(text, "insert", 14, 0, 0);
        expect(text, "other", 14, 13, 15);
        expect(text, NULL, 9, 4, 12);
        expect(text, NULL, 14, 13, 15);
        expect(text, NULL, 2, 0, 0);
        expect(text, "nobody", 9, 0, 0);
}

static void test_conditions(void **state) {
        static const char text[] = "#if A\n"
                                   "int f(int a) {\n"
                                   "#elif B \\\n"
                                   "        {\n"
                                   "int f(long a) {\n"
                                   "#else\n"
                                   "int f(void) {\n"
                                   "#endif\n"
                                   "        g();\n"
                                   "}\n"
                                   "void g() {\n"
                                   "        h();\n"
                                   "}\n";

        (void)state;
        expect(text, "f", 9, 7, 10);
        expect(text, "g", 12, 11, 13);
}

static void test_cxx(void **state) {
        static const char text[] =
                "namespace a {\n"
                "template <class T = int, class U = X<T>> struct Cache {\n"
                "public:\n"
                "        Cache(int n) : n_{n}, v_(n), w_{1, 2} {\n"
                "                grow();\n"
                "        }\n"
                "        ~Cache() {\n"
                "                drop();\n"
                "        }\n"
                "        template <class V = T> void insert(V v) const noexcept(noexcept(V())) {\n"
                "                auto f = [&](int i) {\n"
                "                        insert(R\"x(}\")}\"}\" )x\");\n"
                "                };\n"
                "                run([&] {\n"
                "                        f(1'000);\n"
                "                });\n"
                "        }\n"
                "        bool operator==(const Cache &o) const {\n"
                "                return n_ == o.n_;\n"
                "        }\n"
                "        void operator()(int) {\n"
                "                go();\n"
                "        }\n"
                "};\n"
                "}\n"
                "void a::Other::insert() try {\n"
                "        x = y;\n"
                "} catch (...) {\n"
                "}\n";

        (void)state;
        expect(text, "Cache", 5, 4, 6);
        expect(text, "Cache", 8, 0, 0);
        expect(text, "~Cache", 8, 7, 9);
        expect(text, "insert", 12, 10, 17);
        expect(text, "insert", 15, 10, 17);
        expect(text, "insert", 27, 26, 28);
        expect(text, "operator==", 19, 18, 20);
        expect(text, "operator()", 22, 21, 23);
        expect(text, NULL, 5, 4, 6);
        expect(text, NULL, 12, 10, 17);
        expect(text, NULL, 15, 10, 17);
        expect(text, NULL, 19, 18, 20);
        expect(text, NULL, 24, 0, 0);
}

static void test_rust(void **state) {
        static const char text[] = "/* outer /* inner */ { */\n"
                                   "impl<'a, T: Clone> Cache<'a, T> {\n"
                                   "    #[inline(never)]\n"
                                   "    pub fn insert<F>(&mut self, key: u64, f: F) -> Option<T>\n"
                                   "    where\n"
                                   "        F: Fn(u64) -> T,\n"
                                   "    {\n"
                                   "        if insert(1) { return None; }\n"
                                   "        let c = '{'; let q = '\\''; let s = r#\"}\"}\"#;\n"
                                   "        self.entries.push(f(key).map(|x| { x + 1 }));\n"
                                   "        while insert::<u8>(2) {\n"
                                   "            step();\n"
                                   "        }\n"
                                   "    }\n"
                                   "}\n"
                                   "async fn serve() {\n"
                                   "    spawn(async move { insert(3).await });\n"
                                   "}\n";

        (void)state;
        expect(text, "insert", 10, 3, 14);
        expect(text, "insert", 12, 3, 14);
        expect(text, "insert", 17, 0, 0);
        expect(text, "serve", 17, 16, 18);
        expect(text, NULL, 12, 3, 14);
        expect(text, NULL, 17, 16, 18);
}

/* Any bytes: no crash, no end, and extents lie inside the text. */
static void test_hostile(void **state) {
        static const char *const pieces[] = {"{",     "}",       "f(",    ")",        "\"",
                                             "'",     "/*",      "*/",    "//",       "\n",
                                             "#if\n", "#else\n", "R\"x(", ")x\"",     "\\",
                                             "r#\"",  ";",       "f",     "#endif\n", "operator",
                                             "~",     "<",       "=",     "\xff",     "template",
                                             "'a",    "public:"};
        uint64_t random = 1;
        char *text = malloc(1 << 16);

        (void)state;
        for (unsigned round = 0; round < 2000; round++) {
                struct extents e = {0};
                size_t n = 0;
                uint32_t n_lines = 1;

                for (unsigned i = 0; i < 1 + round % 60; i++) {
                        const char *piece;

                        random = random * 6364136223846793005ull + 1442695040888963407ull;
                        piece = pieces[(random >> 33) % (sizeof(pieces) / sizeof(pieces[0]))];
                        while (*piece)
                                text[n++] = *piece++;
                }
                for (size_t i = 0; i < n; i++)
                        n_lines += text[i] == '\n';
                char *exact = malloc(n); /* so that a sanitizer sees a step beyond the end */

                memcpy(exact, text, n);
                extents_find(&e, exact, n,
                             round % 3 == 0   ? NULL
                             : round % 3 == 1 ? "f"
                                              : "operator=");
                for (size_t i = 0; i < e.items.n; i++)
                        assert_true(e.items.items[i].begin >= 1 &&
                                    e.items.items[i].begin <= e.items.items[i].end &&
                                    e.items.items[i].end <= n_lines);
                extents_done(&e);
                free(exact);
        }
        free(text);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_c),       cmocka_unit_test(test_conditions),
                cmocka_unit_test(test_cxx),     cmocka_unit_test(test_rust),
                cmocka_unit_test(test_hostile),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
