"""Onboards an exporter, files a message and a workbook, and follows them. Python 3.9 or newer, no packages."""
import base64, hashlib, hmac, http.server, json, os, sys, threading, time, urllib.error, urllib.parse, urllib.request, uuid

EBRC, TOKEN, SANDBOX = os.environ["EBRC"], os.environ["TOKEN"], os.environ.get("SANDBOX")
REF = os.environ.get("REF", f"PY-{int(time.time())}")
EXPORTER = "accounts@kaveri.example"


def ask(method, path, body=None, headers={}, url=EBRC):
    """Status and answer; a problem is an answer too. After 429 and 503 the same request is repeated."""
    data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
    head = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json", **headers}
    while True:
        try:
            with urllib.request.urlopen(urllib.request.Request(url + path, data, head, method=method), timeout=90) as answer:
                status, kind, content = answer.status, answer.headers.get_content_type(), answer.read()
        except urllib.error.HTTPError as problem:
            if problem.code in (429, 503):
                time.sleep(int(problem.headers.get("Retry-After", 5)))
                continue
            status, kind, content = problem.code, problem.headers.get_content_type(), problem.read()
        return status, json.loads(content or b"null") if kind.endswith("json") else content


def done(answer):
    """The body of an answer; a problem ends the program."""
    return answer[1] if answer[0] < 400 else sys.exit(f"{answer[1]['code']}: {answer[1]['detail']}")


def ended(reference):
    """Waits for the end of a filing, or until it needs somebody."""
    while True:
        filing = done(ask("GET", f"/v1/filings/{urllib.parse.quote(reference, '')}", headers={"Prefer": "wait=60"}))
        if filing["asked"] or filing["state"] in (
            "certified", "partly_certified", "rejected", "needs_correction", "abandoned", "awaiting_approval", "needs_credentials",
        ):
            return filing


def row(irm, serial, document):
    """A mapping of a remittance to an invoice. Its fields of the IRM have the same names."""
    same = ("irmIfscCode", "irmAdCode", "irmNumber", "irmDt", "irmFCC", "irmPurposeCode")
    return {
        "serialNo": serial, "uploadType": 103, "branchSlNo": 0, **{name: irm[name] for name in same},
        "irmRemitAmtFCC": float(irm["irmRemitAmtFCC"]), "sbCumInvoiceNumber": document, "sbCumInvoiceDate": "2026-05-15",
        "portCode": "INBLR4", "billNo": document, "sbCumInvoiceFCC": irm["irmFCC"], "sbCumInvoiceValueinFCC": 10,
        "mappedIRMAmountFCC": 10, "isVostro": "N", "isGstAvail": "N", "gstinInvoiceNumber": None, "gstinInvoiceDate": None,
    }


def message(*rows):
    return {"recordResCount": len(rows), "uploadType": "103", "decalarationFlag": "Y", "ebrcBulkGenDtos": rows}


def verified(secret, headers, body):
    """Whether a webhook is ours (Standard Webhooks). While a secret is rotated there are two signatures."""
    if abs(time.time() - int(headers["webhook-timestamp"])) > 300:
        return False
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    digest = hmac.new(base64.b64decode(secret.removeprefix("whsec_")), signed, hashlib.sha256).digest()
    own = "v1," + base64.b64encode(digest).decode()
    return any(hmac.compare_digest(own, given) for given in headers["webhook-signature"].split(" "))


# 1. Onboard, with the password of the portal; it goes to a vault.
done(ask("POST", "/v1/exporters", {"name": "Kaveri Softworks", "email": EXPORTER, "iec": "AAKCK7719P",
                                   "username": "kaveri.softworks", "password": "Kaveri@Soft9"}))
while (state := done(ask("GET", f"/v1/exporters/{EXPORTER}"))["state"]) != "ready":
    print("exporter", state)
    time.sleep(1)
irms = done(ask("GET", f"/v1/exporters/{EXPORTER}/irms?free=true"))["items"]
irm = next(irm for irm in irms if irm["irmFCC"] == "USD" and float(irm["free"]) > 1000)

# 2. File two rows. The sandbox is told to reject one of them, once.
if SANDBOX:
    ask("POST", "/outcomes", {"match": {"document": f"{REF}-B"}, "processingStatus": "Errored",
                              "errorDetails": ["ERR36: Declaration flag"], "times": 1}, url=SANDBOX)
body = {"exporter": EXPORTER, "reference": REF, "message": message(row(irm, 1, f"{REF}-A"), row(irm, 2, f"{REF}-B"))}
status, filing = ask("POST", "/v1/filings", body)
print("filed", status, done((status, filing))["stateText"])
print("ended", ended(REF)["state"])
rows = done(ask("GET", f"/v1/filings/{filing['filingId']}/rows"))["items"]
number = rows[0]["eBRCNumber"]
print("certified", rows[0]["sbCumInvoiceNumber"], number, "rejected", rows[1]["errors"])
while (pdf := ask("GET", f"/v1/certificates/{number}/pdf"))[0] != 200:
    time.sleep(1)
with open(f"{REF}.pdf", "wb") as file:
    file.write(pdf[1])
print("saved", f"{REF}.pdf")

# 3. Correct the rejected row: it alone, with its serial number, under the same reference.
print("corrected", ask("POST", f"/v1/filings/{filing['filingId']}/correct", {"message": message(row(irm, 2, f"{REF}-B"))})[0], ended(REF)["state"])

# 4. What a reference and a mapping are protected from.
other = {**body, "message": message(row(irm, 1, f"{REF}-C"))}
print(ask("POST", "/v1/filings", other)[1]["code"], ask("POST", "/v1/filings", {**body, "reference": f"{REF}-2"})[1]["code"])

# 5. A workbook: a form with a file. A .csv with the names of the message's fields is one too.
cells = row(irm, 1, f"{REF}-D")
csv = "\r\n".join(",".join("" if cell is None else str(cell) for cell in line) for line in (cells.keys(), cells.values()))
mark = uuid.uuid4().hex
fields = {"exporter": EXPORTER, "reference": f"{REF}-W", "declaration": "Y"}
form = "".join(f'--{mark}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in fields.items())
form += f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="july.csv"\r\nContent-Type: text/csv\r\n\r\n{csv}\r\n--{mark}--\r\n'
status, filing = ask("POST", "/v1/filings", form.encode(), {"Content-Type": f"multipart/form-data; boundary={mark}"})
print("workbook", status, done((status, filing)) and ended(f"{REF}-W")["state"])

# 6. Be told. The workers have to be allowed to reach this machine: EBRC_WEBHOOK_HOSTS=127.0.0.1
class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        text = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204 if verified(self.server.secret, self.headers, text) else 401)
        self.end_headers()

server = http.server.HTTPServer(("127.0.0.1", 0), Hook)
hook = done(ask("POST", "/v1/webhooks", {"url": f"http://127.0.0.1:{server.server_port}/"}))
server.secret = hook["secret"]
threading.Thread(target=server.serve_forever, daemon=True).start()
print("webhook", ask("POST", f"/v1/webhooks/{hook['webhookId']}/test", {})[1]["state"])
ask("DELETE", f"/v1/webhooks/{hook['webhookId']}")
