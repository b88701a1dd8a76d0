/* SPDX-License-Identifier: MIT
 *
 * matrix.c: a matrix from a file, for settings: npy (1 or 2 dimensions, real numbers) or text (rows of numbers
 * separated by commas, semicolons or blanks; # starts a comment). Reads through a small buffer on the stack; all other
 * memory is the caller's, and at most WEIRI_MATRIX_MAX numbers. Paths are relative to the current directory.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"

enum { TOKEN_BYTES = 64, HEADER_BYTES = 4096 };

/* A file, read byte by byte. */
typedef struct source {
    const char *path;
    int fd;
    size_t at, size; /* in buffer */
    int error;       /* errno of a read that failed */
    uint64_t line;
    unsigned char buffer[4096];
} source;

static int next_byte(source *s)
{
    if (s->at == s->size) {
        ssize_t got;
        do {
            got = read(s->fd, s->buffer, sizeof s->buffer);
        } while (got < 0 && errno == EINTR);
        if (got <= 0) {
            s->error = got < 0 ? errno : s->error;
            return -1;
        }
        s->at = 0;
        s->size = (size_t)got;
    }
    return s->buffer[s->at++];
}

static weir_err rewind_to(source *s, off_t at)
{
    s->at = s->size = 0;
    s->line = 1;
    return lseek(s->fd, at, SEEK_SET) == at
               ? WEIR_OK
               : weiri_fail(WEIR_E_IO, "%s: %s", s->path, strerror(errno));
}

static weir_err
get_numbers(source *s, uint64_t rows, uint64_t columns, weiri_memory memory, double **ret)
{
    uint64_t count = 0;
    if (!weiri_mul(rows, columns, &count) || count == 0 || count > WEIRI_MATRIX_MAX) {
        return weiri_fail(
            WEIR_E_CHAIN, "%s: a matrix of %llu x %llu numbers; 1 to %d numbers are allowed",
            s->path, (unsigned long long)rows, (unsigned long long)columns, WEIRI_MATRIX_MAX);
    }
    *ret = memory.get(memory.user, (size_t)count * sizeof **ret);
    return *ret != NULL ? WEIR_OK
                        : weiri_fail(WEIR_E_NOMEM, "%s: no memory for %llu numbers", s->path,
                                     (unsigned long long)count);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* The next number of a line. ret_token is "" at the end of the line; false: at the end of the file. */
static bool next_token(source *s, char token[TOKEN_BYTES])
{
    size_t size = 0;
    token[0] = '\0';
    for (int c = next_byte(s); c >= 0; c = next_byte(s)) {
        if (c == '#') {
            while (c >= 0 && c != '\n') {
                c = next_byte(s);
            }
        }
        bool between = c < 0 || strchr(" \t,;\r\n", c) != NULL;
        if (between && size > 0) {
            s->at -= c >= 0 ? 1 : 0; /* a line's end is read again, by itself */
            return true;
        }
        if (c == '\n') {
            s->line++;
            return true;
        }
        if (!between && size < TOKEN_BYTES - 1) {
            token[size++] = (char)c;
            token[size] = '\0';
        }
    }
    return size > 0;
}

/* Counts rows and columns; with numbers, which have place for them, stores them. */
static weir_err scan_text(source *s, double *numbers, uint64_t *ret_rows, uint64_t *ret_columns)
{
    char token[TOKEN_BYTES];
    uint64_t rows = 0, columns = 0, in_row = 0, count = 0;
    for (bool more = true; more;) {
        more = next_token(s, token);
        if (more && token[0] != '\0') {
            const char *end = token;
            double number = 0;
            if (!weiri_number_read(token, &end, &number) || *end != '\0') {
                return weiri_fail(WEIR_E_CHAIN, "%s:%llu: '%.40s' is not a finite number", s->path,
                                  (unsigned long long)s->line, token);
            }
            if (numbers != NULL) {
                numbers[count] = number;
            }
            in_row++;
            if (++count > WEIRI_MATRIX_MAX) {
                return weiri_fail(WEIR_E_CHAIN, "%s: more than %d numbers", s->path,
                                  WEIRI_MATRIX_MAX);
            }
        } else if (in_row > 0) {
            columns = rows == 0 ? in_row : columns;
            if (in_row != columns) {
                return weiri_fail(WEIR_E_CHAIN,
                                  "%s: row %llu has %llu numbers, expected %llu as in row 1",
                                  s->path, (unsigned long long)rows + 1, (unsigned long long)in_row,
                                  (unsigned long long)columns);
            }
            rows++;
            in_row = 0;
        }
    }
    if (s->error != 0) {
        return weiri_fail(WEIR_E_IO, "%s: %s", s->path, strerror(s->error));
    }
    *ret_rows = rows;
    *ret_columns = columns;
    return WEIR_OK;
}

static weir_err read_text(source *s, weiri_memory memory, weir_matrix *ret_matrix)
{
    uint64_t rows = 0, columns = 0, again_rows = 0, again_columns = 0;
    double *numbers = NULL;
    weir_err err = scan_text(s, NULL, &rows, &columns);
    if (err == WEIR_OK) {
        err = get_numbers(s, rows, columns, memory, &numbers);
    }
    if (err == WEIR_OK) {
        err = rewind_to(s, 0);
    }
    if (err == WEIR_OK) {
        err = scan_text(s, numbers, &again_rows, &again_columns);
    }
    *ret_matrix = (weir_matrix){(size_t)rows, (size_t)columns, numbers};
    return err;
}

/* ---- npy ------------------------------------------------------------------------------------- */

typedef struct npy {
    char kind; /* 'f' 'i' 'u' 'b' */
    unsigned bytes;
    bool swapped, fortran;
    uint64_t rows, columns;
} npy;

static weir_err bad_npy(const source *s, const char *what)
{
    return weiri_fail(WEIR_E_CHAIN,
                      "%s: %s; expected an npy file with one or two dimensions of real numbers",
                      s->path, what);
}

/* The value after 'key': in the header, or NULL. */
static const char *npy_value(const char *header, const char *key)
{
    const char *at = strstr(header, key);
    at = at != NULL ? strchr(at, ':') : NULL;
    return at != NULL ? at + 1 + strspn(at + 1, " ") : NULL;
}

static weir_err read_npy_header(source *s, npy *ret)
{
    char header[HEADER_BYTES + 1];
    unsigned char start[12];
    int c = 0;
    for (size_t i = 0; i < 8; i++) {
        c = next_byte(s);
        start[i] = (unsigned char)c;
    }
    size_t length_bytes = c >= 0 && start[6] == 1 ? 2 : 4, length = 0;
    for (size_t i = 0; i < length_bytes && c >= 0; i++) {
        c = next_byte(s);
        length |= (size_t)(unsigned char)c << (8 * i);
    }
    if (c < 0 || start[6] < 1 || start[6] > 3 || length > HEADER_BYTES) {
        return bad_npy(s, "the header is cut off or too long");
    }
    for (size_t i = 0; i < length; i++) {
        c = next_byte(s);
        header[i] = (char)c;
    }
    header[length] = '\0';
    const char *type = npy_value(header, "'descr'"), *order = npy_value(header, "'fortran_order'"),
               *shape = npy_value(header, "'shape'");
    if (c < 0 || type == NULL || order == NULL || shape == NULL || *shape != '(') {
        return bad_npy(s, "the header is damaged");
    }
    bool sized = type[0] == '\'' && type[1] != '\0' && type[2] != '\0' && type[3] >= '1' &&
                 type[3] <= '8' && type[4] == '\'';
    npy n = {.kind = '?'};
    if (sized) {
        n.kind = type[2];
        n.bytes = (unsigned)(type[3] - '0');
        n.swapped = type[1] == '>';
    }
    bool known = (n.kind == 'f' && (n.bytes == 4 || n.bytes == 8)) ||
                 ((n.kind == 'i' || n.kind == 'u') &&
                  (n.bytes == 1 || n.bytes == 2 || n.bytes == 4 || n.bytes == 8));
    if (!known) {
        return bad_npy(s, "its numbers are not f4, f8, i1 to i8 or u1 to u8");
    }
    n.fortran = strncmp(order, "True", 4) == 0;
    uint64_t sizes[2] = {1, 1};
    size_t dims = 0;
    const char *at = shape + 1;
    for (; dims < 3 && *at >= '0' && *at <= '9'; dims++) {
        char *end = NULL;
        unsigned long long size = strtoull(at, &end, 10);
        if (dims < 2) {
            sizes[dims] = size;
        }
        at = end + strspn(end, ", ");
    }
    if (dims < 1 || dims > 2 || *at != ')') {
        return bad_npy(s, "it does not have one or two dimensions");
    }
    n.rows = dims == 1 ? 1 : sizes[0];
    n.columns = dims == 1 ? sizes[0] : sizes[1];
    *ret = n;
    return WEIR_OK;
}

static double npy_number(const npy *n, const unsigned char *raw)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < n->bytes; i++) {
        bits |= (uint64_t)raw[n->swapped ? n->bytes - 1 - i : i] << (8 * i);
    }
    if (n->kind == 'f' && n->bytes == 4) {
        uint32_t half = (uint32_t)bits;
        float number;
        memcpy(&number, &half, sizeof number);
        return (double)number;
    }
    if (n->kind == 'f') {
        double number;
        memcpy(&number, &bits, sizeof number);
        return number;
    }
    if (n->kind == 'i' && bits >> (8 * n->bytes - 1) != 0) { /* two's complement */
        return -(double)((n->bytes == 8 ? 0 : UINT64_C(1) << (8 * n->bytes)) - bits);
    }
    return (double)bits;
}

static weir_err read_npy(source *s, weiri_memory memory, weir_matrix *ret_matrix)
{
    npy n = {0};
    double *numbers = NULL;
    weir_err err = read_npy_header(s, &n);
    if (err == WEIR_OK) {
        err = get_numbers(s, n.rows, n.columns, memory, &numbers);
    }
    if (err != WEIR_OK) {
        return err;
    }
    for (uint64_t i = 0; i < n.rows * n.columns; i++) {
        unsigned char raw[8] = {0};
        int c = 0;
        for (unsigned b = 0; b < n.bytes && c >= 0; b++) {
            c = next_byte(s);
            raw[b] = (unsigned char)c;
        }
        if (c < 0) {
            return bad_npy(s, "the file ends before its last number");
        }
        uint64_t row = n.fortran ? i % n.rows : i / n.columns;
        uint64_t column = n.fortran ? i / n.rows : i % n.columns;
        double number = npy_number(&n, raw);
        if (!isfinite(number)) {
            return weiri_fail(WEIR_E_CHAIN, "%s: the number in row %llu, column %llu is not finite",
                              s->path, (unsigned long long)row, (unsigned long long)column);
        }
        numbers[row * n.columns + column] = number;
    }
    *ret_matrix = (weir_matrix){(size_t)n.rows, (size_t)n.columns, numbers};
    return WEIR_OK;
}

weir_err weiri_matrix_read(const char *path, weiri_memory memory, weir_matrix *ret_matrix)
{
    source s = {.path = path, .line = 1};
    struct stat about;
    s.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (s.fd < 0) {
        return weiri_fail(WEIR_E_CHAIN, "%s: %s", path, strerror(errno));
    }
    weir_err err = WEIR_OK;
    if (fstat(s.fd, &about) != 0 || !S_ISREG(about.st_mode)) {
        err = weiri_fail(WEIR_E_CHAIN, "%s: not a regular file", path);
    }
    static const unsigned char magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
    bool is_npy = err == WEIR_OK;
    for (size_t i = 0; i < sizeof magic && is_npy; i++) {
        is_npy = next_byte(&s) == magic[i];
    }
    if (err == WEIR_OK) {
        err = rewind_to(&s, 0);
    }
    weir_matrix matrix = {0};
    if (err == WEIR_OK) {
        err = is_npy ? read_npy(&s, memory, &matrix) : read_text(&s, memory, &matrix);
    }
    (void)close(s.fd);
    if (err == WEIR_OK) {
        *ret_matrix = matrix;
    }
    return err;
}
