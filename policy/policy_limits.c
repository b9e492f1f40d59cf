/* limits.*, process.nesting and session.recordSize: how single values are read and how layers cap each other. */
#include <string.h>

#include "base/limits.h"
#include "base/number.h"
#include "policy/policy_key.h"

#define MEMORY_MIN (1ULL << 20)
#define MEMORY_MAX INT64_MAX
#define PIDS_MAX (4U << 20) /* PID_MAX_LIMIT of the kernel */
#define CPUS_MAX 4096
#define WALL_MAX UINT32_MAX

void policy_merge_number(const struct policy_builder *b, struct policy_number *number, uint64_t value, uint32_t line)
{
	if (number->origin.layer == POLICY_BUILT_IN || value < number->value)
		*number = (struct policy_number){ .value = value, .origin = policy_builder_origin(b, line) };
}

static int merge_limit(const struct policy_builder *b, const struct policy_key *key, uint64_t value,
		       const struct policy_place *place)
{
	policy_merge_number(b, (struct policy_number *)((char *)b->policy + key->offset), value, place->line);
	return 0;
}

uint64_t policy_read_quantity(const struct json_value *value, int (*parse)(const char *text, uint64_t *ret))
{
	uint64_t n = 0;

	if (value->type == JSON_INTEGER && value->integer > 0)
		return (uint64_t)value->integer;
	if (value->type == JSON_STRING && parse)
		(void)parse(value->string.data, &n);
	return n;
}

int policy_read_memory(const struct policy_builder *b, const struct policy_key *key, const struct json_value *value,
		       const struct policy_place *place)
{
	uint64_t n = policy_read_quantity(value, number_parse_size);

	if (n < MEMORY_MIN || n > MEMORY_MAX)
		return policy_refuse(b, place, "Write it as in \"512M\" or \"8G\".",
				     "The value must be a size of at least 1M.");
	return merge_limit(b, key, n, place);
}

int policy_read_record_size(const struct policy_builder *b, const struct policy_key *key,
			    const struct json_value *value, const struct policy_place *place)
{
	uint64_t n = policy_read_quantity(value, number_parse_size);

	if (n < MEMORY_MIN || n > LIMIT_RECORD)
		return policy_refuse(b, place, "Write it as in \"64M\" or \"1G\".",
				     "The value must be a size of 1M to 16G.");
	return merge_limit(b, key, n, place);
}

int policy_read_pids(const struct policy_builder *b, const struct policy_key *key, const struct json_value *value,
		     const struct policy_place *place)
{
	uint64_t n = policy_read_quantity(value, NULL);

	if (n == 0 || n > PIDS_MAX)
		return policy_refuse(b, place, NULL, "The value must be an integer of 1 to %u.", PIDS_MAX);
	return merge_limit(b, key, n, place);
}

/* "150%" */
static int parse_percent(const char *text, uint64_t *ret)
{
	size_t len = strlen(text);

	if (len == 0 || text[len - 1] != '%')
		return -1;
	return number_parse_bytes_u64(text, len - 1, (uint64_t)CPUS_MAX * 100, ret);
}

int policy_read_cpus(const struct policy_builder *b, const struct policy_key *key, const struct json_value *value,
		     const struct policy_place *place)
{
	uint64_t pct = 0;

	if (value->type == JSON_INTEGER && value->integer > 0 && value->integer <= CPUS_MAX)
		pct = (uint64_t)value->integer * 100;
	else if (value->type == JSON_DOUBLE && value->number > 0 && value->number <= CPUS_MAX)
		pct = (uint64_t)(value->number * 100 + 0.5);
	else if (value->type == JSON_STRING)
		(void)parse_percent(value->string.data, &pct);
	if (pct == 0)
		return policy_refuse(b, place, "Write it as in 2, 1.5 or \"150%\".",
				     "The value must be a number of processors between 0.01 and %u.", CPUS_MAX);
	return merge_limit(b, key, pct, place);
}

int policy_read_wall(const struct policy_builder *b, const struct policy_key *key, const struct json_value *value,
		     const struct policy_place *place)
{
	uint64_t n = policy_read_quantity(value, number_parse_duration);

	if (n == 0 || n > WALL_MAX)
		return policy_refuse(b, place, "Write it as in \"90s\", \"30m\" or \"12h\".",
				     "The value must be a time of at least one second.");
	return merge_limit(b, key, n, place);
}

int policy_read_nesting(const struct policy_builder *b, const struct policy_key *key, const struct json_value *value,
			const struct policy_place *place)
{
	struct policy *p = b->policy;

	if (value->type != JSON_BOOL)
		return policy_refuse(b, place, NULL, "The value must be true or false, not %s.",
				     json_type_name(value->type));
	/* The administrator's "false" stands. */
	if (p->nesting_origin.layer == POLICY_ADMINISTRATOR && !p->nesting)
		return 0;
	p->nesting = value->boolean;
	p->nesting_origin = policy_builder_origin(b, place->line);
	return 0;
}
