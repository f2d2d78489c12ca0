/* SPDX-License-Identifier: MIT */
/* From linker names to what the programmer wrote. */
#if __has_include(<libiberty/demangle.h>)
#include <libiberty/demangle.h>
#else
#include <demangle.h> /* where binutils-devel of the RPM distributions puts it */
#endif
#undef ARRAY_SIZE /* libiberty.h has one of its own */
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/macros.h"
#include "symbol/symbol.h"

enum {
        DEMANGLE_MAX_NAME_BYTES = 8 * 1024, /* the stack grows with the name */
        DEMANGLE_MAX_READABLE_BYTES = 256 * 1024,
};

/* Suffixes that compilers give to copies and parts of a function. */
static const char *const clone_suffixes[] = {
        ".isra", ".part",       ".constprop", ".cold", ".lto_priv",
        ".llvm", ".localalias", ".clone",     ".warm", ".resolver",
};

static void *checked(void *p) {
        if (!p)
                abort();
        return p;
}

/* Cuts `.isra.0`, `.cold` and the like; repeated ones too. */
static void cut_clone_suffix(char *name) {
        for (char *dot = strchr(name + (name[0] == '.'), '.'); dot; dot = strchr(dot + 1, '.'))
                for (size_t i = 0; i < ARRAY_SIZE(clone_suffixes); i++) {
                        size_t n = strlen(clone_suffixes[i]);

                        if (dot > name && dot[-1] == '.') /* Rust's core..clone..Clone */
                                break;
                        if (strncmp(dot, clone_suffixes[i], n) == 0 &&
                            (dot[n] == '.' || dot[n] == '\0')) {
                                *dot = '\0';
                                return;
                        }
                }
}

/* `memcpy@@GLIBC_2.17` is memcpy. */
static void cut_version(char *name) {
        char *at = strchr(name, '@');

        if (at && at != name)
                *at = '\0';
}

/* What the demangler says, piece by piece. A short name can unfold without bound (each part repeats the
 * ones before): what gets too long stays as it is. */
struct unfolding {
        bytes_buf text;
        jmp_buf too_long;
};

static void unfold(const char *piece, size_t n, void *ctx) {
        struct unfolding *u = ctx;

        /* The demangler owns nothing on the heap here. */
        if (u->text.n + n > DEMANGLE_MAX_READABLE_BYTES)
                longjmp(u->too_long, 1);
        buf_bytes(&u->text, piece, n);
}

/* NULL: no such name. Rust's older scheme is a C++ name with a hash: it has to be asked first. */
static char *demangle(const char *name) {
        const int options = DMGL_PARAMS | DMGL_ANSI;
        struct unfolding u = {0};
        /* Its limit goes by the length, and refuses names over 1 KiB, which templates easily reach. That
         * for Rust has to stay: there a name can refer to itself. */
        const int cxx_options =
                strlen(name) <= DEMANGLE_MAX_NAME_BYTES ? options | DMGL_NO_RECURSE_LIMIT : options;
        bool known = false;

        if (setjmp(u.too_long) == 0) {
                known = rust_demangle_callback(name, options, unfold, &u);
                if (!known) {
                        vec_clear(&u.text);
                        known = cplus_demangle_v3_callback(name, cxx_options, unfold, &u);
                }
        } else {
                known = false;
        }
        if (!known) {
                vec_free(&u.text);
                return NULL;
        }
        buf_u8(&u.text, 0);
        return (char *)u.text.items;
}

char *symbol_demangle(const char *linker_name) {
        _cleanup_free_ char *name = checked(strdup(linker_name));
        char *readable;

        cut_version(name);
        cut_clone_suffix(name);
        /* Only names with a scheme's prefix: the demangler would also read meaning into C names. */
        if (strncmp(name, "_Z", 2) != 0 && strncmp(name, "_R", 2) != 0 &&
            strncmp(name, "__Z", 3) != 0)
                return TAKE_PTR(name);
        readable = demangle(name);
        return readable ? readable : TAKE_PTR(name);
}
