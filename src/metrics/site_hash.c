/* SPDX-License-Identifier: MIT */
#include "metrics/site_hash.h"

#include <string.h>

/* FNV-1a, 64 bits: in dashboards of many machines, so it must never become another. */
static uint64_t hash_text(uint64_t hash, const char *text) {
        do
                hash = (hash ^ (unsigned char)*text) * 0x100000001b3ull;
        while (*text++);
        return hash;
}

static uint64_t hash_frame(uint64_t hash, const struct name_frame *f, struct names *names) {
        if (f->function[0] && !frame_is_unnamed(f)) /* the nearest symbol is many functions' */
                return hash_text(hash, name_full(names, f->function));
        hash = hash_text(hash, frame_base(f->module));
        return f->module[0] ? (hash ^ f->offset) * 0x100000001b3ull : hash;
}

void site_hash(const struct frame_stack *s, struct names *names, char ret[SITE_HASH_TEXT]) {
        uint64_t hash = 0xcbf29ce484222325ull;

        for (size_t i = 0; i < s->shown.n; i++)
                hash = hash_frame(hash, &s->frames.items[s->shown.items[i].frame_idx], names);
        for (size_t i = 0; i < SITE_HASH_TEXT - 1; i++, hash <<= 4)
                ret[i] = "0123456789abcdef"[hash >> 60];
        ret[SITE_HASH_TEXT - 1] = '\0';
}
