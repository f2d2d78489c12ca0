/* SPDX-License-Identifier: MIT */
/* The terminal: shows canvases, gives keys. Everything of curses is here. Inside top/ only. */
#pragma once

#include "base/err.h"
#include "top/canvas.h"

struct screen;

/* Takes standard input and output, which must be a terminal. */
int screen_open(struct screen **ret, struct err *reterr);
/* The terminal is as before. NULL ok; returns NULL */
struct screen *screen_close(struct screen *s);
DEFINE_CLEANUP(struct screen, screen_close)

bool screen_is_utf8(const struct screen *s);
void screen_size(const struct screen *s, size_t *ret_width, size_t *ret_height);
/* What changed since the last one goes to the terminal. */
void screen_show(struct screen *s, const struct canvas *c);

enum { SCREEN_RESIZED = -2, SCREEN_GONE = -3 };
/* The next key (top/ui.h), one of these, or -1: none within so long, or a signal came. Clicks are keys by what the canvas has there. */
int screen_key(struct screen *s, const struct canvas *c, int wait_ms);
