// SPDX-License-Identifier: Apache-2.0
// stage -- see stage.h.
#define _XOPEN_SOURCE 700
#include "stage.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "base/err.h"
#include "base/hash.h"
#include "core/server_conf.h"
#include "core/site_conf.h"
#include "core/snapshot.h"
#include "core/spool.h"
#include "core/target.h"
#include "log/log.h"
#include "os/sig.h"

void stage_open(struct stage *s, struct module *const *modules, size_t count)
{
    int error = 0;
    memset(s, 0, sizeof *s);
    sig_ignore_pipe();
    hash_key(1, 2);
    // Messages for operators are not what is looked at here.
    log_init(LOG_ERROR, LOG_PLAIN, open("/dev/null", O_WRONLY | O_CLOEXEC));
    s->loop = loop_new(&error);
    assert_non_null(s->loop);
    s->jobs = jobs_new(1);
    thread_init(&s->thread, 0, s->loop, s->jobs);
    (void)snprintf(s->dir, sizeof s->dir, "/tmp/godwit-unit-XXXXXX");
    assert_non_null(mkdtemp(s->dir));
    module_register(&server_conf_module);
    module_register(&site_conf_module);
    module_register(&target_module);
    module_register(&spool_module);
    for (size_t i = 0; i < count; i++)
        module_register(modules[i]);
}

static struct str expand(const struct stage *s, struct arena *a, const char *text)
{
    struct str done = {0};
    for (struct str rest = str_c(text); rest.len > 0;) {
        size_t at = str_find(rest, '$');
        bool found = at + 1 < rest.len && rest.ptr[at + 1] == 'D';
        size_t take = found || at == rest.len ? at : at + 1;
        done = arena_fmt(a, "%.*s%.*s%s", STR_ARG(done), (int)take, rest.ptr, found ? s->dir : "");
        rest = str_skip(rest, found ? at + 2 : take);
    }
    return done;
}

void stage_config(struct stage *s, const char *text)
{
    static uint32_t generation;
    struct err err = {0};
    struct snapshot *empty = snapshot_new(++generation);
    struct tree_source source = {.arena = &empty->arena, .dir = "/"};
    struct tree_node *first = NULL;
    struct tree_node **tail = &first;
    bool ok = tree_parse(&source, "test.conf", expand(s, &empty->arena, text), &tail, &err);
    struct snapshot *made = ok ? snapshot_build(empty, first, &err) : NULL;
    assert_string_equal(err_text(&err), "");
    assert_non_null(made);
    assert_true(snapshot_start(made, &err));
    snapshot_commit(made);
    err_done(&err);
}

void stage_file(struct stage *s, const char *path, const char *content)
{
    char full[512];
    (void)snprintf(full, sizeof full, "%s/%s", s->dir, path);
    for (char *at = full + strlen(s->dir) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        (void)mkdir(full, 0755);
        *at = '/';
    }
    FILE *file = fopen(full, "we");
    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

void stage_turn(struct stage *s, int wait_ms)
{
    loop_turn(s->loop, wait_ms);
}

long long stage_metric(struct stage *s, const char *name)
{
    unsigned count;
    const struct metrics_row *rows = metrics_rows(&count);
    int64_t sums[128] = {0};
    metrics_sum(&s->thread.metrics, sums);
    for (unsigned i = 0; i < count; i++)
        if (strcmp(rows[i].name, name) == 0)
            return sums[i];
    fail_msg("there is no metric %s", name);
    return -1;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

void stage_close(struct stage *s)
{
    jobs_free(s->jobs);
    stage_turn(s, 0); // what the jobs have left to be done
    thread_done(&s->thread);
    loop_free(s->loop);
    snapshot_commit(NULL);
    (void)nftw(s->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
