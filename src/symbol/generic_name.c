/* SPDX-License-Identifier: MIT */
#include "symbol/generic_name.h"

#include <string.h>

#include "base/macros.h"

enum { HASH_DIGITS = 16 };

/* Without the hash that Rust appends. */
static size_t length_of(const char *function) {
        size_t n = strlen(function), n_hash = HASH_DIGITS + 3;
        const char *hash = n > n_hash ? function + n - n_hash : NULL;

        return hash && strncmp(hash, "::h", 3) == 0 &&
                               strspn(hash + 3, "0123456789abcdef") == HASH_DIGITS
                       ? n - n_hash
                       : n;
}

bool generic_name_is(const char *function) {
        static const char *const tables[] = {"tokio::runtime::task::raw::", "async_task::raw::"};

        for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
                if (strncmp(function, tables[i], strlen(tables[i])) == 0)
                        return true;
        return false;
}

static bool add_types(const char *function, const char *plain, struct str *to) {
        const char *types = plain ? strchr(plain, '<') : NULL;
        size_t n = length_of(function), n_plain = types ? (size_t)(types - plain) : 0;
        /* of a method the linker's name has what the source calls its types */
        const char *letters = strstr(function, "<F,"),
                   *behind = letters ? strchr(letters, '>') : NULL;

        if (!types || n <= n_plain || (!behind && strchr(function, '<')) ||
            strncmp(function + n - n_plain, plain, n_plain) != 0 ||
            (behind && behind >= function + n - n_plain))
                return false;
        str_addn(to, function, behind ? (size_t)(letters - function) : n);
        if (behind)
                str_addn(to, behind + 1, (size_t)(function + n - behind - 1));
        str_add(to, types);
        return true;
}

bool generic_name_add(const char *function, const char *plain, bool is_merged, struct str *to) {
        if (!generic_name_is(function))
                return false;
        if (!add_types(function, plain, to)) {
                if (!is_merged || !strstr(function, "::<"))
                        return false;
                str_add(to, function); /* which has them itself */
        }
        if (is_merged)
                str_add(to, " [clone .merged]");
        return true;
}
