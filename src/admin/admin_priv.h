/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside the grammar: verbs.c has the table and the parser, fabric.c, sa.c, group.c
 * and fault.c the options and operands of each noun, shape.c that of fabrics, values.c numbers.
 */
#ifndef ADMIN_ADMIN_PRIV_H
#define ADMIN_ADMIN_PRIV_H

#include <errno.h>

#include "admin/admin.h"

/* The option tables have to point somewhere. */
extern struct admin_request admin_parsed;

extern const struct option_spec admin_no_options[], admin_up_options[],
	admin_show_options[], admin_sm_options[], admin_json_options[],
	admin_fault_options[], admin_delay_options[], admin_error_options[],
	admin_list_options[], admin_join_options[], admin_leave_options[],
	admin_rule_options[];

int admin_operands_none(struct admin_request *r, int count, char **words, char *error);
int admin_operands_show(struct admin_request *r, int count, char **words, char *error);
int admin_operands_sm(struct admin_request *r, int count, char **words, char *error);
int admin_operands_link(struct admin_request *r, int count, char **words, char *error);
int admin_operands_node(struct admin_request *r, int count, char **words, char *error);
int admin_operands_loss(struct admin_request *r, int count, char **words, char *error);
int admin_operands_delay(struct admin_request *r, int count, char **words, char *error);
int admin_operands_error(struct admin_request *r, int count, char **words, char *error);
int admin_operands_create(struct admin_request *r, int count, char **words, char *error);
int admin_operands_group(struct admin_request *r, int count, char **words, char *error);
int admin_operands_load(struct admin_request *r, int count, char **words, char *error);
int admin_operands_unload(struct admin_request *r, int count, char **words, char *error);

int admin_operands_rule(struct admin_request *r, int count, char **words, char *error);
int admin_operands_rule_id(struct admin_request *r, int count, char **words, char *error);

/* What numbers are called, but for 0; null behind the last. */
struct admin_name {
	unsigned int value;
	const char *name;
};
/* Null: it has none. */
const char *admin_name_of(const struct admin_name *names, unsigned int value);
/* 0: none is called so. */
unsigned int admin_value_of(const struct admin_name *names, const char *name);

/* A sentence; always -EINVAL. */
int admin_wrong(char *error, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Decimal, or hexadecimal behind 0x; up to `max`. 0 or -EINVAL, without a sentence. */
int admin_number(const char *text, uint64_t max, uint64_t *ret);
/* The same for an option, with the sentence. */
int admin_option(const char *name, const char *text, uint64_t max, uint64_t *ret,
		 char *error);
/* "12.5%", "12.5": millionths, above 0 and up to a million. Without a sentence. */
int admin_percentage(const char *text, uint32_t *ret);
int admin_rate_parse(const char *text, uint8_t *ret);
int admin_join_state_parse(const char *text, uint8_t *ret);
int admin_attribute_parse(const char *text, uint16_t *ret);

#endif
