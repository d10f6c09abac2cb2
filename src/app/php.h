// SPDX-License-Identifier: Apache-2.0
// php -- requests for PHP scripts: finds the script below the root and has the site's app run it.
#pragma once

#include <stdbool.h>

#include "app/app_conf.h"
#include "core/exchange.h"

// php_is_script tells whether a file of this name is a script of the app.
bool php_is_script(const struct app_conf *app, struct str file_name);

// php_handle answers if the exchange's path names a script, also one with path info behind it.
enum phase_result php_handle(struct exchange *ex, const struct app_conf *app);
