// SPDX-License-Identifier: Apache-2.0
// functions -- what scripts may ask of the server: finishing early, and headers under the names
// that Apache's module gave them. See php_runtime.h.
#include <php.h>
#include <php_output.h>
#include <string.h>

#include "php_runtime.h"

static void return_request_headers(zval *return_value)
{
    struct godwit_app_request *req = engine_request();
    struct godwit_app_header header;
    array_init(return_value);
    for (size_t at = 0; req && godwit_app_header_next(req, &at, &header);) {
        zval value;
        ZVAL_STRINGL(&value, header.value.ptr, header.value.len);
        zend_symtable_str_update(Z_ARRVAL_P(return_value), header.name.ptr, header.name.len,
                                 &value);
    }
}

static void add_response_header(void *item, void *array)
{
    const sapi_header_struct *header = item;
    const char *colon = memchr(header->header, ':', header->header_len);
    if (!colon)
        return;
    size_t name_len = (size_t)(colon - header->header);
    const char *value = colon + 1;
    const char *end = header->header + header->header_len;
    while (value < end && (*value == ' ' || *value == '\t'))
        value++;
    zval text;
    ZVAL_STRINGL(&text, value, (size_t)(end - value));
    zend_symtable_str_update(Z_ARRVAL_P((zval *)array), header->header, name_len, &text);
}

PHP_FUNCTION(litespeed_finish_request)
{
    ZEND_PARSE_PARAMETERS_NONE();
    struct godwit_app_request *req = engine_request();
    if (!req || !godwit_app_is_open(req))
        RETURN_FALSE;
    php_output_end_all();
    sapi_send_headers();
    RETURN_BOOL(godwit_app_finish(req) == 0);
}

PHP_FUNCTION(apache_request_headers)
{
    ZEND_PARSE_PARAMETERS_NONE();
    return_request_headers(return_value);
}

PHP_FUNCTION(apache_response_headers)
{
    ZEND_PARSE_PARAMETERS_NONE();
    array_init(return_value);
    zend_llist_apply_with_argument(&SG(sapi_headers).headers, add_response_header, return_value);
}

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_finish_request, 0, 0, _IS_BOOL, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_headers, 0, 0, IS_ARRAY, 0)
ZEND_END_ARG_INFO()

// clang-format off
static const zend_function_entry FUNCTIONS[] = {
    PHP_FE(litespeed_finish_request, arginfo_finish_request)
    PHP_FALIAS(fastcgi_finish_request, litespeed_finish_request, arginfo_finish_request)
    PHP_FE(apache_request_headers, arginfo_headers)
    PHP_FALIAS(getallheaders, apache_request_headers, arginfo_headers)
    PHP_FALIAS(litespeed_request_headers, apache_request_headers, arginfo_headers)
    PHP_FE(apache_response_headers, arginfo_headers)
    PHP_FALIAS(litespeed_response_headers, apache_response_headers, arginfo_headers)
    PHP_FE_END
};
// clang-format on

zend_module_entry functions_module = {
    STANDARD_MODULE_HEADER,    "litespeed", FUNCTIONS, NULL, NULL, NULL, NULL, NULL, GODWIT_VERSION,
    STANDARD_MODULE_PROPERTIES};
