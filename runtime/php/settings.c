// SPDX-License-Identifier: Apache-2.0
// settings -- php_value and php_admin_value, for one request. See php_runtime.h.
#include <php.h>
#include <string.h>
#include <zend_ini.h>

#include "php_runtime.h"

static bool is_engine(const struct godwit_app_setting *setting)
{
    return setting->name.len == 6 && memcmp(setting->name.ptr, "engine", 6) == 0;
}

bool settings_allow(const struct godwit_app_request *req)
{
    struct godwit_app_setting setting;
    bool on = true;
    for (size_t at = 0; godwit_app_setting_next(req, &at, &setting);)
        if (is_engine(&setting))
            on = !(setting.value.len == 1 && setting.value.ptr[0] == '0');
    return on;
}

void settings_apply(const struct godwit_app_request *req)
{
    struct godwit_app_setting setting;
    for (size_t at = 0; godwit_app_setting_next(req, &at, &setting);) {
        if (is_engine(&setting))
            continue;
        zend_string *name = zend_string_init(setting.name.ptr, setting.name.len, false);
        zend_alter_ini_entry_chars(name, setting.value.ptr, setting.value.len,
                                   setting.is_final ? ZEND_INI_SYSTEM : ZEND_INI_PERDIR,
                                   ZEND_INI_STAGE_ACTIVATE);
        zend_string_release(name);
    }
}
