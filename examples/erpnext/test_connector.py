"""The connector against answers that `ebrc serve` gave on the sandbox: python3 -m unittest, in this folder."""
import base64
import hashlib
import hmac
import importlib
import io
import json
import pathlib
import sys
import tempfile
import time
import types
import unittest
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from ebrc import connector, receiver  # noqa: E402

RECORDED = json.loads(pathlib.Path(__file__).with_name("recorded.json").read_text())
URL, EXPORTER, NAME = "http://ebrc.example", "accounts@kaveri.example", "PAY/26-27/00042"
OLD, NEW, OTHER = ("whsec_" + base64.b64encode(bytes([at]) * 32).decode() for at in range(3))


def payment(**more):
    references = [
        {"reference_doctype": "Sales Invoice", "reference_name": "KVR/26-27/0117", "allocated_amount": 1200.0},
        {"reference_doctype": "Sales Invoice", "reference_name": "KVR/26-27/0118", "allocated_amount": 800.5},
    ]
    return {"name": NAME, "reference_no": "SBINIRM26004411", "paid_from_account_currency": "USD", "references": references,
            "company": "Kaveri", "docstatus": 1, "payment_type": "Receive", **more}


def invoices(**more):
    same = {"posting_date": "2026-05-15", "currency": "USD", "company_gstin": "29AAKCK7719P1Z3", **more}
    return {name: {"name": name, "grand_total": total, **same}
            for name, total in (("KVR/26-27/0117", 1200.0), ("KVR/26-27/0118", 2000.0))}


class Recorded:
    """Sends nothing: it answers as recorded, where the very same thing is asked."""

    def __init__(self, *scenes):
        self.exchanges, self.asked = [each for scene in scenes for each in RECORDED[scene]], []

    def __call__(self, method, url, headers, data):
        asked = {"method": method, "path": url.removeprefix(URL), "sent": data and json.loads(data)}
        self.asked.append(f"{method} {asked['path']}")
        same = [each for each in self.exchanges if {key: each.get(key) for key in asked} == asked]
        if not same:
            raise AssertionError(f"nothing recorded for {asked}")
        answer = same[0]["answer"]
        return same[0]["status"], base64.b64decode(answer) if isinstance(answer, str) else json.dumps(answer).encode()


def api(*scenes):
    return connector.Api(URL, "token", Recorded(*scenes))


def answering(status, content):
    return connector.Api(URL, "token", lambda *_: (status, content))


def signed(body, *secrets, at=None, number="msg-1"):
    at = int(time.time()) if at is None else at
    keys = [base64.b64decode(secret[len("whsec_"):]) for secret in secrets]
    of = [hmac.new(key, f"{number}.{at}.".encode() + body, hashlib.sha256).digest() for key in keys]
    return {"webhook-id": number, "webhook-timestamp": str(at),
            "webhook-signature": " ".join("v1," + base64.b64encode(each).decode() for each in of)}


class Button(unittest.TestCase):
    def file(self, own, **more):
        return connector.file(own, EXPORTER, payment(**more), invoices(), "INBLR4")

    def test_a_second_click_files_nothing(self):
        first, second = api("irms", "first click"), api("irms", "second click")
        self.assertRegex(self.file(first), "^Filed. ")
        self.assertRegex(self.file(second), "^It was filed before, and nothing was sent again. ")
        self.assertEqual(first.send.asked, second.send.asked)

    def told(self, own, **more):
        with self.assertRaises(connector.Refused) as refused:
            self.file(own, **more)
        return str(refused.exception)

    def test_what_is_refused_is_told_with_what_to_do(self):
        changed = payment()["references"][:1]
        self.assertRegex(self.told(api("irms", "changed"), references=changed), "(?s)other content.*reference_taken, request ")
        self.assertRegex(self.told(api("irms", "another payment"), name="PAY/26-27/00043"), "(?s)row 1.*Never file it a second")
        too_much = [{**changed[0], "allocated_amount": 150000}]
        self.assertRegex(self.told(api("irms", "too much"), references=too_much, name="PAY/26-27/00044"), "(?s)row 1.*click again")
        self.assertRegex(self.told(api("bad token")), "renew ebrc_token")

    def test_what_is_not_known_says_that_a_click_is_harmless(self):
        def cut(*_):
            raise TimeoutError("timed out")

        for own in (connector.Api(URL, "token", cut), answering(502, b"<html>Bad gateway</html>"), answering(503, json.dumps(
                {"code": "no_worker", "detail": "No worker runs.", "errors": [], "request_id": "r"}).encode())):
            self.assertIn("nothing is filed twice", self.told(own))

    def test_what_cannot_be_mapped_is_not_sent(self):
        for more, says in (
            ({"references": []}, "allocate it first"),
            ({"reference_no": "NEFT-1"}, "no remittance NEFT-1"),
            ({"reference_no": None}, "empty"),
            ({"paid_from_account_currency": "INR"}, "receivable account in USD"),
        ):
            own = api("irms")
            self.assertIn(says, self.told(own, **more))
            self.assertFalse([each for each in own.send.asked if each.startswith("POST")])

    def test_goods_are_mapped_by_their_shipping_bill(self):
        irms = RECORDED["irms"][0]["answer"]["items"]
        bill = invoices(shipping_bill_number="4411223", shipping_bill_date="2026-05-16", port_code="INNSA1", company_gstin="")
        row = connector.message_of(payment(), bill, irms, "INBLR4")["ebrcBulkGenDtos"][1]
        given = [row[key] for key in ("uploadType", "sbCumInvoiceNumber", "sbCumInvoiceDate", "portCode", "billNo", "isGstAvail")]
        self.assertEqual(given, [101, "4411223", "2026-05-16", "INNSA1", "KVR/26-27/0118", "N"])
        mixed = {**bill, "KVR/26-27/0117": invoices()["KVR/26-27/0117"]}
        with self.assertRaisesRegex(connector.Refused, "for each kind"):
            connector.message_of(payment(), mixed, irms, "INBLR4")


class Signature(unittest.TestCase):
    def test_is_verified_also_while_the_secret_is_rotated(self):
        for sent, kept in (([OLD], [OLD]), ([NEW, OLD], [OLD]), ([NEW, OLD], [NEW]), ([NEW], [OLD, NEW])):
            self.assertTrue(connector.verified(kept, signed(b"{}", *sent), b"{}"))

    def test_is_refused_if_anything_differs(self):
        good, now = signed(b"{}", OLD), int(time.time())
        self.assertFalse(connector.verified([OTHER], good, b"{}"))
        self.assertFalse(connector.verified([], good, b"{}"))
        self.assertFalse(connector.verified([OLD], good, b"{} "))
        for key, value in (("webhook-id", "msg-2"), ("webhook-timestamp", str(now - 1)), ("webhook-timestamp", "soon"),
                           ("webhook-signature", "v1,é"), ("webhook-signature", "")):
            self.assertFalse(connector.verified([OLD], {**good, key: value}, b"{}"), (key, value))
        for key in good:
            self.assertFalse(connector.verified([OLD], {name: good[name] for name in good if name != key}, b"{}"))

    def test_is_valid_for_five_minutes(self):
        for age, fresh in ((299, True), (301, False), (-299, True), (-301, False)):
            self.assertIs(connector.verified([OLD], signed(b"{}", OLD, at=10_000 - age), b"{}", now=10_000), fresh)


class Webhook(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.books = receiver.Books(folder.name, "PAY/")

    def post(self, own, body, headers):
        environ = {"CONTENT_LENGTH": str(len(body)), "wsgi.input": io.BytesIO(body)}
        environ.update({f"HTTP_{key.upper().replace('-', '_')}": value for key, value in headers.items()})
        said = []
        application = receiver.application(own, self.books, [OLD])
        text = b"".join(application(environ, lambda status, _: said.append(int(status[:3]))))
        return said[0], text.decode()

    def events(self, begins):
        items = RECORDED["events"][0]["answer"]["items"]
        return [json.dumps(each).encode() for each in items if each["type"].startswith(begins)]

    def files(self):
        folder = self.books.folder
        return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    def test_brings_number_pdf_and_attention_once(self):
        own = api("after the end")
        [ended] = self.events("ebrc.filing.partly_certified")
        self.assertEqual(self.post(own, ended, signed(ended, NEW, OLD)), (200, "Done."))
        files = self.files()
        shown = json.loads(files["shown.json"])
        [number] = shown["numbers"]
        self.assertEqual(files[f"{number}.pdf"][:5], b"%PDF-")
        self.assertRegex(files["comments.txt"].decode(), "(?s)correct them.*KVR/26-27/0118: .*ERR36")
        for body in (ended, ended, *self.events(connector.ABOUT_FILINGS)):
            self.assertEqual(self.post(own, body, signed(body, OLD))[0], 200)
        self.assertEqual(self.files(), files)
        self.assertEqual(len([each for each in own.send.asked if each.endswith("/pdf")]), 1)

    def test_takes_nothing_that_is_not_signed_and_nothing_of_others(self):
        own = api()
        [ended] = self.events("ebrc.filing.partly_certified")
        self.assertEqual(self.post(own, ended, signed(ended, OTHER))[0], 401)
        others = [json.dumps({**json.loads(ended), **more}).encode() for more in (
            {"subject": "JULY-7"}, {"type": "ebrc.digest"}, {"type": "ebrc.webhook.test", "subject": "webhook"})]
        for body in (*others, *self.events("ebrc.exporter.")):
            self.assertEqual(self.post(own, body, signed(body, OLD)), (200, "Nothing to do."))
        self.assertEqual(self.post(own, b" " * 1_000_001, {})[0], 413)
        self.assertEqual((own.send.asked, self.files()), ([], {}))

    def test_lets_an_event_come_again_whose_work_failed(self):
        [ended] = self.events("ebrc.filing.partly_certified")
        self.assertEqual(self.post(answering(502, b""), ended, signed(ended, OLD))[0], 503)
        damaged = api("after the end")
        of, damaged.send = damaged.send, lambda *asked: (200, b"%PDF-cut") if asked[1].endswith("/pdf") else of(*asked)
        self.assertRegex(self.post(damaged, ended, signed(ended, OLD))[1], "damaged")
        self.assertEqual(self.post(api("after the end"), ended, signed(ended, OLD))[0], 200)
        self.assertEqual(len(self.files()), 3)

    def test_keeps_each_payment_in_a_folder_of_its_own(self):
        outside = self.books.of("PAY/../../x", "shown.json").resolve()
        self.assertEqual(outside.parent.parent, self.books.folder.resolve())


class Thrown(Exception):
    pass


class Erp(unittest.TestCase):
    """The part that needs frappe, with as much of it as it asks for."""

    def setUp(self):
        class Doc(dict):
            __getattr__ = dict.get
            as_dict = dict.copy

            def check_permission(self, kind):
                self["checked"] = kind

        docs = {name: Doc(each) for name, each in invoices().items()}
        references = [Doc(each) for each in payment()["references"]]
        self.payment = docs[NAME] = Doc(payment(references=references))

        def throw(text, title):
            raise Thrown(text)

        frappe = types.ModuleType("frappe")
        frappe.whitelist = lambda **_: lambda method: method
        frappe.conf = Doc(ebrc_exporters={"Kaveri": EXPORTER}, ebrc_port_code="INBLR4", ebrc_webhook_secrets=[OLD])
        frappe.get_doc = lambda _, name: docs[name]
        frappe.throw, frappe.utils = throw, types.SimpleNamespace(escape_html=lambda text: text.replace("<", "&lt;"))
        fields = types.ModuleType("custom_field")
        fields.create_custom_fields = lambda _: None
        path = "frappe.custom.doctype.custom_field.custom_field"
        with mock.patch.dict(sys.modules, {"frappe": frappe, path: fields}):
            payment_entry = importlib.reload(importlib.import_module("ebrc.payment_entry"))
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.books = receiver.Books(folder.name)
        payment_entry.Books = lambda: self.books
        self.frappe, self.module = frappe, payment_entry

    def test_the_button_files_and_shows(self):
        self.module.api = lambda: api("irms", "second click", "after the end")
        self.assertRegex(self.module.file(NAME, "Y"), "nothing was sent again")
        self.assertEqual(self.payment["checked"], "submit")
        self.assertTrue(self.books.attention(NAME))

    def test_the_button_refuses(self):
        self.module.api = lambda: api("irms", "changed")
        for more, declared, says in (
            ({"docstatus": 0}, "Y", "submit it first"),
            ({"payment_type": "Pay"}, "Y", "submit it first"),
            ({"company": "Zenith"}, "Y", "ebrc_exporters"),
            ({}, "N", "declaration"),
            ({"references": self.payment["references"][:1]}, "Y", "other content"),
        ):
            before = dict(self.payment)
            self.payment.update(more)
            with self.assertRaisesRegex(Thrown, says):
                self.module.file(NAME, declared)
            self.payment.update(before)

    def test_the_webhook_answers(self):
        body = json.dumps({"type": "ebrc.filing.partly_certified", "subject": NAME}).encode()
        self.module.api = lambda: api("after the end")
        self.frappe.local = types.SimpleNamespace(response=types.SimpleNamespace())
        for secret, status in ((OLD, 200), (OTHER, 401)):
            headers = {key.title(): value for key, value in signed(body, secret).items()}
            self.frappe.request = types.SimpleNamespace(headers=headers, get_data=lambda: body)
            self.module.webhook()
            self.assertEqual(self.frappe.local.response.http_status_code, status)


if __name__ == "__main__":
    unittest.main()
