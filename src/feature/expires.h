// SPDX-License-Identifier: Apache-2.0
// expires -- tells clients and caches how long they may keep an answer (RFC 9111 §4.2.1). What an
// app has said about its own answers stands.
#pragma once

#include "core/module.h"

extern struct module expires_module;
