// SPDX-License-Identifier: Apache-2.0
// help_manual -- the manual of all directives as one document.
#pragma once

// help_manual_markdown writes doc/directives.md to standard output; help_manual_man writes the page
// godwit.conf(5).
void help_manual_markdown(void);
void help_manual_man(void);
