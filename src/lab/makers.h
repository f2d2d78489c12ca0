/* SPDX-License-Identifier: MIT */
/* Inside lab/ only. How each kind of group is made. Each maker returns 0, or why it cannot. */
#pragma once

#include "lab/limit_group.h"

int cgroup2_make(struct group *g, struct err *reterr);
int cgroup2_write_limits(const struct group *g, struct err *reterr);
void cgroup2_restore(struct group *g); /* controllers that were enabled for it */

int cgroup1_make(struct group *g, struct err *reterr);
int cgroup1_write_limits(const struct group *g, struct err *reterr);

int systemd_make(struct group *g, struct err *reterr);
char **systemd_command(struct group *g, char **argv);

/* A folder for this group; ret_dir has PLACE_PATH_CAP bytes. */
int group_make_dir(struct group *g, const char *parent, char *ret_dir);
