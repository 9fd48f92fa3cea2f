// A Client Script of the DocType Payment Entry, for its form.
const DECLARATION = __(
  'You declare (decalarationFlag Y) that the rows are true and complete, that each remittance was received for the document of its row, and that nothing of it is certified already. The wording stands at the authority’s portal; the exporter answers for it. Declare, and file?',
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
