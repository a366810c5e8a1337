/* SPDX-License-Identifier: BSD-2-Clause */
/* Command lines, right and wrong. */
#include <errno.h>
#include <string.h>

#include "base/options.h"
#include "harness/harness.h"

static bool flag;
static const char *string;
static unsigned int number;
static char called[32];

static int call(const char *value, char error[OPTIONS_ERROR_MAX])
{
	if (!strcmp(value, "bad")) {
		snprintf(error, OPTIONS_ERROR_MAX, "bad is bad");
		return -EINVAL;
	}
	snprintf(called + strlen(called), sizeof(called) - strlen(called), "%s,", value);
	return 0;
}

static const struct option_spec specs[] = {
	{ "flag", OPTION_FLAG, NULL, "a flag", &flag, NULL },
	{ "string", OPTION_STRING, "TEXT", "a text", &string, NULL },
	{ "number", OPTION_NUMBER, "N", "a number", &number, NULL },
	{ "call", OPTION_CALL, "X", "a call", NULL, call },
	{ .name = NULL },
};

static char error[OPTIONS_ERROR_MAX];

#define PARSE(...)                                                     \
	({                                                             \
		const char *words[] = { "program", __VA_ARGS__ };      \
		parse((int)(sizeof(words) / sizeof(words[0])), words); \
	})

static int parse(int argc, const char **words)
{
	flag = false;
	string = NULL;
	number = 7;
	called[0] = '\0';
	error[0] = '\0';
	return options_parse(specs, argc, (char **)(uintptr_t)words, error);
}

static void options_end_at_the_first_word(void **state)
{
	assert_int_equal(PARSE("--flag", "word", "--string"), 2);
	assert_true(flag);
	assert_null(string);
}

static void two_dashes_end_the_options(void **state)
{
	assert_int_equal(PARSE("--", "--flag"), 2);
	assert_false(flag);
}

static void a_single_dash_is_a_word(void **state)
{
	assert_int_equal(PARSE("-", "--flag"), 1);
}

static void values_stand_behind_or_after_an_equals_sign(void **state)
{
	assert_int_equal(PARSE("--string", "a=b", "--number=12"), 4);
	assert_string_equal(string, "a=b");
	assert_int_equal(number, 12);
	assert_int_equal(PARSE("--string", "--flag"), 3);
	assert_string_equal(string, "--flag");
}

static void the_last_of_several_counts_but_calls_add_up(void **state)
{
	assert_int_equal(PARSE("--string=a", "--string=b", "--call=x", "--call", "y"), 6);
	assert_string_equal(string, "b");
	assert_string_equal(called, "x,y,");
}

static void unknown_options_are_refused_by_name(void **state)
{
	assert_int_equal(PARSE("--flags"), -EINVAL);
	assert_string_equal(error, "unknown option '--flags'");
	assert_int_equal(PARSE("--fla"), -EINVAL);
	assert_int_equal(PARSE("-flag"), -EINVAL);
	assert_int_equal(PARSE("-f"), -EINVAL);
}

static void a_missing_value_is_named(void **state)
{
	assert_int_equal(PARSE("--string"), -EINVAL);
	assert_string_equal(error, "--string needs a value: --string TEXT");
}

static void an_empty_value_is_none(void **state)
{
	static const char *const wrong[] = { "--string=", "--number=", "--call=" };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(PARSE(wrong[i]), -EINVAL);
		assert_non_null(strstr(error, "needs a value that is not empty: --"));
	}
	assert_int_equal(PARSE("--string", "", "word"), -EINVAL);
	assert_string_equal(error,
			    "--string needs a value that is not empty: --string TEXT");
	assert_null(string);
	assert_int_equal(PARSE("--string"), -EINVAL);
	assert_string_equal(error, "--string needs a value: --string TEXT");
}

static void a_flag_takes_no_value(void **state)
{
	assert_int_equal(PARSE("--flag=yes"), -EINVAL);
	assert_string_equal(error, "--flag takes no value");
}

static void numbers_are_plain_and_bounded(void **state)
{
	static const char *const wrong[] = {
		"x",          "1x",  "-1",
		"+1",         " 1",  "0x1",
		"4294967296", "1.5", "99999999999999999999999"
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(PARSE("--number", wrong[i]), -EINVAL);
		assert_non_null(strstr(error, "is not a number"));
		assert_int_equal(number, 7);
	}
	assert_int_equal(PARSE("--number", "4294967295"), 3);
	assert_int_equal(number, 4294967295u);
}

static void what_a_call_says_is_passed_on(void **state)
{
	assert_int_equal(PARSE("--call", "bad"), -EINVAL);
	assert_string_equal(error, "bad is bad");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_end_at_the_first_word),
		cmocka_unit_test(two_dashes_end_the_options),
		cmocka_unit_test(a_single_dash_is_a_word),
		cmocka_unit_test(values_stand_behind_or_after_an_equals_sign),
		cmocka_unit_test(the_last_of_several_counts_but_calls_add_up),
		cmocka_unit_test(unknown_options_are_refused_by_name),
		cmocka_unit_test(a_missing_value_is_named),
		cmocka_unit_test(an_empty_value_is_none),
		cmocka_unit_test(a_flag_takes_no_value),
		cmocka_unit_test(numbers_are_plain_and_bounded),
		cmocka_unit_test(what_a_call_says_is_passed_on),
	};

	return harness_run(tests);
}
