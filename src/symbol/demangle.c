/* SPDX-License-Identifier: MIT */
/* From linker names to what the programmer wrote. */
#if __has_include(<libiberty/demangle.h>)
#include <libiberty/demangle.h>
#else
#include <demangle.h> /* where binutils-devel of the RPM distributions puts it */
#endif
#undef ARRAY_SIZE /* libiberty.h has one of its own */
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "symbol/symbol.h"

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

char *symbol_demangle(const char *linker_name) {
        _cleanup_free_ char *name = checked(strdup(linker_name));
        char *readable;

        cut_version(name);
        cut_clone_suffix(name);
        /* Only names with a scheme's prefix: the demangler would also read meaning into C names. */
        if (strncmp(name, "_Z", 2) != 0 && strncmp(name, "_R", 2) != 0 &&
            strncmp(name, "__Z", 3) != 0)
                return TAKE_PTR(name);
        readable = cplus_demangle(name, DMGL_AUTO | DMGL_PARAMS | DMGL_ANSI);
        return readable ? readable : TAKE_PTR(name);
}
