#ifndef ISOD_POLICY_BUILD_H
#define ISOD_POLICY_BUILD_H
/* Shared by the files that read a policy; not for others. */
#include "base/arena.h"
#include "json/value.h"
#include "policy/policy.h"

/* One layer on its way into the merged policy. */
struct policy_builder {
	struct policy *policy;
	struct arena **arena;
	enum policy_layer_kind layer;
	bool trusted;     /* as of struct policy_input */
	const char *path; /* arena; "" for built-in and command line */
	struct error *error;
};

#define POLICY_KEY_MAX 64

/* Where in the file: the key's path, "sandbox.network.allowedDomains[2]". */
struct policy_place {
	uint32_t line;
	char key[POLICY_KEY_MAX];
};

/* Fills *b->error (.step = "path:line: key"); returns -EINVAL, or -err of a cause that is no mistake in the text. */
int policy_refuse(const struct policy_builder *b, const struct policy_place *place, const char *remedy,
		  const char *format, ...) __attribute__((format(printf, 4, 5)));
/* The same with the message and remedy of cause. */
int policy_refuse_cause(const struct policy_builder *b, const struct policy_place *place, const struct error *cause);
int policy_no_memory(const struct policy_builder *b);

struct policy_origin policy_builder_origin(const struct policy_builder *b, uint32_t line);

/* policy_list.c: heap arrays in struct policy. Texts go to the arena. 0 or -ENOMEM (reported). */
int policy_list_append(const struct policy_builder *b, struct policy_list *list, const char *text, uint32_t line);
int policy_rule_append(const struct policy_builder *b, const struct egress_rule *rule);
int policy_pair_append(const struct policy_builder *b, struct policy_pair **pairs, size_t *n, const char *name,
		       const char *value, uint32_t line);
int policy_pin_append(const struct policy_builder *b, const struct egress_pin *pin);
/* One for host, which is taken over on success. */
int policy_budget_append(const struct policy_builder *b, const char *text, const struct egress_rule *host);

/* Takes rule over on success. */
int policy_no_sni_append(const struct policy_builder *b, const struct egress_rule *rule);

/* policy_limits.c */
/* An integer, or text for parse. Whatever is neither becomes 0, which no limit may be. */
uint64_t policy_read_quantity(const struct json_value *value, int (*parse)(const char *text, uint64_t *ret));
/* The smallest that any layer sets; the built-in value counts only where none does. */
void policy_merge_number(const struct policy_builder *b, struct policy_number *number, uint64_t value, uint32_t line);

/* policy_value.c: for arrays of strings, one call an item, where place names it. */
struct policy_key;
typedef int policy_item_fn(const struct policy_builder *b, const struct policy_key *key, const struct json_value *item,
			   const struct policy_place *place);
int policy_read_array(const struct policy_builder *b, const struct policy_key *key, const struct json_value *value,
		      const struct policy_place *place, policy_item_fn *fn);
/* The bytes that a text stands for (json/bytes.h), on the heap. */
int policy_read_bytes(const struct policy_builder *b, const struct json_value *value, const struct policy_place *place,
		      char **ret);
struct policy_list *policy_list_of(const struct policy_builder *b, const struct policy_key *key);

#endif
