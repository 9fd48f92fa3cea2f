/** The codes of problems, by what a route does. */

const ALWAYS = [
  ...['unauthorized', 'too_many_requests', 'busy', 'ledger_unavailable', 'timeout', 'unexpected', 'bad_request'],
  ...['invalid_request', 'invalid_text', 'too_deep', 'caller_gone', 'headers_too_large', 'too_slow'],
];
const OF_BODIES = ['not_json', 'not_utf8', 'number_not_exact', 'too_large', 'unsupported_media_type'];
const OF_CHANGES = ['temporal_unavailable', 'no_worker', 'service_unavailable'];
const OF_FORMS = ['bad_form', 'unknown_field', 'invalid_field'];

/** What the rules find in a push message or workbook. */
const OF_CONTENT = [
  'unknown_exporter',
  ...[
    'missing',
    'invalid_input',
    'invalid_date',
    'invalid_yes_no',
    'invalid_number',
    'invalid_uuid',
    'unknown_upload_type',
  ],
  ...[
    'too_many_decimals',
    'control_character',
    'text_too_long',
    'lost_digits',
    'error_value',
    'document_characters',
    'too_much_text',
  ],
  ...[
    'too_many_rows',
    'upload_type_differs',
    'duplicate_serial',
    'serial_range',
    'duplicate_mapping',
    'over_remittance',
  ],
  ...['over_balance', 'balance_held', 'over_document_value', 'irm_number_spelling', 'irm_missing', 'irm_unknown'],
  ...['irm_ambiguous', 'irm_cancelled', 'irm_amount_differs', 'not_a_push_message', 'invalid_allow_duplicate'],
  ...['unknown_property', 'not_an_item', 'count_differs', 'no_channel', 'gst_missing', 'gst_not_empty'],
  ...['not_a_shipping_bill_number', 'contradiction', 'unknown_row', 'exporter_differs', 'iec_differs', 'iec_unknown'],
  ...[
    'document_overdrawn',
    'already_certified',
    'mapping_held',
    'no_upload_type',
    'no_declaration',
    'unknown_file_type',
  ],
  ...['declaration_missing', 'declaration_differs', 'refused', 'wrong_mode', 'no_balances', 'exporter_unknown'],
];
/** What is wrong with the file of a workbook. */
const OF_WORKBOOKS = [
  ...['no_header', 'merged_cell', 'no_rows', 'hidden_sheet', 'missing_column', 'duplicate_header', 'repeated_header'],
  ...[
    'total_row',
    'shown_rounded',
    'time_of_day',
    'macros',
    'external_links',
    'external_data',
    'xlsb_format',
    'xls_format',
    'csv_columns',
  ],
  ...['not_csv', 'no_worksheet', 'not_a_workbook', 'uncalculated', 'damaged', 'encrypted', 'xml_entities', 'too_long'],
  ...['zip_bomb', 'too_many_cells', 'too_slow', 'no_workbook'],
];
const OF_FILING = [
  'reference_taken',
  'wrong_number',
  'not_correctable',
  'nothing_planned',
  'input_unknown',
  'not_recorded_yet',
];
const OF_DECISIONS = [
  ...['filing_ended', 'said_already', 'needs_token', 'maker_approves', 'approve_refused', 'resolve_refused'],
  ...['abandon_refused', 'attempt_changed', 'attempt_missing', 'request_taken', 'invalid_input', 'nothing_to_correct'],
];

/** Groups of codes that a route names beside its own. */
export const CODES = {
  content: [...OF_CONTENT, ...OF_WORKBOOKS],
  filing: OF_FILING,
  decision: OF_DECISIONS,
} as const;

/** Every code that a route may answer, sorted. */
export function codesOf(route: {
  changes: boolean;
  hasRoles: boolean;
  /** Names in its path. */
  path: string;
  takesBody: boolean;
  takesFile: boolean;
  pages: boolean;
  codes: readonly string[];
}): [string, ...string[]] {
  const named = { ':exporter': 'unknown_exporter', ':filing': 'unknown_filing', ':webhook': 'unknown_webhook' };
  const unknown = Object.entries(named).flatMap(([name, code]) => (route.path.includes(name) ? [code] : []));
  const all = [
    ...ALWAYS,
    ...(route.hasRoles ? ['role_missing'] : []),
    ...(route.changes ? [...OF_CHANGES, ...OF_BODIES] : []),
    ...(route.takesFile ? OF_FORMS : []),
    ...(route.pages ? ['bad_cursor', 'unknown_exporter', 'unknown_filing'] : []),
    ...unknown,
    ...route.codes,
  ];
  return [...new Set(all)].sort() as [string, ...string[]];
}
