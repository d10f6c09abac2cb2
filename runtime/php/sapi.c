// SPDX-License-Identifier: Apache-2.0
// sapi -- PHP's view of the server: output, headers, body, log. See php_runtime.h.
#include <php.h>
#include <php_main.h>
#include <php_variables.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "php_runtime.h"

#define STATUS_LINE_BYTES 256 // a longer reason is left out
#define STATUS_NONE       (-1)

static char *cookie; // of the request at hand, in engine memory; NULL: not asked yet, or absent
static int told_status = STATUS_NONE; // of the request at hand, once its head was sent

static int on_startup(sapi_module_struct *module)
{
    return php_module_startup(module, &functions_module);
}

static size_t on_write(const char *text, size_t len)
{
    struct godwit_app_request *req = engine_request();
    // Outside of requests there is nobody to read; the log has the messages that matter.
    if (req && godwit_app_write(req, text, len) < 0)
        php_handle_aborted_connection();
    return len;
}

static void on_flush(void *context)
{
    struct godwit_app_request *req = context;
    if (!req)
        return;
    sapi_send_headers();
    if (godwit_app_flush(req) < 0)
        php_handle_aborted_connection();
}

// CGI scripts say their status in a header of that name.
static bool take_status(struct godwit_app_request *req, const sapi_header_struct *header)
{
    if (header->header_len < 7 || strncasecmp(header->header, "Status:", 7) != 0)
        return false;
    const char *at = header->header + 7; // NUL-terminated
    int status = 0;
    at += strspn(at, " \t");
    for (int digits = 0; digits < 3 && *at >= '0' && *at <= '9'; digits++)
        status = status * 10 + (*at++ - '0');
    if (SG(sapi_headers).http_response_code == 200 && status >= 200 && status <= 599)
        godwit_app_status(req, status); // else it is ignored, as Apache's module does
    return true;
}

// A script says "Content-Type:" to have none.
static bool is_no_type(const sapi_header_struct *header)
{
    static const char NAME[] = "Content-Type:";
    size_t len = sizeof NAME - 1;
    return header->header_len >= len && strncasecmp(header->header, NAME, len) == 0
           && header->header[len + strspn(header->header + len, " \t")] == '\0';
}

// What an answer cannot do without: what its body is, where it leads, who may see and keep it.
static bool is_vital(const sapi_header_struct *header)
{
    static const char *const NAMES[] = {
        "Content-",       "Location:",    "WWW-Authenticate:",
        "Cache-Control:", "Retry-After:", "Strict-Transport-Security:"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (strncasecmp(header->header, NAMES[i], strlen(NAMES[i])) == 0)
            return true;
    return false;
}

// Headers on their way to the server, and what came of them.
struct head {
    struct godwit_app_request *req;
    size_t count, lost;
    char first_lost[61]; // its beginning
};

static void send_line(struct head *head, const char *line, size_t len)
{
    head->count++;
    if (godwit_app_header_line(head->req, (struct godwit_app_text){line, len}))
        return;
    if (head->lost++ == 0)
        (void)snprintf(head->first_lost, sizeof head->first_lost, "%.*s",
                       (int)(len < 60 ? len : 60), line);
}

// header('HTTP/1.1 404 Custom Reason'): as Apache's module takes it, a reason that belongs to the
// status in force. It travels in a Status field.
static void send_reason(struct head *head, const sapi_headers_struct *headers)
{
    char line[STATUS_LINE_BYTES];
    char code[16];
    const char *said = headers->http_status_line;
    (void)snprintf(code, sizeof code, " %d ", headers->http_response_code);
    if (!said || strncmp(said, "HTTP/1.", 7) != 0 || strlen(said) <= 13
        || strncmp(said + 8, code, 5) != 0)
        return;
    int len = snprintf(line, sizeof line, "Status: %s", said + 9);
    if (len > 0 && (size_t)len < sizeof line)
        send_line(head, line, (size_t)len);
}

static bool has_room(sapi_headers_struct *headers)
{
    zend_llist_position at;
    size_t count = headers->http_status_line ? 2 : 1; // the default type, a reason
    size_t bytes = 256;
    for (sapi_header_struct *h = zend_llist_get_first_ex(&headers->headers, &at); h;
         h = zend_llist_get_next_ex(&headers->headers, &at)) {
        count++;
        bytes += h->header_len + 1;
    }
    return count <= GODWIT_APP_HEADERS_MAX && bytes <= GODWIT_APP_HEADER_BYTES_MAX;
}

enum part { PART_ALL, PART_VITAL, PART_REST };

static void send_part(struct head *head, sapi_headers_struct *headers, enum part part)
{
    zend_llist_position at;
    for (sapi_header_struct *h = zend_llist_get_first_ex(&headers->headers, &at); h;
         h = zend_llist_get_next_ex(&headers->headers, &at)) {
        bool is_meant = part == PART_ALL || is_vital(h) == (part == PART_VITAL);
        if (is_meant && !take_status(head->req, h) && !is_no_type(h))
            send_line(head, h->header, h->header_len);
    }
}

// An error of PHP would start output, which is what asked for the headers.
static void tell_lost(const struct head *head)
{
    char message[256];
    int len = snprintf(message, sizeof message,
                       "PHP Warning:  Too many or too large response headers: %zu of %zu left out "
                       "(at most %d, %d bytes), the first: %s\n",
                       head->lost, head->count, GODWIT_APP_HEADERS_MAX, GODWIT_APP_HEADER_BYTES_MAX,
                       head->first_lost);
    godwit_app_log(head->req, message, (size_t)len);
}

static int on_send_headers(sapi_headers_struct *headers)
{
    struct head head = {.req = engine_request()};
    if (!head.req || SG(request_info).no_headers)
        return SAPI_HEADER_SENT_SUCCESSFULLY;
    // PHP comes again when a callback for headers has written something. Only the status may be
    // another one by then.
    bool is_repeated = told_status != STATUS_NONE;
    if (told_status != headers->http_response_code)
        godwit_app_status(head.req, headers->http_response_code);
    told_status = headers->http_response_code;
    if (is_repeated)
        return SAPI_HEADER_SENT_SUCCESSFULLY;
    bool is_whole = has_room(headers);
    send_reason(&head, headers);
    send_part(&head, headers, is_whole ? PART_ALL : PART_VITAL);
    if (headers->send_default_content_type) {
        sapi_header_struct type;
        sapi_get_default_content_type_header(&type);
        send_line(&head, type.header, type.header_len);
        sapi_free_header(&type);
    }
    if (!is_whole)
        send_part(&head, headers, PART_REST);
    // Nobody to answer, as in a copy that the script has made: nothing is left out of anything.
    if (head.lost && godwit_app_is_open(head.req))
        tell_lost(&head);
    return SAPI_HEADER_SENT_SUCCESSFULLY;
}

// PHP takes a short count for the end of the body.
static size_t on_read_post(char *room, size_t size)
{
    struct godwit_app_request *req = engine_request();
    size_t count = 0;
    while (req && count < size) {
        long got = godwit_app_read(req, room + count, size - count);
        if (got <= 0)
            break;
        count += (size_t)got;
    }
    return count;
}

static char *on_read_cookies(void)
{
    if (!cookie && engine_request())
        cookie = variables_header_string("Cookie");
    return cookie;
}

static char *on_getenv(const char *name, size_t len)
{
    return engine_request() ? variables_find(name, len) : NULL;
}

static void on_log(const char *message, int syslog_type)
{
    (void)syslog_type;
    size_t len = strlen(message);
    char *line = malloc(len + 1);
    if (!line)
        return;
    memcpy(line, message, len);
    line[len] = '\n';
    godwit_app_log(engine_request(), line, len + 1);
    free(line);
}

void sapi_litespeed_request_free(void)
{
    // The engine has freed its memory with the request.
    cookie = NULL;
    told_status = STATUS_NONE;
    SG(request_info).content_type = NULL;
}

sapi_module_struct sapi_litespeed = {
    .name = (char *)(uintptr_t) "litespeed",
    .pretty_name = (char *)(uintptr_t) "Godwit (LSAPI)",
    .startup = on_startup,
    .shutdown = php_module_shutdown_wrapper,
    .ub_write = on_write,
    .flush = on_flush,
    .getenv = on_getenv,
    .sapi_error = php_error,
    .send_headers = on_send_headers,
    .read_post = on_read_post,
    .read_cookies = on_read_cookies,
    .register_server_variables = variables_register,
    .log_message = on_log,
};
