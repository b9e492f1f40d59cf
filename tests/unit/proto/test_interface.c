/*
 * The interface texts against the decode tables and the error names: what the text promises is what the code takes. A
 * small parser of the Varlink interface language, for this test only.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "proto/schema.h"
#include "proto/varlink.h"

#define FIELDS_MAX 32
#define ITEMS_MAX 64

struct field {
	char name[32];
	char type[32]; /* without ? and [] */
	bool optional;
	bool array;
};

struct fields {
	struct field items[FIELDS_MAX];
	size_t count;
};

struct item {
	char keyword[16]; /* type, method, error */
	char name[64];
	struct fields in;
	struct fields out; /* of a method */
};

struct interface {
	char name[64];
	struct item items[ITEMS_MAX];
	size_t count;
};

static void skip_blank(const char **at)
{
	for (;;) {
		*at += strspn(*at, " \t\n");
		if (**at != '#')
			return;
		*at += strcspn(*at, "\n");
	}
}

static bool accept(const char **at, const char *token)
{
	skip_blank(at);
	if (strncmp(*at, token, strlen(token)) != 0)
		return false;
	*at += strlen(token);
	return true;
}

static void expect(const char **at, const char *token)
{
	if (!accept(at, token))
		fail_msg("\"%s\" expected at: %.40s", token, *at);
}

static void word(const char **at, char *ret, size_t size)
{
	size_t n = 0;

	skip_blank(at);
	while (isalnum((unsigned char)(*at)[n]) || (*at)[n] == '_' || (*at)[n] == '.')
		n++;
	assert_in_range(n, 1, size - 1);
	memcpy(ret, *at, n);
	ret[n] = '\0';
	*at += n;
}

static void parse_fields(const char **at, struct fields *ret)
{
	expect(at, "(");
	if (accept(at, ")"))
		return;
	do {
		struct field *f = &ret->items[ret->count++];

		assert_in_range(ret->count, 1, FIELDS_MAX);
		word(at, f->name, sizeof(f->name));
		expect(at, ":");
		f->optional = accept(at, "?");
		f->array = accept(at, "[]");
		word(at, f->type, sizeof(f->type));
	} while (accept(at, ","));
	expect(at, ")");
}

static void parse_interface(const char *text, struct interface *ret)
{
	memset(ret, 0, sizeof(*ret));
	expect(&text, "interface ");
	word(&text, ret->name, sizeof(ret->name));
	for (skip_blank(&text); *text; skip_blank(&text)) {
		struct item *item = &ret->items[ret->count++];

		assert_in_range(ret->count, 1, ITEMS_MAX);
		word(&text, item->keyword, sizeof(item->keyword));
		word(&text, item->name, sizeof(item->name));
		parse_fields(&text, &item->in);
		if (strcmp(item->keyword, "method") == 0) {
			expect(&text, "->");
			parse_fields(&text, &item->out);
		} else if (strcmp(item->keyword, "type") != 0) {
			assert_string_equal(item->keyword, "error");
		}
	}
}

static const struct item *find_item(const struct interface *in, const char *keyword, const char *name)
{
	for (size_t i = 0; i < in->count; i++)
		if (strcmp(in->items[i].keyword, keyword) == 0 && strcmp(in->items[i].name, name) == 0)
			return &in->items[i];
	return NULL;
}

static const struct {
	const char *type; /* NULL: the name of the nested schema */
	bool array;
} wire_types[] = {
	[JSON_FIELD_BOOL] = { "bool", false },         [JSON_FIELD_INTEGER] = { "int", false },
	[JSON_FIELD_STRING] = { "string", false },     [JSON_FIELD_BYTES] = { "string", false },
	[JSON_FIELD_BYTES_ARRAY] = { "string", true }, [JSON_FIELD_STRING_ARRAY] = { "string", true },
	[JSON_FIELD_OBJECT] = { NULL, false },         [JSON_FIELD_OBJECT_ARRAY] = { NULL, true },
	[JSON_FIELD_ANY] = { "object", false },
};

/* Same members in the same order, same types, and optional in both or in neither; nested types as well. */
static void compare(const struct interface *in, const struct fields *text, const struct json_schema *schema)
{
	assert_int_equal(text->count, schema->n_fields);
	for (size_t i = 0; i < text->count; i++) {
		const struct field *f = &text->items[i];
		const struct json_field *s = &schema->fields[i];
		const char *type = wire_types[s->type].type;

		assert_string_equal(f->name, s->name);
		if (f->optional == s->required)
			fail_msg("%s.%s: optional in one only", schema->name, s->name);
		if (f->array != wire_types[s->type].array)
			fail_msg("%s.%s: an array in one only", schema->name, s->name);
		assert_string_equal(f->type, type ? type : s->schema->name);
		if (!type) {
			const struct item *nested = find_item(in, "type", f->type);

			assert_non_null(nested);
			compare(in, &nested->in, s->schema);
		}
		assert_in_range(s->offset, 0, schema->size - 1);
		if (s->present_offset > 0)
			assert_in_range(s->present_offset, 1, schema->size - sizeof(bool));
		/* a number without bounds would take 0 alone */
		assert_true(s->type != JSON_FIELD_INTEGER || s->max > s->min);
	}
}

static struct interface ours, service;

static int parse_both(void **state)
{
	parse_interface(varlink_text_org_isod, &ours);
	parse_interface(varlink_text_org_varlink_service, &service);
	return 0;
}

static void test_interface_names(void **state)
{
	assert_string_equal(ours.name, "org.isod");
	assert_string_equal(service.name, "org.varlink.service");
	assert_in_range(ours.count, 20, ITEMS_MAX);
	for (size_t i = 0; i < ours.count; i++)
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(ours.items[i].name, ours.items[k].name);
}

static void test_methods(void **state)
{
	const struct interface *const both[] = { &ours, &service };
	size_t n = 0;

	for (size_t b = 0; b < ARRAY_SIZE(both); b++) {
		for (size_t i = 0; i < both[b]->count; i++) {
			const struct item *item = &both[b]->items[i];
			char full[160];

			if (strcmp(item->keyword, "method") != 0)
				continue;
			snprintf(full, sizeof(full), "%s.%s", both[b]->name, item->name);
			assert_in_range(n, 0, schema_n_methods - 1);
			assert_string_equal(schema_methods[n].name, full);
			compare(both[b], &item->in, schema_methods[n].parameters);
			n++;
		}
	}
	assert_int_equal(n, schema_n_methods);
}

/* Every type that a text mentions is its own or a basic one. */
static void check_types(const struct interface *in, const struct fields *fields)
{
	static const char *const basic[] = { "bool", "int", "float", "string", "object" };

	for (size_t i = 0; i < fields->count; i++) {
		bool known = find_item(in, "type", fields->items[i].type) != NULL;

		for (size_t k = 0; k < ARRAY_SIZE(basic); k++)
			known = known || strcmp(fields->items[i].type, basic[k]) == 0;
		if (!known)
			fail_msg("%s: no type %s", fields->items[i].name, fields->items[i].type);
	}
}

static void test_types_exist(void **state)
{
	for (size_t i = 0; i < ours.count; i++) {
		check_types(&ours, &ours.items[i].in);
		check_types(&ours, &ours.items[i].out);
	}
	for (size_t i = 0; i < service.count; i++) {
		check_types(&service, &service.items[i].in);
		check_types(&service, &service.items[i].out);
	}
}

/* One error in the text for each code, with the members that varlink_error_append() writes; and no other. */
static void test_errors(void **state)
{
	static const char *const members[] = { "step", "message", "remedy", "errno" };
	size_t n = 0;

	for (size_t i = 0; i < ours.count; i++) {
		const struct fields *f = &ours.items[i].in;

		if (strcmp(ours.items[i].keyword, "error") != 0)
			continue;
		assert_int_not_equal(error_code_from_name(ours.items[i].name), ERROR_CODE_COUNT);
		assert_int_not_equal(error_code_from_name(ours.items[i].name), ERROR_NONE);
		assert_int_equal(f->count, ARRAY_SIZE(members));
		for (size_t k = 0; k < ARRAY_SIZE(members); k++) {
			assert_string_equal(f->items[k].name, members[k]);
			assert_string_equal(f->items[k].type, k == 3 ? "int" : "string");
		}
		n++;
	}
	assert_int_equal(n, ERROR_CODE_COUNT - 1);
	for (uint32_t code = 1; code < ERROR_CODE_COUNT; code++)
		assert_non_null(find_item(&ours, "error", error_code_name(code)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_interface_names),
		cmocka_unit_test(test_methods),
		cmocka_unit_test(test_types_exist),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, parse_both, NULL);
}
