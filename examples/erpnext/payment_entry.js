// A Client Script of the DocType Payment Entry, for its form.
const DECLARATION = __(
  'You declare that the remittance, the documents and the amounts of this payment are true and that no other bank certificate was taken for them. File it with the authority?',
);

frappe.ui.form.on('Payment Entry', {
  refresh(frm) {
    if (frm.doc.docstatus !== 1 || frm.doc.payment_type !== 'Receive') return;
    frm.add_custom_button(__('File eBRC'), () =>
      frappe.confirm(DECLARATION, () =>
        frappe.call({
          method: 'ebrc.payment_entry.file',
          args: { name: frm.doc.name, declared: 'Y' },
          freeze: true,
          callback: ({ message }) => {
            if (message) frappe.msgprint(frappe.utils.escape_html(message));
            frm.reload_doc();
          },
        }),
      ),
    );
  },
});
