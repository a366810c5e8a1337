/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The grammar of what an administrator says to a site: verbcast's commands fabric, sa,
 * group, fault, and insmod, rmmod, lsmod (noun module). verbcast reads the words to tell of
 * mistakes and to print its help; verbcastd reads the same words again, since it believes
 * nobody, and carries them out.
 *
 * One thread: what was parsed last is in static memory until it is copied out.
 */
#ifndef ADMIN_ADMIN_H
#define ADMIN_ADMIN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/options.h"
#include "wire/sa.h"

enum admin_command {
	ADMIN_NODES, /* verbcastd's alone: the nodes' names, for messages */
	ADMIN_FABRIC_UP,
	ADMIN_FABRIC_SHOW,
	ADMIN_FABRIC_SM,
	ADMIN_FABRIC_LINK,
	ADMIN_FABRIC_NODE,
	ADMIN_FABRIC_LOSS,
	ADMIN_SA_DROP,
	ADMIN_SA_DELAY,
	ADMIN_SA_BUSY,
	ADMIN_SA_ERROR,
	ADMIN_SA_CLEAR,
	ADMIN_GROUP_LIST,
	ADMIN_GROUP_CREATE,
	ADMIN_GROUP_JOIN,
	ADMIN_GROUP_LEAVE,
	ADMIN_MODULE_LOAD,
	ADMIN_MODULE_UNLOAD,
	ADMIN_MODULE_LIST,
	ADMIN_FAULT_ADD,
	ADMIN_FAULT_LIST,
	ADMIN_FAULT_CLEAR,
};

/* -- what a fabric is to look like ----------------------------------------------------- */

enum admin_shape_kind {
	ADMIN_SHAPE_DEFAULT, /* one switch, one adapter, which is the machine */
	ADMIN_SHAPE_NODES,
	ADMIN_SHAPE_RING,
	ADMIN_SHAPE_FAT_TREE,
	ADMIN_SHAPE_FILE,
	ADMIN_SHAPE_NONE, /* no fabric */
};

struct admin_shape {
	enum admin_shape_kind kind;
	unsigned int count, hosts; /* nodes; switches, and hosts on each; ports */
	const char *file;
	const char *partitions; /* a file; null: one partition, with everybody */
	uint8_t lmc;            /* of the subnet manager */
	bool no_sm;
};

#define ADMIN_STAR_MAX    254u /* ports of a switch */
#define ADMIN_LMC_MAX     7u
#define ADMIN_LMC_DEFAULT UINT8_MAX
#define ADMIN_NODES_MAX   896u /* as many ports a site has room for */

/* The option's value; 0, or -EINVAL with a sentence. One of them may be given. */
int admin_shape_nodes(struct admin_shape *s, const char *value, char *error);
int admin_shape_ring(struct admin_shape *s, const char *value, char *error);
int admin_shape_fat_tree(struct admin_shape *s, const char *value, char *error);
int admin_shape_file(struct admin_shape *s, const char *value, char *error);
int admin_shape_none(struct admin_shape *s, char *error);
int admin_shape_partitions(struct admin_shape *s, const char *value, char *error);
int admin_shape_lmc(struct admin_shape *s, const char *value, char *error);

/* The shape as options, for people and for verbcastd's command line: pointers into
 * `room`, a null behind. Returns their number. */
#define ADMIN_SHAPE_WORDS 8
struct admin_shape_text {
	char value[32], lmc[4];
	const char *words[ADMIN_SHAPE_WORDS];
};
int admin_shape_words(const struct admin_shape *s, struct admin_shape_text *ret);
/* "--ring 4:2 --no-sm", "--nodes 1" for the default one. */
void admin_shape_print(const struct admin_shape *s, char *to, size_t room);
bool admin_shape_equal(const struct admin_shape *a, const struct admin_shape *b);

/* -- a fault of the data path ------------------------------------------------------------ */

enum admin_fault_kind {
	ADMIN_FAULT_NONE,
	ADMIN_FAULT_DROP,
	ADMIN_FAULT_DUP,
	ADMIN_FAULT_DELAY,
	ADMIN_FAULT_REORDER,
	ADMIN_FAULT_CORRUPT,
	ADMIN_FAULT_COMPLETION,
};

/* Of --by. */
#define ADMIN_FAULT_MS_MAX     60000u
#define ADMIN_FAULT_PLACES_MAX 1000u

enum admin_fault_match {
	ADMIN_FAULT_MATCH_QP = 1u << 0,
	ADMIN_FAULT_MATCH_OPCODE = 1u << 1,
	ADMIN_FAULT_MATCH_PSN = 1u << 2,
};

struct admin_fault {
	uint32_t id; /* CLEAR; 0: all of them */
	enum admin_fault_kind kind;
	const char *device; /* null: all */
	bool send;          /* else where it is received */
	unsigned int match; /* enum admin_fault_match: which of these are given */
	uint32_t qpn, opcode, psn, psn_last;
	uint32_t rate;        /* millionths; 0: by count */
	uint64_t first, last; /* by count, from 1 */
	unsigned int by;      /* milliseconds; REORDER: places */
	bool seeded;
	uint64_t seed;
};

/* -- a request ------------------------------------------------------------------------- */

#define ADMIN_PARAMETERS_MAX 7

struct admin_request {
	enum admin_command command;
	bool json;
	bool graphviz;            /* FABRIC_SHOW; the group: its MGID or its MLID */
	struct admin_shape shape; /* FABRIC_UP */
	const char *node;         /* LINK, NODE; SM, GROUP_*: null is the first */
	unsigned int port;        /* LINK; GROUP_* */
	bool on;                  /* SM start, LINK up, NODE on */
	uint8_t priority;         /* SM */
	uint8_t lmc;              /* likewise; ADMIN_LMC_DEFAULT: the fabric's */
	uint32_t rate;            /* millionths; LOSS; SA_*: 0 is all */
	/* SA_* */
	uint64_t count;     /* 0: until cleared */
	unsigned int ms;    /* of DELAY */
	uint16_t status;    /* of ERROR */
	uint16_t attribute; /* 0: all */
	/* MODULE_*: a file, or a name; NAME=VALUE strings with a null behind */
	const char *module;
	const char *parameters[ADMIN_PARAMETERS_MAX + 1];
	struct admin_fault fault; /* FAULT_*; the node is `node`, null: all */
	/* GROUP_*, FABRIC_SHOW: what was said of the group, and of what the mask has a bit */
	struct sa_mcmember group;
	uint64_t components;
};

/* `argv`: "group", "join", ... 0, or -EINVAL with a sentence in `error`. What `ret` points
 * to is in argv. */
int admin_parse(int argc, char **argv, struct admin_request *ret,
		char error[OPTIONS_ERROR_MAX]);

/* -- for the help ---------------------------------------------------------------------- */

struct admin_verb {
	const char *noun, *verb; /* "group", "join" */
	const char *synopsis;    /* what stands behind */
	const char *summary;
	const struct option_spec *options;
	enum admin_command command;
	int (*operands)(struct admin_request *r, int count, char **words, char *error);
};
/* Ended by a null noun. */
extern const struct admin_verb admin_verbs[];
/* Null: there is no such verb of the noun. */
const struct admin_verb *admin_find_verb(const char *noun, const char *verb);

/* Names of numbers, as they are parsed and shown. */
const char *admin_rate_name(unsigned int rate); /* Gb/s; "?" */
const char *admin_join_state_name(unsigned int bit);
const char *admin_fault_name(enum admin_fault_kind kind); /* the option */
const char *admin_opcode_name(unsigned int opcode);       /* null: it has none */

#endif
