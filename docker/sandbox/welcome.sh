#!/bin/sh
# Makes a principal of the sandbox at the first start, and says where everything is.
set -eu
refused=0
made=$(ebrc --json principals add you --role admin --role maker) || refused=$?
case $refused in
0) token=$(node -p 'JSON.parse(process.argv[1]).token' "$made") ;;
# The name is taken: it was made at an earlier start.
3) token="as printed at the first start; a new one: docker compose run --rm welcome ebrc principals rotate you" ;;
*) exit $refused ;;
esac
cat <<EOF

  Everything runs.
  HTTP API     $HTTP_URL/v1   (described at $HTTP_URL/docs)
  Token        $token
  Command line docker compose run --rm ebrc --help

EOF
