import type { Customer } from '../../api/schemas/customers';
import type { OnboardInput } from '../../domain/contracts';

/** Among clients that a search found, the one with this e-mail: to the letter where there is one, else in any case. */
export function exactMatch(customers: readonly Customer[], email: string): Customer | null {
  const wanted = email.trim();
  return (
    customers.find((customer) => customer.email?.trim() === wanted) ??
    customers.find((customer) => customer.email?.trim().toLowerCase() === wanted.toLowerCase()) ??
    null
  );
}

/**
 * Why a client that has the e-mail is not the exporter that was meant; nothing where it is. An IEC that one side does
 * not have proves nothing. Adopting the wrong one would file certificates in another exporter's name.
 */
export function disagreements(
  customer: Customer,
  input: Pick<OnboardInput, 'name' | 'iec'>,
): { code: string; message: string }[] {
  const errors: { code: string; message: string }[] = [];
  const refuse = (field: string, theirs: string, ours: string) =>
    errors.push({
      code: 'exporter_differs',
      message: `A client with this e-mail exists (${customer.id}), but its ${field} is "${theirs}", not "${ours}". Give the ${field} that it has, or use another e-mail.`,
    });
  if (customer.name !== null && nameKey(customer.name) !== nameKey(input.name)) {
    refuse('name', customer.name, input.name);
  }
  const [theirs, ours] = [iecKey(customer.iec), iecKey(input.iec)];
  if (theirs && ours && theirs !== ours) refuse('IEC', theirs, ours);
  return errors;
}

/** Names are typed by people: case and white space do not make another exporter. */
function nameKey(name: string): string {
  return name.normalize('NFC').trim().replace(/\s+/gu, ' ').toLowerCase();
}

function iecKey(iec: string | null | undefined): string {
  return iec?.trim().toUpperCase() ?? '';
}
