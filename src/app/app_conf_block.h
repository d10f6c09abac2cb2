// SPDX-License-Identifier: Apache-2.0
// app_conf_block -- the directives inside `app TYPE { ... }`, which fill a struct app_conf.
#pragma once

#include "conf/key.h"

#define APP_CONF_BLOCK_COUNT 25

extern const struct key app_conf_block_keys[APP_CONF_BLOCK_COUNT];
