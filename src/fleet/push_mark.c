/* SPDX-License-Identifier: MIT */
#include "fleet/push_mark.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fs.h"
#include "base/str.h"

#define MARK_ENDING ".mark"
enum { MARK_DAYS = 30 };

static void add_path(struct str *to, const char *spool, const struct fleet_id *run) {
        char id[2 * FLEET_ID_BYTES + 1];

        fleet_id_text(run, id);
        str_addf(to, "%s/%s%s", spool, id, MARK_ENDING);
}

void push_mark_load(struct push_mark *m, const char *spool, const struct fleet_id *run) {
        struct str path = {0};
        char text[128];
        unsigned long long last_ms;
        unsigned is_done;
        int n = 0;

        add_path(&path, spool, run);
        if (fs_read_text(str_text(&path), text, sizeof(text)) > 0 &&
            sscanf(text, "silt push 1 %18llu %1u\n%n", &last_ms, &is_done, &n) == 2 && n &&
            !text[n])
                *m = (struct push_mark){.last_ms = last_ms, .is_done = is_done != 0};
        str_done(&path);
}

static void remove_old(const char *spool) {
        DIR *d = opendir(spool);
        struct dirent *e;

        while (d && (e = readdir(d))) {
                size_t n = strlen(e->d_name), m = strlen(MARK_ENDING);
                struct stat st;

                if (n > m && strcmp(e->d_name + n - m, MARK_ENDING) == 0 &&
                    fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                    S_ISREG(st.st_mode) && time(NULL) - st.st_mtime > MARK_DAYS * 86400)
                        (void)unlinkat(dirfd(d), e->d_name, 0);
        }
        if (d)
                closedir(d);
}

void push_mark_save(const struct push_mark *m, const char *spool, const struct fleet_id *run) {
        struct str path = {0}, new = {0}, text = {0};
        int fd;

        add_path(&path, spool, run);
        str_addf(&new, "%s.%d.new", str_text(&path), (int)getpid());
        str_addf(&text, "silt push 1 %llu %u\n", (unsigned long long)m->last_ms, m->is_done);
        fd = fs_open(str_text(&new), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
        /* Where it cannot be written, they are taken again: as good, only later. */
        if (fd >= 0) {
                int r = fs_write_all(fd, str_text(&text), text.n);

                close(fd);
                if (r < 0 || rename(str_text(&new), str_text(&path)) < 0)
                        (void)unlink(str_text(&new));
        }
        if (m->is_done)
                remove_old(spool);
        str_done(&path);
        str_done(&new);
        str_done(&text);
}
