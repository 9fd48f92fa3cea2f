import type { PushMessage } from '../../domain/filing/mapping';
import { ApiError, type FieldError } from '../errors/api-error';

/**
 * Errors of a push name its items by their place in the list (`ebrcBulkGenDtos.0.irmDt`, or an `index`), or by their
 * `serialNo`. People know rows by `serialNo`, so the place becomes the row and the path the field.
 */
export function namedByRow(error: ApiError, message: PushMessage): ApiError {
  if (error.fieldErrors.length === 0) return error;
  const items = message.ebrcBulkGenDtos;
  // An index behind the last item is not a place counted from 0, and the other indices of the list are not either.
  const fromZero = error.fieldErrors.every(({ index = 0 }) => index >= 0 && index < items.length);
  const fieldErrors = error.fieldErrors.map((fieldError): FieldError => {
    const { message, row, serialNo } = fieldError;
    const place = placeOf(fieldError);
    const index = place?.index ?? (fromZero ? fieldError.index : undefined);
    const named: unknown = serialNo ?? (index === undefined ? row : items[index]?.serialNo);
    const field = place === null ? fieldError.field : place.field;
    return { ...(typeof named === 'number' ? { row: named } : {}), ...(field ? { field } : {}), message };
  });
  const copy = new ApiError({ ...error, message: error.message, cause: error.cause, fieldErrors });
  copy.stack = error.stack;
  return copy;
}

function placeOf(error: FieldError): { index: number; field: string } | null {
  const match = /^ebrcBulkGenDtos(?:\.|\[)(\d+)\]?\.?(.*)$/su.exec(error.field ?? '');
  return match?.[1] === undefined ? null : { index: Number(match[1]), field: match[2] ?? '' };
}
