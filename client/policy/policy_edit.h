#ifndef ISOD_CLIENT_POLICY_EDIT_H
#define ISOD_CLIENT_POLICY_EDIT_H
/* Adds hosts to the text of a policy file; everything else in it, comments too, stays byte for byte. Pure. */
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

/*
 * text: a policy, or nothing but blanks for a new one. rules: as egress_rule_format() writes them. Appends to ret the
 * text with those rules in allowedDomains that are not there yet, and puts how many these are into *ret_added; proven
 * by reading both. A mistake in the text: -EINVAL with its place in *e.
 */
int policy_edit_allow(const char *path, const char *text, size_t len, const char *const *rules, size_t n,
		      struct buffer *ret, size_t *ret_added, struct error *e);

#endif
