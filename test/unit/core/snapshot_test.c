// SPDX-License-Identifier: Apache-2.0
// snapshot_test -- a tree becomes scopes that inherit, with every error told once; hosts and paths
// are found.
#include "core/snapshot.h"

#include <string.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "base/compiler.h"
#include "core/listen.h"
#include "core/module.h"
#include "core/server_conf.h"
#include "core/site_conf.h"

// A module of the test's own: `level` in all scopes, `mark` that counts checks, and a directive
// with a block.
struct demo {
    int64_t level;
    struct key_pairs set;

    struct block {
        int64_t size;
        bool fast;
    } * block;
};

static int checks;
static int starts;
static int commits;

static const struct key BLOCK_KEYS[] = {
    {.name = "block_size",
     .type = &KEY_SIZE,
     .offset = offsetof(struct block, size),
     .scopes = KEY_APP,
     .def = "4k"},
    {.name = "fast", .type = &KEY_FLAG, .offset = offsetof(struct block, fast), .scopes = KEY_APP},
};

static bool block_parse(const struct key *key, const struct tree_node *node, struct arena *a,
                        void *field, struct err *err)
{
    (void)key;
    struct block *block = arena_new(a, struct block);
    key_defaults(BLOCK_KEYS, ARRAY_LEN(BLOCK_KEYS), a, block);
    *(struct block **)field = block;
    return module_apply_block(node, BLOCK_KEYS, ARRAY_LEN(BLOCK_KEYS), a, block, err);
}

static const struct key_type BLOCK = {"block", "{ ... }", block_parse, NULL};

static const struct key DEMO_KEYS[] = {
    {.name = "level",
     .type = &KEY_INT,
     .offset = offsetof(struct demo, level),
     .scopes = KEY_TOP | KEY_SITE | KEY_PATH,
     .def = "1",
     .min = 0,
     .max = 9},
    {.name = "set",
     .type = &KEY_PAIRS,
     .offset = offsetof(struct demo, set),
     .scopes = KEY_TOP | KEY_SITE | KEY_PATH,
     .repeats = true},
    {.name = "block",
     .type = &BLOCK,
     .offset = offsetof(struct demo, block),
     .scopes = KEY_SITE | KEY_PATH},
};

static bool demo_check(void *conf, unsigned scope, struct tree_pos pos, struct arena *a,
                       struct err *err)
{
    (void)scope;
    (void)a;
    checks++;
    if (((const struct demo *)conf)->level == 7)
        return tree_error(err, pos, "level 7 is not served, another was expected");
    return true;
}

static bool demo_start(struct snapshot *s, struct err *err)
{
    starts++;
    return s->generation != 13 || err_set(err, "generation 13 is not started");
}

static void demo_commit(struct snapshot *s)
{
    (void)s;
    commits++;
}

static struct module demo_module = {
    .name = "demo",
    .keys = DEMO_KEYS,
    .key_count = ARRAY_LEN(DEMO_KEYS),
    .block_keys = BLOCK_KEYS,
    .block_key_count = ARRAY_LEN(BLOCK_KEYS),
    .conf_size = sizeof(struct demo),
    .check = demo_check,
    .start = demo_start,
    .commit = demo_commit,
};

static int register_modules(void **state)
{
    (void)state;
    module_register(&server_conf_module);
    module_register(&listen_module);
    module_register(&site_conf_module);
    module_register(&demo_module);
    return 0;
}

// Builds a snapshot of the text; NULL with the errors in `err`. The empty one goes to *out_empty to
// be freed.
static struct snapshot *build(const char *text, struct err *err, struct snapshot **out_empty)
{
    struct snapshot *s = snapshot_new(1);
    struct tree_source source = {.arena = &s->arena, .dir = "/etc/godwit"};
    struct tree_node *first = NULL;
    struct tree_node **tail = &first;
    *out_empty = s;
    assert_true(tree_parse(&source, "f", str_c(text), &tail, err));
    return snapshot_build(s, first, err);
}

static struct snapshot *need(const char *text)
{
    struct err err = {0};
    struct snapshot *empty;
    struct snapshot *s = build(text, &err, &empty);
    assert_string_equal(err_text(&err), "");
    assert_ptr_equal(s, empty);
    return s;
}

static const struct demo *demo_of(const struct scope *scope)
{
    return module_conf_at(scope, &demo_module);
}

static void scopes_inherit(void **state)
{
    (void)state;
    struct snapshot *s =
        need("level 2; set A top; "
             "site a { set B site; path /x { level 4; set A path; } path /y { } } "
             "site b { level 3; block { fast on; } path /z { block { block_size 1k; } } }");
    const struct site *a = snapshot_site(s, STR("a"));
    const struct site *b = snapshot_site(s, STR("b"));
    assert_int_equal(demo_of(&s->top)->level, 2);
    assert_int_equal(demo_of(&a->scope)->level, 2);
    assert_int_equal(demo_of(&b->scope)->level, 3);
    const struct path *x = snapshot_path(a, STR("/x"));
    const struct path *y = snapshot_path(a, STR("/y"));
    const struct path *z = snapshot_path(b, STR("/z"));
    const struct path *rest = snapshot_path(b, STR("/"));
    assert_int_equal(demo_of(&x->scope)->level, 4);
    assert_int_equal(demo_of(&y->scope)->level, 2);
    assert_int_equal(demo_of(&s->top)->set.count, 1);
    assert_int_equal(demo_of(&y->scope)->set.count, 2);
    assert_int_equal(demo_of(&x->scope)->set.count, 2);
    assert_true(str_eq(demo_of(&x->scope)->set.items[1].value, STR("path")));
    assert_true(str_eq(demo_of(&s->top)->set.items[0].value, STR("top")));
    assert_null(demo_of(&a->scope)->block);
    assert_ptr_equal(demo_of(&rest->scope)->block, demo_of(&b->scope)->block);
    assert_int_equal(demo_of(&rest->scope)->block->size, 4096);
    assert_true(demo_of(&rest->scope)->block->fast);
    assert_int_equal(demo_of(&z->scope)->block->size, 1024);
    assert_false(demo_of(&z->scope)->block->fast);
    // What nothing was said about is one piece of memory.
    assert_ptr_equal(demo_of(&a->scope)->set.items, demo_of(&y->scope)->set.items);
    assert_ptr_equal(demo_of(&y->scope), demo_of(&a->scope));
    assert_ptr_equal(rest->scope.confs, b->scope.confs);
    assert_ptr_not_equal(demo_of(&a->scope), demo_of(&s->top));
    snapshot_unref(s);
}

static void every_error_is_told_once(void **state)
{
    (void)state;

    static const struct {
        const char *text, *errors;
    } CASES[] = {
        {"rooot /x;",
         "f:1:1: unknown directive \"rooot\", did you mean \"root\", which may stand in site or in "
         "path?"},
        {"site a { rot /x; pth / { } }",
         "f:1:10: unknown directive \"rot\", did you mean \"root\"?\n"
         "f:1:18: unknown directive \"pth\", did you mean \"path\"?"},
        {"lisetn 80;", "f:1:1: unknown directive \"lisetn\", did you mean \"listen\"?"},
        {"site a { fest on; }",
         "f:1:10: unknown directive \"fest\", did you mean \"fast\", which may stand in app?"},
        {"site a { app_blocks 1; blokc { } }",
         "f:1:10: unknown directive \"app_blocks\", one of `godwit help` was expected\n"
         "f:1:24: unknown directive \"blokc\", did you mean \"block\"?"},
        {"proxy_pass x;",
         "f:1:1: unknown directive \"proxy_pass\", one of `godwit help` was expected"},
        {"site a { block { blocksize 1; } }",
         "f:1:18: unknown directive \"blocksize\", did you mean \"block_size\"?"},
        {"site a { block { level 1; } }",
         "f:1:18: \"level\" may stand at top level or in site or in path, not in app"},
        {"site a { block { fast on; fast off; } }",
         "f:1:27: \"fast\" stands here again, once was expected (first at f:1:18)"},
        {"site a { fast on; }", "f:1:10: \"fast\" may stand in app, not in site"},
        {"root /x;", "f:1:1: \"root\" may stand in site or in path, not at top level"},
        {"site a { listen 80; site b { } }",
         "f:1:10: \"listen\" may stand at top level, not in site\n"
         "f:1:21: \"site\" may stand at top level, not in site"},
        {"path /x { }", "f:1:1: \"path\" may stand in site, not at top level"},
        {"site a { path /x { path /y { } } }", "f:1:20: \"path\" may stand in site, not in path"},
        {"level 1;\nlevel 2;",
         "f:2:1: \"level\" stands here again, once was expected (first at f:1:1)"},
        {"level 10;", "f:1:7: \"level\" is 10, a number was expected, 0 to 9"},
        {"site { }", "f:1:1: \"site\" has no name, a host name or _ was expected"},
        {"site a;", "f:1:1: \"site\" has no block, \"{\" was expected"},
        {"site a { path /x; }", "f:1:10: \"path\" has no block, \"{\" was expected"},
        {"site a { path { } }",
         "f:1:10: \"path\" has 0 arguments, one was expected: a prefix such as /wiki/"},
        {"site a { path x { } }",
         "f:1:15: \"x\" is no prefix of paths, \"/\" and whole segments were expected"},
        {"site a { path /x//y { } path /../ { } path /a/. { } }",
         "f:1:15: \"/x//y\" is no prefix of paths, \"/\" and whole segments were expected\n"
         "f:1:30: \"/../\" is no prefix of paths, \"/\" and whole segments were expected\n"
         "f:1:44: \"/a/.\" is no prefix of paths, \"/\" and whole segments were expected"},
        // What no request could ever have.
        {"site a { path \"/a%20b\" { } path \"/%e4\" { } path \"/a%2Fb\" { } path \"/100%\" { } path \"/a%2fc\" { } }",
         "f:1:15: \"path\" has \"/a%20b\", but paths are compared without their escapes, \"/a b\" was "
         "expected\n"
         "f:1:33: \"path\" has \"/%e4\", but paths are compared without their escapes, a path of plain "
         "characters was expected\n"
         "f:1:84: \"path\" has \"/a%2fc\", but a slash that is kept is compared as \"%2F\", which was "
         "expected"},
        {"site a { path /api/* { } path /i.php?x=1 { } }",
         "f:1:15: \"path\" has \"/api/*\", but all below a prefix is meant, and never its query: one "
         "without \"*\" and \"?\" was expected\n"
         "f:1:31: \"path\" has \"/i.php?x=1\", but all below a prefix is meant, and never its query: one "
         "without \"*\" and \"?\" was expected"},
        {"site a..b [0:0:0:0:0:0:0:1] [::1] [1:2] [::ffff:1.2.3.4] { }",
         "f:1:6: \"a..b\" is no host name, a name, *.name, _ or an address without port was expected\n"
         "f:1:11: \"[0:0:0:0:0:0:0:1]\" is asked for as \"[::1]\", which was expected\n"
         "f:1:35: \"[1:2]\" is no IPv6 address, one such as [::1] was expected"},
        {"site a { path /x { } path /x/ { } }",
         "f:1:27: path \"/x/\" stands here again, once was expected (first at f:1:10)"},
        {"site a b { } site B { }",
         "f:1:19: name \"b\" stands here again, once was expected (first in the site at f:1:1)"},
        {"site a:80 *.b *.*.c d. { }",
         "f:1:6: \"a:80\" is no host name, a name, *.name, _ or an address without port was expected\n"
         "f:1:15: \"*.*.c\" is no host name, a name, *.name, _ or an address without port was expected\n"
         "f:1:21: \"d.\" is no host name, a name, *.name, _ or an address without port was expected"},
        // A check that failed is not repeated in the scopes below.
        {"level 7; site a { path /x { } }", "f:1:1: level 7 is not served, another was expected"},
        {"site a { level 7; path /x { } } site b { }",
         "f:1:1: level 7 is not served, another was expected"},
        {"site a { index a/b; }",
         "f:1:16: index \"a/b\" is no plain file name, a name without \"/\" was expected"},
        {"site a { root /{x}; path /p { } }",
         "f:1:1: root is \"/{x}\", no other word than {host} was expected in braces"},
        {"listen 1 1;",
         "f:1:10: address \"1\" stands here again, once was expected (first at f:1:8)"},
        {"listen 127.0.0.1:1;\nlisten localhost:1;",
         "f:2:8: address \"localhost:1\" stands here again, once was expected (first at f:1:8)"},
        {"listen x 70000;",
         "f:1:8: \"x\" is no address, PORT, ADDRESS:PORT, [ADDRESS]:PORT or unix:/PATH was expected\n"
         "f:1:10: \"70000\" is no address, PORT, ADDRESS:PORT, [ADDRESS]:PORT or unix:/PATH was expected"},
        {"listen tls;",
         "f:1:8: \"tls\" is no address, PORT, ADDRESS:PORT, [ADDRESS]:PORT or unix:/PATH was expected"},
        {"listen 80 mode 0660;", "f:1:8: \"80\" has a mode, a Unix socket was expected"},
        {"listen unix:/x mode 0888;",
         "f:1:21: mode is \"0888\", permissions in octal such as 0660 were expected"},
        {"listen 80\nsite a { }",
         "f:2:1: \"site\" still belongs to \"listen\" in line 1, \";\" was expected before it"},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct err err = {0};
        struct snapshot *empty;
        assert_null(build(CASES[i].text, &err, &empty));
        assert_string_equal(err_text(&err), CASES[i].errors);
        err_done(&err);
        snapshot_unref(empty);
    }
}

static void hosts_find_their_site(void **state)
{
    (void)state;
    struct snapshot *s =
        need("site first.org A.example { } site *.example { } site *.b.example x { } site _ { }");
    struct snapshot *plain = need("site one { } site two *.one { }");

    static const struct {
        const char *host;
        size_t site, plain_site;
    } CASES[] = {
        {"first.org", 0, 0}, {"a.example", 0, 0},
        {"c.example", 1, 0}, {"c.d.example", 1, 0},
        {"b.example", 1, 0}, {"a.b.example", 2, 0},
        {"x", 2, 0},         {"example", 3, 0},
        {"other.org", 3, 0}, {"", 3, 0},
        {".", 3, 0},         {"a.example.", 0, 0},
        {"two", 3, 1},       {"a.one", 3, 1},
        {".example", 1, 0},  {"_", 3, 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        assert_ptr_equal(snapshot_site(s, str_c(CASES[i].host)), &s->sites[CASES[i].site]);
        assert_ptr_equal(snapshot_site(plain, str_c(CASES[i].host)),
                         &plain->sites[CASES[i].plain_site]);
    }
    assert_true(str_eq(s->sites[1].name, STR("*.example")));
    snapshot_unref(s);
    snapshot_unref(plain);
    s = need("listen 80;");
    assert_null(snapshot_site(s, STR("a")));
    snapshot_unref(s);
}

static void urls_find_their_path(void **state)
{
    (void)state;
    struct snapshot *s = need("site a { path /wiki/ { } path /wiki/img { } path /a.php { } }");
    const struct site *site = snapshot_site(s, STR("a"));

    static const struct {
        const char *url, *prefix;
    } CASES[] = {
        {"/", "/"},
        {"/wiki", "/wiki/"},
        {"/wiki/", "/wiki/"},
        {"/wiki/x", "/wiki/"},
        {"/wikipedia", "/"},
        {"/wiki/img", "/wiki/img"},
        {"/wiki/img/x", "/wiki/img"},
        {"/wiki/imgs", "/wiki/"},
        {"/a.php", "/a.php"},
        {"/a.php/x", "/a.php"},
        {"/a.phps", "/"},
        {"/WIKI/", "/"},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
        assert_true(
            str_eq(snapshot_path(site, str_c(CASES[i].url))->prefix, str_c(CASES[i].prefix)));
    snapshot_unref(s);
}

static void roots_know_what_they_stand_for(void **state)
{
    (void)state;
    struct snapshot *s =
        need("site a { root www//; path /wiki/ { root /w/; } path /x { } path /y { root /; } }");
    const struct site *site = snapshot_site(s, STR("a"));

    static const struct {
        const char *url, *root, *prefix;
    } CASES[] = {
        {"/", "/etc/godwit/www", ""},
        {"/wiki/a", "/w", "/wiki"},
        {"/x/a", "/etc/godwit/www", ""},
        {"/y/a", "/", "/y"},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        const struct path *path = snapshot_path(site, str_c(CASES[i].url));
        const struct site_conf *conf = site_conf_at(&path->scope);
        assert_string_equal(conf->root.ptr, CASES[i].root);
        assert_true(str_eq(conf->root, str_c(CASES[i].root)));
        assert_true(str_eq(site_conf_prefix(path), str_c(CASES[i].prefix)));
        assert_int_equal(conf->index.count, 2);
    }
    snapshot_unref(s);
}

static void listeners_are_listed(void **state)
{
    (void)state;
    struct snapshot *s =
        need("listen 8080 127.0.0.1:80; listen unix:/run/x mode 0660; threads 3; site _ { }");
    size_t count;
    const struct listen_address *list = listen_addresses(s, &count);
    assert_int_equal(count, 3);
    assert_string_equal(list[1].text.ptr, "127.0.0.1:80");
    assert_string_equal(list[2].text.ptr, "unix:/run/x");
    assert_int_equal(list[0].mode, 0);
    assert_int_equal(list[2].mode, 0660);
    assert_int_equal(server_conf(s)->threads, 3);
    assert_int_equal(server_conf(s)->drain_ms, 30000);
    assert_true(str_eq(server_conf(s)->error_log, STR("stderr")));
    snapshot_unref(s);
}

static void the_current_one_is_counted(void **state)
{
    (void)state;
    struct err err = {0};
    struct snapshot *first = need("site a { }");
    struct snapshot *second = need("site b { }");
    assert_int_equal(snapshot_alive(), 2);
    assert_null(snapshot_current());
    starts = commits = 0;
    assert_true(snapshot_start(first, &err));
    snapshot_commit(first);
    struct snapshot *held = snapshot_current();
    assert_ptr_equal(held, first);
    snapshot_commit(second);
    assert_int_equal(snapshot_alive(), 2);
    assert_true(str_eq(held->sites[0].name, STR("a")));
    snapshot_unref(held);
    assert_int_equal(snapshot_alive(), 1);
    snapshot_commit(NULL);
    assert_int_equal(snapshot_alive(), 0);
    assert_null(snapshot_current());
    assert_int_equal(starts, 1);
    assert_int_equal(commits, 2);
    struct snapshot *refused = snapshot_new(13);
    assert_false(snapshot_start(refused, &err));
    assert_string_equal(err_text(&err), "generation 13 is not started");
    snapshot_unref(refused);
    err_done(&err);
}

static void checks_run_once_a_scope(void **state)
{
    (void)state;
    checks = 0;
    snapshot_unref(need("site a { path /x { } }"));
    assert_int_equal(checks, 4); // top, site, /x, /
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_current_one_is_counted),
        cmocka_unit_test(scopes_inherit),
        cmocka_unit_test(every_error_is_told_once),
        cmocka_unit_test(hosts_find_their_site),
        cmocka_unit_test(urls_find_their_path),
        cmocka_unit_test(roots_know_what_they_stand_for),
        cmocka_unit_test(listeners_are_listed),
        cmocka_unit_test(checks_run_once_a_scope),
    };
    return cmocka_run_group_tests(tests, register_modules, NULL);
}
