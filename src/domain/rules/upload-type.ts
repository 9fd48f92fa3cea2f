/** The upload type codes of the push message (spec: "Push message"), by code. */
export const UPLOAD_TYPES = {
  101: 'Direct Export',
  102: 'Softex',
  103: 'Service Non IT',
  104: 'Deemed',
} as const;

/** Shipping bills: the only upload type with a rule for the form of the document number. */
export const DIRECT_EXPORT = 101;
export const SOFTEX = 102;
export const SERVICES = 103;

export type UploadType = keyof typeof UPLOAD_TYPES;

/** Whether a number is one of the four documented upload type codes. */
export function isUploadType(code: number): code is UploadType {
  return Object.hasOwn(UPLOAD_TYPES, code);
}
