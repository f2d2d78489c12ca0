/* SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fs.h"
#include "base/str.h"
#include "symbol/elf_file.h"
#include "symbol/functions.h"
#include "symbol/module.h"
#include "symbol/symbol.h"
#include "trace/writer.h"

static void check_demangle(const char *linker_name, const char *expected) {
        _cleanup_free_ char *name = symbol_demangle(linker_name);

        assert_string_equal(name, expected);
}

/* Nested templates: longer than the demangler's own limit allows, and readable all the same. */
static void check_long_name(size_t n_levels) {
        struct str mangled = {0}, expected = {0};

        str_add(&mangled, "_Z1f");
        str_add(&expected, "f(");
        for (size_t i = 0; i < n_levels; i++) {
                str_add(&mangled, "1aI");
                str_add(&expected, "a<");
        }
        str_add(&mangled, "i");
        str_add(&expected, "int>");
        for (size_t i = 0; i < n_levels; i++) {
                str_add(&mangled, "E");
                str_add(&expected, i + 1 < n_levels ? " >" : ")");
        }
        check_demangle(str_text(&mangled), str_text(&expected));
        str_done(&mangled);
        str_done(&expected);
}

/* f(a<int, int>, a<a<int, int>, a<int, int> >, …): each argument is twice the one before. */
static void check_endless_name(void) {
        static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        struct str mangled = {0};

        str_add(&mangled, "_Z1f1aIiiE");
        for (size_t i = 0; i < 30; i++)
                str_addf(&mangled, "S_IS%c_S%c_E", digits[i], digits[i]);
        check_demangle(str_text(&mangled), str_text(&mangled));
        str_done(&mangled);
}

static void test_demangle(void **state) {
        (void)state;
        check_long_name(400);
        check_endless_name();
        check_demangle("main", "main");
        check_demangle("", "");
        check_demangle("_ZN3foo3barEi", "foo::bar(int)");
        check_demangle("_ZN3foo3barEi.isra.0", "foo::bar(int)");
        check_demangle("_ZN4core3ptr13drop_in_place17h0123456789abcdefE",
                       "core::ptr::drop_in_place");
        check_demangle(
                "_ZN50_$LT$app..Parker$u20$as$u20$core..clone..Clone$GT$5clone17h0123456789abcdefE",
                "<app::Parker as core::clone::Clone>::clone");
        check_demangle("_RNvC6_123foo3bar", "123foo::bar");
        check_demangle("helper.constprop.0.cold", "helper");
        check_demangle("helper.part.3", "helper");
        check_demangle("memcpy@@GLIBC_2.17", "memcpy");
        check_demangle("_Zgarbage", "_Zgarbage");
        check_demangle("_init", "_init");
        check_demangle("std.partial", "std.partial");
}

/* ---- functions: a table made by hand --------------------------------------------------------- */

static void test_functions_find(void **state) {
        struct function table[] = {
                {.begin = 100, .end = 200, .reach = 200, .name = "outer"},
                {.begin = 120, .end = 130, .reach = 200, .name = "inner"},
                {.begin = 300, .end = 300, .reach = 300, .name = "sizeless"},
                {.begin = 400, .end = 410, .reach = 410, .name = "sized"},
        };
        struct functions f = {.by_begin = {table, ARRAY_SIZE(table), ARRAY_SIZE(table)},
                              .has_symtab = true};
        bool guess;

        (void)state;
        assert_null(functions_find(&f, 99, &guess));
        assert_string_equal(functions_find(&f, 100, &guess)->name, "outer");
        assert_string_equal(functions_find(&f, 125, &guess)->name, "inner");
        assert_string_equal(functions_find(&f, 130, &guess)->name, "outer");
        assert_false(guess);
        assert_string_equal(functions_find(&f, 250, &guess)->name, "inner");
        assert_true(guess);
        assert_string_equal(functions_find(&f, 350, &guess)->name, "sizeless");
        assert_false(guess);
        assert_string_equal(functions_find(&f, 410, &guess)->name, "sized");
        assert_true(guess);
}

/* ---- a trace of this very program ------------------------------------------------------------ */

/* Not static, so that the symbols are there even without debug information. */
__attribute__((noinline)) uintptr_t symbol_test_where(int *ret_line);
__attribute__((noinline)) uintptr_t symbol_test_return_address(void);

uintptr_t symbol_test_return_address(void) {
        return (uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0));
}

static inline __attribute__((always_inline)) uintptr_t inlined_where(void) {
        uintptr_t pc = symbol_test_return_address();

        __asm__ volatile("" : "+r"(pc)::"memory"); /* no tail call */
        return pc;
}

uintptr_t symbol_test_where(int *ret_line) {
        *ret_line = __LINE__ + 1;
        return inlined_where();
}

struct self {
        const char *path;
        uintptr_t bias;
        uint8_t build_id[32];
        uint32_t build_id_len;
};

static int find_build_id(struct dl_phdr_info *info, size_t size, void *ctx) {
        struct self *s = ctx;

        (void)size;
        if (info->dlpi_addr != s->bias)
                return 0;
        for (int i = 0; i < info->dlpi_phnum; i++) {
                const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
                const char *p = (const char *)(info->dlpi_addr + ph->p_vaddr),
                           *end = p + ph->p_memsz;

                if (ph->p_type != PT_NOTE)
                        continue;
                while (p + sizeof(ElfW(Nhdr)) < end) {
                        const ElfW(Nhdr) *n = (const void *)p;

                        if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4) {
                                s->build_id_len = n->n_descsz;
                                memcpy(s->build_id, p + sizeof(*n) + 4, n->n_descsz);
                        }
                        p += sizeof(*n) + ALIGN_UP(n->n_namesz, 4u) + ALIGN_UP(n->n_descsz, 4u);
                }
        }
        return 1;
}

static struct trace_module module_of(const void *address, uintptr_t *ret_bias) {
        static char paths[4][4096];
        static unsigned next;
        struct trace_module m = {0};
        struct self self = {0};
        Dl_info info;

        assert_int_not_equal(dladdr(address, &info), 0);
        self.bias = *ret_bias = (uintptr_t)info.dli_fbase;
        dl_iterate_phdr(find_build_id, &self);
        m.path = realpath(info.dli_fname, paths[next++ % 4]);
        assert_non_null(m.path);
        memcpy(m.build_id, self.build_id, sizeof(m.build_id));
        m.build_id_len = self.build_id_len;
        m.size_bytes = 1 << 20;
        return m;
}

#define TRACE_PATH "symbol_test.silt"

/* A finished trace with these modules and one location in each. */
static void write_trace(const struct trace_module *modules, const uint64_t *offsets, size_t n) {
        const char *const args[] = {"self"};
        struct trace_meta meta = {
                .pid = 1, .silt_version = "", .host = "", .cwd = "", .n_args = 1, .args = args};
        struct trace_process process = {.pid = 1,
                                        .parent = TRACE_NO_PROCESS,
                                        .image = 1,
                                        .exe = "self",
                                        .n_args = 1,
                                        .args = args};
        struct trace_writer *w;
        struct err e = {0};
        int fd = open(TRACE_PATH, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        assert_true(fd >= 0);
        assert_int_equal(trace_writer_open(fd, &meta, &w, &e), 0);
        trace_add_process(w, &process);
        for (size_t i = 0; i < n; i++) {
                struct trace_location l = {trace_add_module(w, &modules[i]), offsets[i]};

                trace_add_stack(w, 0, trace_add_location(w, &l));
        }
        trace_end_slice(w, 1000, NULL, 0, NULL, 0);
        assert_int_equal(trace_writer_finish(w, &e), 0);
        trace_writer_free(w);
}

static void test_append_names_this_program(void **state) {
        struct trace_module modules[4];
        uint64_t offsets[4];
        uintptr_t bias;
        struct err e = {0};
        struct trace_reader *t;
        const struct trace_view *v;
        int line;
        size_t last;

        (void)state;
        modules[0] = module_of((const void *)symbol_test_where, &bias);
        offsets[0] = symbol_test_where(&line) - bias;
        modules[1] = module_of(dlsym(RTLD_DEFAULT, "strtol"), &bias);
        offsets[1] = (uintptr_t)dlsym(RTLD_DEFAULT, "strtol") - bias + 5;
        modules[2] = modules[0]; /* replaced: same path, another build-id */
        modules[2].build_id[0] ^= 1;
        offsets[2] = offsets[0];
        modules[3] = (struct trace_module){.path = "/nonexistent/lib.so"};
        offsets[3] = 4096;
        write_trace(modules, offsets, 4);
        assert_int_equal(symbol_append(TRACE_PATH, &e), 0);

        assert_int_equal(trace_reader_open(TRACE_PATH, &t, &e), 0);
        v = trace_view(t);
        assert_true(v->n_symbols >= 2);
        last = v->symbols[1].location == 0 ? 1 : 0;
        assert_string_equal(v->symbols[last].function, "symbol_test_where");
        assert_false(v->symbols[last].inlined);
        assert_false(v->symbols[last].guess);
        /* Built with debug information: the inlined function comes first, called from the line
         * told. */
        assert_int_equal(last, 1);
        assert_string_equal(v->symbols[0].function, "inlined_where");
        assert_true(v->symbols[0].inlined);
        assert_non_null(strstr(v->symbols[0].file, "symbol_test.c"));
        assert_int_equal(v->symbols[1].line, line);
        assert_int_equal(v->symbols[2].location, 1);
        assert_non_null(strstr(v->symbols[2].function, "strto"));
        for (size_t i = 0; i < v->n_symbols; i++)
                assert_true(v->symbols[i].location < 2);
        trace_reader_free(t);
}

static void test_vdso(void **state) {
        const ElfW(Ehdr) *h = (const void *)getauxval(AT_SYSINFO_EHDR);
        struct trace_module m = {.path = "[vdso]"};
        _cleanup_(symbol_module_freep) struct symbol_module *sm = NULL;
        const struct functions *functions;
        struct symbol_origin origin;
        bool found = false;

        (void)state;
        if (!h)
                skip();
        assert_int_equal(symbol_module_open(&m, NULL, &sm, &origin), 0);
        functions = symbol_module_functions(sm);
        for (size_t i = 0; i < functions->by_begin.n; i++)
                found |= strstr(functions->by_begin.items[i].name, "clock_gettime") != NULL;
        assert_true(found);
}

static void test_replaced_file_is_told(void **state) {
        uintptr_t bias;
        struct trace_module m = module_of((const void *)symbol_test_where, &bias);
        struct symbol_module *sm = NULL;
        struct symbol_origin origin;

        (void)state;
        m.build_id[3] ^= 0x40;
        assert_int_equal(symbol_module_open(&m, NULL, &sm, &origin), -ESTALE);
        assert_null(sm);
        assert_int_equal(origin.naming, TRACE_NAMING_REPLACED);
        assert_non_null(strstr(origin.text, "build-id"));
}

/* A worker that may not use memory names nothing, and costs nothing else. */
static void test_limits(void **state) {
        struct symbol_options options = {.limits = {.memory_bytes = 0, .time_ns = 5000000000},
                                         .no_cache = true};
        _cleanup_(symbol_table_freep) struct symbol_table *t = NULL;
        struct trace_module m;
        uint64_t offset = 1234;
        uintptr_t bias;
        struct err e = {0};
        int r;

        (void)state;
        m = module_of((const void *)symbol_test_where, &bias);
        write_trace(&m, &offset, 1);
        r = symbol_lookup(TRACE_PATH, &options, &t, &e);
        if (r >= 0)
                assert_int_equal(t->n_symbols, 0);
        else
                assert_true(e.text[0]);
}

/* As Go's linker writes files: the note is in a section, and in no segment of notes. */
static void test_build_id_without_a_segment(void **state) {
        _cleanup_close_ int own = fs_open("/proc/self/exe", O_RDONLY, 0);
        _cleanup_close_ int copy = fs_open_nameless();
        struct elf_file_id wanted, got;
        uint8_t bytes[4096];
        Elf64_Ehdr head;
        uint64_t at = 0;
        ssize_t n;

        (void)state;
        while ((n = fs_read_at(own, bytes, sizeof(bytes), at)) > 0) {
                assert_int_equal(fs_write_all(copy, bytes, (size_t)n), 0);
                at += (uint64_t)n;
        }
        assert_int_equal(elf_file_identify(own, &wanted, NULL), 0);
        assert_true(wanted.n > 0);
        assert_int_equal(pread(copy, &head, sizeof(head), 0), sizeof(head));
        for (uint16_t i = 0; i < head.e_phnum; i++) {
                off_t place = (off_t)(head.e_phoff + (uint64_t)i * sizeof(Elf64_Phdr));
                Elf64_Phdr p;

                assert_int_equal(pread(copy, &p, sizeof(p), place), sizeof(p));
                p.p_type = p.p_type == PT_NOTE ? PT_NULL : p.p_type;
                assert_int_equal(pwrite(copy, &p, sizeof(p), place), sizeof(p));
        }
        assert_int_equal(elf_file_identify(copy, &got, NULL), 0);
        assert_true(elf_file_id_is(&got, wanted.bytes, wanted.n));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_demangle),
                cmocka_unit_test(test_functions_find),
                cmocka_unit_test(test_append_names_this_program),
                cmocka_unit_test(test_vdso),
                cmocka_unit_test(test_replaced_file_is_told),
                cmocka_unit_test(test_limits),
                cmocka_unit_test(test_build_id_without_a_segment),
        };

        setenv("SILT_SYMBOL_CACHE", "off", 1); /* the user's own is none of a test's business */
        return cmocka_run_group_tests(tests, NULL, NULL);
}
