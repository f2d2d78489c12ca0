/* SPDX-License-Identifier: MIT */
/* package_seeds DIRECTORY: a good package of each version in the form that package_fuzz.c reads. */
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/macros.h"

enum { SEED_ID = 0x55667788 };

static void put_section(bytes_buf *out, const bytes_buf *section) {
        buf_u8(out, (uint8_t)section->n);
        buf_u8(out, (uint8_t)(section->n >> 8));
        buf_bytes(out, section->items, section->n);
}

/* One unit in two slots; of each section it has `sizes` bytes from the beginning. */
static void make_index(bytes_buf *b, uint32_t version, const uint32_t *kinds, const uint32_t *sizes,
                       uint32_t n) {
        const uint32_t header[] = {version, n, 1, 2};

        for (size_t i = 0; i < ARRAY_SIZE(header); i++)
                buf_u32(b, header[i]);
        for (unsigned slot = 0; slot < 2; slot++)
                buf_u64(b, slot == (SEED_ID & 1) ? SEED_ID : 0);
        for (unsigned slot = 0; slot < 2; slot++)
                buf_u32(b, slot == (SEED_ID & 1));
        for (uint32_t i = 0; i < n; i++)
                buf_u32(b, kinds[i]);
        for (uint32_t i = 0; i < n; i++)
                buf_u32(b, 0);
        for (uint32_t i = 0; i < n; i++)
                buf_u32(b, sizes[i]);
}

static void make_seed(const char *directory, uint32_t version) {
        static const char text[] = "main\0f.c";
        const uint32_t kinds[] = {1, 3, 6}, sizes[] = {16, 8, version == 5 ? 16 : 8};
        bytes_buf index = {0}, strings = {0}, offsets = {0}, info = {0}, abbrev = {0}, out = {0};
        char path[4096];
        FILE *f;

        make_index(&index, version, kinds, sizes, ARRAY_SIZE(kinds));
        buf_bytes(&strings, text, sizeof(text));
        if (version == 5)
                buf_u64(&offsets, 0x000500000000000cull);
        buf_u32(&offsets, 0);
        buf_u32(&offsets, 5);
        buf_bytes(&info, "unit of 16 bytes", 16);
        buf_bytes(&abbrev, "its tags", 8);
        put_section(&out, &index);
        put_section(&out, &strings);
        put_section(&out, &offsets);
        put_section(&out, &info);
        put_section(&out, &abbrev);
        buf_u64(&out, SEED_ID);
        buf_u64(&out, SEED_ID + 2);
        snprintf(path, sizeof(path), "%s/version%u", directory, version);
        f = fopen(path, "w");
        if (!f || fwrite(out.items, 1, out.n, f) != out.n || fclose(f) != 0)
                exit(1);
        vec_free(&index);
        vec_free(&strings);
        vec_free(&offsets);
        vec_free(&info);
        vec_free(&abbrev);
        vec_free(&out);
}

int main(int argc, char **argv) {
        if (argc != 2)
                return 2;
        make_seed(argv[1], 2);
        make_seed(argv[1], 5);
        return 0;
}
