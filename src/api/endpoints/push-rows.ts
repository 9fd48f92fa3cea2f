import type { PushMessage } from '../../domain/filing/mapping';
import { ApiError, type FieldError } from '../errors/api-error';

/**
 * Errors of a push name its items by their place in the list (`ebrcBulkGenDtos.0.irmDt`). People know rows by
 * `serialNo`, so the place becomes the row and the path the field.
 */
export function namedByRow(error: ApiError, message: PushMessage): ApiError {
  if (!error.fieldErrors.some((fieldError) => placeOf(fieldError) !== null)) return error;
  const fieldErrors = error.fieldErrors.map((fieldError) => {
    const place = placeOf(fieldError);
    if (place === null) return fieldError;
    const serialNo: unknown = message.ebrcBulkGenDtos[place.index]?.serialNo;
    const row = typeof serialNo === 'number' ? { row: serialNo } : {};
    return { ...row, ...(place.field === '' ? {} : { field: place.field }), message: fieldError.message };
  });
  const copy = new ApiError({ ...error, message: error.message, cause: error.cause, fieldErrors });
  copy.stack = error.stack;
  return copy;
}

function placeOf(error: FieldError): { index: number; field: string } | null {
  const match = /^ebrcBulkGenDtos(?:\.|\[)(\d+)\]?\.?(.*)$/su.exec(error.field ?? '');
  return match?.[1] === undefined ? null : { index: Number(match[1]), field: match[2] ?? '' };
}
