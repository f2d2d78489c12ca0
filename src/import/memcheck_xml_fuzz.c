/* SPDX-License-Identifier: MIT */
/* Any bytes as a file of memcheck's XML.
 *
 * seeds: src/import/memcheck_xml_seeds
 * covers: src/import/memcheck_xml.c */
#include "import/testing/import_fuzzing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        import_fuzz_one(&import_memcheck_xml, data, n);
        return 0;
}
