"""What needs frappe: the method behind the button, the webhook's address, and the books of ERPNext."""
from contextlib import contextmanager

import frappe
from frappe.custom.doctype.custom_field.custom_field import create_custom_fields

from ebrc import connector

DOCTYPE = "Payment Entry"


def install():
    """bench --site SITE execute ebrc.payment_entry.install"""
    shown = {"read_only": 1, "allow_on_submit": 1, "no_copy": 1}
    create_custom_fields({DOCTYPE: [
        {"fieldname": "ebrc_state", "label": "eBRC", "fieldtype": "Data", "insert_after": "status", "length": 500, **shown},
        {"fieldname": "ebrc_numbers", "label": "eBRC Numbers", "fieldtype": "Small Text", "insert_after": "ebrc_state", **shown},
        {"fieldname": "ebrc_attention", "fieldtype": "Text", "insert_after": "ebrc_numbers", "hidden": 1, **shown},
    ]})


def api():
    return connector.Api(frappe.conf.ebrc_url, frappe.conf.ebrc_token)


@frappe.whitelist(methods=["POST"])
def file(name, declared):
    payment = frappe.get_doc(DOCTYPE, name)
    payment.check_permission("submit")
    exporter = (frappe.conf.ebrc_exporters or {}).get(payment.company)
    try:
        if declared != "Y":
            raise connector.Refused("Nothing is filed without the declaration.")
        if payment.docstatus != 1 or payment.payment_type != "Receive":
            raise connector.Refused("Only a submitted payment of the type Receive is filed: submit it first.")
        if not exporter:
            raise connector.Refused(f"Ask the administrator to add {payment.company} to ebrc_exporters in site_config.json.")
        names = {each.reference_name for each in payment.references if each.reference_doctype == "Sales Invoice"}
        invoices = {each: frappe.get_doc("Sales Invoice", each).as_dict() for each in names}
        said = connector.file(api(), exporter, payment.as_dict(), invoices, frappe.conf.ebrc_port_code)
        connector.bring(api(), Books(), name)
    except connector.Refused as refused:
        frappe.throw(frappe.utils.escape_html(str(refused)).replace("\n", "<br>"), title="eBRC")
    return said


@frappe.whitelist(allow_guest=True, methods=["POST"])
def webhook():
    headers = {key.lower(): value for key, value in frappe.request.headers.items()}
    secrets = frappe.conf.ebrc_webhook_secrets
    status, text = connector.receive(api(), Books(), secrets, headers, frappe.request.get_data())
    frappe.local.response.http_status_code = status
    return text


class Books:
    def knows(self, reference):
        return bool(frappe.db.exists(DOCTYPE, reference))

    @contextmanager
    def locked(self, reference):
        """Until the transaction ends. It begins here: a second one waits, then sees what the first has attached."""
        frappe.db.commit()
        frappe.db.get_value(DOCTYPE, reference, "name", for_update=True)
        yield

    def has_pdf(self, reference, number):
        own = {"attached_to_doctype": DOCTYPE, "attached_to_name": reference}
        return bool(frappe.db.exists("File", {**own, "file_name": ("like", f"{number}%.pdf")}))

    def attach(self, reference, number, pdf):
        frappe.get_doc({
            "doctype": "File", "file_name": f"{number}.pdf", "content": pdf, "is_private": 1,
            "attached_to_doctype": DOCTYPE, "attached_to_name": reference,
        }).insert(ignore_permissions=True)

    def attention(self, reference):
        return frappe.db.get_value(DOCTYPE, reference, "ebrc_attention") or ""

    def comment(self, reference, text):
        told = frappe.utils.escape_html(f"eBRC: {text}").replace("\n", "<br>")
        frappe.get_doc(DOCTYPE, reference).add_comment("Comment", told)

    def show(self, reference, state, numbers, attention):
        values = {"ebrc_state": state, "ebrc_numbers": "\n".join(numbers), "ebrc_attention": attention}
        frappe.db.set_value(DOCTYPE, reference, values, update_modified=False)
