#!/usr/bin/env bash
# Onboards an exporter, files a message and a workbook, and follows them. curl, openssl, sed and grep.
set -euo pipefail
shopt -s inherit_errexit
: "${EBRC:?its address}" "${TOKEN:?of a principal}"
REF=${REF:-SH-$(date +%s)}
EXPORTER=accounts@kaveri.example

# Prints the answer; a problem is an answer too. curl repeats after 429 and 503, as long as Retry-After says.
ask() { curl -sS --retry 5 -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -H 'Prefer: wait=60' -X "$1" "$EBRC$2" "${@:3}"; }
# The first value of a field in JSON on standard input. Where there is jq, use that.
field() { { grep -oE "\"$1\":(\"[^\"]*\"|[^,}]*)" || true; } | head -n 1 | sed -E 's/^"[^"]*"://; s/^"//; s/"$//'; }

# Passes an answer on; a problem ends the program.
passed() { local answer && answer=$(cat) && if [[ $answer == *'"request_id":'* ]]; then echo "$answer" >&2 && return 1; fi && echo "$answer"; }

ended() { # REFERENCE: prints the state in which it ends, or needs somebody
  local state asked answer
  while true; do
    answer=$(ask GET "/v1/filings/${1//\//%2F}" | passed)
    state=$(field state <<<"$answer") asked=$(field asked <<<"$answer")
    case $asked-$state in
    true-* | *-certified | *-partly_certified | *-rejected | *-needs_correction | *-abandoned | *-awaiting_approval | *-needs_credentials)
      echo "$state"
      return
      ;;
    esac
  done
}

NAMES=(serialNo uploadType branchSlNo irmIfscCode irmAdCode irmNumber irmDt irmFCC irmPurposeCode irmRemitAmtFCC sbCumInvoiceNumber
  sbCumInvoiceDate portCode billNo sbCumInvoiceFCC sbCumInvoiceValueinFCC mappedIRMAmountFCC isVostro isGstAvail)

row() { # SERIAL DOCUMENT: prints the values of a mapping, in the order of NAMES
  printf '%s\n' "$1" 103 0 "$(field irmIfscCode <<<"$IRM")" "$(field irmAdCode <<<"$IRM")" "$(field irmNumber <<<"$IRM")" \
    "$(field irmDt <<<"$IRM")" USD "$(field irmPurposeCode <<<"$IRM")" "$(field irmRemitAmtFCC <<<"$IRM")" "$2" 2026-05-15 INBLR4 "$2" \
    USD 10 10 N N
}

item() { # SERIAL DOCUMENT: prints the mapping as an item of a message
  local values nth value
  mapfile -t values < <(row "$1" "$2")
  for nth in "${!NAMES[@]}"; do
    value=${values[nth]}
    case ${NAMES[nth]} in serialNo | uploadType | branchSlNo | irmRemitAmtFCC | sbCumInvoiceValueinFCC | mappedIRMAmountFCC) ;; *) value="\"$value\"" ;; esac
    printf '"%s": %s, ' "${NAMES[nth]}" "$value"
  done | sed 's/^/{/; s/, $/, "gstinInvoiceNumber": null, "gstinInvoiceDate": null}/'
}

message() { # COUNT ITEMS
  echo "{\"recordResCount\": $1, \"uploadType\": \"103\", \"decalarationFlag\": \"Y\", \"ebrcBulkGenDtos\": [$2]}"
}

# Whether a webhook is ours (Standard Webhooks): SECRET ID TIMESTAMP SIGNATURES BODY. Also refuse times more than 5 minutes off.
verified() {
  local key own
  key=$(base64 -d <<<"${1#whsec_}" | od -An -v -tx1 | tr -d ' \n')
  own=v1,$(printf '%s.%s.%s' "$2" "$3" "$5" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | base64)
  [[ " $4 " == *" $own "* ]]
}

# 1. Onboard, with the password of the portal; it goes to a vault.
ask POST /v1/exporters -d "{\"name\": \"Kaveri Softworks\", \"email\": \"$EXPORTER\", \"iec\": \"AAKCK7719P\",
  \"username\": \"kaveri.softworks\", \"password\": \"Kaveri@Soft9\"}" | passed >/dev/null
until [ "${STATE:-}" = ready ]; do
  sleep 1
  STATE=$(ask GET "/v1/exporters/$EXPORTER" | passed | field state)
  echo "exporter $STATE"
done
IRM=$(ask GET "/v1/exporters/$EXPORTER/irms?free=true" | grep -oE '\{"irmNumber"[^}]*\}' | grep '"irmFCC":"USD"' | head -n 1)

# 2. File two rows. The sandbox is told to reject one of them, once.
[ -z "${SANDBOX:-}" ] || curl -sS -o /dev/null -H 'Content-Type: application/json' "$SANDBOX/outcomes" -d "{\"match\": {\"document\": \"$REF-B\"},
  \"processingStatus\": \"Errored\", \"errorDetails\": [\"ERR36: Declaration flag\"], \"times\": 1}"
file() { echo "{\"exporter\": \"$EXPORTER\", \"reference\": \"$1\", \"message\": $2}"; }
BOTH=$(message 2 "$(item 1 "$REF-A"), $(item 2 "$REF-B")")
FILED=$(ask POST /v1/filings -w ' %{http_code}' -d "$(file "$REF" "$BOTH")" | passed)
echo "filed ${FILED##* }"
echo "ended $(ended "$REF")"
FILING=$(field filingId <<<"$FILED")
ROWS=$(ask GET "/v1/filings/$FILING/rows" | passed)
NUMBER=$(field eBRCNumber <<<"$ROWS")
echo "certified $NUMBER rejected $(grep -oE 'ERR[0-9]+[^"]*' <<<"$ROWS" | head -n 1)"
until ask GET "/v1/certificates/$NUMBER/pdf" --fail -o "$REF.pdf" 2>/dev/null; do sleep 1; done
echo "saved $REF.pdf"

# 3. Correct the rejected row: it alone, with its serial number, under the same reference.
echo "corrected $(ask POST "/v1/filings/$FILING/correct" -o /dev/null -w '%{http_code}' -d "{\"message\": $(message 1 "$(item 2 "$REF-B")")}") $(ended "$REF")"

# 4. What a reference and a mapping are protected from.
echo "$(ask POST /v1/filings -d "$(file "$REF" "$(message 1 "$(item 1 "$REF-C")")")" | field code)" \
  "$(ask POST /v1/filings -d "$(file "$REF-2" "$BOTH")" | field code)"

# 5. A workbook: a form with a file. A .csv with the names of the message's fields is one too.
{ (IFS=,; echo "${NAMES[*]},gstinInvoiceNumber,gstinInvoiceDate"); echo "$(row 1 "$REF-D" | paste -sd,),,"; } >"$REF.csv"
echo "workbook $(curl -sS -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $TOKEN" "$EBRC/v1/filings" \
  -F "exporter=$EXPORTER" -F "reference=$REF-W" -F declaration=Y -F "file=@$REF.csv") $(ended "$REF-W")"

# 6. What happened is read from the feed; a shell receives no webhooks, but can verify one.
ask GET '/v1/events?limit=500' | grep -q "ebrc.filing.partly_certified" && echo 'events told'
verified whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw msg_p5jXN8AQM9LWM0D4loKWxJek 1614265330 \
  v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= '{"test": 2432232314}' && echo 'webhook delivered'
