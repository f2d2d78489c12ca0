/* SPDX-License-Identifier: MIT */
/* Debug sections compressed with zstd, which libelf reads only since 0.189. Inside symbol/ only. */
#pragma once

/* The descriptor of a copy of the file with those sections plain, in memory; fd itself when there are
 * none or they are damaged. Takes fd. */
int inflate_zstd(int fd);
