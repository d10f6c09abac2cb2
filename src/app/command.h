// SPDX-License-Identifier: Apache-2.0
// command -- requests for a program that serves a whole site or path over LSAPI: all that no file
// answers.
#pragma once

#include "app/app_conf.h"
#include "core/exchange.h"

// command_handle answers unless the exchange's path names a file.
enum phase_result command_handle(struct exchange *ex, const struct app_conf *app);
