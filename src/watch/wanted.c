/* SPDX-License-Identifier: MIT */
#include "watch/wanted.h"

#include <errno.h>
#include <fnmatch.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macros.h"
#include "record/proc.h"

static const char *const field_words[] = {
        [WANTED_NAME] = "name",
        [WANTED_COMMAND] = "cmd",
        [WANTED_USER] = "user",
        [WANTED_CGROUP] = "cgroup",
};

static int find_user(const char *text, uid_t *ret_uid, struct err *reterr) {
        const struct passwd *found;
        unsigned long number;
        char *end;

        errno = 0;
        number = strtoul(text, &end, 10);
        if (text[0] >= '0' && text[0] <= '9' && !*end && !errno && number < UINT32_MAX) {
                *ret_uid = (uid_t)number;
                return 0;
        }
        found = getpwnam(text);
        if (!found)
                return err_set(reterr, -EINVAL,
                               "'%.100s': no such user: give a name or a number that 'id' knows",
                               text);
        *ret_uid = found->pw_uid;
        return 0;
}

int wanted_add(struct wanted *w, const char *text, struct err *reterr) {
        const char *is = strchr(text, '=');
        struct wanted_rule rule = {0};
        int r;

        if (w->n == WANTED_MAX_RULES)
                return err_set(reterr, -E2BIG, "given more than %d times", WANTED_MAX_RULES);
        for (size_t i = 0; is && i < ARRAY_SIZE(field_words); i++)
                if (strlen(field_words[i]) == (size_t)(is - text) &&
                    strncmp(field_words[i], text, (size_t)(is - text)) == 0) {
                        rule.field = (enum wanted_field)i;
                        rule.pattern = is + 1;
                }
        if (!rule.pattern)
                return err_set(
                        reterr, -EINVAL,
                        "'%.100s': give name=PATTERN, cmd=PATTERN, user=NAME or cgroup=PATTERN, such as 'name=redis*'",
                        text);
        if (!*rule.pattern)
                return err_set(reterr, -EINVAL, "'%.100s': nothing matches that: give a pattern",
                               text);
        if (rule.field == WANTED_USER && (r = find_user(rule.pattern, &rule.uid, reterr)) < 0)
                return r;
        w->rules[w->n++] = rule;
        return 0;
}

static bool looks_at(const struct wanted *w, enum wanted_field field) {
        for (size_t i = 0; i < w->n; i++)
                if (w->rules[i].field == field)
                        return true;
        return false;
}

static void read_file_name(pid_t pid, char *ret, size_t cap) {
        static const char deleted[] = " (deleted)"; /* an update has replaced it */
        char path[64], target[4096];
        const char *slash;
        ssize_t n;

        ret[0] = '\0';
        snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
        n = readlink(path, target, sizeof(target) - 1);
        if (n <= 0)
                return; /* another user's: its name is all that can be seen */
        target[n] = '\0';
        if ((size_t)n > strlen(deleted) && !strcmp(target + n - strlen(deleted), deleted))
                target[(size_t)n - strlen(deleted)] = '\0';
        slash = strrchr(target, '/');
        snprintf(ret, cap, "%.255s", slash ? slash + 1 : target);
}

static bool read_command(pid_t pid, char *ret, size_t cap) {
        char path[64];
        ssize_t n;

        snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
        n = fs_read_text(path, ret, cap);
        if (n <= 0)
                return false;
        while (n > 0 && !ret[n - 1])
                n--;
        for (ssize_t i = 0; i < n; i++)
                if (!ret[i])
                        ret[i] = ' ';
        return true;
}

bool wanted_read(const struct wanted *w, pid_t pid, struct wanted_facts *ret) {
        char path[64];
        struct stat st;

        *ret = (struct wanted_facts){0};
        if (!proc_comm(pid, pid, ret->name))
                return false;
        if (looks_at(w, WANTED_NAME))
                read_file_name(pid, ret->file, sizeof(ret->file));
        if (!read_command(pid, ret->command, sizeof(ret->command)))
                return false;
        snprintf(path, sizeof(path), "/proc/%d", (int)pid);
        if (looks_at(w, WANTED_USER) && stat(path, &st) == 0)
                ret->uid = st.st_uid;
        else if (looks_at(w, WANTED_USER))
                return false;
        snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
        if (looks_at(w, WANTED_CGROUP) && fs_read_text(path, ret->groups, sizeof(ret->groups)) < 0)
                ret->groups[0] = '\0';
        return true;
}

/* "4:memory:/jobs/a" of version 1, "0::/jobs/a" of version 2: whichever of them is meant. */
static bool group_matches(const char *pattern, const char *lines) {
        char line[WANTED_GROUPS_BYTES];

        while (*lines) {
                size_t n = strcspn(lines, "\n");
                const char *path;

                memcpy(line, lines, n);
                line[n] = '\0';
                lines += n + (lines[n] == '\n');
                path = strchr(line, ':');
                path = path ? strchr(path + 1, ':') : NULL;
                if (path && fnmatch(pattern, path + 1, 0) == 0)
                        return true;
        }
        return false;
}

static bool rule_holds(const struct wanted_rule *rule, const struct wanted_facts *f) {
        switch (rule->field) {
        case WANTED_NAME:
                return fnmatch(rule->pattern, f->name, 0) == 0 ||
                       (f->file[0] && fnmatch(rule->pattern, f->file, 0) == 0);
        case WANTED_COMMAND: return fnmatch(rule->pattern, f->command, 0) == 0;
        case WANTED_USER: return rule->uid == f->uid;
        case WANTED_CGROUP: return group_matches(rule->pattern, f->groups);
        }
        return false;
}

bool wanted_match(const struct wanted *w, const struct wanted_facts *f) {
        for (size_t i = 0; i < w->n; i++)
                if (!rule_holds(&w->rules[i], f))
                        return false;
        return w->n > 0;
}
