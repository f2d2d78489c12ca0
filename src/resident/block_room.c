/* SPDX-License-Identifier: MIT */
#include "resident/block_room.h"

#include <string.h>

#include "base/macros.h"

enum {
        GLIBC_HEADER = 8, /* the word before it belongs to the block before while that is live */
        GLIBC_MIN = 32,
        GLIBC_MAPPED_HEADER = 16,
        GLIBC_ALIGN = 16,
        /* whose chunk is as large as the lowest that its threshold, 128 KiB, can be by itself */
        GLIBC_MIN_MAPPED = (128 << 10) - GLIBC_HEADER - GLIBC_ALIGN + 1,
        SMALL = 8,
        TCMALLOC_PAGE = 8192,
        MIMALLOC_LARGE = 128 << 10, /* beyond it a block has pages of its own */
};

/* Of gperftools, with its pages of 8 KiB: it has no class that wastes more than an eighth of what is cut into it, nor two of which as many fit. */
static const uint32_t tcmalloc_classes[] = {
        8,    16,    32,    48,    64,    80,    96,    112,   128,   144,  160,  176,
        192,  208,   224,   240,   256,   288,   320,   352,   384,   416,  448,  480,
        512,  576,   640,   704,   768,   896,   1024,  1152,  1280,  1408, 1536, 1792,
        2048, 2304,  2560,  2816,  3072,  3328,  4096,  4608,  5120,  6144, 6656, 8192,
        9216, 10240, 12288, 13312, 16384, 20480, 24576, 26624, 32768,
};

enum size_model size_model_of(const char *allocator) {
        static const struct {
                const char *name;
                enum size_model model;
        } models[] = {{"glibc", SIZE_GLIBC},
                      {"jemalloc", SIZE_JEMALLOC},
                      {"mimalloc", SIZE_MIMALLOC},
                      {"gperftools", SIZE_TCMALLOC}, /* its tcmalloc */
                      {"tcmalloc", SIZE_TCMALLOC}};

        for (size_t i = 0; i < ARRAY_SIZE(models); i++)
                if (strcmp(models[i].name, allocator) == 0)
                        return models[i].model;
        return SIZE_UNKNOWN;
}

const char *size_model_name(enum size_model model) {
        static const char *const names[] = {[SIZE_UNKNOWN] = "",
                                            [SIZE_GLIBC] = "glibc",
                                            [SIZE_JEMALLOC] = "jemalloc",
                                            [SIZE_MIMALLOC] = "mimalloc",
                                            [SIZE_TCMALLOC] = "tcmalloc"};

        return names[model];
}

/* Four classes between a size and its double, none closer than 16. */
static uint64_t four_per_doubling(uint64_t size) {
        unsigned top = 63 - (unsigned)__builtin_clzll(MAX(size - 1, (uint64_t)1));

        if (size <= SMALL)
                return SMALL;
        return ALIGN_UP(size, MAX((uint64_t)1 << top >> 2, (uint64_t)16));
}

static struct size_room glibc_room(uint64_t address, uint64_t size, uint64_t page_bytes) {
        uint64_t chunk =
                MAX(ALIGN_UP(size + GLIBC_HEADER, (uint64_t)GLIBC_ALIGN), (uint64_t)GLIBC_MIN);

        /* nothing behind a mapping lends it the last word of its chunk */
        if (size >= GLIBC_MIN_MAPPED && address % page_bytes == GLIBC_MAPPED_HEADER)
                return (struct size_room){GLIBC_MAPPED_HEADER,
                                          ALIGN_UP(chunk + GLIBC_HEADER, page_bytes)};
        return (struct size_room){GLIBC_HEADER, chunk};
}

static uint64_t mimalloc_room(uint64_t size) {
        static const struct {
                uint64_t up_to, step;
        } large[] = {{512 << 10, 64 << 10}, {8 << 20, 512 << 10}, {32 << 20, 1 << 20}};

        if (size <= MIMALLOC_LARGE)
                return four_per_doubling(size);
        for (size_t i = 0; i < ARRAY_SIZE(large); i++)
                if (size <= large[i].up_to)
                        return ALIGN_UP(size, large[i].step);
        return ALIGN_UP(size, (uint64_t)4 << 20);
}

static uint64_t tcmalloc_room(uint64_t size) {
        for (size_t i = 0; i < ARRAY_SIZE(tcmalloc_classes); i++)
                if (size <= tcmalloc_classes[i])
                        return tcmalloc_classes[i];
        return ALIGN_UP(size, (uint64_t)TCMALLOC_PAGE);
}

struct size_room size_room_of(enum size_model model, uint64_t address, uint64_t size_bytes,
                              uint64_t page_bytes) {
        uint64_t size = MAX(size_bytes, (uint64_t)1);

        if (size > UINT64_MAX / 4)
                return (struct size_room){0, size_bytes};
        switch (model) {
        case SIZE_GLIBC: return glibc_room(address, size_bytes, page_bytes);
        case SIZE_JEMALLOC: return (struct size_room){0, four_per_doubling(size)};
        case SIZE_MIMALLOC: return (struct size_room){0, mimalloc_room(size)};
        case SIZE_TCMALLOC: return (struct size_room){0, tcmalloc_room(size)};
        default: return (struct size_room){0, size_bytes};
        }
}
