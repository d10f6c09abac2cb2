// SPDX-License-Identifier: Apache-2.0
// hello -- a small web application in C, and what tests do to workers. The first word of the query
// chooses:
//
//   (none)        greet                      ?env          variables and headers, one a line
//   ?echo         the request's body         ?stream=N     N pieces, each flushed
//   ?big=N        N bytes                    ?status=N     that status
//   ?header       several response headers   ?log          a line to the error log
//   ?finish       answer, then go on for a while (the answer holds no trace of it)
//   ?crash ?hang ?exit=N ?noanswer           what bad programs do
//   ?fork         leave a process behind that holds all descriptors
//   ?copy         fork; the copy does what it can to disturb, and ends as a worker would
//   ?pid          this worker's number
//
// HELLO_BOOT=crash|hang|fail does it while booting, HELLO_PRELOAD=crash|hang|fail while loading.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "godwit_app.h"

struct word {
    const char *name;
    void (*run)(struct godwit_app_request *req, long number);
};

static void say(struct godwit_app_request *req, const char *text)
{
    godwit_app_write(req, text, strlen(text));
}

static void add(struct godwit_app_request *req, const char *name, const char *value)
{
    struct godwit_app_text n = {name, strlen(name)}, v = {value, strlen(value)};
    if (!godwit_app_header_add(req, n, v))
        say(req, "(a header was refused)\n");
}

static void start(struct godwit_app_request *req)
{
    add(req, "Content-Type", "text/plain");
}

static void say_pair(struct godwit_app_request *req, const char *mark, struct godwit_app_text name,
                     struct godwit_app_text value)
{
    say(req, mark);
    godwit_app_write(req, name.ptr, name.len);
    say(req, "=");
    godwit_app_write(req, value.ptr, value.len);
    say(req, "\n");
}

static void run_hello(struct godwit_app_request *req, long number)
{
    (void)number;
    start(req);
    say(req, "Hello, world\n");
}

static void run_env(struct godwit_app_request *req, long number)
{
    (void)number;
    struct godwit_app_pair pair;
    struct godwit_app_header header;
    struct godwit_app_setting setting;
    start(req);
    for (size_t at = 0; godwit_app_env_next(req, &at, &pair);)
        say_pair(req, "", pair.name, pair.value);
    for (size_t at = 0; godwit_app_header_next(req, &at, &header);)
        say_pair(req, "header ", header.name, header.value);
    for (size_t at = 0; godwit_app_setting_next(req, &at, &setting);)
        say_pair(req, setting.is_final ? "final setting " : "setting ", setting.name,
                 setting.value);
}

static void run_echo(struct godwit_app_request *req, long number)
{
    (void)number;
    char room[8192];
    long got;
    struct godwit_app_text type;
    if (godwit_app_header(req, "content-type", &type))
        godwit_app_header_add(req, (struct godwit_app_text){"Content-Type", 12}, type);
    while ((got = godwit_app_read(req, room, sizeof room)) > 0)
        godwit_app_write(req, room, (size_t)got);
}

static void run_stream(struct godwit_app_request *req, long number)
{
    start(req);
    for (long i = 1; i <= number; i++) {
        char line[32];
        snprintf(line, sizeof line, "piece %ld\n", i);
        say(req, line);
        if (godwit_app_flush(req) < 0)
            return;
    }
}

static void run_big(struct godwit_app_request *req, long number)
{
    char block[1000];
    memset(block, 'x', sizeof block);
    start(req);
    for (size_t left = number > 0 ? (size_t)number : 0; left;) {
        size_t count = left < sizeof block ? left : sizeof block;
        if (godwit_app_write(req, block, count) < 0)
            return;
        left -= count;
    }
}

static void run_status(struct godwit_app_request *req, long number)
{
    godwit_app_status(req, (int)number);
    start(req);
    say(req, "status\n");
}

static void run_header(struct godwit_app_request *req, long number)
{
    (void)number;
    start(req);
    add(req, "Set-Cookie", "a=1");
    add(req, "Set-Cookie", "b=2");
    add(req, "X-Split", "no\r\nX-Smuggled: yes");
}

static void run_log(struct godwit_app_request *req, long number)
{
    (void)number;
    static const char TEXT[] = "hello: something to note\n";
    start(req);
    godwit_app_log(req, TEXT, sizeof TEXT - 1);
    say(req, "logged\n");
}

static void run_finish(struct godwit_app_request *req, long number)
{
    start(req);
    say(req, "finished\n");
    godwit_app_finish(req);
    say(req, "nobody reads this\n");
    sleep(number > 0 ? (unsigned)number : 1);
}

static void run_crash(struct godwit_app_request *req, long number)
{
    (void)req;
    (void)number;
    raise(SIGSEGV);
}

static void run_hang(struct godwit_app_request *req, long number)
{
    (void)req;
    (void)number;
    for (;;)
        pause();
}

static void run_exit(struct godwit_app_request *req, long number)
{
    (void)req;
    exit((int)number);
}

// Takes the request and says nothing; with a number, after that many bytes of the answer.
static void run_noanswer(struct godwit_app_request *req, long number)
{
    if (number > 0)
        run_big(req, number);
    if (number > 0)
        godwit_app_flush(req);
    run_hang(req, 0);
}

// Not by fork, of which the library hears.
static void run_fork(struct godwit_app_request *req, long number)
{
    pid_t pid = _Fork();
    if (pid == 0) {
        sleep(number > 0 ? (unsigned)number : 60);
        _exit(0);
    }
    start(req);
    say(req, "forked\n");
}

static void run_copy(struct godwit_app_request *req, long number)
{
    (void)number;
    start(req);
    say(req, "begin\n");
    pid_t pid = fork();
    if (pid == 0) {
        say(req, "copy\n");
        godwit_app_flush(req);
        godwit_app_finish(req);
        return;
    }
    int status = -1;
    waitpid(pid, &status, 0);
    say(req, WIFEXITED(status) && WEXITSTATUS(status) == 0 ? "end\n" : "the copy went wrong\n");
}

static void run_pid(struct godwit_app_request *req, long number)
{
    (void)number;
    char line[32];
    start(req);
    snprintf(line, sizeof line, "%ld\n", (long)getpid());
    say(req, line);
}

static const struct word WORDS[] = {
    {"", run_hello},
    {"env", run_env},
    {"echo", run_echo},
    {"stream", run_stream},
    {"big", run_big},
    {"status", run_status},
    {"header", run_header},
    {"log", run_log},
    {"finish", run_finish},
    {"crash", run_crash},
    {"hang", run_hang},
    {"exit", run_exit},
    {"noanswer", run_noanswer},
    {"fork", run_fork},
    {"copy", run_copy},
    {"pid", run_pid},
};

static void serve(void *arg, struct godwit_app_request *req)
{
    (void)arg;
    const char *query = godwit_app_query(req).ptr;
    size_t len = strcspn(query, "=&");
    long number = query[len] == '=' ? strtol(query + len + 1, NULL, 10) : 0;
    for (size_t i = 0; i < sizeof WORDS / sizeof WORDS[0]; i++)
        if (strlen(WORDS[i].name) == len && strncmp(query, WORDS[i].name, len) == 0) {
            WORDS[i].run(req, number);
            return;
        }
    run_status(req, 404);
}

static int misbehave(const char *variable)
{
    const char *how = getenv(variable);
    if (!how)
        return 0;
    fprintf(stderr, "hello: %s=%s\n", variable, how);
    if (strcmp(how, "crash") == 0) {
        (void)signal(SIGSEGV, SIG_DFL); // sanitizers would make an exit of it
        raise(SIGSEGV);
    }
    while (strcmp(how, "hang") == 0)
        pause();
    return 3;
}

static int preload(void *arg)
{
    (void)arg;
    return misbehave("HELLO_PRELOAD");
}

static int boot(void *arg)
{
    (void)arg;
    return misbehave("HELLO_BOOT");
}

static const char *describe(void *arg)
{
    (void)arg;
    return "{\"runtime\":\"lsapi-hello\",\"version\":\"1\"}";
}

int main(int argc, char **argv)
{
    static const struct godwit_app_hooks HOOKS = {
        .preload = preload, .describe = describe, .boot = boot, .serve = serve};
    return godwit_app_main(&HOOKS, argc, argv);
}
