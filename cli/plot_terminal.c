/* SPDX-License-Identifier: MIT
 *
 * plot_terminal.c: a plot as characters, 80 wide: two columns and four rows of dots per braille
 * character, or '|' and '.' if the terminal has no Unicode. Each column of dots reaches from its
 * lowest to its highest sample.
 */
#include "plot.h"

#include <math.h>
#include <string.h>

enum { CELLS = 64, ROWS = 6, DOTS_X = 2 * CELLS, DOTS_Y = 4 * ROWS, MERGE = PLOT_COLUMNS / DOTS_X };

/* Bit of the dot (x, y) in a braille character, whose dots are numbered 1 2 3 7 down the left
 * and 4 5 6 8 down the right. */
static const unsigned char bits[2][4] = {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}};

static int row_of(double value, double low, double high)
{
    double y = (1 - (value - low) / (high - low)) * (DOTS_Y - 1);
    return y < 0 ? 0 : y > DOTS_Y - 1 ? DOTS_Y - 1 : (int)lrint(y);
}

static void set(unsigned char cells[ROWS][CELLS], int x, int top, int bottom)
{
    for (int y = top; y <= bottom; y++)
        cells[y / 4][x / 2] |= bits[x % 2][y % 4];
}

static void fill(const plot_panel *panel, double low, double high, unsigned char cells[ROWS][CELLS])
{
    int before = -1; /* dot column of the last one with samples, and its row */
    int before_row = 0;
    for (int x = 0; x < DOTS_X; x++) {
        double least = INFINITY, most = -INFINITY, last = 0;
        bool broken = false;
        for (int i = 0; i < MERGE; i++) {
            const plot_column *column = &panel->columns[x * MERGE + i];
            if (column->count == 0)
                continue;
            broken |= column->broken;
            least = fmin(least, column->low);
            most = fmax(most, column->high);
            last = column->sum / (double)column->count;
        }
        if (least > most)
            continue;
        set(cells, x, row_of(most, low, high), row_of(least, low, high));
        int row = row_of(last, low, high);
        for (int between = before + 1; before >= 0 && !broken && between < x; between++) {
            int y = before_row + (row - before_row) * (between - before) / (x - before);
            set(cells, between, y, y);
        }
        before = x;
        before_row = row;
    }
}

static void put_cell(FILE *file, unsigned char cell, bool braille)
{
    if (!braille)
        fputc(cell == 0 ? ' ' : (cell & 0x47) && (cell & 0xb8) ? '|' : '.', file);
    else if (cell == 0)
        fputc(' ', file);
    else /* U+2800 + cell in UTF-8 */
        fprintf(file, "\xe2%c%c", 0xa0 | cell >> 6, 0x80 | (cell & 0x3f));
}

static void put_time_axis(const plot *p, FILE *file)
{
    char line[CELLS + 32], text[48];
    memset(line, ' ', sizeof(line));
    double start, step;
    size_t end = 0;
    plot_ticks(p->start_s, p->end_s, 6, &start, &step);
    for (int i = 0; start + i * step <= p->end_s; i++) {
        double at = (start + i * step - p->start_s) / (p->end_s - p->start_s) * (CELLS - 1);
        plot_number(start + i * step, step, text, sizeof(text));
        size_t length = strlen(text), from = (size_t)lrint(at);
        from = from > length / 2 ? from - length / 2 : 0;
        if (end > 0 && from <= end)
            continue;
        if (from + length > sizeof(line) - 4)
            break;
        memcpy(line + from, text, length);
        end = from + length;
    }
    memcpy(line + end, " s", 3);
    fprintf(file, "%11s%s\n", "", line);
}

void plot_terminal(const plot *p, FILE *file, bool braille)
{
    for (size_t i = 0; i < p->panel_count; i++) {
        const plot_panel *panel = p->panels[i];
        unsigned char cells[ROWS][CELLS] = {{0}};
        double low, high;
        plot_range(panel, &low, &high);
        fill(panel, low, high, cells);
        fprintf(file, "%s%s%s   %s%s\n", panel->title, panel->unit[0] ? ", " : "", panel->unit,
                panel->from, panel->low > panel->high ? ": no valid sample" : "");
        for (int row = 0; row < ROWS; row++) {
            char text[48] = "";
            if (row == 0)
                plot_number(high, (high - low) / 100, text, sizeof(text));
            else if (row == ROWS - 1)
                plot_number(low, (high - low) / 100, text, sizeof(text));
            fprintf(file, "%9s %s", text, braille ? "\xe2\x94\x82" : "|");
            for (int x = 0; x < CELLS; x++)
                put_cell(file, cells[row][x], braille);
            fputc('\n', file);
        }
    }
    put_time_axis(p, file);
}
