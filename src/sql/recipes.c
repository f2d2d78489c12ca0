/* SPDX-License-Identifier: MIT */
/* All recipes: built in, of the user, of a folder. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/vec.h"
#include "sql/builtin_recipes.h"
#include "sql/recipe.h"

struct recipes {
        VEC(struct recipe *) all; /* by name */
};

static int compare_recipes(const void *a, const void *b) {
        return strcmp((*(struct recipe *const *)a)->name, (*(struct recipe *const *)b)->name);
}

/* Takes it, in the place of one with its name. */
static void recipes_put(struct recipes *r, struct recipe *one) {
        for (size_t i = 0; i < r->all.n; i++)
                if (strcmp(r->all.items[i]->name, one->name) == 0) {
                        recipe_free(r->all.items[i]);
                        r->all.items[i] = one;
                        return;
                }
        vec_push(&r->all, one);
}

static void add_builtin(struct recipes *r) {
        for (size_t i = 0; i < ARRAY_SIZE(builtin_recipes); i++)
                recipes_put(r, recipe_new(builtin_recipes[i].name, NULL, builtin_recipes[i].text,
                                          strlen(builtin_recipes[i].text)));
}

/* ---- files --------------------------------------------------------------------------------------- */

/* One byte more than allowed, so that it is noticed; -errno. A pipe with that name must not make silt wait. */
static ssize_t read_file(const char *path, char *ret, size_t cap) {
        int fd = fs_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
        struct stat st;
        ssize_t n;

        if (fd < 0)
                return fd;
        n = fstat(fd, &st) < 0 ? -errno : !S_ISREG(st.st_mode) ? -EINVAL : 0;
        if (n == 0)
                n = fs_read_at(fd, ret, cap, 0);
        close(fd);
        return n;
}

static struct recipe *recipe_of_file(const char *path, const char *name) {
        char *bytes = malloc(RECIPE_MAX_BYTES + 1);
        struct recipe *one;
        ssize_t n;

        if (!bytes)
                abort();
        n = read_file(path, bytes, RECIPE_MAX_BYTES + 1);
        one = recipe_new(name, path, bytes, n < 0 ? 0 : (size_t)n);
        free(bytes);
        if (n < 0)
                one->trouble = n == -EINVAL ? "it is not a regular file" : strerror((int)-n);
        return one;
}

/* Files that end in .sql; the others are none of its business. */
static int add_folder(struct recipes *r, const char *folder, struct err *reterr) {
        DIR *d = opendir(folder);
        const struct dirent *e;
        size_t n_files = 0;

        if (!d)
                return err_set_errno(reterr, -errno, "cannot read the folder '%s'", folder);
        while ((e = readdir(d)) && n_files < RECIPE_MAX_FILES) {
                size_t n = strlen(e->d_name);
                struct str path = {0}, name = {0};

                if (n <= 4 || strcmp(e->d_name + n - 4, ".sql") != 0 || e->d_name[0] == '.')
                        continue;
                n_files++;
                str_addf(&path, "%s/%s", folder, e->d_name);
                str_addn(&name, e->d_name, n - 4);
                recipes_put(r, recipe_of_file(str_text(&path), str_text(&name)));
                str_done(&path);
                str_done(&name);
        }
        closedir(d);
        return 0;
}

/* A folder that is not there is no trouble: nobody asked for it. */
static void add_config(struct recipes *r) {
        const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
        struct str path = {0};

        if (config && config[0] == '/')
                str_addf(&path, "%s/silt/recipes", config);
        else if (home && home[0])
                str_addf(&path, "%s/.config/silt/recipes", home);
        if (path.n)
                add_folder(r, str_text(&path), NULL);
        str_done(&path);
}

/* ---- all of them --------------------------------------------------------------------------------- */

int recipes_load(bool with_config, const char *folder, struct recipes **ret, struct err *reterr) {
        _cleanup_(recipes_freep) struct recipes *r = calloc(1, sizeof(*r));
        int x;

        if (!r)
                abort();
        add_builtin(r);
        if (with_config)
                add_config(r);
        x = folder ? add_folder(r, folder, reterr) : 0;
        if (x < 0)
                return x;
        qsort(r->all.items, r->all.n, sizeof(struct recipe *), compare_recipes);
        *ret = TAKE_PTR(r);
        return 0;
}

struct recipes *recipes_free(struct recipes *r) {
        if (!r)
                return NULL;
        for (size_t i = 0; i < r->all.n; i++)
                recipe_free(r->all.items[i]);
        vec_free(&r->all);
        free(r);
        return NULL;
}

size_t recipes_n(const struct recipes *r) {
        return r->all.n;
}

const struct recipe *recipes_at(const struct recipes *r, size_t i) {
        return r->all.items[i];
}

const struct recipe *recipes_find(const struct recipes *r, const char *name) {
        for (size_t i = 0; i < r->all.n; i++)
                if (strcmp(r->all.items[i]->name, name) == 0)
                        return r->all.items[i];
        return NULL;
}
