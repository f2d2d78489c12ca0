/* SPDX-License-Identifier: MIT */
#include "import/perf_kernel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/kernel_id.h"
#include "base/macros.h"

#define ROOT "perf_kernel_root"

static const char *const folders[] = {
        ROOT,
        ROOT "/proc",
        ROOT "/sys",
        ROOT "/sys/kernel",
        ROOT "/sys/module",
        ROOT "/sys/module/nf_conntrack",
        ROOT "/sys/module/nf_conntrack/notes",
};

static void put(const char *path, const void *bytes, size_t n) {
        FILE *f = fopen(path, "w");

        assert_non_null(f);
        assert_int_equal(fwrite(bytes, 1, n, f), n);
        fclose(f);
}

/* A note with a build-id of twenty such bytes. */
static void put_note(const char *path, uint8_t byte) {
        uint8_t note[36] = {4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0};

        memset(note + 16, byte, 20);
        put(path, note, sizeof(note));
}

static void put_text(const char *path, const char *text) {
        put(path, text, strlen(text));
}

static int make_machine(void **state) {
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
                mkdir(folders[i], 0700);
        put_text(ROOT "/proc/kallsyms",
                 "ffffffff81000000 T _text\nffffffffc0002000 t nf_conntrack_in\t[nf_conntrack]\n");
        put_text(ROOT "/proc/modules",
                 "xt_log 16384 0 - Live 0xffffffffc0100000\n"
                 "nf_conntrack 8192 2 nf_nat,xt_log, Live 0xffffffffc0002000 (OE)\n"
                 "hidden 4096 0 - Live 0x0000000000000000\n"
                 "odd\n");
        put_note(ROOT "/sys/kernel/notes", 1);
        put_note(ROOT "/sys/module/nf_conntrack/notes/.note.gnu.build-id", 2);
        return 0;
}

static struct perf_build_id id_of(uint8_t byte) {
        struct perf_build_id id = {.n = byte ? 20 : 0};

        memset(id.bytes, byte, sizeof(id.bytes));
        return id;
}

static void map(struct perf_kernel *k, uint64_t begin, uint64_t n, uint64_t offset,
                const char *path, uint8_t byte) {
        struct perf_build_id id = id_of(byte);

        perf_kernel_map(k, &(struct address_range){begin, begin + n, offset, 0}, path, &id);
}

static bool has_names(const struct perf_kernel *k, uint64_t address) {
        uint8_t own[32];
        uint32_t n = kernel_id_read(own);
        struct import_place place;

        perf_kernel_place(k, address, &place);
        assert_string_equal(place.module, KERNEL_ID_PATH);
        assert_int_equal(place.address, address);
        if (!n)
                skip(); /* nobody can tell which start of the machine this is */
        assert_true(!place.build_id ||
                    (place.n_build_id == n && memcmp(place.build_id, own, n) == 0));
        return place.build_id != NULL;
}

#define CORE 0xffffffff81000000
#define CONNTRACK 0xffffffffc0002000
#define LOG 0xffffffffc0100000

static const struct perf_file nothing;

static void test_the_kernel_and_its_modules(void **state) {
        struct perf_kernel k;

        (void)state;
        perf_kernel_init(&k, &nothing, true, true, ROOT);
        map(&k, CORE, 0x100000, CORE, "[kernel.kallsyms]_text", 1);
        map(&k, CONNTRACK, 0x5000, 0, "[nf_conntrack]", 2);
        map(&k, LOG, 0x1000, 0, "/lib/modules/6.1.0/kernel/net/xt-log.ko.xz", 0);
        assert_true(has_names(&k, CORE + 1));
        assert_true(has_names(&k, CORE + 0x100000));
        assert_false(has_names(&k, CORE));
        assert_false(has_names(&k, CORE + 0x100001));
        assert_true(has_names(&k, CONNTRACK + 0x10));
        assert_true(has_names(&k, CONNTRACK + 0x2000));
        assert_false(has_names(&k, CONNTRACK + 0x2001)); /* behind what it is long today */
        assert_true(has_names(&k, LOG + 0x1000));
        assert_false(has_names(&k, 0));
        perf_kernel_done(&k);
}

/* What is elsewhere, another, or not known to be the same has no names. */
static void test_what_is_another(void **state) {
        static const struct {
                bool is_here, is_of_this_start;
                uint64_t offset; /* of the kernel's symbol */
                uint8_t core_id;
                const char *path;
                uint64_t begin;
                uint8_t id;
                bool has_core, has_module;
        } cases[] = {
                {true, true, CORE, 1, "[nf_conntrack]", CONNTRACK, 0, true, true},
                {true, false, CORE, 1, "[nf_conntrack]", CONNTRACK, 2, true, true},
                {true, false, CORE, 1, "[nf_conntrack]", CONNTRACK, 0, true, false},
                {true, true, CORE, 1, "[nf_conntrack]", CONNTRACK, 3, true, false},
                {true, true, CORE, 1, "[nf_conntrack]", CONNTRACK + 0x1000, 2, true, false},
                {true, true, CORE, 1, "[nf_nat]", CONNTRACK, 0, true, false},
                {true, true, CORE, 1, "[hidden]", 0, 0, true, false},
                {true, true, CORE, 1, "[nf_conntrack", CONNTRACK, 0, true, false},
                {true, true, CORE, 1, "nf_conntrack.ko", CONNTRACK, 0, true, false},
                {true, true, CORE, 1, "/x/.ko", CONNTRACK, 0, true, false},
                {true, true, CORE, 1, "/x/nf_conntrack", CONNTRACK, 0, true, false},
                {true, true, CORE, 1, "/x/[nf_conntrack]", CONNTRACK, 0, true, false},
                {true, true, CORE, 1, "", CONNTRACK, 0, true, false},
                {true, true, CORE, 1, "[]", CONNTRACK, 0, true, false},
                /* another kernel, another start of this one, another machine */
                {true, true, CORE, 3, "[nf_conntrack]", CONNTRACK, 0, false, false},
                {true, true, CORE + 0x1000, 1, "[nf_conntrack]", CONNTRACK, 0, false, false},
                {false, true, CORE, 1, "[nf_conntrack]", CONNTRACK, 0, false, false},
                {true, true, CORE, 0, "[nf_conntrack]", CONNTRACK, 0, true, true},
                {true, false, CORE, 0, "[nf_conntrack]", CONNTRACK, 2, false, false},
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct perf_kernel k;

                perf_kernel_init(&k, &nothing, cases[i].is_here, cases[i].is_of_this_start, ROOT);
                map(&k, CORE, 0x1000, cases[i].offset, "[kernel.kallsyms]_text", cases[i].core_id);
                map(&k, cases[i].begin, 0x1000, 0, cases[i].path, cases[i].id);
                if (has_names(&k, CORE + 8) != cases[i].has_core ||
                    has_names(&k, cases[i].begin + 8) != cases[i].has_module)
                        fail_msg("case %zu", i);
                perf_kernel_done(&k);
        }
}

static void test_nothing_is_known(void **state) {
        struct perf_kernel k;

        (void)state;
        perf_kernel_init(&k, &nothing, true, true, ROOT "/none");
        map(&k, CORE, 0x1000, CORE, "[kernel.kallsyms]_text", 1);
        map(&k, CONNTRACK, 0x1000, 0, "[nf_conntrack]", 0);
        assert_false(has_names(&k, CORE + 1));
        assert_false(has_names(&k, CONNTRACK + 1));
        perf_kernel_done(&k);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_the_kernel_and_its_modules),
                cmocka_unit_test(test_what_is_another),
                cmocka_unit_test(test_nothing_is_known),
        };

        return cmocka_run_group_tests(tests, make_machine, NULL);
}
