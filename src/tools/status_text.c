/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/status_text.h"

#include <arpa/inet.h>
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "shm/drop_reasons.h"

/* Reasons that were printed, to be explained below the tables. */
static bool seen[DROP_REASONS];

static const char *text(const cJSON *object, const char *key)
{
	const char *s = cJSON_GetStringValue(cJSON_GetObjectItem(object, key));

	return s ? s : "?";
}

static uint64_t number(const cJSON *object, const char *key)
{
	const cJSON *n = cJSON_GetObjectItem(object, key);

	return cJSON_IsNumber(n) ? (uint64_t)n->valuedouble : 0;
}

static void note_reason(const char *name)
{
	for (int i = 0; i < DROP_REASONS; i++)
		if (!strcmp(drop_reason_name(i), name))
			seen[i] = true;
}

/* "none", or "LAGGED 3, QKEY 1" */
static void print_drops(const cJSON *drops, FILE *out)
{
	const char *between = "";
	const cJSON *d;

	if (!cJSON_GetArraySize(drops))
		fputs("none", out);
	cJSON_ArrayForEach(d, drops)
	{
		fprintf(out, "%s%s %.0f", between, d->string, d->valuedouble);
		note_reason(d->string);
		between = ", ";
	}
	fputs("\n", out);
}

/* "::ffff:239.1.2.3" reads better as "239.1.2.3". */
static const char *plain(const char *gid)
{
	return strncmp(gid, "::ffff:", 7) || !strchr(gid, '.') ? gid : gid + 7;
}

static void print_ports(const cJSON *device, FILE *out)
{
	const cJSON *port, *gid, *address;

	cJSON_ArrayForEach(port, cJSON_GetObjectItem(device, "ports"))
	{
		fprintf(out, "  %-10s %-11s port %.0f %-7s mtu %llu %-8s",
			text(device, "name"), text(device, "link_layer"),
			cJSON_GetNumberValue(cJSON_GetObjectItem(port, "port")),
			text(port, "state"), (unsigned long long)number(port, "mtu"),
			text(device, "netdev"));
		if (cJSON_HasObjectItem(port, "lid"))
			fprintf(out, " lid %llu",
				(unsigned long long)number(port, "lid"));
		cJSON_ArrayForEach(address, cJSON_GetObjectItem(port, "addresses"))
			fprintf(out, " %s", cJSON_GetStringValue(address));
		cJSON_ArrayForEach(gid, cJSON_GetObjectItem(port, "gids"))
			fprintf(out, " %s", plain(cJSON_GetStringValue(gid)));
		fputs("\n", out);
	}
}

static void print_nodes(const cJSON *nodes, FILE *out)
{
	const cJSON *node, *device;

	cJSON_ArrayForEach(node, nodes)
	{
		fprintf(out, "\nnode %s\n", text(node, "name"));
		cJSON_ArrayForEach(device, cJSON_GetObjectItem(node, "devices"))
			print_ports(device, out);
	}
}

static void print_fabric(const cJSON *fabric, FILE *out)
{
	if (!fabric)
		return;
	fprintf(out, "fabric %s, switches %llu, %s\n", text(fabric, "shape"),
		(unsigned long long)number(fabric, "switches"),
		!cJSON_IsTrue(cJSON_GetObjectItem(fabric, "sm"))
			? "no subnet manager of ours"
		: cJSON_IsTrue(cJSON_GetObjectItem(fabric, "up"))
			? "all is up"
			: "the subnet manager is at work");
}

/* Drops of all queue pairs and of none, added up by reason. */
static void print_process_drops(const cJSON *process, FILE *out)
{
	cJSON *sum = cJSON_Duplicate(cJSON_GetObjectItem(process, "drops"), true);
	const cJSON *qp, *d;

	cJSON_ArrayForEach(qp, cJSON_GetObjectItem(process, "qps"))
		cJSON_ArrayForEach(d, cJSON_GetObjectItem(qp, "drops"))
	{
		cJSON *have = cJSON_GetObjectItem(sum, d->string);

		if (have)
			cJSON_SetNumberValue(have, have->valuedouble + d->valuedouble);
		else
			cJSON_AddNumberToObject(sum, d->string, d->valuedouble);
	}
	print_drops(sum, out);
	cJSON_Delete(sum);
}

static void print_process(const cJSON *process, const char *state, FILE *out)
{
	uint64_t sent = 0, received = 0;
	const cJSON *qp;
	int qps = 0;

	cJSON_ArrayForEach(qp, cJSON_GetObjectItem(process, "qps"))
	{
		sent += number(qp, "sent");
		received += number(qp, "received");
		qps++;
	}
	fprintf(out, "  %-8.0f %-16s %-8s %-8s %4d %12llu %12llu  ",
		cJSON_GetNumberValue(cJSON_GetObjectItem(process, "pid")),
		text(process, "program"), text(process, "node"), state, qps,
		(unsigned long long)sent, (unsigned long long)received);
	print_process_drops(process, out);
}

static void print_processes(const cJSON *status, FILE *out)
{
	const cJSON *live = cJSON_GetObjectItem(status, "processes");
	const cJSON *ended = cJSON_GetObjectItem(status, "ended"), *p;

	if (!cJSON_GetArraySize(live) && !cJSON_GetArraySize(ended)) {
		fputs("\nno process has opened a device\n", out);
		return;
	}
	fprintf(out, "\nprocesses\n  %-8s %-16s %-8s %-8s %4s %12s %12s  %s\n", "PROCESS",
		"PROGRAM", "NODE", "STATE", "QPS", "SENT", "RECEIVED", "DROPPED");
	cJSON_ArrayForEach(p, live) print_process(p, "running", out);
	cJSON_ArrayForEach(p, ended) print_process(p, "ended", out);
}

static void print_group(const cJSON *group, FILE *out)
{
	const cJSON *m;

	fprintf(out,
		"\ngroup %s on %s of %s, port %llu\n  %-8s %-16s %-8s %-9s %12s  %s\n",
		plain(text(group, "mgid")), text(group, "device"), text(group, "node"),
		(unsigned long long)number(group, "port"), "PROCESS", "PROGRAM", "QP",
		"STATE", "DELIVERED", "DROPPED");
	cJSON_ArrayForEach(m, cJSON_GetObjectItem(group, "members"))
	{
		fprintf(out, "  %-8llu %-16s 0x%06llx %-9s %12llu  ",
			(unsigned long long)number(m, "pid"), text(m, "program"),
			(unsigned long long)number(m, "qpn"), text(m, "state"),
			(unsigned long long)number(m, "delivered"));
		print_drops(cJSON_GetObjectItem(m, "drops"), out);
	}
}

/* "3", "3-5", "0.5%" */
static void print_when(const cJSON *rule, FILE *out)
{
	const cJSON *percent = cJSON_GetObjectItem(rule, "percent");
	unsigned long long first = number(rule, "first"), last = number(rule, "last");

	if (percent)
		fprintf(out, " %g%%", percent->valuedouble);
	else if (first == last)
		fprintf(out, " %llu", first);
	else
		fprintf(out, " %llu-%llu", first, last);
}

static void print_faults(const cJSON *rules, FILE *out)
{
	const cJSON *rule;

	if (cJSON_GetArraySize(rules))
		fprintf(out, "\nfaults (verbcast fault list)\n");
	cJSON_ArrayForEach(rule, rules)
	{
		fprintf(out, "  %llu: %s", (unsigned long long)number(rule, "rule"),
			text(rule, "fault"));
		print_when(rule, out);
		fprintf(out, ", %s: matched %llu, applied %llu, skipped %llu\n",
			text(rule, "direction"),
			(unsigned long long)number(rule, "matched"),
			(unsigned long long)number(rule, "applied"),
			(unsigned long long)number(rule, "skipped"));
	}
}

static void print_reasons(FILE *out)
{
	const char *head = "\nreasons\n";

	for (int i = 0; i < DROP_REASONS; i++) {
		if (!seen[i])
			continue;
		fprintf(out, "%s  %-16s %s\n", head, drop_reason_name(i),
			drop_reason_text(i));
		head = "";
	}
}

void status_text_print(const cJSON *status, FILE *out)
{
	const cJSON *group;

	fprintf(out, "site %s, verbcastd %s, process %llu\n", text(status, "site"),
		text(status, "version"), (unsigned long long)number(status, "pid"));
	print_fabric(cJSON_GetObjectItem(status, "fabric"), out);
	print_nodes(cJSON_GetObjectItem(status, "nodes"), out);
	print_processes(status, out);
	cJSON_ArrayForEach(group, cJSON_GetObjectItem(status, "groups"))
		print_group(group, out);
	print_faults(cJSON_GetObjectItem(status, "faults"), out);
	print_reasons(out);
}
