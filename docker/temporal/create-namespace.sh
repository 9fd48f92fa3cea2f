#!/bin/sh
# Makes the namespace and the worker's search attributes (src/domain/names.ts); safe to run again. TEMPORAL_ADDRESS and
# TEMPORAL_NAMESPACE are read by the command line itself.
set -eu

temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE" >/dev/null 2>&1 ||
  temporal operator namespace create --namespace "$TEMPORAL_NAMESPACE" --retention 720h

# The server learns of a new namespace a few seconds after it was made.
tries=0
until temporal operator search-attribute list --namespace "$TEMPORAL_NAMESPACE" >/dev/null 2>&1; do
  tries=$((tries + 1))
  if [ "$tries" -ge 60 ]; then
    echo "namespace $TEMPORAL_NAMESPACE was made but is not known to $TEMPORAL_ADDRESS after a minute" >&2
    exit 1
  fi
  sleep 1
done

for attribute in EbrcExporter:Keyword EbrcState:Keyword EbrcRequestId:Keyword EbrcMode:Keyword EbrcReference:Keyword EbrcNeedsAttention:Bool; do
  temporal operator search-attribute create --namespace "$TEMPORAL_NAMESPACE" --name "${attribute%%:*}" --type "${attribute##*:}"
done
