#include "base/number.h"

#include <errno.h>
#include <string.h>

int number_parse_bytes_u64(const char *text, size_t len, uint64_t max, uint64_t *ret)
{
	uint64_t value = 0;

	if (len == 0)
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -EINVAL;
		if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, text[i] - '0', &value))
			return -ERANGE;
	}
	if (value > max)
		return -ERANGE;
	*ret = value;
	return 0;
}

int number_parse_u64(const char *text, uint64_t max, uint64_t *ret)
{
	return number_parse_bytes_u64(text, strlen(text), max, ret);
}

int number_parse_port(const char *text, size_t len, uint16_t *ret)
{
	uint64_t value;
	int r = number_parse_bytes_u64(text, len, UINT16_MAX, &value);

	if (r < 0)
		return r;
	if (value == 0)
		return -ERANGE;
	*ret = value;
	return 0;
}

struct unit {
	char letter;
	uint64_t factor;
};

static int parse_with_unit(const char *text, const struct unit *units, size_t n_units, uint64_t *ret)
{
	size_t len = strlen(text);
	uint64_t factor = 1, value;
	int r;

	if (len > 1)
		for (size_t i = 0; i < n_units; i++)
			if (text[len - 1] == units[i].letter) {
				factor = units[i].factor;
				len--;
				break;
			}
	r = number_parse_bytes_u64(text, len, UINT64_MAX, &value);
	if (r < 0)
		return r;
	if (__builtin_mul_overflow(value, factor, &value))
		return -ERANGE;
	*ret = value;
	return 0;
}

int number_parse_size(const char *text, uint64_t *ret)
{
	static const struct unit units[] = {
		{ 'K', 1ULL << 10 }, { 'M', 1ULL << 20 }, { 'G', 1ULL << 30 }, { 'T', 1ULL << 40 },
		{ 'k', 1ULL << 10 }, { 'm', 1ULL << 20 }, { 'g', 1ULL << 30 }, { 't', 1ULL << 40 },
	};

	return parse_with_unit(text, units, sizeof(units) / sizeof(units[0]), ret);
}

int number_parse_duration(const char *text, uint64_t *ret)
{
	static const struct unit units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };

	return parse_with_unit(text, units, sizeof(units) / sizeof(units[0]), ret);
}
