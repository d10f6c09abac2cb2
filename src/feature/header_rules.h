// SPDX-License-Identifier: Apache-2.0
// header_rules -- the directive `header`: fields that a site sets, adds or removes in its answers,
// whoever makes them. Not those of the connection and of framing, which are the front's.
#pragma once

#include "core/module.h"

extern struct module header_rules_module;
