"""Files payments over the HTTP API of ebrc, and brings the books to what it answers. No frappe, no packages."""
import base64
import hashlib
import hmac
import json
import time
import urllib.error
import urllib.parse
import urllib.request

TOLERANCE_S = 300
ABOUT_FILINGS = ("ebrc.filing.", "ebrc.certificate.", "ebrc.attention.")
AGAIN = "Click again in a minute: nothing is filed twice."
WHO_RUNS = "Tell whoever runs ebrc, with the request id."
ADVICE = {
    "reference_taken": "This payment was filed before with other content, and nothing was sent now. Bring back what was "
    "filed; or correct its rejected rows in ebrc, where the filing has the name of this payment.",
    "mapping_held": "Another filing has this remittance and document: look there. Never file it a second time.",
    "irm_unknown": "The bank may not have reported the remittance yet. Compare Reference No with its advice.",
    "unauthorized": "Ask the administrator to renew ebrc_token in site_config.json.",
    "role_missing": "The administrator has to give ebrc_token's principal the roles maker and viewer.",
    "unknown_exporter": "Ask the administrator to compare ebrc_exporters in site_config.json with the exporters of ebrc.",
}


class Refused(Exception):
    """What a person is told, with what to do."""


def over_http(method, url, headers, data):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method), timeout=10) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as problem:
        return problem.code, problem.read()


class Api:
    def __init__(self, url, token, send=over_http):
        self.url, self.token, self.send = url.rstrip("/"), token, send

    def ask(self, method, path, body=None):
        """Status and content. @raises Refused for every problem"""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        try:
            data = None if body is None else json.dumps(body).encode()
            status, content = self.send(method, self.url + path, headers, data)
        except OSError as error:  # cut, late or not there: it may have arrived
            raise Refused(f"ebrc cannot be reached ({type(error).__name__}). {AGAIN}") from None
        if status >= 400:
            raise Refused(told(status, content))
        return status, content

    def get(self, path):
        return json.loads(self.ask("GET", path)[1])

    def pages(self, path):
        page = {"next": ""}
        while page["next"] is not None:
            more = f"&cursor={quoted(page['next'])}" if page["next"] else ""
            page = self.get(f"{path}?limit=500{more}")
            yield from page["items"]


def quoted(text):
    return urllib.parse.quote(text, safe="")


def told(status, content):
    try:
        problem = json.loads(content)
        code = problem["code"]
    except (ValueError, KeyError, TypeError):  # not from ebrc, but from something between
        return f"The address of ebrc answered {status}. {AGAIN}"
    lines = [] if problem.get("errors") else [problem["detail"]]
    for error in problem.get("errors", []):
        where = [f"row {error['row']}" if error.get("row") else "", error.get("field") or ""]
        lines.append(": ".join(filter(None, [", ".join(filter(None, where)), error["message"]])))
    later = AGAIN if status in (429, 503) else WHO_RUNS if status >= 500 else "Change it and click again."
    lines.append(ADVICE.get(code, later))
    if problem.get("request_id"):
        lines.append(f"({code}, request {problem['request_id']})")
    return "\n".join(dict.fromkeys(filter(None, lines)))


def file(api, exporter, payment, invoices, port_code):
    """Files a payment under its name, which makes a second click harmless. @returns what the person is told"""
    message = message_of(payment, invoices, api.pages(f"/v1/exporters/{quoted(exporter)}/irms"), port_code)
    body = {"exporter": exporter, "reference": payment["name"], "message": message}
    status, content = api.ask("POST", "/v1/filings", body)
    begun = "Filed." if status == 201 else "It was filed before, and nothing was sent again."
    return f"{begun} {json.loads(content)['stateText']}"


def message_of(payment, invoices, irms, port_code):
    """The push message: a row for each invoice that the payment settles. Adapt `row_of` to your books."""
    number = (payment.get("reference_no") or "").strip()
    settled = [each for each in payment["references"] if each["reference_doctype"] == "Sales Invoice"]
    if not settled:
        raise Refused("The payment is allocated to no Sales Invoice: allocate it first.")
    irm = next((irm for irm in irms if irm["irmNumber"] == number), None)
    if irm is None or not number:
        raise Refused(f"There is no remittance {number or '(empty)'}. Reference No has to be the IRM number of the bank; "
                      "if it is, the bank has not reported it yet: click again tomorrow.")
    if payment["paid_from_account_currency"] != irm["irmFCC"]:
        raise Refused(f"The payment is allocated in {payment['paid_from_account_currency']}, the remittance is in "
                      f"{irm['irmFCC']}: use a receivable account in {irm['irmFCC']}, so that the mapping is exact.")
    rows = [row_of(at, irm, invoices[each["reference_name"]], each["allocated_amount"], port_code)
            for at, each in enumerate(settled, 1)]
    if len({row["uploadType"] for row in rows}) > 1:
        raise Refused("Some invoices have a shipping bill and some have none: make a Payment Entry for each kind.")
    return {"recordResCount": len(rows), "uploadType": str(rows[0]["uploadType"]), "decalarationFlag": "Y",
            "ebrcBulkGenDtos": rows}


def row_of(serial, irm, invoice, amount, port_code):
    bill = invoice.get("shipping_bill_number")  # goods; these fields and company_gstin are India Compliance's
    gst = bool(invoice.get("company_gstin"))
    same = ("irmIfscCode", "irmAdCode", "irmNumber", "irmDt", "irmFCC", "irmPurposeCode")
    return {
        "serialNo": serial, "uploadType": 101 if bill else 103, "branchSlNo": 0, **{name: irm[name] for name in same},
        "irmRemitAmtFCC": float(irm["irmRemitAmtFCC"] or 0), "sbCumInvoiceNumber": bill or invoice["name"],
        "sbCumInvoiceDate": str(invoice["shipping_bill_date"] if bill else invoice["posting_date"]),
        "portCode": invoice.get("port_code") or port_code, "billNo": invoice["name"],
        "sbCumInvoiceFCC": invoice["currency"], "sbCumInvoiceValueinFCC": round(float(invoice["grand_total"]), 2),
        "mappedIRMAmountFCC": round(float(amount), 2), "isVostro": "N", "isGstAvail": "Y" if gst else "N",
        "gstinInvoiceNumber": invoice["name"] if gst else None,
        "gstinInvoiceDate": str(invoice["posting_date"]) if gst else None,
    }


def verified(secrets, headers, body, now=None):
    """Whether a webhook is ebrc's (Standard Webhooks). While a secret is rotated each request has two signatures."""
    try:
        sent = int(headers["webhook-timestamp"])
        given = headers["webhook-signature"].encode().split()
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    except (KeyError, ValueError):
        return False
    own = []
    for secret in secrets:
        key = base64.b64decode(secret.split("whsec_")[-1])
        own.append(b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()))
    matches = [hmac.compare_digest(one, other) for one in own for other in given]
    return abs((time.time() if now is None else now) - sent) <= TOLERANCE_S and any(matches)


def receive(api, books, secrets, headers, body):
    """
    Answers a webhook. What the event says is not used but its reference: the books are brought to how the filing stands
    now, so an event that comes again, late or twice at once changes nothing more. The work is done before the answer,
    so that an event whose work fails comes again. @returns status and text
    """
    if not verified(secrets, headers, body):
        return 401, "The signature is not ebrc's, or older than five minutes."
    event = json.loads(body)
    if not event["type"].startswith(ABOUT_FILINGS) or not books.knows(event["subject"]):
        return 200, "Nothing to do."
    try:
        bring(api, books, event["subject"])
    except Refused as refused:
        return 503, str(refused)
    return 200, "Done."


def bring(api, books, reference):
    """Brings a payment to how its filing stands: state, certificate numbers, PDFs, and once each what needs somebody."""
    with books.locked(reference):
        filing = api.get(f"/v1/filings/{quoted(reference)}")
        rows = list(api.pages(f"/v1/filings/{quoted(reference)}/rows"))
        numbers = [row["eBRCNumber"] for row in rows if row["eBRCNumber"]]
        for row in rows:
            if row["document"] and not books.has_pdf(reference, row["eBRCNumber"]):
                pdf = api.ask("GET", f"/v1/certificates/{quoted(row['eBRCNumber'])}/pdf")[1]
                if hashlib.sha256(pdf).hexdigest() != row["sha256"]:
                    raise Refused(f"The PDF of {row['eBRCNumber']} arrived damaged. {AGAIN}")
                books.attach(reference, row["eBRCNumber"], pdf)
        needs = attention_of(filing, rows)
        if needs and needs != books.attention(reference):
            books.comment(reference, needs)
        books.show(reference, filing["stateText"], numbers, needs)


def attention_of(filing, rows):
    lines = [filing["attention"] or ""]
    for row in rows:
        if row["errors"] and not row["correctedBy"]:
            lines.append(f"{row['sbCumInvoiceNumber']}: {'; '.join(row['errors'])}")
        if row["cancelled"]:
            lines.append(f"{row['sbCumInvoiceNumber']}: its certificate {row['eBRCNumber']} is {row['cancelled']}")
    return "\n".join(filter(None, lines))
