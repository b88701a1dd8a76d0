/* SPDX-License-Identifier: MIT
 *
 * checkpoint.c: the file from which a run is resumed: identity of the run (version, input, chain), the chain's state,
 * and where each output ends; a checksum over all of it is last. Writing it is done in this order, so that at every
 * instant, and after a power cut, the named file claims no more than what is on the disk:
 *
 *   1. each output is synced to the disk and states where it ends (position)
 *   2. FILE.part is written and synced
 *   3. it is renamed to FILE, and the folder is synced
 *   4. outputs may now change what the former checkpoint relied on (commit)
 *
 * The first one is written before the outputs are made: so a file without a checkpoint belongs to another run. It is
 * read twice: first for the checksum, before any of it is used.
 */
#include "chain/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC          UINT64_C(0x3174706b63726977) /* "wirckpt1" */
#define SCHEME         1u
#define BUFFER_BYTES   4096
#define IDENTITY_BYTES 400

struct weir_checkpoint {
    int fd;
    const char *name;
    uint64_t checksum, left; /* left: of what is read, without the checksum at its end */
    size_t used, at;         /* in the buffer */
    unsigned char buffer[BUFFER_BYTES];
};

typedef struct head {
    uint64_t magic;
    uint32_t scheme, head_bytes;
    char version[24];
    uint64_t text, outputs; /* hashes: of the chain's text, of the outputs' names */
    uint64_t state_bytes;
    uint64_t ended;
    char input[IDENTITY_BYTES];
} head;

/* ---- bytes ---------------------------------------------------------------------------------------- */

/* The buffer is hashed whenever it is full, so that the checksum does not depend on the pieces. */
static weir_err spill(weir_checkpoint *c)
{
    c->checksum = weiri_hash(c->checksum, c->buffer, c->used);
    for (size_t at = 0; at < c->used;) {
        ssize_t done = write(c->fd, c->buffer + at, c->used - at);
        if (done < 0 && errno != EINTR) {
            return weiri_fail(WEIR_E_IO, "%s: cannot be written: %s", c->name, strerror(errno));
        }
        at += done > 0 ? (size_t)done : 0;
    }
    c->used = 0;
    return WEIR_OK;
}

weir_err weir_checkpoint_put(weir_checkpoint *c, const void *from, size_t bytes)
{
    if (c == NULL || (from == NULL && bytes > 0)) {
        return weiri_null(__func__);
    }
    const unsigned char *next = from;
    while (bytes > 0) {
        size_t room = sizeof c->buffer - c->used, now = bytes < room ? bytes : room;
        memcpy(c->buffer + c->used, next, now);
        c->used += now;
        next += now;
        bytes -= now;
        if (c->used == sizeof c->buffer) {
            weir_err err = spill(c);
            if (err != WEIR_OK) {
                return err;
            }
        }
    }
    return WEIR_OK;
}

static weir_err fill(weir_checkpoint *c)
{
    size_t want = c->left < sizeof c->buffer ? (size_t)c->left : sizeof c->buffer;
    c->at = c->used = 0;
    while (c->used < want) {
        ssize_t got = read(c->fd, c->buffer + c->used, want - c->used);
        if (got == 0 || (got < 0 && errno != EINTR)) {
            return weiri_fail(WEIR_E_IO, "%s: cannot be read: %s", c->name,
                              strerror(got == 0 ? EIO : errno));
        }
        c->used += got > 0 ? (size_t)got : 0;
    }
    c->left -= c->used;
    c->checksum = weiri_hash(c->checksum, c->buffer, c->used);
    return WEIR_OK;
}

weir_err weir_checkpoint_get(weir_checkpoint *c, void *to, size_t bytes)
{
    if (c == NULL || (to == NULL && bytes > 0)) {
        return weiri_null(__func__);
    }
    unsigned char *next = to;
    while (bytes > 0) {
        if (c->at == c->used && c->left == 0) {
            return weiri_fail(WEIR_E_USAGE, "damaged: an output's position is truncated");
        }
        weir_err err = c->at == c->used ? fill(c) : WEIR_OK;
        if (err != WEIR_OK) {
            return err;
        }
        size_t there = c->used - c->at, now = bytes < there ? bytes : there;
        memcpy(next, c->buffer + c->at, now);
        c->at += now;
        next += now;
        bytes -= now;
    }
    return WEIR_OK;
}

/* ---- files ---------------------------------------------------------------------------------------- */

weir_err weiri_folder_sync(const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int length = slash == NULL ? 1 : (int)(slash - path) + 1;
    if (snprintf(folder, sizeof folder, "%.*s", length, slash == NULL ? "." : path) >=
        (int)sizeof folder) {
        return weiri_fail(WEIR_E_USAGE, "%s: its name is too long", path);
    }
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int failed = fd < 0 || fsync(fd) != 0 ? errno : 0;
    if (fd >= 0) {
        close(fd);
    }
    /* Some file systems cannot do this, and some folders cannot be read. */
    return failed == 0 || failed == EINVAL || failed == EACCES
               ? WEIR_OK
               : weiri_fail(WEIR_E_IO, "%s: cannot be synced to the disk: %s", folder,
                            strerror(failed));
}

/* Whether what has a name is a checkpoint, or what a power cut left of one. */
static weir_err may_replace(const char *name)
{
    struct stat status;
    uint64_t magic = 0;
    if (lstat(name, &status) != 0) {
        return WEIR_OK;
    }
    int fd = S_ISREG(status.st_mode) ? open(name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
    ssize_t got = fd < 0 ? -1 : read(fd, &magic, sizeof magic);
    if (fd >= 0) {
        close(fd);
    }
    return got == 0 || (got > 0 && (magic == MAGIC || magic == 0))
               ? WEIR_OK
               : weiri_fail(WEIR_E_USAGE, "%s: exists and is not a checkpoint; choose another name",
                            name);
}

/* ---- what run it is of ---------------------------------------------------------------------------- */

static weir_err identity_of(const weir_chain *chain, head *ret_head)
{
    weir_source *source = chain->plan->source;
    head h = {.magic = MAGIC, .scheme = SCHEME, .head_bytes = sizeof h};
    strncpy(h.version, WEIR_VERSION, sizeof h.version - 1);
    h.text = weiri_hash_text(MAGIC, chain->text);
    h.outputs = MAGIC;
    for (int i = 0; i < chain->plan->exit_count; i++) {
        bool written = chain->plan->sinks != NULL && chain->plan->sinks[i] != NULL;
        h.outputs = weiri_hash_text(h.outputs, chain->plan->exits[i].name);
        h.outputs = weiri_hash(h.outputs, &written, sizeof written);
    }
    if (source->ops->ops_size <= offsetof(weir_source_ops, identity) ||
        source->ops->identity == NULL) {
        return weiri_fail(WEIR_E_USAGE, "a source of type %s has no identity; checkpoints need one",
                          source->ops->name);
    }
    weir_err err = source->ops->identity(source, h.input, sizeof h.input);
    h.input[sizeof h.input - 1] = '\0';
    *ret_head = h;
    return err;
}

static weir_err check_head(head *found, const head *ours)
{
    found->version[sizeof found->version - 1] = found->input[sizeof found->input - 1] = '\0';
    if (found->scheme != SCHEME || found->head_bytes != sizeof *found ||
        strcmp(found->version, ours->version) != 0) {
        return weiri_fail(WEIR_E_USAGE, "written by weir %s; this is weir %s", found->version,
                          ours->version);
    }
    if (strcmp(found->input, ours->input) != 0) {
        return weiri_fail(WEIR_E_USAGE, "the input or its options have changed: was %s; is %s",
                          found->input, ours->input);
    }
    if (found->text != ours->text) {
        return weiri_fail(WEIR_E_USAGE, "the chain file has changed");
    }
    if (found->outputs != ours->outputs) {
        return weiri_fail(WEIR_E_USAGE, "the outputs have changed: other names or another number");
    }
    return WEIR_OK;
}

/* ---- sinks ---------------------------------------------------------------------------------------- */

static weir_sink *sink_at(const weir_chain *chain, int output)
{
    return chain->plan->sinks == NULL ? NULL : chain->plan->sinks[output];
}

static bool can_resume(const weir_sink *sink)
{
    return sink->ops->ops_size > offsetof(weir_sink_ops, resume) && sink->ops->position != NULL &&
           sink->ops->commit != NULL && sink->ops->resume != NULL;
}

static weir_err check_sinks(const weir_chain *chain)
{
    int count = 0;
    for (int i = 0; i < chain->plan->exit_count; i++) {
        const weir_sink *sink = sink_at(chain, i);
        count += sink != NULL;
        if (sink != NULL && !can_resume(sink)) {
            return weiri_fail(WEIR_E_USAGE, "output %s: sinks of type %s cannot be resumed",
                              chain->plan->exits[i].name, sink->ops->name);
        }
    }
    return count > 0 ? WEIR_OK : weiri_fail(WEIR_E_USAGE, "a checkpoint needs an output");
}

static weir_err positions(const weir_chain *chain, weir_checkpoint *c, bool last)
{
    weir_err err = WEIR_OK;
    for (int i = 0; err == WEIR_OK && i < chain->plan->exit_count; i++) {
        weir_sink *sink = sink_at(chain, i);
        err = sink == NULL ? WEIR_OK : sink->ops->position(sink, c, last);
    }
    return err;
}

static weir_err commits(const weir_chain *chain)
{
    weir_err err = WEIR_OK;
    for (int i = 0; err == WEIR_OK && i < chain->plan->exit_count; i++) {
        weir_sink *sink = sink_at(chain, i);
        err = sink == NULL ? WEIR_OK : sink->ops->commit(sink);
    }
    return err;
}

/* ---- writing -------------------------------------------------------------------------------------- */

static weir_err write_all(weir_chain *chain, weir_checkpoint *c, bool ended)
{
    head h;
    void *state = weiri_chain_memory(chain, chain->plan->checkpoint_at);
    weir_err err = identity_of(chain, &h);
    if (err != WEIR_OK) {
        return err;
    }
    h.ended = ended;
    h.state_bytes = weir_chain_state_bytes(chain);
    err = weir_chain_save(chain, state, (size_t)chain->plan->checkpoint_bytes);
    if (err == WEIR_OK) {
        err = weir_checkpoint_put(c, &h, sizeof h);
    }
    if (err == WEIR_OK) {
        err = weir_checkpoint_put(c, state, (size_t)h.state_bytes);
    }
    if (err == WEIR_OK) {
        err = positions(chain, c, ended);
    }
    if (err == WEIR_OK) {
        err = spill(c);
    }
    if (err == WEIR_OK) { /* not part of itself */
        memcpy(c->buffer, &c->checksum, sizeof c->checksum);
        c->used = sizeof c->checksum;
        err = spill(c);
    }
    return err;
}

weir_err weiri_checkpoint_write(weir_chain *chain, const char *path, bool ended)
{
    char part[PATH_MAX];
    if (snprintf(part, sizeof part, "%s.part", path) >= (int)sizeof part) {
        return weiri_fail(WEIR_E_USAGE, "%s: its name is too long", path);
    }
    weir_err err = may_replace(part);
    if (err != WEIR_OK) {
        return err;
    }
    unlink(part);
    weir_checkpoint c = {.fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666),
                         .name = part,
                         .checksum = MAGIC};
    if (c.fd < 0) {
        return weiri_fail(WEIR_E_IO, "%s: cannot be created: %s", part, strerror(errno));
    }
    err = write_all(chain, &c, ended);
    bool synced = err != WEIR_OK || fsync(c.fd) == 0;
    bool closed = close(c.fd) == 0 && synced;
    if (err == WEIR_OK && (!closed || rename(part, path) != 0)) {
        err = weiri_fail(WEIR_E_IO, "%s: cannot be written: %s", part, strerror(errno));
    }
    if (err != WEIR_OK) {
        unlink(part);
        return err;
    }
    err = weiri_folder_sync(path);
    return err == WEIR_OK ? commits(chain) : err;
}

void weiri_checkpoint_remove(const char *path)
{
    unlink(path);
}

/* ---- reading -------------------------------------------------------------------------------------- */

static weir_err damaged(const char *how)
{
    return weiri_fail(WEIR_E_USAGE, "damaged: %s", how);
}

static weir_err open_checked(weir_checkpoint *c)
{
    struct stat status;
    uint64_t checksum = 0, magic = 0;
    if (fstat(c->fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        return weiri_fail(WEIR_E_USAGE, "not a regular file");
    }
    if (status.st_size < (off_t)(sizeof(head) + sizeof checksum)) {
        return damaged("too short");
    }
    if (pread(c->fd, &magic, sizeof magic, 0) != sizeof magic || magic != MAGIC) {
        return weiri_fail(WEIR_E_USAGE, "not a checkpoint");
    }
    uint64_t bytes = (uint64_t)status.st_size - sizeof checksum;
    c->checksum = MAGIC;
    c->left = bytes;
    while (c->left > 0) {
        weir_err err = fill(c);
        if (err != WEIR_OK) {
            return err;
        }
    }
    if (pread(c->fd, &checksum, sizeof checksum, (off_t)bytes) != sizeof checksum ||
        checksum != c->checksum) {
        return damaged("its checksum differs");
    }
    c->left = bytes;
    c->at = c->used = 0;
    return lseek(c->fd, 0, SEEK_SET) == 0 ? WEIR_OK : damaged(strerror(errno));
}

static weir_err
read_all(weir_chain *chain, weir_checkpoint *c, const head *ours, weiri_checkpoint_about *ret_about)
{
    head found;
    void *state = weiri_chain_memory(chain, chain->plan->checkpoint_at);
    weir_err err = open_checked(c);
    if (err == WEIR_OK) {
        err = weir_checkpoint_get(c, &found, sizeof found);
    }
    if (err == WEIR_OK) {
        err = check_head(&found, ours);
    }
    if (err == WEIR_OK && found.state_bytes > chain->plan->checkpoint_bytes) {
        err = weiri_fail(
            WEIR_E_USAGE,
            "the chain has changed: the saved state has %llu bytes, at most %llu are possible",
            (unsigned long long)found.state_bytes,
            (unsigned long long)chain->plan->checkpoint_bytes);
    }
    if (err == WEIR_OK) {
        err = weir_checkpoint_get(c, state, (size_t)found.state_bytes);
    }
    if (err == WEIR_OK) {
        err = weir_chain_restore(chain, state, (size_t)found.state_bytes);
    }
    for (int i = 0; err == WEIR_OK && i < chain->plan->exit_count; i++) {
        weir_sink *sink = sink_at(chain, i);
        err = sink == NULL ? WEIR_OK : sink->ops->resume(sink, c);
    }
    if (err == WEIR_OK) {
        ret_about->ended = found.ended != 0;
    }
    return err;
}

weir_err weiri_checkpoint_begin(weir_chain *chain,
                                const char *path,
                                bool resume,
                                bool *ret_resumed,
                                weiri_checkpoint_about *ret_about)
{
    head ours;
    struct stat status;
    if (!chain->options.checkpoints) {
        return weiri_fail(
            WEIR_E_USAGE,
            "%s: the chain was planned without checkpoints (weir_chain_options.checkpoints)", path);
    }
    weir_err err = check_sinks(chain);
    if (err == WEIR_OK) {
        err = identity_of(chain, &ours);
    }
    if (err != WEIR_OK) {
        return weiri_fail_prefix(err, "%s: ", path);
    }
    bool there = lstat(path, &status) == 0;
    if (!there) {
        err = weiri_checkpoint_write(chain, path, false);
        return err != WEIR_OK && resume ? weiri_fail_prefix(err,
                                                            "%s: there is no checkpoint, and the "
                                                            "run cannot start from the beginning: ",
                                                            path)
                                        : err;
    }
    if (!resume) {
        return weiri_fail(WEIR_E_USAGE,
                          "%s: already exists: resume continues from it; remove it to start anew",
                          path);
    }
    weir_checkpoint c = {.fd = open(path, O_RDONLY | O_CLOEXEC), .name = path};
    if (c.fd < 0) {
        return weiri_fail(WEIR_E_IO, "%s: cannot be opened: %s", path, strerror(errno));
    }
    err = read_all(chain, &c, &ours, ret_about);
    close(c.fd);
    *ret_resumed = err == WEIR_OK;
    return err == WEIR_OK ? WEIR_OK : weiri_fail_prefix(err, "%s: ", path);
}
