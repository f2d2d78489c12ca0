/* SPDX-License-Identifier: MIT */
#include <elf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fs.h"
#include "base/macros.h"
#include "import/build_id.h"

/* A copy of this program that has no segment of notes, as Go's linker writes files: the note is in a section alone. */
static int copy_without_notes(int own) {
        int copy = fs_open_nameless();
        uint8_t bytes[4096];
        Elf64_Ehdr head;
        uint64_t at = 0;
        ssize_t n;

        while ((n = fs_read_at(own, bytes, sizeof(bytes), at)) > 0) {
                assert_int_equal(fs_write_all(copy, bytes, (size_t)n), 0);
                at += (uint64_t)n;
        }
        assert_int_equal(pread(copy, &head, sizeof(head), 0), sizeof(head));
        for (uint16_t i = 0; i < head.e_phnum; i++) {
                off_t place = (off_t)(head.e_phoff + (uint64_t)i * sizeof(Elf64_Phdr));
                Elf64_Phdr p;

                assert_int_equal(pread(copy, &p, sizeof(p), place), sizeof(p));
                p.p_type = p.p_type == PT_NOTE ? PT_NULL : p.p_type;
                assert_int_equal(pwrite(copy, &p, sizeof(p), place), sizeof(p));
        }
        return copy;
}

static void test_in_a_section_alone(void **state) {
        _cleanup_close_ int own = fs_open("/proc/self/exe", O_RDONLY, 0);
        _cleanup_close_ int copy = copy_without_notes(own);
        uint8_t wanted[32], got[32];
        size_t n = build_id_of_file(own, wanted, sizeof(wanted));

        (void)state;
        assert_true(n > 0);
        assert_int_equal(build_id_of_file(copy, got, sizeof(got)), n);
        assert_memory_equal(got, wanted, n);
}

int main(void) {
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_in_a_section_alone)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
