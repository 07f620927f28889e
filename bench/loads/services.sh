#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The load of a server: an HTTP server with clients, a database, a parsing script, and now and then
# a short process. Runs until its process group is killed.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
here=$(dirname "$0")

node "$here/http.js" &
(
	while :; do
		rm -f "$folder/db"
		{
			echo "create table t(a integer primary key, b text); begin;"
			seq 1 20000 | sed 's/.*/insert into t values(&, "row & of many");/'
			echo "commit; select b, count(*) from t where a % 7 = 3 group by b limit 5;"
			echo "create index i on t(b); select max(b) from t;"
		} | sqlite3 "$folder/db" >/dev/null
	done
) &
python3 "$here/parse.py" &
while :; do
	sleep 0.1
	date >/dev/null
done
