// SPDX-License-Identifier: Apache-2.0
// engine -- PHP's life in this process: start, one request after another, end. See php_runtime.h.
#include <errno.h>
#include <php.h>
#include <php_ini.h>
#include <php_main.h>
#include <php_variables.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zend_exceptions.h>
#include <zend_signal.h>
#include <zend_smart_str.h>

#include "php_runtime.h"

#define EXIT_OF_ERROR 255 // the exit status after what PHP calls a fatal error

// Exported by PHP, but in no header of 8.2.
extern PHPAPI char *php_ini_opened_path;
extern PHPAPI char *php_ini_scanned_files;

static struct godwit_app_request *current;
static bool is_copy;      // of a worker, made by pcntl_fork
static bool has_children; // perhaps

struct godwit_app_request *engine_request(void)
{
    return current;
}

bool engine_start(const struct engine_options *options)
{
    // Calls that a closed peer would end with a signal report the error instead, as in every other
    // server interface of PHP.
    (void)signal(SIGPIPE, SIG_IGN);
    opcache_lock_start();
    zend_signal_startup();
    sapi_startup(&sapi_litespeed);
    // PHP only reads them; its type is older than const.
    sapi_litespeed.php_ini_path_override = options->ini_path;
    sapi_litespeed.ini_entries = settings_join(options);
    if (php_module_startup(&sapi_litespeed, &functions_module) != SUCCESS) {
        fprintf(stderr, "godwit-php: PHP did not start\n");
        return false;
    }
    if (!settings_start(options))
        return false;
    workdir_watch();
    signals_watch();
#ifdef ZEND_SIGNALS
    // PHP would install its handlers for seven signals again in each request, SIGTERM, which is
    // ours, among them. Those that a script sets by itself: signals.c.
    SIGG(reset) = 0;
#endif
    return true;
}

// Appends a JSON string.
static void put_json(smart_str *out, const char *text, size_t len)
{
    smart_str_appendc(out, '"');
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            smart_str_appendc(out, '\\');
        if (c < 0x20) // line feeds of the scanned list are no part of a name
            continue;
        smart_str_appendc(out, text[i]);
    }
    smart_str_appendc(out, '"');
}

const char *engine_describe(const struct engine_options *options)
{
    static smart_str out;
    smart_str_free_ex(&out, true);
    smart_str_appends_ex(
        &out, "{\"runtime\":\"godwit-php\",\"version\":\"" PHP_VERSION "\",\"program\":", true);
    smart_str list = {0};
    bool first = true;
    const char *program = options->program ? options->program : "godwit-php";
    put_json(&list, program, strlen(program));
    smart_str_appends(&list, ",\"ini\":[");
    if (php_ini_opened_path) {
        put_json(&list, php_ini_opened_path, strlen(php_ini_opened_path));
        first = false;
    }
    for (const char *at = php_ini_scanned_files; at && *at;) {
        size_t len = strcspn(at, ",");
        if (!first)
            smart_str_appendc(&list, ',');
        put_json(&list, at, len);
        first = false;
        at += len;
        at += strspn(at, ",\n");
    }
    smart_str_0(&list);
    if (list.s)
        smart_str_appendl_ex(&out, ZSTR_VAL(list.s), ZSTR_LEN(list.s), true);
    smart_str_free(&list);
    smart_str_appends_ex(&out, "]}", true);
    smart_str_0(&out);
    return ZSTR_VAL(out.s);
}

static void on_forked(void)
{
    is_copy = true;
    has_children = false;
}

static void on_fork_in_parent(void)
{
    has_children = true;
}

// A later script that waits for its own children must not find those of an earlier one.
static void collect_children(void)
{
    pid_t pid = 1;
    while (has_children && pid > 0) {
        pid = waitpid(-1, NULL, WNOHANG);
        has_children = pid >= 0;
    }
}

void engine_worker_start(void)
{
    if (pthread_atfork(NULL, on_fork_in_parent, on_forked) != 0)
        (void)fputs("godwit-php: pcntl_fork will not work well: no memory\n", stderr);
    (void)signal(SIGPIPE, SIG_IGN);
#ifdef PHP_HAS_CHILD_INIT
    php_child_init();
#endif
    timeout_worker_start();
}

void engine_stop(void)
{
    user_ini_stop();
    php_module_shutdown();
    sapi_shutdown();
}

// ---- one request

static int protocol_number(const struct godwit_app_request *req)
{
    struct godwit_app_pair pair;
    for (size_t at = 0; godwit_app_env_next(req, &at, &pair);) {
        if (pair.name.len != 15 || memcmp(pair.name.ptr, "SERVER_PROTOCOL", 15) != 0)
            continue;
        if (pair.value.len == 8 && memcmp(pair.value.ptr, "HTTP/1.0", 8) == 0)
            return 1000;
        return 1001; // later versions behave as 1.1 here: redirects after POST become 303
    }
    return 1000;
}

static void info_fill(struct godwit_app_request *req)
{
    sapi_request_info *info = &SG(request_info);
    // PHP only reads these; its types are older than const.
    info->request_method = godwit_app_method(req).ptr;
    info->query_string = (char *)(uintptr_t)godwit_app_query(req).ptr;
    info->path_translated = (char *)(uintptr_t)godwit_app_script_file(req).ptr;
    info->request_uri = (char *)(uintptr_t)godwit_app_script_name(req).ptr;
    info->content_length = (zend_long)godwit_app_body_bytes(req);
    info->content_type = variables_header_string("Content-Type");
    info->proto_num = protocol_number(req);
    char *auth = variables_header_string("Authorization");
    php_handle_auth_data(auth);
    if (auth)
        efree(auth);
}

static void refuse(struct godwit_app_request *req, int status, const char *text)
{
    static const char TYPE[] = "Content-Type: text/html";
    godwit_app_status(req, status);
    if (godwit_app_header_line(req, (struct godwit_app_text){TYPE, sizeof TYPE - 1}))
        godwit_app_write(req, text, strlen(text));
}

// The server saw the file, perhaps a moment ago: only when PHP could not run it is it worth a look
// whether it is gone or not for this user. Else the file is at fault, and PHP has said so.
static void answer_missing(const char *path)
{
    if (SG(headers_sent) || access(path, R_OK) == 0)
        return;
    bool gone = errno == ENOENT || errno == ENOTDIR;
    zend_clear_exception();
    php_output_discard_all();
    sapi_header_op(SAPI_HEADER_DELETE_ALL, NULL);
    SG(sapi_headers).http_response_code = gone ? 404 : 403;
    php_printf("<h1>%s</h1>\n", gone ? "404 Not Found" : "403 Forbidden");
}

static void run_script(void)
{
    zend_file_handle script;
    zend_stream_init_filename(&script, SG(request_info).path_translated);
    script.primary_script = 1;
    php_execute_script(&script); // its result is of another type in each version
    if (EG(exit_status) == EXIT_OF_ERROR)
        answer_missing(SG(request_info).path_translated);
    zend_destroy_file_handle(&script);
}

static void run_request(struct godwit_app_request *req)
{
    zend_first_try
    {
        SG(sapi_headers).http_response_code = 200;
        EG(exit_status) = 0; // PHP leaves that of the last script
        // Before PHP starts the request: session.auto_start and uploads use relative paths too.
        workdir_enter(godwit_app_script_file(req).ptr);
        settings_apply(req);
        user_ini_apply(godwit_app_script_file(req).ptr);
        info_fill(req);
        if (php_request_startup() == SUCCESS)
            run_script();
        else
            refuse(req, 500, "<h1>500 Internal Server Error</h1>\n");
    }
    zend_catch
    {
        // The script ended by exit or a fatal error; what it wrote goes out.
    }
    zend_end_try();
    php_request_shutdown(NULL);
    if (is_copy) { // who made it wants to know how it ended
        engine_stop();
        _exit(EG(exit_status));
    }
    signals_reset();
    collect_children();
}

void engine_serve(struct godwit_app_request *req)
{
    current = req;
    SG(server_context) = req;
    // The directory is ours to set: PHP would ask for the current one and come back to it.
    SG(options) |= SAPI_OPTION_NO_CHDIR;
    if (settings_allow(req))
        run_request(req);
    else
        refuse(req, 403, "<h1>403 Forbidden</h1>PHP is switched off here.\n");
    sapi_litespeed_request_free();
    SG(server_context) = NULL;
    current = NULL;
}
