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
        static const char *const tables[] = {"tokio::runtime::task::raw::", "async_task::raw::",
                                             "<async_task::raw::"};

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

/* What newer compilers call it has the types itself, but for those of async functions, which DWARF distinguishes from blocks: "<async_task::raw::RawTask<a, b, c, d>>::run",
 * "tokio::runtime::task::raw::poll::<a, b>". As all other names: behind the function's. */
static bool add_own_types(const char *function, const char *plain, struct str *to) {
        static const char type[] = "<async_task::raw::RawTask<";
        bool is_method = strncmp(function, type, sizeof(type) - 1) == 0;
        const char *types = is_method ? function + sizeof(type) - 2 : strstr(function, "::<"),
                   *end = function + strlen(function), *name = NULL, *known = NULL;

        for (const char *at = types; is_method && (at = strstr(at, ">>::")); at++)
                name = at + 2;
        if (!types || (is_method && (!name || strchr(name, '<'))))
                return false;
        if (!is_method) {
                str_addn(to, function, (size_t)(types - function));
                types += 2;
        } else {
                end = name - 1;
                str_addn(to, function + 1, (size_t)(types - function) - 1);
                str_add(to, name);
        }
        known = plain ? strchr(plain, '<') : NULL;
        if (known && to->n > (size_t)(known - plain) &&
            strncmp(str_text(to) + to->n - (known - plain), plain, (size_t)(known - plain)) == 0)
                str_add(to, known);
        else
                str_addn(to, types, (size_t)(end - types));
        return true;
}

bool generic_name_add(const char *function, const char *plain, bool is_merged, struct str *to) {
        if (!generic_name_is(function) ||
            (!add_own_types(function, plain, to) && !add_types(function, plain, to)))
                return false;
        if (is_merged)
                str_add(to, " [clone .merged]");
        return true;
}
