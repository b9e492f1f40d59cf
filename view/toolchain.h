#ifndef ISOD_VIEW_TOOLCHAIN_H
#define ISOD_VIEW_TOOLCHAIN_H
/*
 * Tool chains and caches as people have them in HOME. Tool chains can be read ("sandbox.filesystem.toolchains"), caches
 * are overlays ("sandbox.filesystem.caches"): warm to read, and what a session writes is thrown away. Their credential
 * files are masked whatever the groups of protections say.
 */
#include "view/path_rules.h"

/* Patterns begin with "~/"; PATH_RULE_BUILT_IN | PATH_RULE_OPTIONAL; group 0. Denials of credentials come with them. */
extern const struct path_rule toolchain_rules[];
extern const size_t n_toolchain_rules;
extern const struct path_rule cache_rules[];
extern const size_t n_cache_rules;

#endif
