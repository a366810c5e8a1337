/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "admin/admin_priv.h"

/* enum ibv_rate, in Gb/s. */
static const struct admin_name rates[] = {
	{ 2, "2.5" },  { 3, "10" },   { 4, "30" },   { 5, "5" },    { 6, "20" },
	{ 7, "40" },   { 8, "60" },   { 9, "80" },   { 10, "120" }, { 11, "14" },
	{ 12, "56" },  { 13, "112" }, { 14, "168" }, { 15, "25" },  { 16, "100" },
	{ 17, "200" }, { 18, "300" }, { 19, "28" },  { 20, "50" },  { 21, "400" },
	{ 22, "600" }, { 0, NULL },
};

static const struct admin_name join_states[] = {
	{ SA_JOIN_FULL, "full" },
	{ SA_JOIN_NON, "non" },
	{ SA_JOIN_SEND_ONLY_NON, "send-only" },
	{ SA_JOIN_SEND_ONLY_FULL, "send-only-full" },
	{ 0, NULL },
};

static const struct admin_name attributes[] = {
	{ 0x0001, "ClassPortInfo" },
	{ SA_NODE_RECORD, "NodeRecord" },
	{ SA_PORT_INFO_RECORD, "PortInfoRecord" },
	{ SA_LINK_RECORD, "LinkRecord" },
	{ SA_SERVICE_RECORD, "ServiceRecord" },
	{ SA_PATH_RECORD, "PathRecord" },
	{ SA_MCMEMBER_RECORD, "MCMemberRecord" },
	{ 0x0003, "InformInfo" },
	{ SA_INFORM_INFO_RECORD, "InformInfoRecord" },
	{ 0, NULL },
};

const char *admin_name_of(const struct admin_name *names, unsigned int value)
{
	for (; names->name; names++)
		if (names->value == value)
			return names->name;
	return NULL;
}

unsigned int admin_value_of(const struct admin_name *names, const char *name)
{
	for (; names->name; names++)
		if (!strcmp(names->name, name))
			return names->value;
	return 0;
}

const char *admin_rate_name(unsigned int rate)
{
	const char *name = admin_name_of(rates, rate);

	return name ? name : "?";
}

const char *admin_join_state_name(unsigned int bit)
{
	const char *name = admin_name_of(join_states, bit);

	return name ? name : "?";
}

int admin_rate_parse(const char *text, uint8_t *ret)
{
	*ret = (uint8_t)admin_value_of(rates, text);
	return *ret ? 0 : -EINVAL;
}

int admin_join_state_parse(const char *text, uint8_t *ret)
{
	*ret = (uint8_t)admin_value_of(join_states, text);
	return *ret ? 0 : -EINVAL;
}

int admin_attribute_parse(const char *text, uint16_t *ret)
{
	uint64_t number;

	*ret = (uint16_t)admin_value_of(attributes, text);
	if (*ret)
		return 0;
	if (admin_number(text, UINT16_MAX, &number) < 0 || !number)
		return -EINVAL;
	*ret = (uint16_t)number;
	return 0;
}

int admin_wrong(char *error, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(error, OPTIONS_ERROR_MAX, format, ap);
	va_end(ap);
	return -EINVAL;
}

int admin_number(const char *text, uint64_t max, uint64_t *ret)
{
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	const char *digits = hex ? text + 2 : text;
	unsigned long long value;
	char *end;

	/* strtoull would take blanks, signs and octal numbers. */
	if (!*digits || strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789") !=
				strlen(digits))
		return -EINVAL;
	errno = 0;
	value = strtoull(digits, &end, hex ? 16 : 10);
	if (*end || errno || value > max)
		return -EINVAL;
	*ret = value;
	return 0;
}

int admin_percentage(const char *value, uint32_t *ret)
{
	const size_t length = strcspn(value, "%");
	uint64_t whole, part = 0;
	char text[32];
	char *dot;

	if (length >= sizeof(text) || (value[length] && value[length + 1]))
		return -EINVAL;
	memcpy(text, value, length);
	text[length] = '\0';
	dot = strchr(text, '.');
	if (dot) {
		*dot = '\0';
		if (strlen(dot + 1) > 4)
			return -EINVAL;
	}
	if (admin_number(text, 100, &whole) < 0 ||
	    (dot && admin_number(dot + 1, 9999, &part) < 0))
		return -EINVAL;
	for (size_t n = dot ? strlen(dot + 1) : 4; n < 4; n++)
		part *= 10;
	*ret = (uint32_t)(whole * 10000 + part);
	return *ret && *ret <= 1000000 ? 0 : -EINVAL;
}

int admin_option(const char *name, const char *text, uint64_t max, uint64_t *ret,
		 char *error)
{
	if (!admin_number(text, max, ret))
		return 0;
	return admin_wrong(error, "--%s: '%.80s' is not a number from 0 to %llu", name,
			   text, (unsigned long long)max);
}
