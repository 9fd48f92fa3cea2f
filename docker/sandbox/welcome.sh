#!/bin/sh
# Makes a principal of the sandbox at the first start, and says where everything is.
set -eu
if token=$(ebrc --json principals add you --role admin --role maker 2>/dev/null); then
  token=$(node -p 'JSON.parse(process.argv[1]).token' "$token")
else
  token="as printed at the first start; a new one: docker compose run --rm welcome ebrc principals rotate you"
fi
cat <<EOF

  Everything runs.
  HTTP API     $DOOR_URL/v1   (described at $DOOR_URL/docs)
  Token        $token
  Command line docker compose run --rm ebrc --help

EOF
