/* The parameters of Run, and of every other method, from any text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Touches every byte that the struct promises, so that a sanitizer or the guard page sees a wrong one. */
static size_t touch(const char *text)
{
	return text ? strlen(text) : 0;
}

static size_t touch_strings(const struct json_strings *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->count; i++)
		n += touch(s->items[i]);
	if (s->items && s->items[s->count])
		abort();
	return n;
}

static size_t touch_run(const struct run_parameters *p)
{
	const struct schema_variable *env = p->env.items;
	const struct schema_link *links = p->links.items;
	const struct schema_policy *policies = p->policies.items;
	size_t n = touch_strings(&p->argv) + touch_strings(&p->named) + touch(p->cwd) + touch(p->pwd) + touch(p->name);

	if (!p->argv.items || !p->cwd)
		abort();
	for (size_t i = 0; i < p->env.count; i++)
		n += strlen(env[i].name) + strlen(env[i].value);
	for (size_t i = 0; i < p->links.count; i++)
		n += strlen(links[i].path) + strlen(links[i].target);
	for (size_t i = 0; i < p->policies.count; i++)
		n += strlen(policies[i].layer) + strlen(policies[i].path) + strlen(policies[i].text);
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_json_ struct json_document d = JSON_DOCUMENT_INIT;

	if (json_read((const char *)data, size, 0, &d, NULL) < 0)
		return 0;
	for (size_t i = 0; i < schema_n_methods; i++) {
		_cleanup_json_decoded_ struct json_decoded decoded = JSON_DECODED_INIT;
		const struct json_schema *schema = schema_methods[i].parameters;
		void *out = malloc(schema->size);
		struct error e = ERROR_INIT;

		if (!out)
			abort();
		if (json_decode(d.root, schema, "parameters", out, &decoded, &e) < 0) {
			if (strncmp(e.step, "parameters", 10) != 0)
				abort();
		} else if (schema == &schema_run && touch_run(out) > 2 * size) {
			abort();
		}
		free(out);
	}
	return 0;
}
