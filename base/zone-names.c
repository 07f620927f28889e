// SPDX-License-Identifier: GPL-2.0-only
#include "base/zone-names.h"

#include <string.h>

#include "base/cleanup.h"

static const struct {
	const char *name;
	int hours;
} clear[] = {
	{ "UTC", 0 },	{ "GMT", 0 },	{ "UT", 0 },	{ "Z", 0 },	{ "WET", 0 }, { "WEST", 1 },
	{ "CET", 1 },	{ "CEST", 2 },	{ "EET", 2 },	{ "EEST", 3 },	{ "MSK", 3 }, { "JST", 9 },
	{ "AEST", 10 }, { "AEDT", 11 }, { "NZST", 12 }, { "NZDT", 13 },
};

static const char *const unclear[] = {
	"ACDT", "ACST", "ADT",	"AKDT", "AKST", "AMST", "AMT",	"AST",	"AWST", "AZT",	"BDT",
	"BNT",	"BOT",	"BRST", "BRT",	"BST",	"CAT",	"CCT",	"CDT",	"CHST", "CLST", "CLT",
	"COT",	"CST",	"CVT",	"EAT",	"ECT",	"EDT",	"EGST", "EGT",	"EST",	"FJT",	"GST",
	"GYT",	"HDT",	"HKT",	"HST",	"ICT",	"IDT",	"IRDT", "IRST", "IST",	"KGT",	"KST",
	"MDT",	"MEST", "MET",	"MMT",	"MSD",	"MST",	"MUT",	"MVT",	"MYT",	"NDT",	"NPT",
	"NST",	"PDT",	"PET",	"PHT",	"PKT",	"PMDT", "PMST", "PST",	"PYT",	"RET",	"SAMT",
	"SAST", "SCT",	"SGT",	"SST",	"TJT",	"TMT",	"TRT",	"ULAT", "UYT",	"UZT",	"VET",
	"WAST", "WAT",	"WIB",	"WIT",	"WITA", "YEKT",
};

enum zone_name zone_name_find(const char *text, size_t size, int *ret_offset_s)
{
	for (size_t i = 0; i < ARRAY_SIZE(clear); i++) {
		if (strlen(clear[i].name) != size || memcmp(clear[i].name, text, size) != 0)
			continue;
		*ret_offset_s = clear[i].hours * 3600;
		return ZONE_NAME_CLEAR;
	}
	for (size_t i = 0; i < ARRAY_SIZE(unclear); i++)
		if (strlen(unclear[i]) == size && memcmp(unclear[i], text, size) == 0)
			return ZONE_NAME_UNCLEAR;
	return ZONE_NAME_NONE;
}
