// SPDX-License-Identifier: Apache-2.0
// auth_basic -- see auth_basic.h.
//
//   access --(known and fresh)--> NEXT
//     |  no or bad credentials: 401          no file: 500, never open
//     `--(job thread: password_check)--> WAIT --on_done--> resume, or 401
//
// Hashing is slow by intent, and a browser sends the password with each request: what was right is
// remembered for a short time, under a digest with a secret of this process.
#include "feature/auth_basic.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "core/exchange.h"
#include "core/target.h"
#include "feature/auth_cache.h"
#include "feature/password.h"
#include "feature/password_file.h"
#include "http/basic_auth.h"
#include "http/header.h"

#define CHECKS_MAX 64 // at once for a thread: hashing must not starve what else the job threads do

struct auth_basic_conf {
    struct str realm; // empty: off
    struct str file;
};

static bool parse_realm(const struct key *key, const struct tree_node *node, struct arena *a,
                        void *field, struct err *err)
{
    if (!key_args_check(key, node, 1, 1, err))
        return false;
    struct str realm = node->args[0];
    if (!realm.len || str_has_ctl(realm)) {
        return tree_error(err, node->arg_pos[0],
                          "\"auth_basic\" has no realm, a text that browsers show, or off, was "
                          "expected");
    }
    *(struct str *)field = str_eq(realm, STR("off")) ? (struct str){0} : arena_dup(a, realm);
    return true;
}

static void print_realm(const struct key *key, const void *field, struct buf *out)
{
    const struct str *realm = field;
    (void)key;
    tree_quote(realm->len ? *realm : STR("off"), out);
}

static const struct key_type REALM_TYPE = {"text", "REALM|off", parse_realm, print_realm};

static const struct key KEYS[] = {
    {
        .name = "auth_basic",
        .type = &REALM_TYPE,
        .offset = offsetof(struct auth_basic_conf, realm),
        .scopes = KEY_TOP | KEY_SITE | KEY_PATH,
        .def = "off",
        .help = "Asks for a name and a password of auth_file; browsers show REALM when they ask. "
                "Apps find the name in REMOTE_USER. Without TLS, passwords can be read on the way.",
        .example = "\"Members only\"",
    },
    {
        .name = "auth_file",
        .type = &KEY_FILE,
        .offset = offsetof(struct auth_basic_conf, file),
        .scopes = KEY_TOP | KEY_SITE | KEY_PATH,
        .help = "File with a line NAME:HASH for each user, as htpasswd makes it: bcrypt, yescrypt, "
                "SHA-512 and SHA-256 crypt, $apr1$, {SHA}. It is read again when it has changed; "
                "as long as it cannot be read, all are refused with 500. It must be readable for "
                "the server's user, and should not lie below a root.",
        .example = "/etc/godwit/members.htpasswd",
        .def_words = "none; auth_basic needs one",
    },
};

static bool check(void *arg, unsigned scope, struct tree_pos pos, struct arena *a, struct err *err)
{
    const struct auth_basic_conf *conf = arg;
    (void)scope;
    (void)a;
    if (conf->realm.len && !conf->file.len) {
        return tree_error(err, pos,
                          "auth_basic stands without a file of passwords, auth_file was "
                          "expected");
    }
    return true;
}

// One password being checked; outlives the exchange if the client leaves.
struct check {
    struct job job;
    struct exchange *ex; // NULL: gone
    struct thread *thread;
    struct str user, password, hash; // in `room`, a NUL behind each
    bool is_user;                    // false: `hash` is another's, and the answer is no
    bool is_right;
    size_t room_bytes;
    char room[];
};

static const char COUNT_OWNER;

static unsigned *count_of(struct thread *t)
{
    unsigned *count = thread_attached(t, &COUNT_OWNER);
    if (!count) {
        count = mem_new(unsigned);
        thread_attach(t, &COUNT_OWNER, count, mem_free);
    }
    return count;
}

static void refuse(struct exchange *ex, const struct auth_basic_conf *conf, const char *why)
{
    struct buf value = {0};
    bool ok = buf_put(&value, STR("Basic realm=\""));
    for (size_t i = 0; i < conf->realm.len; i++) {
        struct str byte = str_slice(conf->realm, i, i + 1);
        if (byte.ptr[0] == '"' || byte.ptr[0] == '\\')
            ok = ok && buf_put(&value, STR("\\"));
        ok = ok && buf_put(&value, byte);
    }
    ok = ok && buf_put(&value, STR("\", charset=\"UTF-8\""));
    ASSERT(ok); // no ceiling
    header_list_set_id(&ex->resp.headers, HEADER_WWW_AUTHENTICATE,
                       arena_dup(&ex->arena, buf_view(&value)));
    buf_done(&value);
    metrics_add(&ex->thread->metrics, auth_refused, 1);
    exchange_refuse(ex, 401, NULL, "auth_basic asks for name and password: %s.", why);
}

static void work(struct job *job)
{
    struct check *c = CONTAINER_OF(job, struct check, job);
    c->is_right = password_check(c->password, c->hash) && c->is_user;
}

static void free_check(struct check *c)
{
    OPENSSL_cleanse(c->room, c->room_bytes);
    mem_free(c);
}

static void on_done(struct job *job)
{
    struct check *c = CONTAINER_OF(job, struct check, job);
    struct exchange *ex = c->ex;
    *count_of(c->thread) -= 1;
    if (c->is_right)
        auth_cache_put(c->thread, c->user, c->password, c->hash);
    if (ex) {
        c->ex = NULL;
        ex->on_abort = NULL;
        ex->handler_data = NULL;
        exchange_set_data(ex, &auth_basic_module, NULL);
        if (c->is_right) {
            ex->facts.user = arena_dup(&ex->arena, c->user);
            exchange_resume(ex);
        } else {
            refuse(ex, module_conf(ex, &auth_basic_module), "they are wrong");
        }
    }
    free_check(c);
}

static void leave(struct exchange *ex)
{
    struct check *c = exchange_data(ex, &auth_basic_module);
    if (c)
        c->ex = NULL;
}

static void put(struct check *c, struct str *out, struct str s)
{
    char *at = c->room + c->room_bytes;
    memcpy(at, s.ptr, s.len);
    at[s.len] = '\0';
    *out = str_n(at, s.len);
    c->room_bytes += s.len + 1;
}

static enum phase_result begin(struct exchange *ex, const struct basic_auth *who, struct str hash,
                               bool is_user)
{
    unsigned *count = count_of(ex->thread);
    if (*count >= CHECKS_MAX) {
        exchange_refuse(ex, 503, NULL, "%d passwords are being checked already.", CHECKS_MAX);
        return PHASE_DONE;
    }
    *count += 1;
    struct check *c = mem_alloc(sizeof *c + who->user.len + who->password.len + hash.len + 3);
    *c = (struct check){.job = {.work = work, .on_done = on_done},
                        .ex = ex,
                        .thread = ex->thread,
                        .is_user = is_user};
    put(c, &c->user, who->user);
    put(c, &c->password, who->password);
    put(c, &c->hash, hash);
    exchange_set_data(ex, &auth_basic_module, c);
    ex->on_abort = leave;
    jobs_submit(ex->thread->jobs, ex->thread->loop, &c->job);
    return PHASE_WAIT;
}

static enum phase_result access(struct exchange *ex)
{
    const struct auth_basic_conf *conf = module_conf(ex, &auth_basic_module);
    if (!conf->realm.len)
        return PHASE_NEXT;
    int error = 0;
    const struct password_file *file =
        password_file_need(ex, conf->file, target_check_us(ex), &error);
    if (!file) {
        exchange_refuse(
            ex, 500, "auth.file_failed",
            "The password file %s (auth_file) cannot be read (%s), so nobody may enter.",
            conf->file.ptr, strerrordesc_np(-error));
        return PHASE_DONE;
    }
    struct str value = header_list_value(&ex->req.headers, HEADER_AUTHORIZATION);
    struct basic_auth who;
    if (!basic_auth_parse(value, &ex->arena, &who)) {
        refuse(ex, conf, "there are none");
        return PHASE_DONE;
    }
    struct str hash = password_file_hash(file, who.user);
    if (hash.ptr && auth_cache_has(ex->thread, who.user, who.password, hash)) {
        ex->facts.user = who.user;
        return PHASE_NEXT;
    }
    // How long it takes must not tell which names there are.
    struct str any = hash.ptr ? hash : password_file_any(file);
    if (any.ptr)
        return begin(ex, &who, any, hash.ptr != NULL);
    refuse(ex, conf, "the file has no users");
    return PHASE_DONE;
}

static bool is_idle(const void *arg)
{
    const struct auth_basic_conf *conf = arg;
    return !conf->realm.len;
}

struct module auth_basic_module = {
    .name = "auth_basic",
    .keys = KEYS,
    .key_count = ARRAY_LEN(KEYS),
    .conf_size = sizeof(struct auth_basic_conf),
    .idle = is_idle,
    .check = check,
    .hooks = {[PHASE_ACCESS] = access},
};
