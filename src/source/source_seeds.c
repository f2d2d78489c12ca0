/* SPDX-License-Identifier: MIT */
/* Writes the seeds of source_fuzz: files in C, C++ and Rust, and small traces with names, bodies decompressed.
 * usage: source_seeds DIRECTORY */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/macros.h"
#include "query/testing/fabric.h"
#include "trace/testing/trace_plain.h"
#include "trace/writer.h"

enum { CHOICE_TRACE = 1, N_CHOICES = 64 };

static const char *const sources[] = {
        "int insert(int a);\n\nstatic char *\ninsert(const char *a, int b)\n{\n\tif (insert(\"}\", '}')) {\n\t\treturn 0;\n\t}\n"
        "\tfor (;;) { a_long_function_name(0, 1, 2, 3, 4, 5, 6, 7, 8, 9); } // }\n}\nint main(void) {\n\treturn insert(\"{\", 2);\n}\n",
        "#if A\nint main(int a) {\n#else\nint main(void) { /* { */\n#endif\n\tg();\n}\n\033[2J\xff\xc2\x9b\xe2\x80\xae日本語e\xcc\x81\r\n",
        "namespace a {\ntemplate <class T = int> struct Cache {\npublic:\n  Cache(int n) : n_{n}, v_(n) {\n    grow();\n  }\n  ~Cache() { drop(); }\n"
        "  void insert(T v) {\n    auto f = [&](int i) {\n      insert(R\"x(}\")x\");\n    };\n    run([&] { f(1'000); });\n  }\n"
        "  bool operator==(const Cache &o) const { return n_ == o.n_; }\n};\n}\n",
        "/* outer /* inner */ { */\nimpl<'a, T> Cache<'a, T> {\n    #[inline(never)]\n    pub fn insert<F>(&mut self) -> T\n    where\n        F: Fn(u64),\n"
        "    {\n        let c = '{'; let s = r#\"}\"}\"#;\n        self.entries.push(f(key).map(|x| { x + 1 }));\n    }\n}\nfn main() { insert(3) }\n",
        "no newline, no function",
        "",
};

static void write_source(const char *folder, unsigned number) {
        char path[4096];
        FILE *f;

        snprintf(path, sizeof(path), "%s/source%u", folder, number);
        f = fopen(path, "wb");
        if (!f)
                abort();
        fputs(sources[number % ARRAY_SIZE(sources)], f);
        fputc((int)(number * 2 % 128), f);
        fclose(f);
}

static void write_trace(const char *folder, unsigned number) {
        static const char *const names[] = {
                "main",
                "f(int)",
                "void f<int>(int)",
                "a::f::{{closure}}",
                "std::vector<int, std::allocator<int> >::push_back(int&&)",
                NULL,
        };
        struct fabric_options o = {.seed = number,
                                   .n_stacks = 3,
                                   .slice_events = 20,
                                   .max_processes = 1 + number % 3,
                                   .max_threads = 2,
                                   .checkpoint_every = number % 3,
                                   .max_step_us = 9,
                                   .with_paths = number % 3 == 0};
        char path[4096];
        struct fabric *f;
        uint32_t thread, stack = 0;

        snprintf(path, sizeof(path), "%s/trace%u", folder, number);
        f = fabric_new(path, &o);
        thread = fabric_thread(f, 0, "main");
        for (unsigned i = 0; i < 12; i++) {
                stack = fabric_frame(f, i % 5 ? stack : 0, "/bin/x", names[(i + number) % 6],
                                     i % 4 == 3   ? ""
                                     : i % 4 == 2 ? "/src/../dev/zero"
                                                  : "a.c",
                                     i + 1);
                fabric_alloc(f, 0, thread, stack, 100 * i);
        }
        fabric_run(f, 30);
        fabric_end(f);
        trace_make_plain(path, number % 5 != 0, (uint8_t)(CHOICE_TRACE | number * 2));
}

int main(int argc, char **argv) {
        if (argc < 2)
                return 2;
        for (unsigned i = 0; i < N_CHOICES * 3; i++)
                write_source(argv[1], i);
        for (unsigned i = 0; i < N_CHOICES; i++)
                write_trace(argv[1], i);
        return 0;
}
