// SPDX-License-Identifier: Apache-2.0
// config_test -- files with their includes, directories without a configuration, and what the
// machine lacks.
#include "main/config.h"

#include <fcntl.h>
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

#include "main/config_verify.h"
#include "os/fd.h"
#include "os/file.h"

static char base[64]; // a directory of this run, removed at the end
static struct arena names;

static const char *path_of(const char *name)
{
    return arena_fmt(&names, "%s/%s", base, name).ptr;
}

static void make_dir(const char *name)
{
    assert_int_equal(file_make_dirs(path_of(name), 0755), 0);
}

static void make_file(const char *name, const char *text)
{
    int fd = open(path_of(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(fd_write_all(fd, str_c(text)), 0);
    fd_close(&fd);
}

static int make_base(void **state)
{
    (void)state;
    (void)snprintf(base, sizeof base, "/tmp/godwit-config-test.XXXXXX");
    return mkdtemp(base) ? 0 : -1;
}

static const char *const MADE[] = {
    "main.conf",
    "loop.conf",
    "bad.conf",
    "sites/a.conf",
    "sites/b.conf",
    "sites",
    "php/sub/x.php",
    "php/sub",
    "php/.git/y.php",
    "php/.git",
    "php",
    "public/public/index.php",
    "public/public",
    "public/package.json",
    "public",
    "plain/.git/x.php",
    "plain/.git",
    "plain/a.txt",
    "plain",
    "node/package.json",
    "node",
    "built/package.json",
    "built/index.html",
    "built",
};

static int remove_base(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(MADE); i++)
        (void)remove(path_of(MADE[i]));
    int rc = rmdir(base);
    arena_done(&names);
    return rc;
}

struct result {
    struct arena arena;
    struct err err;
    struct tree_node *first;
    bool ok;
};

static void read_config(struct result *r, const char *flag, const char *name)
{
    const char *words[] = {
        "check", "-n", "x", flag ? flag : "-p", flag ? path_of(name) : "8081", path_of(name)};
    char *argv[ARRAY_LEN(words)];
    int argc = flag ? 5 : 6;
    struct config_source source;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        argv[i] = (char *)(size_t)words[i];
    *r = (struct result){0};
    assert_true(config_source_read(argc, argv, &source, &r->err));
    assert_string_equal(source.name, "x");
    r->ok = config_read(&source, &r->arena, &r->first, &r->err);
}

static void release(struct result *r)
{
    arena_done(&r->arena);
    err_done(&r->err);
}

static void need_dump(struct result *r, const char *expected)
{
    struct buf dump = {0};
    assert_string_equal(err_text(&r->err), "");
    assert_true(r->ok);
    tree_dump(r->first, &dump);
    if (!str_eq(buf_view(&dump), str_c(expected)))
        fail_msg("%.*s", STR_ARG(buf_view(&dump)));
    buf_done(&dump);
}

static void command_lines_name_a_source(void **state)
{
    (void)state;

    static const struct {
        const char *words[6];
        const char *error;
    } CASES[] = {
        {{"check", "-c", "f"}, ""},
        {{"check", "d", "-p", "80"}, ""},
        {{"check"}, "a configuration file (-c FILE) or a directory was expected"},
        {{"check", "d", "-c", "f"}, "a configuration file (-c FILE) or a directory was expected"},
        {{"check", "d", "-p", "65536"}, "port is \"65536\", 1 to 65535 was expected"},
        {{"check", "-c"}, "-c has no value, one was expected"},
        {{"check", "-x", "y"}, "unknown option -x, -c, -n or -p was expected"},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        char *argv[6];
        int argc = 0;
        struct config_source source;
        struct err err = {0};
        for (; CASES[i].words[argc]; argc++)
            argv[argc] = (char *)(size_t)CASES[i].words[argc];
        assert_int_equal(config_source_read(argc, argv, &source, &err), !*CASES[i].error);
        assert_string_equal(err_text(&err), CASES[i].error);
        err_done(&err);
    }
}

static void includes_are_sorted_and_relative(void **state)
{
    (void)state;
    struct result r;
    make_dir("sites");
    make_file(
        "main.conf",
        "first;\ninclude sites/*.conf;\ninclude none/*.conf;\nsite x { include ./sites/b.conf; }\n");
    make_file("sites/b.conf", "b;\n");
    make_file("sites/a.conf", "a www;\n");
    read_config(&r, "-c", "main.conf");
    need_dump(&r, "first;\na www;\nb;\nsite x {\n    b;\n}\n");
    assert_string_equal(r.first->dir, base);
    assert_string_equal(r.first->next->dir, path_of("sites"));
    assert_string_equal(r.first->next->pos.file, path_of("sites/a.conf"));
    release(&r);
}

static void missing_and_circular_includes_are_errors(void **state)
{
    (void)state;
    struct result r;
    make_file("bad.conf", "include nowhere.conf;\ninclude '';\na");
    read_config(&r, "-c", "bad.conf");
    assert_false(r.ok);
    const char *bad = path_of("bad.conf");
    assert_string_equal(
        err_text(&r.err),
        arena_fmt(&names,
                  "%s:1:9: cannot include %s, a file that can be read was expected: "
                  "No such file or directory\n"
                  "%s:2:9: include has an empty name, a file or a pattern was expected\n"
                  "%s:3:1: \"a\" has no end, \";\" was expected",
                  bad, path_of("nowhere.conf"), bad, bad)
            .ptr);
    release(&r);
    make_file("loop.conf", "include loop.conf;\n");
    read_config(&r, "-c", "loop.conf");
    assert_false(r.ok);
    assert_int_equal(r.err.count, 1);
    release(&r);
    read_config(&r, "-c", "none.conf");
    assert_false(r.ok);
    assert_non_null(strstr(err_text(&r.err), "none.conf: No such file"));
    release(&r);
}

// Directives that depend on who runs the test are left out.
static void directories_explain_themselves(void **state)
{
    (void)state;
    make_dir("php/sub");
    make_dir("php/.git");
    make_file("php/sub/x.php", "");
    make_file("php/.git/y.php", "");
    make_dir("public/public");
    make_file("public/public/index.php", "");
    make_file("public/package.json", "{}");
    make_dir("plain/.git");
    make_file("plain/.git/x.php", "");
    make_file("plain/a.txt", "");
    make_dir("node");
    make_file("node/package.json", "{}");
    make_dir("built");
    make_file("built/package.json", "{}");
    make_file("built/index.html", "");

    static const struct {
        const char *dir, *root; // root NULL: refused
        const char *error;
        bool has_app;
    } CASES[] = {
        {"php", "php", "", true},
        {"public", "public/public", "", true},
        {"plain", "plain", "", false},
        {"built", "built", "", false},
        {"node", NULL, "looks like a Node app (package.json), which this version does not run",
         false},
        {"nowhere", NULL, "No such file or directory", false},
        {"plain/a.txt", NULL, "it is no directory", false},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct result r;
        read_config(&r, NULL, CASES[i].dir);
        assert_int_equal(r.ok, CASES[i].root != NULL);
        assert_non_null(strstr(err_text(&r.err), CASES[i].error));
        const struct tree_node *site = r.first;
        while (site && !str_eq(site->name, STR("site")))
            site = site->next;
        bool has_app = false;
        for (const struct tree_node *node = site ? site->first_child : NULL; node;
             node = node->next) {
            has_app = has_app || str_eq(node->name, STR("app"));
            if (str_eq(node->name, STR("root")))
                assert_true(str_eq(node->args[0], str_c(path_of(CASES[i].root))));
        }
        assert_int_equal(has_app, CASES[i].has_app);
        if (r.ok) {
            assert_true(str_eq(r.first->name, STR("development")));
            assert_true(str_eq(r.first->next->args[0], STR("127.0.0.1:8081")));
        }
        release(&r);
    }
}

static void what_the_machine_lacks_is_told(void **state)
{
    (void)state;
    struct result r;
    make_file("main.conf", "error_log logs/x.log;\n"
                           "access_log stdout;\n"
                           "site _ {\n"
                           "    root .;\n"
                           "    path /a { root nothing; access_log off; }\n"
                           "    path /b { root main.conf; access_log b.log json; }\n"
                           "}\n");
    read_config(&r, "-c", "main.conf");
    assert_true(r.ok);
    assert_false(config_verify(r.first, &r.arena, &r.err));
    const char *file = path_of("main.conf");
    assert_string_equal(
        err_text(&r.err),
        arena_fmt(
            &names,
            "%s:1:11: the directory of the log is %s/logs, a directory that exists was expected: "
            "No such file or directory\n"
            "%s:5:20: root is %s/nothing, a directory that exists was expected: No such file or directory\n"
            "%s:6:20: root is %s, a directory that exists was expected: it is no directory",
            file, base, file, base, file, file)
            .ptr);
    release(&r);
    make_file("main.conf", "user no-such-user-here;\n");
    read_config(&r, "-c", "main.conf");
    assert_true(r.ok);
    assert_false(config_verify(r.first, &r.arena, &r.err));
    assert_non_null(strstr(err_text(&r.err), "user"));
    assert_int_equal(r.err.count, 1);
    release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(command_lines_name_a_source),
        cmocka_unit_test(includes_are_sorted_and_relative),
        cmocka_unit_test(missing_and_circular_includes_are_errors),
        cmocka_unit_test(directories_explain_themselves),
        cmocka_unit_test(what_the_machine_lacks_is_told),
    };
    return cmocka_run_group_tests(tests, make_base, remove_base);
}
