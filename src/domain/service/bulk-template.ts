import { BULK_COLUMNS, columnOfHeader, normaliseHeader } from '../rules/columns';

/**
 * The header labels of the bulk workbook in their order. The specification shows 22 of the 37; the service's own
 * template (spec: "GET /irm/bulk-template", "columns are identical to the bulk upload template") names all.
 */
export interface BulkTemplate {
  labels: readonly string[];
  /** ISO 8601; null while the labels are our own reading, because the service's template has not been read yet. */
  learnedAt: string | null;
}

/** The labels that are used until the service's template has been read. */
export const BUILT_IN_TEMPLATE: BulkTemplate = {
  labels: BULK_COLUMNS.map(({ header }) => header),
  learnedAt: null,
};

/** The columns that the specification names; a template must have all of them. */
const NAMED = BULK_COLUMNS.filter(({ need, field }) => need !== 'optional' || field === 'isThirdPartyExport');

/** Why a list of labels cannot be the template of the bulk upload; null if it can. */
export function templateProblem(labels: readonly string[]): string | null {
  const names = labels.map(normaliseHeader);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) return `two columns are called ${twice}`;
  const fields = new Set(labels.map((label) => columnOfHeader(label)?.field));
  const lacking = NAMED.filter(({ field }) => !fields.has(field)).map(({ header }) => header);
  return lacking.length === 0 ? null : `it lacks ${lacking.join(', ')}`;
}

/**
 * The label under which an optional column is sent; undefined for a column that the template does not name, which is
 * the user's own. Until the template is known, other spellings of our assumed labels are accepted too.
 */
export function optionalLabel({ labels, learnedAt }: BulkTemplate, header: string): string | undefined {
  const name = normaliseHeader(header);
  if (name === '') return undefined;
  const label = labels.find((each) => normaliseHeader(each) === name);
  return label ?? (learnedAt === null ? columnOfHeader(header)?.header : undefined);
}
