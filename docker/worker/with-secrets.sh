#!/bin/sh
# Runs a program with every file of /run/secrets as the variable that it is named after. An empty file sets nothing.
set -eu
for file in /run/secrets/*; do
  [ -s "$file" ] || continue
  value=$(cat "$file")
  export "${file##*/}=$value"
done
exec "$@"
