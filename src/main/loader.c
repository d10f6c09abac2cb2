// SPDX-License-Identifier: Apache-2.0
// loader -- the role that reads a configuration, checks it as a whole and hands it on: to the
// keeper a small table, to the server the directives. `godwit check` is the same without the
// handing on. Lives for one load.
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/assert.h"
#include "conf/error_sort.h"
#include "core/listen.h"
#include "core/snapshot.h"
#include "feature/htaccess.h"
#include "keeper/plan.h"
#include "main/config.h"
#include "main/config_verify.h"
#include "main/loader_plan.h"
#include "main/loader_spool.h"
#include "main/loader_tls.h"
#include "main/modules.h"
#include "main/roles.h"
#include "os/fd.h"
#include "os/file.h"
#include "wire/ipc.h"

// A configuration that has been loaded, or the errors.
struct load {
    struct err err;
    struct snapshot *snapshot; // holds the memory of the tree and the plan, too
    struct tree_node *tree;
    struct plan plan;
};

static void need_some(const struct load *l, const char *file, struct err *err)
{
    struct tree_pos pos = {file, 1, 1};
    size_t count;
    (void)listen_addresses(l->snapshot, &count);
    if (!count) {
        tree_error(err, pos,
                   "no \"listen\" stands here, at least one was expected, such as: listen 80;");
    }
    if (!l->snapshot->site_count) {
        tree_error(
            err, pos,
            "no \"site\" stands here, at least one was expected, such as: site _ { root /srv/www; }");
    }
}

static bool load_unsorted(struct load *l, int argc, char **argv)
{
    struct config_source source;
    modules_register();
    l->snapshot = snapshot_new(0);
    struct arena *a = &l->snapshot->arena;
    if (!config_source_read(argc, argv, &source, &l->err)
        || !config_read(&source, a, &l->tree, &l->err))
        return false;
    bool is_resolved = snapshot_build(l->snapshot, l->tree, &l->err) != NULL;
    if (!config_verify(l->tree, a, &l->err) || !is_resolved)
        return false;
    if (!loader_tls_read(l->snapshot, l->tree, a, &l->err))
        return false;
    need_some(l, source.file ? source.file : source.dir, &l->err);
    return loader_plan_make(l->snapshot, source.name, a, &l->plan, &l->err)
           && loader_spool_check(l->tree, &l->plan, a, &l->err) && !l->err.count;
}

static bool load(struct load *l, int argc, char **argv)
{
    bool ok = load_unsorted(l, argc, argv);
    error_sort(&l->err);
    return ok;
}

static void unload(struct load *l)
{
    snapshot_unref(l->snapshot);
    err_done(&l->err);
}

static bool send(int channel, enum ipc_type type, struct str text, const int *fds, size_t fd_count)
{
    static char packet[IPC_BYTES_MAX];
    size_t len = ipc_encode(&(struct ipc_msg){.type = type, .text = text}, packet);
    ASSERT(len);
    return fd_send(channel, str_n(packet, len), fds, fd_count) == 0;
}

static bool send_errors(int channel, struct err *err)
{
    struct str text = str_c(err_text(err));
    if (text.len > IPC_TEXT_MAX) // whole lines only
        text.len = str_rfind(str_slice(text, 0, IPC_TEXT_MAX), '\n');
    return send(channel, IPC_PLAN_FAILED, text, NULL, 0);
}

static bool make_files(const struct load *l, int out_fds[2], struct err *err)
{
    struct buf plan = {0};
    struct buf tree = {0};
    plan_encode(&l->plan, &plan);
    tree_pack(l->tree, &tree);
    out_fds[0] = file_memfd("plan", buf_view(&plan));
    out_fds[1] = file_memfd("configuration", buf_view(&tree));
    buf_done(&plan);
    buf_done(&tree);
    if (out_fds[0] >= 0 && out_fds[1] >= 0)
        return true;
    int rc = out_fds[0] < 0 ? out_fds[0] : out_fds[1];
    return err_set(err, "cannot make a memory file: %s", strerror(-rc));
}

int loader_role(int channel, int argc, char **argv)
{
    struct load l = {0};
    int fds[2] = {FD_NONE, FD_NONE};
    bool is_sent;
    if (load(&l, argc, argv) && make_files(&l, fds, &l.err)) {
        is_sent = send(channel, IPC_PLAN, (struct str){0}, fds, 2);
    } else {
        is_sent = send_errors(channel, &l.err);
    }
    fd_close(&fds[0]);
    fd_close(&fds[1]);
    unload(&l);
    return is_sent ? 0 : 1;
}

static void warn_htaccess(void *arg, const char *file, unsigned line, const char *what)
{
    (void)arg;
    (void)fprintf(
        stderr,
        "%s:%u:1: warning: \"%s\" protects something and is not carried out: requests that it "
        "concerns are refused (403), unless the site says: htaccess ignore;\n",
        file, line, what);
}

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

static void tell_programs(const struct plan *plan)
{
    for (size_t i = 0; i < plan->app_count; i++) {
        const struct plan_app *app = &plan->apps[i];
        (void)printf("app \"%.*s\" runs %s\n", STR_ARG(app->name), app->program);
    }
}

int loader_check(int argc, char **argv)
{
    struct load l = {0};
    bool ok = load(&l, argc, argv);
    if (ok) {
        htaccess_scan(l.snapshot, warn_htaccess, NULL);
        size_t sites = l.snapshot->site_count;
        (void)printf("configuration is fine: %zu site%s, %zu app%s, %zu listener%s\n", sites,
                     plural(sites), l.plan.app_count, plural(l.plan.app_count),
                     l.plan.listener_count, plural(l.plan.listener_count));
        tell_programs(&l.plan);
    } else {
        (void)fprintf(stderr, "%s\n", err_text(&l.err));
    }
    unload(&l);
    return ok ? 0 : 1;
}
