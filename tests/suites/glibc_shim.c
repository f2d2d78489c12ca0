// SPDX-License-Identifier: MIT
/* What glibc's tests expect of its support folder and cannot have outside its build: the few functions whose sources there use
 * headers that are not installed. */
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <support/check.h>
#include <support/support.h>
#include <support/xthread.h>
#include <unistd.h>

const char support_objdir_root[] = "/nonexistent";
const char support_objdir_elf_ldso[] = "/nonexistent";
const char support_install_prefix[] = "/usr";
const char support_libdir_prefix[] = "/usr/lib";
const char support_bindir_prefix[] = "/usr/bin";
const char support_sbindir_prefix[] = "/usr/sbin";
const char support_slibdir_prefix[] = "/lib";
const char support_srcdir_root[] = "/nonexistent";

static pthread_attr_t small_attr;
static pthread_once_t small_once = PTHREAD_ONCE_INIT;

static void small_init(void) {
        xpthread_attr_init(&small_attr);
        support_set_small_thread_stack_size(&small_attr);
}

pthread_attr_t *support_small_stack_thread_attribute(void) {
        pthread_once(&small_once, small_init);
        return &small_attr;
}

char *xreadlink(const char *path) {
        char target[PATH_MAX];
        ssize_t n = readlink(path, target, sizeof(target) - 1);
        if (n < 0)
                FAIL_EXIT1("readlink (\"%s\"): %m", path);
        target[n] = '\0';
        return xstrdup(target);
}
