/* SPDX-License-Identifier: MIT
 *
 * files.c: the files that a command reads and writes. For all commands, before anything is opened
 * for writing, it checks that no output is an input and no two outputs are the same file: --force
 * replaces an old output, never an input. Reports, pictures and traces are written to NAME.part and
 * renamed when complete.
 */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what is read and what is written ------------------------------------------------------------------ */

/* Two paths are the same file if they lead to the same inode, by any spelling and through any
 * links, or, for files that do not exist yet, if they are the same name in the same folder. */
struct cli_file {
    char *path;
    const char *owner; /* as the user gave it: "x.npy" of x.npy.part */
    const char *what;  /* "the input", "--report" */
    bool written;
    bool there, in_folder;
    struct stat status, folder;
    const char *name; /* within its folder */
};

static void add(cli_files *files, char *path, const char *owner, const char *what, bool written)
{
    struct cli_file *list = realloc(files->list, (files->count + 1) * sizeof *list);
    if (list == NULL)
        exit(cli_fail(weir_err_exit_status(WEIR_E_NOMEM), "no memory left"));
    files->list = list;
    struct cli_file *file = &list[files->count++];
    *file = (struct cli_file){.path = path, .owner = owner, .what = what, .written = written};
    if (strcmp(path, "-") == 0) {
        file->there = fstat(written ? STDOUT_FILENO : STDIN_FILENO, &file->status) == 0;
    } else {
        const char *slash = strrchr(path, '/');
        char *folder =
            slash != NULL ? cli_text("%.*s", (int)(slash - path) + 1, path) : cli_text("%s", ".");
        file->there = stat(path, &file->status) == 0;
        file->in_folder = stat(folder, &file->folder) == 0;
        file->name = slash != NULL ? slash + 1 : path;
        free(folder);
    }
    /* Devices and pipes contain nothing that could be lost. */
    if (file->there && !S_ISREG(file->status.st_mode))
        file->there = file->in_folder = false;
}

void cli_files_read(cli_files *files, const char *path, const char *what)
{
    add(files, cli_text("%s", path), path, what, false);
}

void cli_files_recording(cli_files *files, const char *path)
{
    cli_files_read(files, path, "the input");
    for (const char *at = strstr(path, ":/"); at != NULL; at = strstr(at + 1, ":/")) {
        add(files, cli_text("%.*s", (int)(at - path), path), path, "the input", false);
        add(files, cli_text("%.*s.json", (int)(at - path), path), path,
            "the side file of the input", false);
    }
    size_t length = strlen(path);
    add(files, cli_text("%s.json", path), path, "the side file of the input", false);
    if (length > 5 && strcmp(path + length - 5, ".part") == 0)
        add(files, cli_text("%.*s.json.part", (int)length - 5, path), path,
            "the side file of the input", false);
}

void cli_files_write(cli_files *files, const char *path, const char *what)
{
    add(files, cli_text("%s", path), path, what, true);
    if (strcmp(path, "-") != 0)
        add(files, cli_text("%s.part", path), path, what, true);
}

void cli_files_output(cli_files *files, const char *path, const char *what)
{
    static const char *const sides[] = {".json", ".json.part", ".json.next"};
    cli_files_write(files, path, what);
    for (size_t i = 0; strcmp(path, "-") != 0 && i < sizeof sides / sizeof *sides; i++)
        add(files, cli_text("%s%s", path, sides[i]), path, what, true);
}

static bool is_same(const struct cli_file *a, const struct cli_file *b)
{
    return (a->there && b->there && a->status.st_dev == b->status.st_dev &&
            a->status.st_ino == b->status.st_ino) ||
           (a->in_folder && b->in_folder && a->folder.st_dev == b->folder.st_dev &&
            a->folder.st_ino == b->folder.st_ino && strcmp(a->name, b->name) == 0);
}

static int refuse(const struct cli_file *file, const struct cli_file *other)
{
    if (other->written)
        return cli_fail(2, "%s: would be written for both %s %s and %s %s; rename one of them",
                        file->path, other->what, other->owner, file->what, file->owner);
    if (strcmp(file->path, file->owner) == 0)
        return cli_fail(2, "%s: is %s; use another name for the output", file->path, other->what);
    /* What an interrupted run left, which the user may still need. */
    const char *slash = strrchr(file->owner, '/'), *dot = strrchr(file->owner, '.');
    const char *end = dot != NULL && (slash == NULL || dot > slash) ? dot : "";
    return cli_fail(2,
                    "%s: is %s, and would be overwritten while writing %s; rename it first: mv %s "
                    "kept%s; mv %s.json.part kept%s.json",
                    file->path, other->what, file->owner, file->path, end, file->owner, end);
}

int cli_files_check(cli_files *files)
{
    int status = 0;
    for (size_t i = 0; i < files->count && status == 0; i++)
        for (size_t k = 0; k < files->count && files->list[i].written && status == 0; k++) {
            const struct cli_file *file = &files->list[i], *other = &files->list[k];
            if (other->written && (k >= i || other->owner == file->owner))
                continue;
            if (is_same(file, other))
                status = refuse(file, other);
        }
    for (size_t i = 0; i < files->count; i++)
        free(files->list[i].path);
    free(files->list);
    *files = (cli_files){0};
    return status;
}

/* ---- a page, a picture, a trace --------------------------------------------------------------------------- */

static bool is_device(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

int cli_write_check(const char *path, bool force)
{
    struct stat status;
    if (*path == '\0')
        return cli_fail(2, "the name of the output is empty");
    if (is_device(path))
        return 0;
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
        return cli_fail(2, "%s: is a folder", path);
    if (strncmp(path, "/dev/", 5) == 0 && lstat(path, &status) == 0 && S_ISLNK(status.st_mode))
        return cli_fail(2, "%s: is a link; use the name of the file that it points to", path);
    if (!force && lstat(path, &status) == 0)
        return cli_fail(2, "%s: already exists; use --force to overwrite", path);
    char *part = cli_text("%s.part", path);
    int failed = 0;
    if (lstat(part, &status) == 0 &&
        (S_ISDIR(status.st_mode) || (!force && (status.st_size > 0 || !S_ISREG(status.st_mode)))))
        failed = cli_fail(2, "%s: already exists; rename it to keep it%s", part,
                          S_ISDIR(status.st_mode) ? "" : ", or use --force to overwrite");
    free(part);
    const char *slash = strrchr(path, '/');
    char *folder = slash != NULL ? cli_text("%.*s", (int)(slash - path) + 1, path) : cli_text(".");
    if (failed == 0 && access(folder, W_OK | X_OK) != 0)
        failed = cli_fail(7, "%s: cannot be created: %s", path, strerror(errno));
    free(folder);
    return failed;
}

int cli_write_begin(cli_write *out, const char *path, bool force)
{
    *out = (cli_write){.path = path};
    int status = cli_write_check(path, force);
    if (status != 0)
        return status;
    bool device = is_device(path);
    out->target = device ? cli_text("%s", path) : cli_text("%s.part", path);
    if (!device)
        unlink(out->target);
    /* Never through a link that somebody creates there meanwhile. */
    int file = open(out->target, O_WRONLY | O_CLOEXEC | (device ? 0 : O_CREAT | O_EXCL), 0666);
    out->file = file >= 0 ? fdopen(file, "w") : NULL;
    if (out->file == NULL) {
        status = errno == EINTR
                     ? cli_fail(weir_err_exit_status(WEIR_E_INTERRUPTED),
                                "%s: interrupted while opening it", path)
                     : cli_fail(7, "%s: cannot be created: %s", out->target, strerror(errno));
        free(out->target);
        *out = (cli_write){0};
    }
    return status;
}

char *cli_write_leave(cli_write *out)
{
    char *target = out->target;
    fclose(out->file);
    *out = (cli_write){0};
    return target;
}

int cli_write_end(cli_write *out, bool keep)
{
    if (out->target == NULL)
        return 0;
    int status = 0;
    errno = 0;
    bool failed = out->file != NULL && (fflush(out->file) != 0 || ferror(out->file) != 0);
    int why = errno;
    if (out->file != NULL && fclose(out->file) != 0 && !failed) {
        failed = true;
        why = errno;
    }
    bool device = strcmp(out->target, out->path) == 0;
    if (!failed && keep && !device && rename(out->target, out->path) != 0) {
        failed = true;
        why = errno;
    }
    if (failed)
        status = cli_fail(7, "%s: cannot be written%s%s", out->path, why != 0 ? ": " : "",
                          why != 0 ? strerror(why) : "");
    if ((failed || !keep) && !device)
        unlink(out->target);
    free(out->target);
    *out = (cli_write){0};
    return status;
}
