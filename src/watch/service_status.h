/* SPDX-License-Identifier: MIT */
/* Tells the service manager how it goes: what systemd calls sd_notify, which is one datagram. Without one, nothing happens. */
#pragma once

/* "READY=1", "STATUS=…", "STOPPING=1", "WATCHDOG=1"; several with a line each. */
void service_status_tell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
