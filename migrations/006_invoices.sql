-- Up Migration

-- Export documents as the exporter's own books have them, from `ebrc invoices import`. What is filed is known from its rows; these
-- add documents that nothing was filed for yet, buyers, and due dates that were agreed otherwise.
CREATE TABLE invoices (
  exporter_id   text NOT NULL REFERENCES exporters,
  -- Number and date in comparable form, as certificates and rows are matched.
  document_key  text NOT NULL,
  document_no   text NOT NULL,
  document_date date NOT NULL,
  -- 101 to 104, the upload type that it will be filed under.
  document_type integer CHECK (document_type BETWEEN 101 AND 104),
  amount        numeric NOT NULL CHECK (amount > 0),
  currency      text NOT NULL,
  buyer         text,
  -- Agreed or extended by the bank; it stands above the realisation rules.
  due_override  date,
  imported_at   timestamptz NOT NULL,
  imported_by   text NOT NULL,
  PRIMARY KEY (exporter_id, document_key, document_date)
);
