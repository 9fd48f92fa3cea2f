#!/bin/sh
# Makes Temporal's databases and brings their schema up to date; safe to run again.
set -eu

for part in temporal:temporal temporal_visibility:visibility; do
  database=${part%%:*}
  folder=/etc/temporal/schema/postgresql/v12/${part##*:}/versioned
  tool="temporal-sql-tool --plugin postgres12 --endpoint $SQL_HOST --port $SQL_PORT --user $SQL_USER --database $database"
  $tool create-database
  $tool setup-schema --version 0.0
  $tool update-schema --schema-dir "$folder"
done
