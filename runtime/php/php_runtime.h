// SPDX-License-Identifier: Apache-2.0
// php_runtime -- the parts of godwit-php to each other. PHP's own headers define hundreds of macros
// with short names, so none of the server's rooms is used here: only the public header of
// libgodwit-app.
#pragma once

#include <SAPI.h>
#include <php.h>
#include <stdbool.h>

#include "godwit_app.h"

// ---- godwit_php.c

// godwit_php_main is what runs in place of the main of PHP's program (host.c).
int godwit_php_main(int argc, char **argv);

// ---- engine.c: the engine as a whole

// What the command line says of the configuration.
struct engine_options {
    char *program;       // as it was called
    char *ini_path;      // -c; NULL: the default
    char *ini_entries;   // -d, one "name=value\n" each; NULL: none
    char *final_entries; // -a, those that no script can change; NULL: none
};

// engine_start starts PHP in the process that forks; false when it refuses (it has said why).
bool engine_start(const struct engine_options *options);

// engine_describe is a JSON object: runtime, program, version, ini files. Valid until the next
// call.
const char *engine_describe(const struct engine_options *options);

// engine_worker_start prepares a freshly forked worker.
void engine_worker_start(void);

// engine_stop ends PHP.
void engine_stop(void);

// engine_serve runs one request.
void engine_serve(struct godwit_app_request *req);

// engine_request is the request at hand, NULL between requests.
struct godwit_app_request *engine_request(void);

// ---- sapi.c: what PHP calls

// sapi_litespeed is the server interface, under the name that PHP software knows.
extern sapi_module_struct sapi_litespeed;

// sapi_litespeed_request_free frees what the interface holds for the request at hand.
void sapi_litespeed_request_free(void);

// ---- variables.c

// variables_register fills $_SERVER.
void variables_register(zval *array);

// variables_find is getenv() for one name: CGI variables and HTTP_*; NULL when unknown. Valid until
// the end of the request.
char *variables_find(const char *name, size_t len);

// variables_header_string is a request header as a C string in engine memory, NULL when absent.
char *variables_header_string(const char *name);

// ---- settings.c

// settings_join is all entries of the options as one text, which PHP keeps; NULL: none.
char *settings_join(const struct engine_options *options);

// settings_start looks whether PHP, which has started, has understood the entries, and makes the
// final ones so; false when not (it has said which).
bool settings_start(const struct engine_options *options);

// settings_allow tells that PHP is not switched off for the request (engine off).
bool settings_allow(const struct godwit_app_request *req);

// settings_apply applies php_value and php_admin_value of the request, until its end.
void settings_apply(const struct godwit_app_request *req);

// ---- user_ini.c

// user_ini_apply applies the settings of the places that the script lies in, until the request's
// end. After settings_apply: what is final there stays.
void user_ini_apply(const char *script);

// user_ini_stop forgets what was read.
void user_ini_stop(void);

// ---- functions.c

// functions_module adds the functions that scripts expect under this server.
extern zend_module_entry functions_module;

// ---- timeout.c

// timeout_worker_start readies the execution time limit in a worker.
void timeout_worker_start(void);

// ---- signals.c

// signals_watch notices when scripts change signal handlers or the nice value.
void signals_watch(void);

// signals_reset takes back what the request has changed, or has the worker leave.
void signals_reset(void);

// ---- opcache_lock.c

// opcache_lock_start readies the lock. Before PHP starts.
void opcache_lock_start(void);

// ---- backtrace.c

// backtrace_worker_start has a worker say on SIGUSR2, on its standard error, where its script is.
void backtrace_worker_start(void);

// ---- workdir.c

// workdir_watch notices when scripts change the working directory.
void workdir_watch(void);

// workdir_enter makes the directory of `script` the working directory.
void workdir_enter(const char *script);
