/* SPDX-License-Identifier: MIT */
#define NCURSES_WIDECHAR 1
#include "top/screen.h"

#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "top/ui.h"

enum {
        ESCAPE_MS = 50
}; /* a lone Esc is one after so long; arrows are sequences that begin with it */

/* curses puts a quick second one together with the first, whatever mouseinterval says. */
#define CLICKS (BUTTON1_PRESSED | BUTTON1_CLICKED | BUTTON1_DOUBLE_CLICKED | BUTTON1_TRIPLE_CLICKED)

struct screen {
        SCREEN *terminal;
        bool utf8, has_colours;
        int next; /* key; 0: none */
};

/* ---- opening -------------------------------------------------------------------------------------- */

static void begin_colours(struct screen *s) {
        const char *no = getenv("NO_COLOR");

        s->has_colours = !(no && no[0]) && has_colors() && start_color() == OK;
        if (!s->has_colours)
                return;
        use_default_colors();
        init_pair(INK_LIVE, COLOR_CYAN, -1);
        init_pair(INK_RSS, COLOR_MAGENTA, -1);
        init_pair(INK_ALARM, COLOR_YELLOW, -1);
        init_pair(INK_KEY, COLOR_BLACK, COLOR_CYAN);
}

/* Terminals of paper, and Emacs' shell, cannot. */
static bool can_move(void) {
        const char *cup = tigetstr("cup");

        return cup && cup != (const char *)-1;
}

int screen_open(struct screen **ret, struct err *reterr) {
        const char *term = getenv("TERM");
        struct screen *s;

        if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
                return err_set(reterr, -ENOTTY,
                               "standard input and output are no terminal: add --batch or --json");
        s = calloc(1, sizeof(*s));
        if (!s)
                abort();
        setlocale(LC_CTYPE, ""); /* curses writes characters as the terminal has them */
        s->utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
        s->terminal = newterm(NULL, stdout, stdin);
        if (!s->terminal || !can_move()) {
                bool is_known = s->terminal;

                screen_close(s);
                return err_set(reterr, -ENOTSUP, "terminal '%s' %s: set TERM, or add --batch",
                               term ? term : "",
                               is_known ? "cannot show a screen" : "has no description here");
        }
        cbreak();
        noecho();
        nonl();
        set_escdelay(ESCAPE_MS);
        keypad(stdscr, TRUE);
        nodelay(stdscr, TRUE);
        curs_set(0);
        begin_colours(s);
        mousemask(CLICKS | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
        mouseinterval(0); /* a click is there at once */
        *ret = s;
        return 0;
}

struct screen *screen_close(struct screen *s) {
        if (!s)
                return NULL;
        if (s->terminal) {
                endwin();
                delscreen(s->terminal);
        }
        free(s);
        return NULL;
}

bool screen_is_utf8(const struct screen *s) {
        return s->utf8;
}

void screen_size(const struct screen *s, size_t *ret_width, size_t *ret_height) {
        (void)s;
        *ret_width = (size_t)MAX(COLS, 1);
        *ret_height = (size_t)MAX(LINES, 1);
}

/* ---- showing -------------------------------------------------------------------------------------- */

static attr_t attributes_of(const struct screen *s, enum canvas_ink ink) {
        attr_t colour = s->has_colours ? COLOR_PAIR(ink) : 0;

        switch (ink) {
        case INK_BOLD: return A_BOLD;
        case INK_DIM: return A_DIM;
        case INK_LIVE:
        case INK_RSS: return colour;
        case INK_ALARM: return A_BOLD | colour;
        case INK_BAND: return A_REVERSE;
        case INK_CHOSEN: return A_REVERSE | A_BOLD;
        case INK_KEY: return s->has_colours ? colour : A_REVERSE;
        case INK_PLAIN: break;
        }
        return A_NORMAL;
}

/* As many cells of one ink as stand together in one call. */
static size_t show_run(const struct screen *s, const struct canvas *c, size_t row, size_t col) {
        uint8_t ink = canvas_cell(c, row, col)->ink;
        char text[512];
        size_t n = 0;

        while (col < c->width) {
                const struct canvas_cell *cell = canvas_cell(c, row, col);
                size_t len = strlen(cell->text);

                if (cell->ink != ink || n + len >= sizeof(text))
                        break;
                memcpy(text + n, cell->text, len);
                n += len;
                col++;
        }
        attrset((int)attributes_of(s, ink));
        addnstr(text, (int)n);
        return col;
}

void screen_show(struct screen *s, const struct canvas *c) {
        for (size_t row = 0; row < c->height; row++) {
                move((int)row, 0);
                for (size_t col = 0; col < c->width;)
                        col = show_run(s, c, row, col);
        }
        refresh();
}

/* ---- keys ---------------------------------------------------------------------------------------- */

static int key_of_mouse(struct screen *s, const struct canvas *c) {
        MEVENT e;

        if (getmouse(&e) != OK)
                return -1;
        if (e.bstate & BUTTON4_PRESSED)
                return UI_KEY_WHEEL_UP;
        if (e.bstate & BUTTON5_PRESSED)
                return UI_KEY_WHEEL_DOWN;
        if (e.bstate & CLICKS) {
                int key = canvas_key_at(c, (size_t)MAX(e.y, 0), (size_t)MAX(e.x, 0));

                if (e.bstate & (BUTTON1_DOUBLE_CLICKED | BUTTON1_TRIPLE_CLICKED))
                        s->next = key;
                return key ? key : -1;
        }
        return -1;
}

static int key_of(struct screen *s, int key, const struct canvas *c) {
        switch (key) {
        case KEY_RESIZE: return SCREEN_RESIZED;
        case KEY_MOUSE: return key_of_mouse(s, c);
        case KEY_UP: return UI_KEY_UP;
        case KEY_DOWN: return UI_KEY_DOWN;
        case KEY_LEFT: return UI_KEY_LEFT;
        case KEY_RIGHT: return UI_KEY_RIGHT;
        case KEY_PPAGE: return UI_KEY_PAGE_UP;
        case KEY_NPAGE: return UI_KEY_PAGE_DOWN;
        case KEY_HOME: return UI_KEY_HOME;
        case KEY_END: return UI_KEY_END;
        case KEY_ENTER:
        case '\r':
        case '\n': return UI_KEY_ENTER;
        case KEY_BACKSPACE:
        case 0x7f:
        case '\b': return UI_KEY_BACK;
        case 0x1b: return UI_KEY_ESCAPE;
        case '\t': return UI_KEY_TAB;
        default: return key > 0 && key < KEY_MIN ? key : -1;
        }
}

int screen_key(struct screen *s, const struct canvas *c, int wait_ms) {
        struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
        int key = s->next;

        s->next = 0;
        if (key)
                return key;
        key = getch();
        if (key == ERR) {
                if (poll(&p, 1, wait_ms) == 0)
                        return -1;
                if (p.revents & (POLLHUP | POLLERR | POLLNVAL))
                        return SCREEN_GONE;
                key = getch(); /* also after a signal: the size may be another */
        }
        return key == ERR ? -1 : key_of(s, key, c);
}
