// SPDX-License-Identifier: Apache-2.0
// serve -- see serve.h.
#include "main/serve.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "keeper/keeper.h"
#include "log/log.h"
#include "main/instance.h"
#include "main/roles.h"
#include "os/proc.h"

#define PORT_DEFAULT "8080"
#define ARGS_MAX     8

// What the loader is told, in the words of main/roles.h.
struct source {
    const char *name; // of the instance
    const char *args[ARGS_MAX];
    int count;
};

static void add_arg(struct source *source, const char *arg)
{
    source->args[source->count++] = arg;
}

// The absolute path, copied: the place of argv becomes the process's title.
static const char *resolve(struct arena *a, const char *path, bool wants_dir, struct err *err)
{
    char room[PATH_MAX];
    struct stat st;
    if (!realpath(path, room) || stat(room, &st) < 0) {
        err_set(err, "cannot open %s: %s", path, strerror(errno));
        return NULL;
    }
    if (S_ISDIR(st.st_mode) != wants_dir) {
        err_set(err,
                wants_dir ? "%s is not a directory (a configuration file is given with -c)"
                          : "%s is a directory, not a configuration file",
                path);
        return NULL;
    }
    return arena_dup(a, str_c(room)).ptr;
}

static bool find_source(const struct cli *cli, struct arena *a, const char *role,
                        struct source *out, struct err *err)
{
    struct source source = {0};
    const char *port = arena_dup(a, str_c(cli->port ? cli->port : PORT_DEFAULT)).ptr;
    bool is_file = cli->file != NULL;
    const char *given = is_file ? cli->file : cli->operand ? cli->operand : ".";
    const char *path = resolve(a, given, !is_file, err);
    if (!path)
        return false;
    if (cli->name)
        source.name = instance_name(a, cli->name, err);
    else
        source.name =
            is_file ? instance_name_of_file(a, path) : instance_name_of_dir(a, path, port);
    if (!source.name)
        return false;
    add_arg(&source, role);
    if (is_file) {
        add_arg(&source, "-c");
        add_arg(&source, path);
    } else {
        add_arg(&source, path);
        add_arg(&source, "-p");
        add_arg(&source, port);
    }
    add_arg(&source, "-n");
    add_arg(&source, source.name);
    *out = source;
    return true;
}

static int fail(struct err *err, struct arena *a)
{
    fprintf(stderr, "godwit: %s\n", err_text(err));
    err_done(err);
    arena_done(a);
    return 1;
}

// Standard error is the journal when the service manager says so with its device and inode.
static bool is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    char ours[64];
    struct stat st;
    if (!stream || fstat(STDERR_FILENO, &st) < 0)
        return false;
    snprintf(ours, sizeof ours, "%llu:%llu", (unsigned long long)st.st_dev,
             (unsigned long long)st.st_ino);
    return strcmp(stream, ours) == 0;
}

int serve_run(const struct cli *cli)
{
    struct arena a = {0};
    struct err err = {0};
    struct source source;
    if (!find_source(cli, &a, "@loader", &source, &err))
        return fail(&err, &a);
    const char *base = instance_base(&a, cli->runtime, &err);
    if (!base)
        return fail(&err, &a);
    const char *loader_argv[ARGS_MAX + 2] = {"godwit"};
    memcpy(loader_argv + 1, source.args, sizeof source.args);
    const char *const server_argv[] = {"godwit", "@server", NULL};
    struct keeper_options options = {
        .program = "/proc/self/exe",
        .loader_argv = loader_argv,
        .server_argv = server_argv,
        .instance = source.name,
        .runtime_dir = arena_fmt(&a, "%s/%s", base, source.name).ptr,
        .log_fd = STDERR_FILENO,
        .log_format = is_journal() ? LOG_JOURNALD : LOG_PLAIN,
    };
    log_init(LOG_INFO, options.log_format, options.log_fd);
    proc_set_title(arena_fmt(&a, "godwit: keeper %s", source.name).ptr);
    int status = keeper_run(&options);
    arena_done(&a);
    return status;
}

int serve_check(const struct cli *cli)
{
    struct arena a = {0};
    struct err err = {0};
    struct source source;
    char *argv[ARGS_MAX + 1] = {0};
    if (!find_source(cli, &a, "check", &source, &err))
        return fail(&err, &a);
    for (int i = 0; i < source.count; i++) {
        size_t size = strlen(source.args[i]) + 1;
        argv[i] = arena_alloc(&a, size);
        memcpy(argv[i], source.args[i], size);
    }
    int status = loader_check(source.count, argv);
    arena_done(&a);
    return status;
}
